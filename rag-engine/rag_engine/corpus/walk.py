"""From a folder to the notes in it. Links are reported, never followed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rag_engine.corpus.files import (
    MAX_BYTES,
    UnreadableFileError,
    read_once,
    reason_of,
    too_large,
)
from rag_engine.corpus.ignore import IGNORE_FILES, Rules, is_ignored
from rag_engine.errors import FaultsFoundError

NOTE_ENDINGS = (b".md", b".markdown", b".mdown", b".mkd", b".mdx")
_MAX_IGNORE_BYTES = 1024 * 1024
_GONE = (FileNotFoundError, NotADirectoryError)


class RootUnavailableError(FaultsFoundError):
    """The root is missing or cannot be listed, which says nothing about its notes."""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A note as the scan saw it.

    Attributes:
        path: Relative to the root, with "/".
        size: In bytes.
        mtime_ns: Time of its last change of content.
        ctime_ns: Time of its last change of any kind; it cannot be set back.
        inode: Its number in the file system.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that is named like a note, or is a folder, and is not read; and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Scan:
    """What is in a root.

    Attributes:
        files: The notes, by path.
        skipped: What a person should hear about, by path.
        unreadable: Folders that could not be listed, or not wholly; what is indexed from
            there must not be taken for deleted.
        ignored: Notes and folders passed over by a rule: hidden, of a tool, ignored, excluded.
    """

    files: tuple[FileEntry, ...]
    skipped: tuple[Skipped, ...]
    unreadable: tuple[str, ...]
    ignored: int


@dataclass(slots=True)
class _Walk:
    """State of one scan. Names are bytes: in no locale does a name change on its way."""

    root: bytes
    real_root: bytes
    exclude: Rules
    max_bytes: int
    files: list[FileEntry] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    unreadable: set[str] = field(default_factory=set)
    ignored: int = 0

    def full(self, path: str) -> bytes:
        return b"/".join((self.root, path.encode())) if path else self.root

    def skip(self, path: str, reason: str) -> None:
        self.skipped.append(Skipped(path, reason))


def scan(root: Path, *, exclude: Sequence[str] = (), max_bytes: int = MAX_BYTES) -> Scan:
    """List the notes of a root.

    Args:
        root: A folder, or a link to one.
        exclude: Patterns in gitignore's syntax, relative to the root. They win over ignore
            files, and a negated one brings back what those or the built-in names leave out.
        max_bytes: Larger files are skipped, and named.

    Raises:
        RootUnavailableError: The root is missing, no folder, cannot be listed, or was taken
            away meanwhile.
    """
    raw = os.fsencode(root)
    before = _identity(raw)
    walk = _Walk(raw, os.path.realpath(raw), Rules("", exclude), max_bytes)
    pending: list[tuple[str, Rules | None]] = [("", None)]
    while pending:
        pending.extend(_scan_folder(walk, *pending.pop()))
    if "" in walk.unreadable or _identity(raw) != before:
        raise RootUnavailableError(
            f"The folder {os.fsdecode(raw)} could not be read, or changed while it was.",
            "Try again once it is back.",
        )
    return Scan(
        tuple(sorted(walk.files, key=lambda entry: entry.path)),
        tuple(sorted(walk.skipped, key=lambda entry: (entry.path, entry.reason))),
        tuple(sorted(walk.unreadable)),
        walk.ignored,
    )


def _identity(root: bytes) -> tuple[int, int]:
    shown = os.fsdecode(root)
    try:
        with os.scandir(root) as entries:
            next(entries, None)
        found = os.stat(root)  # noqa: PTH116 - the path is bytes
    except OSError as error:
        raise RootUnavailableError(
            f"The folder {shown} cannot be read: {error.strerror}.",
            "If it is gone for good, --remove takes it out of the index.",
        ) from error
    return found.st_dev, found.st_ino


def _scan_folder(
    walk: _Walk, folder: str, rules: Rules | None
) -> Iterator[tuple[str, Rules | None]]:
    """Sort the entries of one folder; yields its sub-folders with the rules for them."""
    try:
        with os.scandir(walk.full(folder)) as found:
            entries = list(found)
    except _GONE:
        return
    except OSError:
        walk.unreadable.add(folder)
        return
    base = folder + "/" if folder else ""
    rules = _rules_of(walk, base, {entry.name for entry in entries}, rules)
    for entry in entries:
        if below := _scan_entry(walk, base, entry, rules):
            yield below, rules


def _rules_of(walk: _Walk, base: str, names: set[bytes], parent: Rules | None) -> Rules | None:
    """Add a folder's ignore files to the rules from above; .knowledgeignore comes last."""
    rules = parent
    for name in IGNORE_FILES:
        if name.encode() not in names:
            continue
        try:
            raw = read_once(walk.root, base + name, _MAX_IGNORE_BYTES)[0]
        except _GONE:
            continue
        except (OSError, UnreadableFileError) as error:
            reason = getattr(error, "reason", None) or getattr(error, "strerror", "")
            walk.skip(base + name, f"{reason}; its patterns do not count")
            continue
        lines = raw.decode("utf-8-sig", "replace").splitlines()
        rules = Rules(base, lines, rules, trusted=name == IGNORE_FILES[-1])
    return rules


def _scan_entry(
    walk: _Walk, base: str, entry: os.DirEntry[bytes], rules: Rules | None
) -> str | None:
    """Put an entry where it belongs; returns the path of a folder that is to be entered."""
    note = entry.name.lower().endswith(NOTE_ENDINGS)
    try:
        link = entry.is_symlink()
        folder = entry.is_dir(follow_symlinks=False)
        if not (note or folder or link):
            return None
        try:
            name = entry.name.decode()
        except UnicodeDecodeError:
            if note or folder:
                shown = base + entry.name.decode("utf-8", "backslashreplace")
                walk.skip(shown, "its name is not valid UTF-8")
            return None
        path = base + name
        if is_ignored(path, name, folder=folder, exclude=walk.exclude, rules=rules):
            walk.ignored += note or folder
        elif link:
            _report_link(walk, path, note=note)
        elif folder:
            return path
        else:
            _add_file(walk, path, entry.stat(follow_symlinks=False))
    except _GONE:
        pass
    except OSError as error:
        # The folder can be listed but not entered: all in it may look like gone.
        walk.unreadable.add(base.rstrip("/"))
        walk.skip(base + entry.name.decode("utf-8", "backslashreplace"), reason_of(error))
    return None


def _add_file(walk: _Walk, path: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        walk.skip(path, "not a regular file")
    elif found.st_size > walk.max_bytes:
        walk.skip(path, too_large(found.st_size, walk.max_bytes))
    else:
        walk.files.append(
            FileEntry(path, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
        )


def _report_link(walk: _Walk, path: str, *, note: bool) -> None:
    """Name a link that could have brought notes, and where it leads."""
    full = walk.full(path)
    try:
        folder = stat.S_ISDIR(os.stat(full).st_mode)  # noqa: PTH116 - the path is bytes
    except PermissionError:
        folder, reason = False, "a link to a place that cannot be read"
    except OSError:
        folder, reason = False, "a link that leads nowhere or to itself"
    else:
        target = os.path.realpath(full)
        if os.path.commonpath([target, walk.real_root]) != walk.real_root:
            reason = "a link that leaves the root, not followed"
        elif folder or target.lower().endswith(NOTE_ENDINGS):
            reason = "a link inside the root, not followed; its target counts under its own name"
        else:
            reason = "a link to a file that is not named like a note, not followed"
    if note or folder:
        walk.skip(path, reason)
