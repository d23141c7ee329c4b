"""Comparing the roots with what the index remembers: what has to be read, kept, dropped."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rag_engine.corpus.files import UnreadableFileError, read_file
from rag_engine.corpus.walk import FileEntry, RootUnavailableError, Scan, Skipped, scan
from rag_engine.index.request import IndexReport, IndexRequest
from rag_engine.index.roots import RootTask, nested_roots
from rag_engine.index.scopes import ScopeRules
from rag_engine.store.file_states import FileState
from rag_engine.store.manifest import Root

CLOCK_GRANULARITY_NS = 2_000_000_000
"""Two changes of a file closer than this can leave the same times (FAT: 2 s)."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to read: new, changed, or of a root that is built from scratch."""

    root: Root
    entry: FileEntry
    default_scope: str
    previous: FileState | None


@dataclass(slots=True)
class Diff:
    """What a run has to do.

    Attributes:
        roots: All roots of the next generation.
        to_read: Files whose content has to be indexed.
        kept: States of files that stay as they are; refreshed where only their times moved.
        removed: Files that have gone.
        refreshed: Whether a kept state differs from what the index remembers.
    """

    roots: list[Root] = field(default_factory=list)
    to_read: list[Candidate] = field(default_factory=list)
    kept: list[FileState] = field(default_factory=list)
    removed: list[FileState] = field(default_factory=list)
    refreshed: bool = False


def compare(
    tasks: Sequence[RootTask],
    states: Sequence[FileState],
    request: IndexRequest,
    report: IndexReport,
) -> Diff:
    """Scan the roots and compare them with the remembered states.

    Problems, skipped files and counts of unchanged files go into the report.
    """
    diff = Diff()
    by_root: dict[str, dict[str, FileState]] = {task.root.label: {} for task in tasks}
    for state in states:
        if state.root in by_root:
            by_root[state.root][state.path] = state
        else:
            # a manifest that a person took a root out of
            diff.removed.append(state)
    for task in tasks:
        known = by_root[task.root.label]
        root, found = _scan(task, [other.root for other in tasks], bool(known), request, report)
        diff.roots.append(root)
        if found is None:
            diff.kept += known.values()
            continue
        _compare_root(replace(task, root=root), found, known, diff, request, report)
    return diff


def _scan(
    task: RootTask,
    roots: list[Root],
    has_files: bool,
    request: IndexRequest,
    report: IndexReport,
) -> tuple[Root, Scan | None]:
    """Scan a root; None where it is not looked at, or must not be believed."""
    root = task.root
    if not task.active:
        return root, None
    folder = Path(root.path)
    exclude = (*request.always_exclude, *root.exclude, *nested_roots(root, roots))
    try:
        found = scan(folder, exclude=exclude, max_bytes=request.max_bytes)
        stat = folder.stat()
    except (RootUnavailableError, OSError) as error:
        report.problems.append(f"{error} Its files stay in the index as they were.")
        return root, None
    same_folder = (root.device, root.inode) == (stat.st_dev, stat.st_ino)
    if has_files and not same_folder and not any(folder.iterdir()):
        report.problems.append(
            f"The folder {root.path} is empty and not the one that was indexed (an unmounted "
            "disk?). Its files stay in the index as they were; --remove takes them out."
        )
        return root, None
    report.ignored += found.ignored
    for unreadable in found.unreadable:
        report.problems.append(
            f"The folder {root.label}/{unreadable} cannot be read. Its files stay in the index "
            "as they were."
        )
    return replace(root, device=stat.st_dev, inode=stat.st_ino), found


def _compare_root(
    task: RootTask,
    found: Scan,
    known: dict[str, FileState],
    diff: Diff,
    request: IndexRequest,
    report: IndexReport,
) -> None:
    root = task.root
    rules = ScopeRules(request.scope_rules)
    here: set[str] = set()
    for entry in found.files:
        here.add(entry.path)
        previous = known.get(entry.path)
        if not task.covers(entry.path):
            diff.kept += [previous] if previous else []
            continue
        candidate = Candidate(root, entry, root.scope or rules.scope_of(entry.path), previous)
        _compare_file(candidate, task.force, diff, request, report)
    report.skipped += [
        Skipped(f"{root.label}/{skip.path}", skip.reason)
        for skip in found.skipped
        if task.covers(skip.path)
    ]
    for path, state in known.items():
        if path in here:
            continue
        hidden = any(path.startswith(f"{folder}/") for folder in found.unreadable)
        if hidden or not task.covers(path):
            diff.kept.append(state)
        else:
            diff.removed.append(state)


def _compare_file(
    candidate: Candidate, force: bool, diff: Diff, request: IndexRequest, report: IndexReport
) -> None:
    previous, entry = candidate.previous, candidate.entry
    if previous is None:
        diff.to_read.append(candidate)
        return
    same_options = previous.default_scope == candidate.default_scope and not force
    if same_options and _times(previous) == _times(entry) and settled(previous):
        _keep(previous, diff, report)
        return
    read_ns = time.time_ns()
    try:
        raw, stat = read_file(Path(candidate.root.path), entry.path, request.max_bytes)
    except FileNotFoundError:
        diff.removed.append(previous)
        return
    except UnreadableFileError as error:
        # what cannot be read has not been deleted
        report.skipped.append(Skipped(f"{previous.root}/{previous.path}", error.reason))
        diff.kept.append(previous)
        return
    if not same_options or hashlib.sha256(raw).hexdigest() != previous.content_hash:
        diff.to_read.append(candidate)
        return
    refreshed = replace(
        previous,
        size=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
        ctime_ns=stat.st_ctime_ns,
        inode=stat.st_ino,
        read_ns=read_ns,
    )
    diff.refreshed = True
    _keep(refreshed, diff, report)


def _keep(state: FileState, diff: Diff, report: IndexReport) -> None:
    diff.kept.append(state)
    if state.skipped:
        report.skipped.append(Skipped(f"{state.root}/{state.path}", state.skipped))
    elif not state.chunks:
        report.empty += 1
    report.unchanged += 1


def settled(state: FileState) -> bool:
    """Tell whether a later change of the file must show in its times."""
    changed = max(state.mtime_ns, state.ctime_ns)
    return changed < state.read_ns - CLOCK_GRANULARITY_NS


def _times(file: FileState | FileEntry) -> tuple[int, int, int, int]:
    return (file.size, file.mtime_ns, file.ctime_ns, file.inode)
