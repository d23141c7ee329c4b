"""Reading an index: everything that a search sees is of the one generation that it opened."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from rag_engine.errors import IndexDamagedError, IndexFormatError
from rag_engine.store.analysis import ANALYSIS_VERSION
from rag_engine.store.fulltext import FullTextReader
from rag_engine.store.manifest import REBUILD_HINT, Manifest, no_index, read_manifest
from rag_engine.store.vectors import VectorReader, VectorSearch


class Snapshot:
    """One published generation, opened for reading.

    Attributes:
        folder: Folder of the index.
        manifest: What the generation consists of.
        fulltext: Its full text; also the source of everything an answer shows of a chunk.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest
        self.fulltext = FullTextReader(folder / manifest.fulltext)
        if self.fulltext.chunks != manifest.chunks:
            raise IndexDamagedError(
                f"The full-text index {folder / manifest.fulltext} holds {self.fulltext.chunks} "
                f"chunks, the manifest says {manifest.chunks}.",
                REBUILD_HINT,
            )

    @cached_property
    def vectors(self) -> VectorReader:
        """Its vectors, opened when they are first asked for: importing lancedb is slow."""
        return VectorReader(self.folder, self.manifest.table_version)

    @property
    def vector_search(self) -> VectorSearch:
        """What searches its vectors; a resident process has something faster."""
        return self.vectors


def open_snapshot(folder: Path, kind: type[Snapshot] = Snapshot) -> Snapshot:
    """Open the published generation of an index.

    Args:
        folder: Folder of the index.
        kind: What to open it as.

    Raises:
        NoIndexError: There is no index.
        IndexDamagedError: Its files are missing, damaged or do not agree.
        IndexFormatError: It was written by another version of this program.
    """
    manifest = read_manifest(folder)
    while manifest is not None:
        if manifest.analysis != ANALYSIS_VERSION:
            raise IndexFormatError(
                f"The full text of the index {folder} was made by text analysis "
                f"{manifest.analysis}, this program has {ANALYSIS_VERSION}.",
                "Run knowledge_index.py --update to bring it up to date.",
            )
        try:
            return kind(folder, manifest)
        except IndexDamagedError:
            # the files of a generation go a while after the next one is published
            newer = read_manifest(folder)
            if newer is not None and newer.generation == manifest.generation:
                raise
            manifest = newer
    raise no_index(folder)
