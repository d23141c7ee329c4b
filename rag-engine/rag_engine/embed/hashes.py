"""SHA-256 of large files, remembered, so that a search does not hash the model again.

What was hashed is noted in `~/.cache/knowledge-search/verified.json` by the file's real path,
size, times and inode. The note only saves time: where it cannot be read or written, files are
hashed every time.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_FORMAT = 1


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, hexadecimal.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stamps_file() -> Path | None:
    """Return where hashes are remembered, None where this user has no home."""
    try:
        return Path.home() / ".cache" / "knowledge-search" / "verified.json"
    except RuntimeError:  # HOME is unset and the user is not in the password file
        return None


def remembered_hashes(paths: Iterable[Path]) -> dict[Path, str]:
    """Return each file's SHA-256, hashing only what is new or was changed since.

    Raises:
        OSError: A file is missing or cannot be read.
    """
    stamps = _read_stamps()
    hashes: dict[Path, str] = {}
    news: dict[str, list[Any]] = {}
    for path in paths:
        real = str(path.resolve())
        state = _state_of(path)
        stamp = stamps.get(real)
        if stamp is not None and stamp[:-1] == state:
            hashes[path] = stamp[-1]
            continue
        hashes[path] = sha256_of(path)
        if _state_of(path) == state:  # else it changed while it was read
            news[real] = [*state, hashes[path]]
    if news:
        # Read again, as another process may have written meanwhile; drop files that are gone.
        kept = {real: stamp for real, stamp in _read_stamps().items() if Path(real).exists()}
        _write_stamps(kept | news)
    return hashes


def _state_of(path: Path) -> list[int]:
    """Return what changes when a file's content does; ctime catches a restored mtime."""
    stat = path.stat()
    return [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]


def _read_stamps() -> dict[str, list[Any]]:
    path = stamps_file()
    try:
        content = json.loads(path.read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        return {}
    files = content.get("files")
    return {
        real: stamp
        for real, stamp in (files.items() if isinstance(files, dict) else ())
        if isinstance(stamp, list) and len(stamp) == 5 and isinstance(stamp[-1], str)
    }


def _write_stamps(stamps: dict[str, list[Any]]) -> None:
    path = stamps_file()
    if path is None:
        return
    temporary = None
    try:
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        # mkstemp makes the file 0600.
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump({"format": _FORMAT, "files": stamps}, file)
        Path(temporary).replace(path)
    except (OSError, ValueError):
        # A read-only or full disk: hashing again next time is all that is lost.
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
