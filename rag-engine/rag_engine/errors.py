"""Every error that a user can meet, and the exit code it ends a program with.

KnowledgeError                 1  anything else that was foreseen
├── UsageError                 2  the call itself is wrong
├── NoIndexError               3  there is no index yet
├── IndexUnusableError         4  there is one, but it cannot be used
│   ├── IndexLockedError          another process is writing it
│   ├── IndexDamagedError         its files do not agree or cannot be read
│   ├── IndexFormatError          written by another version of this program
│   ├── IndexForeignError         its manifest is the file of another program
│   ├── IndexNotWritableError     its folder cannot be written
│   └── ModelMismatchError        built with another model than the one at hand
├── FaultsFoundError           5  a check did not hold, something needs attention
├── ModelUnavailableError      1  the embedding model cannot be found or loaded
└── DependencyMissingError     1  a Python package is not installed

A message says what happened and where; a hint says what to do next.
"""

from __future__ import annotations

EXIT_OK = 0


class KnowledgeError(Exception):
    """A foreseen failure, told to the user as data, never as a traceback.

    Args:
        message: What happened, and where.
        hint: What to do next; empty where there is nothing sensible to say.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Return message and hint as the one text that users see."""
        return f"{self.message} {self.hint}" if self.hint else self.message


class UsageError(KnowledgeError):
    """The call itself is wrong: an unknown preset, an empty query, a bad date."""

    exit_code = 2


class NoIndexError(KnowledgeError):
    """There is no index at the given place yet."""

    exit_code = 3


class IndexUnusableError(KnowledgeError):
    """There is an index, but it cannot be used as it is."""

    exit_code = 4


class IndexLockedError(IndexUnusableError):
    """Another process is writing this index."""


class IndexDamagedError(IndexUnusableError):
    """The index's files do not agree with each other, or cannot be read."""


class IndexFormatError(IndexUnusableError):
    """The index was written by another version of this program."""


class IndexForeignError(IndexUnusableError):
    """What is taken for the index is something of another program."""


class IndexNotWritableError(IndexUnusableError):
    """The folder of the index cannot be written."""


class ModelMismatchError(IndexUnusableError):
    """The index was built with another model, dimension or text preparation."""


class FaultsFoundError(KnowledgeError):
    """A check did not hold: a root is missing, an evaluation is below its floor."""

    exit_code = 5


class ModelUnavailableError(KnowledgeError):
    """The embedding model cannot be found, verified or loaded."""


class DependencyMissingError(KnowledgeError):
    """A Python package that this function needs is not installed."""
