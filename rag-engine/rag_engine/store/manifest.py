"""The manifest: the one small file that says which files make up the published generation.

Readers see a generation only through `manifest.json`; it is replaced atomically, so that they
see the old generation or the new one, never a mixture.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from rag_engine.embed.embedder import ModelIdentity
from rag_engine.errors import (
    IndexDamagedError,
    IndexForeignError,
    IndexFormatError,
    NoIndexError,
)
from rag_engine.store.files import write_atomically

FORMAT = 1
"""Version of the layout of an index folder. docs/index-format.md describes it."""

FILE_NAME = "manifest.json"
MAX_DIMENSION = 65_536
_TELLING_KEYS = {"format", "generation", "table_version", "fulltext"}
REBUILD_HINT = "Run knowledge_index.py --full to build it again; nothing of your notes is lost."


@dataclass(frozen=True, slots=True)
class Root:
    """A folder of notes that the index covers, with the options it is indexed with.

    Attributes:
        path: Absolute path, links resolved.
        label: Short unique name; the first part of `source_file` when there are several roots.
        scope: Scope of files that set none.
        exclude: Patterns in .gitignore syntax, relative to the root.
        device: Device and
        inode: inode of the folder when it was last read. An empty folder that is another one
            is an unmounted disk, not deleted notes.
    """

    path: str
    label: str
    scope: str = ""
    exclude: tuple[str, ...] = ()
    device: int = 0
    inode: int = 0


@dataclass(frozen=True, slots=True)
class Manifest:
    """What makes up one published generation.

    Attributes:
        name: Name of the index, as `--kb` knows it.
        generation: Counts up with every publication.
        created: When it was published, ISO 8601, UTC.
        table_version: Version of the LanceDB table.
        fulltext: Tantivy folder, relative to the index folder.
        files: File with the state of each indexed file, relative to the index folder.
        model: The model its vectors were made with.
        engine: What ran the model last; for information.
        analysis: Version of the text analysis behind the full-text index.
        chunking: Version of the splitting.
        roots: In the order they were added.
        documents: Number of files that have at least one chunk.
        chunks: Number of chunks.
        scopes: Number of chunks by scope.
    """

    name: str
    generation: int
    created: str
    table_version: int
    fulltext: str
    files: str
    model: ModelIdentity
    engine: str
    analysis: int
    chunking: int
    roots: tuple[Root, ...] = ()
    documents: int = 0
    chunks: int = 0
    scopes: dict[str, int] = field(default_factory=dict)
    format: int = FORMAT

    def source_file(self, label: str, path: str) -> str:
        """Return a file's name in answers: with its root's label once there are several roots."""
        return path if len(self.roots) == 1 else f"{label}/{path}"

    def root(self, label: str) -> Root | None:
        """Return the root of that label."""
        return next((root for root in self.roots if root.label == label), None)


def read_manifest(folder: Path) -> Manifest | None:
    """Read the manifest of an index folder; None where there is none.

    Raises:
        IndexDamagedError: It cannot be read or understood.
        IndexFormatError: It is of a newer format than this program knows.
        IndexForeignError: It is whole, but nothing that this program wrote.
    """
    path = folder / FILE_NAME
    try:
        data = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, error) from error
    if isinstance(data, dict) and data and not data.keys() & _TELLING_KEYS:
        # many programs have a manifest.json: a damaged index may be built over, their file not
        raise IndexForeignError(
            f"{path} is not the manifest of an index but a file of another program.",
            "Name another folder with --db-path.",
        )
    if isinstance(data, dict) and isinstance(data.get("format"), int) and data["format"] > FORMAT:
        raise IndexFormatError(
            f"The index {folder} has format {data['format']}, this program knows {FORMAT}.",
            "Update the program, or run knowledge_index.py --clear --yes and --full to start anew.",
        )
    try:
        return _from_dict(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(path, error) from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Publish a manifest: temporary file, fsync, rename, fsync of the folder."""
    data = json.dumps(asdict(manifest), ensure_ascii=False, indent=1).encode()
    write_atomically(folder / FILE_NAME, data)


def no_index(folder: Path, found: str = "") -> NoIndexError:
    """Return the error that says there is no index; `found` is a sentence on what is there."""
    return NoIndexError(
        f"There is no index in {folder}.{f' {found}' if found else ''}",
        "Build one: knowledge_index.py --full DIR, where DIR is your folder of notes.",
    )


def _damaged(path: Path, error: Exception) -> IndexDamagedError:
    # --full alone would need the roots that stand in this very file
    return IndexDamagedError(
        f"The manifest {path} cannot be read ({error}).",
        "Build the index again from your folders of notes: knowledge_index.py --full DIR ...",
    )


def _from_dict(data: Any) -> Manifest:
    roots = tuple(
        Root(**{**root, "exclude": tuple(root.get("exclude", ()))}) for root in data["roots"]
    )
    manifest = Manifest(**{**data, "roots": roots, "model": ModelIdentity(**data["model"])})
    for name in ("fulltext", "files"):
        # a manifest from elsewhere must not make us read, or clean up, outside its folder
        relative = Path(getattr(manifest, name))
        if relative.is_absolute() or ".." in relative.parts:
            raise ValueError(f"{name} leads out of the index folder")
    for root in manifest.roots:
        _require(root, str, "path", "label", "scope")
        _require(root, int, "device", "inode")
    _require(manifest.model, str, "name", "weights")
    _require(manifest.model, int, "dimension", "text_preparation")
    _require(manifest, str, "name", "engine")
    _require(manifest, int, "generation", "table_version", "analysis", "chunking", "format")
    _require(manifest, int, "documents", "chunks")
    _require(manifest, dict, "scopes")
    numbers = (manifest.generation, manifest.table_version, manifest.documents, manifest.chunks)
    if not all(0 <= number < 2**63 for number in numbers):
        raise ValueError("a count is out of range")
    if not 1 <= manifest.model.dimension <= MAX_DIMENSION:
        raise ValueError("the model's dimension is out of range")
    if any(type(count) is not int for count in manifest.scopes.values()):
        raise TypeError("a scope's count is not of type int")
    if any(type(pattern) is not str for root in manifest.roots for pattern in root.exclude):
        raise TypeError("an exclusion is not of type str")
    if len({root.label for root in manifest.roots}) < len(manifest.roots):
        raise ValueError("two roots have one label")
    if datetime.fromisoformat(manifest.created).tzinfo is None:
        raise ValueError("created names no time zone")
    return manifest


def _require(value: Any, kind: type, *names: str) -> None:
    for name in names:
        if type(getattr(value, name)) is not kind:
            raise TypeError(f"{name} is not of type {kind.__name__}")
