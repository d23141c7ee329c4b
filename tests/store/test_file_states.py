"""What the index remembers of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from rag_engine.errors import IndexDamagedError
from rag_engine.store.file_states import FileState, read_states, write_states


def state(root: str, path: str, skipped: str = "") -> FileState:
    """Return a state of a file with odd values where they are allowed."""
    return FileState(root, path, 3, 10**18, 10**18 + 1, 7, 10**18 + 2, "ab" * 32, "dev", 2, skipped)


def test_states_are_read_as_they_were_written(folder: Path) -> None:
    """Names hold any characters; the order is by root and path, so that files compare."""
    path = folder / "files" / "000001.json"
    states = [state("z", "b.md"), state("a", "数 据\n'\".md", "binary"), state("a", "B.md")]
    write_states(path, states)
    assert read_states(path) == [states[2], states[1], states[0]]


@pytest.mark.parametrize(
    "content", [b"", b"[[1, 2", b"[[1, 2]]", b"5", b"[5]", b'{"a": 1}', b"\xff\xfe", b"null"]
)
def test_a_damaged_file_is_named(folder: Path, content: bytes) -> None:
    """Taken for an empty list it would make every note new; the user has to be told instead."""
    path = folder / "000001.json"
    path.write_bytes(content)
    with pytest.raises(IndexDamagedError, match=r"000001\.json"):
        read_states(path)


def test_a_missing_file_is_damage(folder: Path) -> None:
    """The manifest named it, so it has to be there."""
    with pytest.raises(IndexDamagedError):
        read_states(folder / "000001.json")
