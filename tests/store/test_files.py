"""Files that are whole or absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rag_engine.store import files
from rag_engine.store.files import remove_folder, sync_files, write_atomically


def test_a_file_is_replaced_whole(folder: Path) -> None:
    """The new content, and nothing beside it."""
    path = folder / "file"
    write_atomically(path, b"old, and longer")
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(folder) == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failure_leaves_the_old_file_and_no_rest(
    folder: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A full disk in the middle of publishing must leave the published index alone."""
    path = folder / "file"
    write_atomically(path, b"old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(*((os, "fsync", fail) if step == "fsync" else (Path, "replace", fail)))
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(folder) == ["file"]


def test_content_is_synced_before_the_rename_and_the_folder_after(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In any other order a power cut can leave a name without its content."""
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def recorded_fsync(descriptor: int) -> None:
        name = Path(os.readlink(f"/proc/self/fd/{descriptor}")).name
        steps.append("sync " + ("folder" if name == folder.name else "file"))
        fsync(descriptor)

    def recorded_replace(self: Path, target: Path) -> Path:
        steps.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(Path, "replace", recorded_replace)
    write_atomically(folder / "file", b"x")
    assert steps == ["sync file", "rename", "sync folder"]


def test_syncing_reaches_files_and_the_folders_of_their_names(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LanceDB syncs nothing itself; a synced file in an unsynced folder can vanish."""
    deep = folder / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").write_bytes(b"x")
    synced: set[str] = set()
    monkeypatch.setattr(os, "fsync", lambda fd: synced.add(os.readlink(f"/proc/self/fd/{fd}")))
    sync_files([deep / "file"])
    assert synced == {str(deep / "file"), str(deep), str(deep.parent)}


def test_a_folder_is_removed_although_a_reader_puts_a_file_into_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tantivy's watching threads make lock files at any moment; a run must not fail by that."""
    rmtree = files.shutil.rmtree
    latecomers = [folder / "a" / "late", folder / "a" / "later"]

    def interrupted(path: Path, ignore_errors: bool) -> None:
        rmtree(path, ignore_errors=ignore_errors)
        if latecomers:
            path.mkdir()
            latecomers.pop().touch()

    (folder / "a" / "b").mkdir(parents=True)
    monkeypatch.setattr(files.shutil, "rmtree", interrupted)
    remove_folder(folder / "a")
    assert not (folder / "a").exists()


def test_a_folder_that_cannot_be_removed_is_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new generation is published by then; what stays is removed by the next run."""
    with monkeypatch.context() as patched:
        patched.setattr(files.shutil, "rmtree", lambda *_, **__: None)
        remove_folder(folder)
    assert folder.is_dir()
    remove_folder(folder / "none")
