"""What the index remembers of every file, so that an update reads only what changed."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from rag_engine.errors import IndexDamagedError
from rag_engine.store.files import write_atomically
from rag_engine.store.manifest import REBUILD_HINT


@dataclass(frozen=True, slots=True)
class FileState:
    """One file as it was when it was last read.

    Attributes:
        root: Label of its root.
        path: Relative to the root, with "/".
        size: Bytes.
        mtime_ns: Modification and
        ctime_ns: change time; a change of content moves the latter even where a program sets
            the former back.
        inode: Another file renamed over this one has another inode.
        read_ns: When it was read. A file changed within the clock's granularity of that
            moment could have changed again unseen, and is read again.
        content_hash: SHA-256 of the bytes.
        default_scope: Scope it was given for want of its own.
        chunks: Number of its chunks; 0 for one without text.
        skipped: Why it is not in the index, or "".
    """

    root: str
    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    read_ns: int
    content_hash: str
    default_scope: str
    chunks: int
    skipped: str = ""


_TYPES = [field.type for field in fields(FileState)]


def read_states(path: Path) -> list[FileState]:
    """Read the states that a manifest names.

    Raises:
        IndexDamagedError: The file is missing or cannot be understood.
    """
    try:
        rows = json.loads(path.read_bytes())
        if not isinstance(rows, list):
            raise TypeError("it holds no list")
        return [_state(values) for values in rows]
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise IndexDamagedError(f"{path} cannot be read ({error}).", REBUILD_HINT) from error


def _state(values: list[object]) -> FileState:
    if [type(value).__name__ for value in values] != _TYPES:
        raise TypeError("an entry is not the state of a file")
    return FileState(*values)  # type: ignore[arg-type]


def write_states(path: Path, states: Iterable[FileState]) -> None:
    """Write the states of all files of a generation."""
    rows = [astuple(state) for state in sorted(states, key=lambda state: (state.root, state.path))]
    path.parent.mkdir(exist_ok=True)
    write_atomically(path, json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode())
