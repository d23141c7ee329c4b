"""One writer at a time, by a lock that dies with its process."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from rag_engine.errors import IndexLockedError, IndexNotWritableError
from rag_engine.store import lock
from rag_engine.store.lock import FILE_NAME, writer_lock

ENGINE = Path(__file__).resolve().parents[2] / "rag-engine"
HOLD = """
import sys
from pathlib import Path
from rag_engine.store.lock import writer_lock
with writer_lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_writer_is_refused_until_the_first_is_killed(folder: Path) -> None:
    """A killed run must need no clearing of locks by hand; a living one has to be named."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ENGINE)},
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with (
            pytest.raises(IndexLockedError, match=f"process {holder.pid} on ") as refused,
            writer_lock(folder),
        ):
            pass
        assert refused.value.exit_code == 4
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    with writer_lock(folder):
        pass


def test_the_lock_is_free_after_an_error(folder: Path) -> None:
    """A run that fails must not lock out the next one of the same process."""
    with pytest.raises(ZeroDivisionError), writer_lock(folder):
        _ = 1 / 0
    with writer_lock(folder):
        pass


def test_it_makes_a_folder_for_the_owner_alone(folder: Path) -> None:
    """Notes are private: folders 0700, files 0600, whatever the umask."""
    before = os.umask(0)
    try:
        with writer_lock(folder / "index"):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "index").stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "index" / FILE_NAME).stat().st_mode) == 0o600


def test_a_lock_file_that_says_nonsense_still_locks(folder: Path) -> None:
    """Only the kernel's lock counts; its text is a courtesy."""
    with writer_lock(folder):
        (folder / FILE_NAME).write_text("[not a holder]", encoding="utf-8")
        with pytest.raises(IndexLockedError, match="another process"), writer_lock(folder):
            pass


def test_a_folder_that_cannot_be_made_is_named(folder: Path) -> None:
    """The user has to hear which folder, and which option chooses another."""
    (folder / "file").write_bytes(b"")
    with (
        pytest.raises(IndexNotWritableError, match="--db-path"),
        writer_lock(folder / "file" / "index"),
    ):
        pass


def test_a_lock_file_removed_meanwhile_is_not_taken_for_the_lock(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--clear removes the file; who locked the removed one would write beside the next writer."""
    flock = lock.fcntl.flock
    removed: list[bool] = []

    def flock_after_removal(descriptor: int, operation: int) -> None:
        if not removed:
            removed.append(True)
            (folder / FILE_NAME).unlink()
        flock(descriptor, operation)

    monkeypatch.setattr(lock.fcntl, "flock", flock_after_removal)
    with writer_lock(folder), pytest.raises(IndexLockedError), writer_lock(folder):
        pass
