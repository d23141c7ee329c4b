"""Files that must be whole or absent after a kill or a power cut."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

_REMOVAL_ATTEMPTS = 10


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file so that a reader, a kill or a power cut sees the old or the new content."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)


def remove_folder(path: Path) -> None:
    """Remove a folder with all it holds; what cannot be removed stays, without an error.

    Whoever opens a Tantivy folder watches it from a thread, which makes an empty lock file there
    at any moment: a removal can meet a file that was not there when it looked.
    """
    for _ in range(_REMOVAL_ATTEMPTS):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return


def sync(path: Path) -> None:
    """Make a file's content, or a folder's entries, last through a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_files(paths: Iterable[Path]) -> None:
    """Make the content of files, and their names in their folders, last through a power cut."""
    folders: set[Path] = set()
    for path in paths:
        sync(path)
        folders.update((path.parent, path.parent.parent))
    for folder in folders:
        sync(folder)
