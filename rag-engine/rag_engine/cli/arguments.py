"""Parsing of arguments: the user's mistakes become our errors, never argparse's own exit."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from rag_engine.errors import UsageError


class Parser(argparse.ArgumentParser):
    """An argument parser that raises UsageError and takes no abbreviated options."""

    def __init__(self, **options: object) -> None:
        super().__init__(
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **options,  # type: ignore[arg-type]
        )

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
