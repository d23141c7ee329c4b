"""The command line of the search: knowledge_search.py and the wrapper end up here."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from rag_engine.cli.arguments import Parser, decoded_arguments
from rag_engine.cli.main import run
from rag_engine.cli.output import is_terminal, print_json, print_text, use_colour
from rag_engine.cli.rendering import render_answer
from rag_engine.config import Settings, home, load_settings
from rag_engine.errors import EXIT_OK, UsageError
from rag_engine.search.audit import append_audit_line, audit_line
from rag_engine.search.engine import SearchContext, search
from rag_engine.search.request import (
    MAX_TOP,
    MODES,
    PRESETS,
    plan_search,
    request_from_texts,
)

EPILOG = """\
presets (a flag beats its preset):
  coding   hybrid, 3 results, prefers scope dev
  audit    hybrid, 5 results, prefers scope dev
  qa       hybrid, 10 results
  fast     full text only, 5 results, the model is never loaded

exit codes: 0 done (also with no result), 1 unexpected, 2 usage, 3 no index,
4 index locked, damaged or of another format or model
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    given = decoded_arguments(arguments)
    options = given[: given.index("--")] if "--" in given else given
    as_json = "--json" in options or not is_terminal()
    debug = "--debug" in options
    asked: list[str] = []

    def work() -> int:
        parser = build_parser()
        namespace = parser.parse_args(given)
        if not parser.tell(namespace):
            if len(namespace.query) != 1:
                raise UsageError(*_wrong_number_of_queries(namespace.query))
            asked.append(namespace.query[0])
            _answer(namespace, load_settings(), as_json=as_json)
        return EXIT_OK

    return run(work, as_json=as_json, debug=debug, query=lambda: asked[0] if asked else None)


def build_parser() -> Parser:
    """Return the parser; every option of the wrapper is here."""
    parser = Parser(
        prog="knowledge_search.py",
        usage='%(prog)s "query" [options]',
        description="Find the passages of your notes that answer a question.",
        epilog=EPILOG,
        add_help=False,
    )
    parser.add_argument("query", nargs="*", help="the question, up to 32 KiB")
    parser.add_argument("--preset", metavar="|".join(PRESETS), help="defaults for a situation")
    parser.add_argument("--mode", metavar="|".join(MODES), help="how to search (default: hybrid)")
    parser.add_argument("--top", metavar="N", help=f"number of results, 1 to {MAX_TOP}")
    parser.add_argument("--scope", metavar="S", help="only documents of this scope")
    parser.add_argument("--tags", metavar="A,B", help="only documents with all of these tags")
    parser.add_argument("--author", metavar="A", help="only documents by this author")
    parser.add_argument("--after", metavar="YYYY-MM-DD", help="only documents of that day or later")
    parser.add_argument("--db-path", metavar="PATH", help="folder of the index")
    parser.add_argument("--kb", metavar="NAME", help="named index, ~/.lancedb/NAME")
    parser.add_argument(
        "--json", action="store_true", help="print JSON on a terminal, too (piped: always)"
    )
    parser.add_standard_options()
    return parser


def _answer(namespace: Namespace, settings: Settings, *, as_json: bool) -> None:
    options = {name: value for name, value in vars(namespace).items() if isinstance(value, str)}
    request = request_from_texts(namespace.query[0], options)
    plan = plan_search(request, default_mode=settings.mode, default_top=settings.top)
    folder = settings.index_folder(db_path=namespace.db_path, kb=namespace.kb)
    answer = search(plan, folder, SearchContext(fusion=settings.fusion))
    if as_json:
        print_json(answer.to_dict())
    else:
        print_text(render_answer(answer, colour=use_colour()))
    if settings.audit_log:
        _log(audit_line(settings.audit_agent, plan, answer))


def _log(line: str) -> None:
    try:
        append_audit_line(home(), line)
    except OSError as error:
        print_text(f"The audit log cannot be written: {error}.", error=True)


def _wrong_number_of_queries(queries: Sequence[str]) -> tuple[str, str]:
    if not queries:
        return (
            "There is no query.",
            'Say what you look for: knowledge_search.py "how do we deploy?"',
        )
    return (
        f"There are {len(queries)} queries: {', '.join(map(repr, queries[:5]))}.",
        "Put the whole question in one pair of quotes.",
    )
