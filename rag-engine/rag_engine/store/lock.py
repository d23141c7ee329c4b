"""One writer: a lock on the index folder that dies with the process that holds it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rag_engine.errors import IndexLockedError, IndexNotWritableError

FILE_NAME = "writer.lock"


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Hold the index folder for writing; makes the folder where it is missing.

    The lock is the kernel's (flock), so it goes when the process goes, however it ends; the
    file's content only tells others who holds it.

    Raises:
        IndexLockedError: Another process holds it; the message says which.
        IndexNotWritableError: The folder cannot be made or written.
    """
    descriptor = _acquire(folder)
    try:
        _sign(descriptor)
        yield
    finally:
        os.close(descriptor)


def _acquire(folder: Path) -> int:
    while True:
        descriptor = _open(folder)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = _holder(descriptor)
            os.close(descriptor)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
            raise IndexLockedError(
                f"The index {folder} is being written by {holder}.",
                "Wait until it has finished, then run the command again.",
            ) from None
        if _is_current(descriptor, folder / FILE_NAME):
            return descriptor
        # the index was removed between opening and locking: others will lock another file
        os.close(descriptor)


def _is_current(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _open(folder: Path) -> int:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(folder / FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise IndexNotWritableError(
            f"The index folder {folder} cannot be written ({error.strerror}).",
            "Check its owner and mode, or name another folder with --db-path.",
        ) from error


def _sign(descriptor: int) -> None:
    holder = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(holder).encode(), 0)


def _holder(descriptor: int) -> str:
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {holder['pid']} on {holder['host']} since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
