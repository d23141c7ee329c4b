"""From a path to a note's bytes, as one moment's content; no link on the way is followed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from rag_engine.errors import KnowledgeError

MAX_BYTES = 512 * 1024
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
# Not blocking: a pipe that takes the file's place after the scan must not hang the reader.
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class UnreadableFileError(KnowledgeError):
    """One file cannot be read; the others can.

    Args:
        path: The file, relative to its root.
        reason: Why, in a few words.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}.")
        self.path = path
        self.reason = reason


def read_file(root: Path, path: str, max_bytes: int = MAX_BYTES) -> tuple[bytes, os.stat_result]:
    """Read a note as one moment's content, together with the state it had then.

    Args:
        root: Its root.
        path: Relative to the root; no part of it may be a link.
        max_bytes: A larger file is refused.

    Raises:
        FileNotFoundError: It is gone.
        UnreadableFileError: It is a link, no regular file, too large, not permitted, or kept
            changing while it was read.
    """
    for _ in range(2):
        try:
            raw, before, after = read_once(os.fsencode(root), path, max_bytes)
        except NotADirectoryError as error:
            raise FileNotFoundError(*error.args) from error
        except FileNotFoundError:
            raise
        except OSError as error:
            raise UnreadableFileError(path, reason_of(error)) from error
        same = (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns)
        if same and len(raw) == after.st_size:
            return raw, after
    raise UnreadableFileError(path, "it kept changing while it was read")


def read_once(
    root: bytes, path: str, max_bytes: int
) -> tuple[bytes, os.stat_result, os.stat_result]:
    """Read a file, and its state before and after.

    It is opened folder by folder, so that no part that became a link meanwhile is followed.
    """
    *folders, name = path.encode().split(b"/")
    here = os.open(root, _FOLDER_FLAGS)
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=here)
            os.close(here)
            here = below
        handle = os.open(name, _FILE_FLAGS, dir_fd=here)
    finally:
        os.close(here)
    try:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode):
            raise UnreadableFileError(path, "not a regular file")
        if before.st_size > max_bytes:
            raise UnreadableFileError(path, too_large(before.st_size, max_bytes))
        parts = []
        left = max_bytes + 1
        while left > 0 and (part := os.read(handle, left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts), before, os.fstat(handle)
    finally:
        os.close(handle)


def too_large(size: int, limit: int) -> str:
    """Say why a large file is skipped."""
    return f"larger than {limit:,} bytes ({size:,})"


def reason_of(error: OSError) -> str:
    """Say in a few words what the system refused."""
    if isinstance(error, PermissionError):
        return "no permission to read it"
    return f"cannot be read ({error.strerror or type(error).__name__})"
