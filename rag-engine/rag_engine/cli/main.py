"""What every command line does around its own work: errors as data, exit codes, signals."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable

from rag_engine.cli.output import print_json, print_text
from rag_engine.errors import KnowledgeError
from rag_engine.search.answer import error_to_dict

Query = Callable[[], str | None]


def run(work: Callable[[], int], *, as_json: bool, debug: bool, query: Query = lambda: None) -> int:
    """Do the work and return its exit code; a foreseen error is told and gives its own.

    Args:
        work: The command; returns an exit code.
        as_json: Tell errors as one JSON object.
        debug: Show the traceback as well.
        query: Returns the query to name in a JSON error, once it is known.
    """
    try:
        return work()
    except KnowledgeError as error:
        if debug:
            traceback.print_exc()
        _tell(error, as_json=as_json, query=query())
        return error.exit_code
    except KeyboardInterrupt:
        print_text("Interrupted. What is published is whole; run the command again.", error=True)
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # the reader went away (| head); Python would complain again when it flushes at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except SystemExit:
        raise
    # the last resort, so that no traceback reaches a user; a panic of Rust is no Exception
    except BaseException as error:  # noqa: BLE001
        if debug:
            traceback.print_exc()
        unexpected = KnowledgeError(
            f"Something unexpected happened: {type(error).__name__}: {error}.",
            "Run the command again with --debug to see where.",
        )
        _tell(unexpected, as_json=as_json, query=query())
        return KnowledgeError.exit_code


def _tell(error: KnowledgeError, *, as_json: bool, query: str | None) -> None:
    if as_json:
        print_json(error_to_dict(error, query), error=True)
    else:
        print_text(f"Error: {error}", error=True)
