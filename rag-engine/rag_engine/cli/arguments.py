"""Parsing of arguments: the user's mistakes become our errors, never argparse's own exit."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from rag_engine import __version__
from rag_engine.cli.output import print_text
from rag_engine.errors import UsageError


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError and takes no abbreviated options."""

    def __init__(self, **options: object) -> None:
        super().__init__(
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **options,  # type: ignore[arg-type]
        )

    def add_standard_options(self, group: argparse._ArgumentGroup | None = None) -> None:
        """Add what every program has: --debug, --version, --help; to a group if one is given."""
        target = group or self
        target.add_argument("--debug", action="store_true", help="show tracebacks of errors")
        target.add_argument("--version", action="store_true", help="print the version and end")
        target.add_argument("--help", "-h", action="store_true", help="print this and end")

    def tell(self, namespace: argparse.Namespace) -> bool:
        """Print help or version where one was asked for; tells whether that was all."""
        if namespace.help:
            print_text(self.format_help().rstrip())
        elif namespace.version:
            print_text(f"knowledge-search {__version__}")
        return bool(namespace.help or namespace.version)

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print."""
        # argparse takes values of options, as the indexer's folders are, on no side of a --
        dash = "stands after --" if self._get_positional_actions() else "is written ./-name"
        hint = f"See {self.prog} --help; what begins with a dash and is no option {dash}."
        raise UsageError(f"{message[:1].upper()}{message[1:]}.", hint)


def require_utf_8(option: str, *values: str | None) -> None:
    """Refuse values that no file of ours could hold.

    Raises:
        UsageError: One is not valid UTF-8.
    """
    for value in values:
        try:
            (value or "").encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                f"{option} {value!a} is not valid UTF-8.", "Send it as UTF-8 text."
            ) from error


def decoded_arguments(arguments: Sequence[str] | None = None) -> list[str]:
    """Return the arguments as UTF-8, whatever the locale that Python decoded them with."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    return [os.fsencode(argument).decode("utf-8", "surrogateescape") for argument in given]
