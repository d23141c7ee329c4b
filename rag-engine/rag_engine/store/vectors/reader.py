"""Searching the table of vectors at one version."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rag_engine.store.filters import Filters
from rag_engine.store.records import ChunkRecord
from rag_engine.store.vectors.table import (
    check_versions,
    damage_named,
    matrix_of,
    open_table,
    quote,
    read_records,
)

if TYPE_CHECKING:
    from rag_engine.embed.embedder import Vectors

_HASHES_PER_LOOKUP = 500


@dataclass(frozen=True, slots=True)
class FilterValues:
    """What filters ask of a row."""

    scope: str
    tags: tuple[str, ...]
    authors: tuple[str, ...]
    date: date | None


class VectorSearch(Protocol):
    """Finds the nearest chunks, exactly."""

    def search(self, vector: Vectors, limit: int, filters: Filters) -> list[tuple[str, float]]:
        """Return (chunk id, cosine) of the nearest chunks, ties by chunk id."""


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
        with damage_named(folder):
            self._table.checkout(version)
        self._folder = folder

    def verify(self) -> None:
        """Read everything that a writer would build on.

        Raises:
            IndexDamagedError: Some of it cannot be read.
        """
        with damage_named(self._folder):
            for _ in self._table.search().to_batches():
                pass
        check_versions(self._table, self._folder)

    def search(self, vector: Vectors, limit: int, filters: Filters) -> list[tuple[str, float]]:
        """Return (chunk id, cosine) of the nearest chunks, ties by chunk id.

        Args:
            vector: L2-normalised query, shape (dimension,).
            limit: Greatest number of hits.
            filters: Applied before ranking.
        """
        nearest: Any = self._table.search(vector, query_type="vector")
        query = nearest.distance_type("cosine").select(["chunk_id", "_distance"])
        if condition := where(filters):
            query = query.where(condition, prefilter=True)
        wanted = limit + 32
        while True:
            with damage_named(self._folder):
                found = query.limit(wanted).to_arrow()
            distances = found["_distance"].to_pylist()
            # all that tie with the last wanted one, so that ids break the tie and not positions
            if len(distances) < wanted or distances[-1] > distances[limit - 1]:
                break
            wanted *= 2
        pairs = zip(
            found["chunk_id"].to_pylist(), (1.0 - distance for distance in distances), strict=True
        )
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def chunk_ids(self) -> list[str]:
        """Return the ids of all rows, sorted."""
        with damage_named(self._folder):
            rows = self._table.search().select(["chunk_id"]).to_arrow()
        return sorted(rows["chunk_id"].to_pylist())

    def vectors_by_hash(self, hashes: Iterable[str]) -> dict[str, Vectors]:
        """Return the vectors of those embedding hashes that the table holds."""
        wanted = list(dict.fromkeys(hashes))
        found: dict[str, Vectors] = {}
        for start in range(0, len(wanted), _HASHES_PER_LOOKUP):
            block = wanted[start : start + _HASHES_PER_LOOKUP]
            condition = f"embedding_hash IN ({', '.join(map(quote, block))})"
            query = self._table.search().where(condition).select(["embedding_hash", "vector"])
            with damage_named(self._folder):
                rows = query.to_arrow()
            matrix = matrix_of(rows["vector"])
            found.update(zip(rows["embedding_hash"].to_pylist(), matrix, strict=True))
        return found

    def rows(self) -> tuple[list[str], Vectors, list[FilterValues]]:
        """Return every row's id, its vector (shape: rows, dimension) and what filters ask for."""
        columns = ["chunk_id", "scope", "tags", "authors", "date"]
        with damage_named(self._folder):
            table = self._table.search().select([*columns, "vector"]).to_arrow()
        values = [
            FilterValues(row["scope"], tuple(row["tags"]), tuple(row["authors"]), row["date"])
            for row in table.select(columns).to_pylist()
        ]
        return table["chunk_id"].to_pylist(), matrix_of(table["vector"]), values

    def records(self) -> list[ChunkRecord]:
        """Return all rows without their vectors."""
        return read_records(self._table, self._folder)


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
