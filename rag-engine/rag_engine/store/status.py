"""What is known of an index without searching it."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag_engine.store.file_states import read_states
from rag_engine.store.manifest import no_index, read_manifest
from rag_engine.store.vectors import other_tables


@dataclass(frozen=True, slots=True)
class Status:
    """State of an index.

    Attributes:
        folder: Its folder.
        generation: Published generation.
        updated: When that was published, ISO 8601.
        documents: Files with chunks.
        chunks: Chunks.
        model: Name of the embedding model.
        dimension: Length of its vectors.
        engine: What ran it last.
        scopes: Chunks by scope.
        roots: For each root path, label, scope, exclude, files, present.
        bytes: Size on disk.
        other_tables: LanceDB tables of other programs in the same folder.
    """

    folder: str
    generation: int
    updated: str
    documents: int
    chunks: int
    model: str
    dimension: int
    engine: str
    scopes: dict[str, int]
    roots: tuple[dict[str, Any], ...]
    bytes: int
    other_tables: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the status as a JSON object."""
        return {"schema_version": "1.0", **asdict(self)}


def read_status(folder: Path) -> Status:
    """Read the status of an index.

    Raises:
        NoIndexError: There is none.
        IndexUnusableError: It is damaged or of a newer format.
    """
    manifest = read_manifest(folder)
    others = tuple(other_tables(folder))
    if manifest is None:
        raise no_index(
            folder,
            f"The folder holds tables of other programs: {', '.join(others)}." if others else "",
        )
    files = Counter(state.root for state in read_states(folder / manifest.files) if state.chunks)
    roots = tuple(
        {
            "path": root.path,
            "label": root.label,
            "scope": root.scope,
            "exclude": list(root.exclude),
            "files": files[root.label],
            "present": os.path.isdir(root.path),  # noqa: PTH112 - False where it may not be seen
        }
        for root in manifest.roots
    )
    return Status(
        folder=str(folder),
        generation=manifest.generation,
        updated=manifest.created,
        documents=manifest.documents,
        chunks=manifest.chunks,
        model=manifest.model.name,
        dimension=manifest.model.dimension,
        engine=manifest.engine,
        scopes=manifest.scopes,
        roots=roots,
        bytes=_size(folder, others),
        other_tables=others,
    )


def _size(folder: Path, others: tuple[str, ...]) -> int:
    """Return the bytes on disk; hard links of one file count once, other programs' not at all."""
    foreign = {f"{name}.lance" for name in others}
    sizes: dict[int, int] = {}
    # an indexer that runs meanwhile removes files and folders: os.walk passes over what has gone
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in foreign or Path(place) != folder]
        for name in names:
            with suppress(FileNotFoundError):
                found = Path(place, name).lstat()
                sizes[found.st_ino] = found.st_size
    return sum(sizes.values())
