"""What is known of an index without searching it."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rag_engine.errors import NoIndexError
from rag_engine.store.file_states import read_states
from rag_engine.store.manifest import read_manifest
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
        found = (
            f" The folder holds tables of other programs: {', '.join(others)}." if others else ""
        )
        raise NoIndexError(
            f"There is no index in {folder}.{found}", "Build one: knowledge_index.py --full DIR"
        )
    files = Counter(state.root for state in read_states(folder / manifest.files) if state.chunks)
    roots = tuple(
        {
            "path": root.path,
            "label": root.label,
            "scope": root.scope,
            "exclude": list(root.exclude),
            "files": files[root.label],
            "present": Path(root.path).is_dir(),
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
    for path in folder.rglob("*"):
        if path.relative_to(folder).parts[0] in foreign or not path.is_file():
            continue
        stat = path.stat()
        sizes[stat.st_ino] = stat.st_size
    return sum(sizes.values())
