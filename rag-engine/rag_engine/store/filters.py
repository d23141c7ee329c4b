"""Restrictions that every retriever applies before it ranks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Filters:
    """Which documents may be found. Values are data: compared exactly, never parsed.

    Attributes:
        scope: The document's scope.
        tags: The document carries all of them.
        author: One of the document's authors.
        after: The document's date is that day or later; undated documents are out.
    """

    scope: str | None = None
    tags: tuple[str, ...] = ()
    author: str | None = None
    after: date | None = None
