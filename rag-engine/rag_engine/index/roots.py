"""Which roots a run touches, under which labels and options."""

from __future__ import annotations

import stat
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from rag_engine.errors import NoIndexError, UsageError
from rag_engine.index.request import IndexRequest
from rag_engine.store.manifest import Manifest, Root


@dataclass(frozen=True, slots=True)
class RootTask:
    """One root of the next generation, and what to do with it.

    Attributes:
        root: The root with its options for this run.
        active: It is looked at; else its files stay as they are.
        force: Every file is read again, whatever its state.
        within: Only files below these folders (relative to the root) are looked at; empty
            means all.
    """

    root: Root
    active: bool
    force: bool
    within: tuple[str, ...] = ()

    def covers(self, path: str) -> bool:
        """Tell whether a file of the root is looked at in this run."""
        if not self.active:
            return False
        return not self.within or any(path.startswith(f"{folder}/") for folder in self.within)


def resolve_directories(request: IndexRequest) -> tuple[Path, ...]:
    """Return the named folders of notes, absolute and without links.

    Raises:
        UsageError: One does not exist, is no folder, or lies in the folder of the index.
    """
    index = request.folder.resolve()
    directories = tuple(map(_resolve, request.directories))
    for directory in directories:
        if directory.is_relative_to(index):
            # notes among its files could be taken for rests of an old generation, and removed
            raise UsageError(
                f"The notes in {directory} lie in the folder of the index, {index}.",
                "Name another folder with --db-path; it may itself lie among the notes.",
            )
    return directories


def plan_roots(request: IndexRequest, published: Manifest | None) -> list[RootTask]:
    """Return a task for every root that the next generation has, old ones first.

    Args:
        request: The run, its folders as `resolve_directories` gives them.
        published: What is published now.

    Raises:
        NoIndexError: Nothing is named and no root is remembered.
    """
    roots = list(published.roots) if published else []
    if not request.directories:
        if not roots:
            raise NoIndexError(
                f"There is no index in {request.folder}, and no folder is named to build it from.",
                "Name your folder of notes: knowledge_index.py --full DIR",
            )
        return [RootTask(_with_options(root, request), True, request.full) for root in roots]

    within: dict[str, list[str]] = {}
    whole: set[str] = set()
    for directory in request.directories:
        known = next((root for root in roots if root.path == str(directory)), None)
        outer = _innermost_root(roots, directory)
        if known is None and outer is not None:
            # either this is all that is asked for, or the outer root hands these files over
            relative = directory.relative_to(outer.path)
            within.setdefault(outer.label, []).append(str(PurePosixPath(relative)))
            if not request.full:
                continue
        if known is None:
            known = Root(path=str(directory), label=_unique_label(directory, roots))
            roots.append(known)
        whole.add(known.label)

    tasks = []
    for root in roots:
        if root.label in whole:
            tasks.append(RootTask(_with_options(root, request), True, request.full))
        else:
            folders = tuple(within.get(root.label, ()))
            tasks.append(RootTask(root, bool(folders), False, folders))
    return tasks


def find_root(manifest: Manifest, name: str) -> Root:
    """Return the root of that folder or label.

    Raises:
        UsageError: There is none.
    """
    path = str(_absolute(Path(name)))
    for root in manifest.roots:
        if name == root.label or path == root.path:
            return root
    known = ", ".join(root.path for root in manifest.roots) or "none"
    raise UsageError(f"{name} is not a root of this index.", f"Its roots are: {known}")


def nested_roots(root: Root, roots: list[Root]) -> tuple[str, ...]:
    """Return the folders of other roots inside this one, as exclusion patterns.

    A file belongs to the innermost root that holds it, so that no file is indexed twice.
    """
    inside = [
        Path(other.path).relative_to(root.path)
        for other in roots
        if other.path != root.path and Path(other.path).is_relative_to(root.path)
    ]
    return tuple(f"/{_escape(str(PurePosixPath(path)))}/" for path in inside)


def _resolve(directory: Path) -> Path:
    try:
        resolved = _absolute(directory)
        found = stat.S_ISDIR(resolved.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"The folder {directory} does not exist.", "Check the path.") from error
    except OSError as error:
        raise UsageError(
            f"The folder {directory} cannot be read ({error.strerror}).", "Check path and modes."
        ) from error
    if not found:
        raise UsageError(f"{directory} is not a folder.", "Name the folder that holds the notes.")
    try:
        str(resolved).encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"The path of the folder {str(directory)!a} is not valid UTF-8.",
            "Rename it; answers could not name its files.",
        ) from error
    return resolved


def _absolute(path: Path) -> Path:
    """Resolve a path; what no path can be, or a loop of links, becomes a usage error."""
    try:
        return path.expanduser().resolve()
    except (RuntimeError, ValueError) as error:
        raise UsageError(f"{str(path)!a} is no usable path ({error}).", "Check it.") from error


def _innermost_root(roots: list[Root], directory: Path) -> Root | None:
    holding = [root for root in roots if directory.is_relative_to(root.path)]
    return max(holding, key=lambda root: len(root.path), default=None)


def _unique_label(directory: Path, roots: list[Root]) -> str:
    taken = {root.label for root in roots}
    name = directory.name or "root"
    label, number = name, 2
    while label in taken:
        label, number = f"{name}-{number}", number + 1
    return label


def _with_options(root: Root, request: IndexRequest) -> Root:
    return replace(
        root,
        scope=root.scope if request.scope is None else request.scope,
        exclude=root.exclude if request.exclude is None else request.exclude,
    )


def _escape(path: str) -> str:
    """Return a path as a pattern that matches it alone."""
    return "".join(f"\\{char}" if char in "\\*?[]!# " else char for char in path)
