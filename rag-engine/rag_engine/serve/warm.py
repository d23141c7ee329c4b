"""Indexes and models that stay open between searches."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

from rag_engine.config import Settings
from rag_engine.embed.embedder import Embedder
from rag_engine.errors import KnowledgeError
from rag_engine.search.engine import SearchContext, load_for_index
from rag_engine.store.analysis import analyze
from rag_engine.store.filters import Filters
from rag_engine.store.fulltext import GRAMS, WORDS
from rag_engine.store.manifest import FILE_NAME, Manifest
from rag_engine.store.snapshot import Snapshot, open_snapshot
from rag_engine.store.vectors import MatrixVectors, VectorReader, VectorSearch

MATRIX_ROWS = 50_000
"""Up to this many chunks (100 MB of vectors) are searched as a matrix in memory."""

MAX_INDEXES = 8

Stamp = tuple[int, int, int]


class WarmSnapshot(Snapshot):
    """A generation that stays open, with its vectors in memory where they are not too many."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        super().__init__(folder, manifest)
        self._opening = threading.Lock()
        self._vector_search: VectorSearch | None = None

    @property
    def vector_search(self) -> VectorSearch:
        """A matrix, or LanceDB's own search; made at the first search that asks for it."""
        with self._opening:
            if self._vector_search is None:
                reader = VectorReader(self.folder, self.manifest.table_version)
                small = self.manifest.chunks <= MATRIX_ROWS
                self._vector_search = MatrixVectors(reader) if small else reader
            return self._vector_search


class WarmStore:
    """Keeps the indexes and models that were asked for last.

    An index is opened again when its manifest is another file than before; a search that is
    running keeps the snapshot it began with.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._snapshots: OrderedDict[Path, tuple[Stamp, Snapshot]] = OrderedDict()
        self._models: dict[str, Embedder] = {}

    def context(self, settings: Settings) -> SearchContext:
        """Return where searches under these settings find what they need."""
        return SearchContext(self.open_index, self.load_model, settings.fusion)

    def warm_up(self, folder: Path) -> None:
        """Open an index and its model before anybody asks; what goes wrong the search will tell."""
        with suppress(KnowledgeError):
            snapshot = self.open_index(folder)
            self.load_model(snapshot.manifest).embed_query("warm up")
            _ = snapshot.vector_search
            snapshot.fulltext.search(analyze("预热 warm up"), (WORDS, GRAMS), 1, Filters())

    def open_index(self, folder: Path) -> Snapshot:
        """Return the published generation, opened now or before.

        Raises:
            NoIndexError: There is no index.
            IndexUnusableError: It is damaged or of another version.
        """
        with self._lock:
            stamp = _stamp(folder / FILE_NAME)
            known = self._snapshots.pop(folder, None)
            if known is None or known[0] != stamp:
                # the stamp was taken first: a manifest replaced meanwhile is opened next time
                known = (stamp, open_snapshot(folder, WarmSnapshot))
            self._snapshots[folder] = known
            while len(self._snapshots) > MAX_INDEXES:
                self._snapshots.popitem(last=False)
            return known[1]

    def load_model(self, manifest: Manifest) -> Embedder:
        """Return the model of an index, loaded now or before.

        Raises:
            ModelUnavailableError: It cannot be found or loaded.
            ModelMismatchError: What is found under its name is another model.
        """
        model = manifest.model
        key = f"{model.name}\n{model.weights}\n{model.dimension}\n{model.text_preparation}"
        with self._lock:
            if key not in self._models:
                self._models[key] = load_for_index(manifest)
            return self._models[key]


def _stamp(path: Path) -> Stamp:
    try:
        stat = os.stat(path)  # noqa: PTH116 - the cheapest way, at every search
    except OSError:
        return (0, 0, 0)
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns)
