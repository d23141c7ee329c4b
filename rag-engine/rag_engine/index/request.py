"""What an indexing run is asked to do, and what it reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rag_engine.corpus.files import MAX_BYTES
from rag_engine.corpus.walk import Skipped

Progress = Callable[[str, int, int], None]
"""Told (stage, done, total): stages "reading" (files) and "embedding" (chunks)."""

DEFAULT_MAX_BYTES = MAX_BYTES


@dataclass(frozen=True, slots=True)
class ScopeRule:
    """Gives a scope to files that set none.

    Attributes:
        pattern: .gitignore syntax, matched against the path relative to its root.
        scope: The scope.
    """

    pattern: str
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRequest:
    """One indexing run.

    Attributes:
        folder: Folder of the index.
        full: Build the named roots (all, where none is named) from scratch; else only what
            changed.
        directories: Folders of notes: new roots, roots, or (for an update) folders in one.
        scope: Scope of files that set none, stored with the named roots; None keeps theirs.
        exclude: Patterns to leave out, stored likewise.
        model: Name or folder of the embedding model; None keeps the index's, else the default.
        engine: What runs the model; None keeps the index's, else the default.
        scope_rules: Scopes by path; the first that matches counts.
        always_exclude: Patterns to leave out of every root.
        max_bytes: Larger files are skipped.
    """

    folder: Path
    full: bool
    directories: tuple[Path, ...] = ()
    scope: str | None = None
    exclude: tuple[str, ...] | None = None
    model: str | None = None
    engine: str | None = None
    scope_rules: tuple[ScopeRule, ...] = ()
    always_exclude: tuple[str, ...] = ()
    max_bytes: int = DEFAULT_MAX_BYTES


@dataclass(slots=True)
class IndexReport:
    """What an indexing run did.

    Attributes:
        generation: The published generation after the run.
        files: Files in the index that have chunks.
        chunks: Chunks in the index.
        added: Files that are new, without those renamed.
        changed: Files whose content or options changed.
        renamed: Files found again under another name.
        removed: Files that have gone, without those renamed.
        unchanged: Files left as they were.
        empty: Files without text.
        embedded: Texts that went through the model.
        reused: Chunks whose vectors were there already.
        skipped: Files that are not in the index, with the reason.
        ignored: Files and folders that ignore files and exclusions leave out.
        warnings: Oddities of files that are in the index.
        problems: What needs attention: roots or folders that cannot be read. Their files stay
            in the index as they were.
        seconds: Duration.
    """

    generation: int = 0
    files: int = 0
    chunks: int = 0
    added: int = 0
    changed: int = 0
    renamed: int = 0
    removed: int = 0
    unchanged: int = 0
    empty: int = 0
    embedded: int = 0
    reused: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    ignored: int = 0
    warnings: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0
