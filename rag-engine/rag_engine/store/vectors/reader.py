"""Searching the table of vectors at one version."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_engine.store.filters import Filters
from rag_engine.store.records import ChunkRecord
from rag_engine.store.vectors.table import (
    LANCE_ERRORS,
    damaged,
    matrix_of,
    open_table,
    quote,
    records_of,
)

if TYPE_CHECKING:
    from rag_engine.embed.embedder import Vectors

_HASHES_PER_LOOKUP = 500


class VectorReader:
    """Searches the table at one version.

    Args:
        folder: Folder of the index.
        version: The published version.

    Raises:
        IndexDamagedError: The table or that version is not there.
    """

    def __init__(self, folder: Path, version: int) -> None:
        self._table = open_table(folder)
        try:
            self._table.checkout(version)
        except LANCE_ERRORS as error:
            raise damaged(folder, error) from error
        self._folder = folder

    def search(self, vector: Vectors, limit: int, filters: Filters) -> list[tuple[str, float]]:
        """Return (chunk id, cosine) of the nearest chunks, ties by chunk id.

        Args:
            vector: L2-normalised query, shape (dimension,).
            limit: Greatest number of hits.
            filters: Applied before ranking.
        """
        # a few more than wanted, so that ties at the end are broken by id and not by position
        nearest: Any = self._table.search(vector, query_type="vector")
        query = (
            nearest.distance_type("cosine")
            .select(["chunk_id", "_distance"])
            .limit(limit + 32)
        )
        if condition := where(filters):
            query = query.where(condition, prefilter=True)
        try:
            found = query.to_arrow()
        except LANCE_ERRORS as error:
            raise damaged(self._folder, error) from error
        pairs = zip(
            found["chunk_id"].to_pylist(),
            (1.0 - distance for distance in found["_distance"].to_pylist()),
            strict=True,
        )
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def chunk_ids(self) -> list[str]:
        """Return the ids of all rows, sorted."""
        return sorted(self._table.search().select(["chunk_id"]).to_arrow()["chunk_id"].to_pylist())

    def vectors_by_hash(self, hashes: Iterable[str]) -> dict[str, Vectors]:
        """Return the vectors of those embedding hashes that the table holds."""
        wanted = list(dict.fromkeys(hashes))
        found: dict[str, Vectors] = {}
        for start in range(0, len(wanted), _HASHES_PER_LOOKUP):
            block = wanted[start : start + _HASHES_PER_LOOKUP]
            condition = f"embedding_hash IN ({', '.join(map(quote, block))})"
            rows = (
                self._table.search()
                .where(condition)
                .select(["embedding_hash", "vector"])
                .to_arrow()
            )
            matrix = matrix_of(rows["vector"])
            found.update(zip(rows["embedding_hash"].to_pylist(), matrix, strict=True))
        return found

    def records(self) -> list[ChunkRecord]:
        """Return all rows without their vectors."""
        columns = [name for name in self._table.schema.names if name != "vector"]
        return records_of(self._table.search().select(columns).to_arrow())


def where(filters: Filters) -> str:
    """Return the filters as a condition in LanceDB's SQL, or ""."""
    conditions = []
    if filters.scope is not None:
        conditions.append(f"scope = {quote(filters.scope)}")
    if filters.tags:
        conditions.append(f"array_has_all(tags, [{', '.join(map(quote, filters.tags))}])")
    if filters.author is not None:
        conditions.append(f"array_has(authors, {quote(filters.author)})")
    if filters.after is not None:
        conditions.append(f"date >= date '{filters.after.isoformat()}'")
    return " AND ".join(conditions)
