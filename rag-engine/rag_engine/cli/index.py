"""The command line of the indexer: knowledge_index.py."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from rag_engine.cli.arguments import Parser, decoded_arguments, require_utf_8
from rag_engine.cli.main import run
from rag_engine.cli.output import is_terminal, print_json, print_text
from rag_engine.cli.progress import ProgressDisplay
from rag_engine.cli.summary import render_status, render_summary
from rag_engine.config import Settings, load_settings
from rag_engine.errors import EXIT_OK, FaultsFoundError, UsageError

EPILOG = """\
examples:
  knowledge_index.py --full ~/notes         index a folder
  knowledge_index.py --update               bring everything up to date
  knowledge_index.py --update ~/work        add a second folder

exit codes: 0 done, 1 unexpected, 2 usage, 3 no index, 4 index locked, damaged, of another
format or model, or not writable, 5 done, but a folder could not be read
"""
ACTIONS = ("full", "update", "status", "remove", "clear")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    given = decoded_arguments(arguments)

    def work() -> int:
        parser = build_parser()
        namespace = parser.parse_args(given)
        if parser.tell(namespace):
            return EXIT_OK
        return _carry_out(namespace, load_settings())

    return run(work, as_json="--json" in given, debug="--debug" in given)


def build_parser() -> Parser:
    """Return the parser."""
    parser = Parser(
        prog="knowledge_index.py",
        description="Index folders of notes for knowledge_search.py.",
        epilog=EPILOG,
        add_help=False,
    )
    actions = parser.add_argument_group("what to do (one of these)")
    actions.add_argument(
        "--full",
        nargs="*",
        action="extend",
        metavar="DIR",
        help="build these folders from scratch, all known ones where none is named",
    )
    actions.add_argument(
        "--update",
        nargs="*",
        action="extend",
        metavar="DIR",
        help="only what was added, changed, renamed or deleted; a new DIR is added",
    )
    actions.add_argument("--status", action="store_true", help="tell what is indexed")
    actions.add_argument("--remove", metavar="DIR", help="take a folder out of the index")
    actions.add_argument("--clear", action="store_true", help="remove the whole index")
    options = parser.add_argument_group("options")
    options.add_argument("--db-path", metavar="PATH", help="folder of the index")
    options.add_argument("--kb", metavar="NAME", help="named index, ~/.lancedb/NAME")
    options.add_argument("--scope", metavar="S", help="scope of files that set none")
    options.add_argument(
        "--exclude",
        action="append",
        metavar="GLOB",
        help="leave files out, in .gitignore syntax; may be repeated; '' forgets earlier ones",
    )
    options.add_argument("--model", metavar="NAME|FOLDER", help="embedding model")
    options.add_argument(
        "--embedder",
        metavar="onnx|sentence-transformers",
        help="what runs the model (default: as before, else onnx)",
    )
    options.add_argument("--yes", action="store_true", help="do not ask before --clear")
    options.add_argument("--json", action="store_true", help="with --status: print JSON")
    parser.add_standard_options(options)
    return parser


def _carry_out(namespace: Namespace, settings: Settings) -> int:
    chosen = [name for name in ACTIONS if getattr(namespace, name) not in (None, False)]
    if len(chosen) != 1:
        said = " and ".join(f"--{name}" for name in chosen)
        raise UsageError(
            f"{said} exclude each other." if chosen else "It is not said what to do.",
            "Say one of --full, --update, --status, --remove, --clear.",
        )
    folder = settings.index_folder(db_path=namespace.db_path, kb=namespace.kb)
    if namespace.status:
        return _status(folder, as_json=namespace.json)
    if namespace.clear:
        return _clear(folder, sure=namespace.yes)
    if namespace.remove is not None:
        return _remove(folder, namespace.remove)
    return _index(namespace, settings, folder)


def _index(namespace: Namespace, settings: Settings, folder: Path) -> int:
    from rag_engine.index.request import IndexRequest
    from rag_engine.index.run import run_index
    from rag_engine.store.manifest import read_manifest

    require_utf_8("--scope", namespace.scope)
    require_utf_8("--exclude", *(namespace.exclude or ()))
    require_utf_8("--model", namespace.model)
    full = namespace.full is not None
    directories = tuple(map(_folder, namespace.full if full else namespace.update))
    if full and not directories and settings.roots and read_manifest(folder) is None:
        directories = settings.roots
    request = IndexRequest(
        folder=folder,
        full=full,
        directories=directories,
        scope=namespace.scope,
        exclude=_patterns(namespace.exclude),
        model=namespace.model,
        engine=namespace.embedder,
        scope_rules=settings.scope_rules,
        always_exclude=settings.exclude,
        max_bytes=settings.max_bytes,
    )
    with ProgressDisplay(terminal=is_terminal(error=True)) as progress:
        report = run_index(request, progress)
    print_text(render_summary(report, folder))
    return FaultsFoundError.exit_code if report.problems else EXIT_OK


def _folder(name: str) -> Path:
    if not name:
        # the current folder to the library; to a script, a variable that it forgot to set
        raise UsageError("The name of a folder is empty.", "Name the folder, . for this one.")
    return Path(name)


def _patterns(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(pattern for pattern in given if pattern)


def _status(folder: Path, *, as_json: bool) -> int:
    from rag_engine.store.status import read_status

    status = read_status(folder)
    if as_json:
        print_json(status.to_dict())
    else:
        print_text(render_status(status))
    return EXIT_OK


def _remove(folder: Path, name: str) -> int:
    from rag_engine.index.run import remove_root

    print_text(render_summary(remove_root(folder, str(_folder(name))), folder))
    return EXIT_OK


def _clear(folder: Path, *, sure: bool) -> int:
    from rag_engine.index.run import clear_index

    if not sure:
        if sys.stdin is None or not sys.stdin.isatty():
            raise UsageError("--clear removes the whole index.", "Confirm it with --yes.")
        print_text(f"Remove the index {folder}? Your notes stay. [y/N] ", error=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise UsageError("Nothing was removed.")
    clear_index(folder)
    print_text(f"Removed the index {folder}; the notes themselves are untouched.")
    return EXIT_OK
