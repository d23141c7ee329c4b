"""Reading one note: one moment's content, or a reason why not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rag_engine.corpus import files
from rag_engine.corpus.files import UnreadableFileError, read_file


def test_a_file_is_read_with_the_state_it_had(tmp_path: Path) -> None:
    """The state is that of the bytes, for the comparison at the next run."""
    (tmp_path / "子").mkdir()
    (tmp_path / "子/a.md").write_bytes(b"abc\r\n\0")
    raw, state = read_file(tmp_path, "子/a.md", 100)
    assert raw == b"abc\r\n\0"
    assert state.st_ino == (tmp_path / "子/a.md").stat().st_ino
    assert state.st_size == 6


def test_an_empty_file_is_read(tmp_path: Path) -> None:
    """Emptied notes must be seen as empty, not as unreadable."""
    (tmp_path / "a.md").touch()
    assert read_file(tmp_path, "a.md", 100)[0] == b""


@pytest.mark.parametrize("path", ["gone.md", "gone/a.md", "file.md/a.md"])
def test_a_file_that_is_gone_is_told_apart(tmp_path: Path, path: str) -> None:
    """Its chunks go; those of an unreadable one stay."""
    (tmp_path / "file.md").touch()
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path, path, 100)


def test_a_link_is_refused_at_the_end_and_on_the_way(tmp_path: Path) -> None:
    """A note or folder may be swapped for a link between scan and reading."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("SECRET")
    root = tmp_path / "root"
    root.mkdir()
    (root / "leak.md").symlink_to(outside / "secret.md")
    (root / "out").symlink_to(outside)
    with pytest.raises(UnreadableFileError):
        read_file(root, "leak.md", 100)
    with pytest.raises((UnreadableFileError, FileNotFoundError)):
        read_file(root, "out/secret.md", 100)


def test_a_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    """It may have taken the note's place after the scan."""
    os.mkfifo(tmp_path / "a.md")
    with pytest.raises(UnreadableFileError, match="not a regular file"):
        read_file(tmp_path, "a.md", 100)


def test_a_folder_in_a_notes_place_is_refused(tmp_path: Path) -> None:
    """Likewise."""
    (tmp_path / "a.md").mkdir()
    with pytest.raises(UnreadableFileError):
        read_file(tmp_path, "a.md", 100)


def test_a_file_that_grew_over_the_limit_is_refused(tmp_path: Path) -> None:
    """The limit holds when it is read, not only when it was listed."""
    (tmp_path / "a.md").write_bytes(b"x" * 101)
    with pytest.raises(UnreadableFileError, match="larger than 100 bytes") as caught:
        read_file(tmp_path, "a.md", 100)
    assert caught.value.path == "a.md"


def test_a_file_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason names the permission."""
    (tmp_path / "a.md").touch()
    real = os.open

    def guarded(path: bytes, flags: int, **options: int) -> int:
        if path == b"a.md":
            raise PermissionError(13, "Permission denied")
        return real(path, flags, **options)

    monkeypatch.setattr(os, "open", guarded)
    with pytest.raises(UnreadableFileError, match="no permission"):
        read_file(tmp_path, "a.md", 100)


@pytest.mark.parametrize("changes", [1, 2])
def test_a_file_that_changes_while_it_is_read_is_read_again_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: int
) -> None:
    """Half of one version and half of another is never indexed."""
    note = tmp_path / "a.md"
    note.write_bytes(b"old")
    real = files.read_once
    times = 0

    def racing(root: bytes, path: str, limit: int) -> tuple[bytes, os.stat_result, os.stat_result]:
        nonlocal times
        raw, before, after = real(root, path, limit)
        times += 1
        if times <= changes:
            note.write_bytes(b"newer" * times)
            after = note.stat()
        return raw, before, after

    monkeypatch.setattr(files, "read_once", racing)
    if changes == 1:
        assert read_file(tmp_path, "a.md", 100)[0] == b"newer"
    else:
        with pytest.raises(UnreadableFileError, match="kept changing"):
            read_file(tmp_path, "a.md", 100)


def test_no_handle_stays_open(tmp_path: Path) -> None:
    """Not after success, and not after a failure on the way."""
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/c.md").write_text("x")
    before = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    for path in ("a/b/c.md", "a/b/none.md", "a/none/c.md", "a/b"):
        try:
            read_file(tmp_path, path, 100)
        except (FileNotFoundError, UnreadableFileError):
            continue
    after = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    assert before == after
