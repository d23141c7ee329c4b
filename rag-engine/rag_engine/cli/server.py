"""The command line of the resident server: knowledge_server.py."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rag_engine.cli.arguments import Parser, decoded_arguments
from rag_engine.cli.main import run
from rag_engine.cli.output import print_text
from rag_engine.config import load_settings
from rag_engine.errors import EXIT_OK, FaultsFoundError, KnowledgeError, UsageError
from rag_engine.serve import launch
from rag_engine.serve.endpoint import cache_folder, own_endpoint_file
from rag_engine.serve.log import LOG_FILE

ACTIONS = ("start", "stop", "status", "logs", "run")
LOG_LINES = 100
EPILOG = """\
While it runs, the wrapper asks it: a search takes milliseconds instead of seconds. It leaves after
15 idle minutes. KNOWLEDGE_SERVER=off keeps the wrapper from asking it.

exit codes: 0 done, 1 unexpected, 2 usage, 5 no server runs
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    given = decoded_arguments(arguments)

    def work() -> int:
        parser = build_parser()
        namespace = parser.parse_args(given)
        if parser.tell(namespace):
            return EXIT_OK
        return _carry_out(namespace)

    return run(work, as_json=False, debug="--debug" in given)


def build_parser() -> Parser:
    """Return the parser."""
    parser = Parser(
        prog="knowledge_server.py",
        description="The resident server that answers searches in milliseconds.",
        epilog=EPILOG,
        add_help=False,
    )
    parser.add_argument("action", nargs="?", metavar="start|stop|status|logs|run")
    parser.add_argument(
        "--port", type=int, default=0, help="port on 127.0.0.1 (default: a free one)"
    )
    parser.add_argument("--idle-seconds", type=float, help="leave after so long (default: 900)")
    parser.add_argument("--warm", metavar="PATH", help="folder of an index to open at once")
    parser.add_standard_options()
    return parser


def _carry_out(namespace: Namespace) -> int:
    action = namespace.action
    if action not in ACTIONS:
        raise UsageError(f"There is no action {action!r}.", f"Actions: {', '.join(ACTIONS)}.")
    if action == "run":
        return _run(namespace)
    if action == "start":
        return _start(namespace)
    if action == "stop":
        print_text("Stopped." if launch.stop() else "No server is running.")
        return EXIT_OK
    if action == "logs":
        return _logs()
    endpoint = launch.running_server()
    if endpoint is None:
        print_text("No server is running.")
        return FaultsFoundError.exit_code
    print_text(
        f"Serving on 127.0.0.1:{endpoint.port}, process {endpoint.pid}, version "
        f"{endpoint.version}, endpoint file {own_endpoint_file()}"
    )
    return EXIT_OK


def _run(namespace: Namespace) -> int:
    from rag_engine.serve.process import serve

    settings = load_settings()
    if namespace.idle_seconds is not None:
        settings = replace(settings, idle_seconds=namespace.idle_seconds)
    try:
        warm = Path(namespace.warm) if namespace.warm else None
        mine = serve(settings, port=namespace.port, warm=warm)
    except OSError as error:
        raise KnowledgeError(
            f"The server cannot listen on port {namespace.port} ({error.strerror}).",
            "Name another with --port, or none.",
        ) from error
    if not mine:
        print_text("Another process serves already.")
    return EXIT_OK


def _start(namespace: Namespace) -> int:
    running = launch.running_server()
    if running is None:
        process = launch.launch(port=namespace.port, idle_seconds=namespace.idle_seconds)
        running = launch.wait_until_serving(process)
    if running is None:
        raise KnowledgeError("The server did not start.", "knowledge_server.py logs tells why.")
    print_text(f"Serving on 127.0.0.1:{running.port}, process {running.pid}.")
    return EXIT_OK


def _logs() -> int:
    lines: list[str] = []
    for name in (LOG_FILE, launch.CRASH_FILE):
        with suppress(FileNotFoundError):
            text = (cache_folder() / name).read_text(encoding="utf-8", errors="replace")
            lines += text.splitlines()[-LOG_LINES:]
    print_text("\n".join(lines) or "The log is empty.")
    return EXIT_OK
