"""Writing an index: the next generation is built beside the published one, then published.

The order of steps is what makes a kill at any moment harmless: both stores are written under
names that no manifest knows, their files are synced, the manifest is replaced, and only then is
anything old removed. docs/index-format.md tells it with the reasons.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rag_engine.errors import IndexNotWritableError
from rag_engine.store.analysis import ANALYSIS_VERSION
from rag_engine.store.file_states import FileState, write_states
from rag_engine.store.files import remove_folder, sync
from rag_engine.store.fulltext import FullTextWriter
from rag_engine.store.journal import FILE_NAME as JOURNAL_FILE
from rag_engine.store.lock import FILE_NAME as LOCK_FILE
from rag_engine.store.manifest import FILE_NAME as MANIFEST_FILE
from rag_engine.store.manifest import Manifest, write_manifest
from rag_engine.store.records import ChunkRecord
from rag_engine.store.vectors import TABLE, VectorWriter

if TYPE_CHECKING:
    from rag_engine.embed.embedder import Vectors

GRACE = timedelta(minutes=10)
"""How long files of an old generation stay for searches that have just opened it."""

# lancedb and tantivy have no error class of their own for a failed write
_WRITE_ERRORS = (OSError, RuntimeError, ValueError)

FULLTEXT_FOLDER = "fulltext"
FILES_FOLDER = "files"
_GENERATION = re.compile(r"[0-9]{6,}")


class GenerationWriter:
    """Writes the rows of the next generation to both stores.

    Args:
        folder: Folder of the index, locked by the caller.
        published: Generation to begin from; None begins with nothing.
        dimension: Length of the vectors.
    """

    def __init__(self, folder: Path, *, published: Manifest | None, dimension: int) -> None:
        self._folder = folder
        self.generation = next_generation(folder, published)
        reusable = published is not None and published.analysis == ANALYSIS_VERSION
        self._rebuild_fulltext = published is not None and not reusable
        clone_of = folder / published.fulltext if published and reusable else None
        with _writing(folder):
            self._vectors = VectorWriter(
                folder, dimension, published.table_version if published else None
            )
            self._fulltext = FullTextWriter(self._fulltext_folder(), clone_of=clone_of)

    def delete_files(self, files: Iterable[tuple[str, str]]) -> None:
        """Delete all chunks of the given files (root label, path); to be called before `add`."""
        wanted = list(files)
        with _writing(self._folder):
            self._vectors.delete_files(wanted)
            for root, path in wanted:
                self._fulltext.delete_file(root, path)

    def add(self, records: Sequence[ChunkRecord], vectors: Vectors) -> None:
        """Add chunks; vectors has the shape (len(records), dimension)."""
        with _writing(self._folder):
            self._vectors.add(records, vectors)
            self._fulltext.add(records)

    def chunk_ids(self) -> list[str]:
        """Return the ids of all chunks written or kept so far."""
        return self._vectors.column("chunk_id")

    def scopes(self) -> dict[str, int]:
        """Return the number of chunks by scope, written or kept so far."""
        return dict(Counter(self._vectors.column("scope")))

    def finish(self) -> tuple[int, str]:
        """Complete both stores; returns the table version and the full-text folder to publish."""
        with _writing(self._folder):
            return self._finish()

    def _finish(self) -> tuple[int, str]:
        version = self._vectors.finish()
        self._fulltext.commit()
        if self._rebuild_fulltext or self._fulltext.worn():
            worn = self._fulltext.folder
            self.generation += 1
            self._fulltext = FullTextWriter(self._fulltext_folder())
            self._fulltext.add(
                sorted(self._vectors.records(), key=lambda r: (r.root, r.path, r.line_start))
            )
            self._fulltext.commit()
            remove_folder(worn)
        sync(self._fulltext.folder.parent)
        return version, str(self._fulltext.folder.relative_to(self._folder))

    def clean(self) -> None:
        """Remove old versions of the table; to be called only after publishing."""
        with _writing(self._folder):
            self._vectors.clean(GRACE)

    def _fulltext_folder(self) -> Path:
        return self._folder / FULLTEXT_FOLDER / f"{self.generation:06d}"


def publish(
    folder: Path,
    manifest: Manifest,
    states: Iterable[FileState],
    replaced: Manifest | None = None,
) -> Manifest:
    """Write the file states and replace the manifest; returns the manifest as published.

    Args:
        folder: Folder of the index.
        manifest: What is published; its time and the name of its file states are set here.
        states: States of all files.
        replaced: What was published before.
    """
    published = replace(
        manifest,
        created=datetime.now(UTC).isoformat(timespec="milliseconds"),
        files=f"{FILES_FOLDER}/{manifest.generation:06d}.json",
    )
    write_states(folder / published.files, states)
    write_manifest(folder, published)
    for name in {replaced.fulltext, replaced.files} if replaced else ():
        # its grace begins now: until now a search could open it
        with suppress(FileNotFoundError):
            os.utime(folder / name)
    return published


def remove_old_files(folder: Path, manifest: Manifest) -> None:
    """Remove what no manifest names any more, once it is older than the grace."""
    oldest = time.time() - GRACE.total_seconds()
    kept = {folder / manifest.fulltext, folder / manifest.files}
    for path in [*_numbered(folder), *_left_by_kills(folder)]:
        if path in kept or path.stat().st_mtime > oldest:
            continue
        _remove(path)


def remove_index(folder: Path) -> None:
    """Remove an index whole; what other programs and people keep in its folder stays."""
    (folder / MANIFEST_FILE).unlink()
    for path in [folder / f"{TABLE}.lance", *_numbered(folder), *_left_by_kills(folder)]:
        _remove(path)
    for name in (JOURNAL_FILE, LOCK_FILE):
        (folder / name).unlink(missing_ok=True)
    for emptied in (folder / FULLTEXT_FOLDER, folder / FILES_FOLDER, folder):
        with suppress(OSError):
            emptied.rmdir()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        remove_folder(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Tell a full disk, a read-only folder and the like as what they are."""
    try:
        yield
    except _WRITE_ERRORS as error:
        raise not_writable(folder, error) from error


def not_writable(folder: Path, error: Exception) -> IndexNotWritableError:
    """Return the error that says an index cannot be written."""
    reason = str(error).strip().split("\n")[0]
    return IndexNotWritableError(
        f"The index {folder} cannot be written ({reason}).",
        "Check free space, owner and mode of the folder; what was published is untouched.",
    )


@contextmanager
def private_files() -> Iterator[None]:
    """Make files and folders readable by their owner alone while writing."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def next_generation(folder: Path, published: Manifest | None) -> int:
    """Return a number above every generation, published or left behind by a killed run."""
    numbers = [int(path.stem) for path in _numbered(folder)]
    return max([published.generation if published else 0, *numbers]) + 1


def _numbered(folder: Path) -> list[Path]:
    """Return what belongs to one generation each.

    Names are matched exactly: the folder of an index can be one that a person keeps other things
    in, under names as common as "files", and what is found here is removed sooner or later.
    """
    paths = [*(folder / FULLTEXT_FOLDER).glob("*"), *(folder / FILES_FOLDER).glob("*.json")]
    return [
        path
        for path in paths
        if _GENERATION.fullmatch(path.stem if path.parent.name == FILES_FOLDER else path.name)
    ]


def _left_by_kills(folder: Path) -> list[Path]:
    """Return temporary files of writers that did not live to rename them."""
    return [
        *folder.glob(f".{MANIFEST_FILE}.[0-9]*"),
        *(folder / FILES_FOLDER).glob(".[0-9]*.json.[0-9]*"),
    ]
