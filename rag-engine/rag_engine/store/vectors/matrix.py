"""Exact search over all vectors of one version, held in memory by a resident process.

LanceDB reads its files anew at every search and takes memory for each that runs at once; a matrix
product over vectors that are read once is faster up to some ten thousand rows, and exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rag_engine.store.filters import Filters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rag_engine.embed.embedder import Vectors
    from rag_engine.store.vectors.reader import VectorReader

    Mask = NDArray[np.bool_]


class MatrixVectors:
    """Searches the rows of a reader's version; gives what the reader gives.

    Args:
        reader: Where the rows are read from.
    """

    def __init__(self, reader: VectorReader) -> None:
        import numpy as np

        self._ids, self._matrix, rows = reader.rows()
        self._scope = _positions((row.scope,) for row in rows)
        self._tags = _positions(row.tags for row in rows)
        self._authors = _positions(row.authors for row in rows)
        self._days = np.array([row.date.isoformat() if row.date else "" for row in rows])

    def search(self, vector: Vectors, limit: int, filters: Filters) -> list[tuple[str, float]]:
        """Return (chunk id, cosine) of the nearest chunks, ties by chunk id."""
        import numpy as np

        cosines = self._matrix @ vector
        rows = np.arange(len(cosines))
        mask = self._mask(filters)
        if mask is not None:
            rows = rows[mask]
            cosines = cosines[mask]
        if len(cosines) > limit:
            # all that tie with the last wanted one, so that the id and not the row decides
            least = np.partition(cosines, -limit)[-limit]
            keep = cosines >= least
            rows, cosines = rows[keep], cosines[keep]
        pairs = [(self._ids[row], float(cosine)) for row, cosine in zip(rows, cosines, strict=True)]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[:limit]

    def _mask(self, filters: Filters) -> Mask | None:
        import numpy as np

        masks = [self._has(self._tags, tag) for tag in filters.tags]
        if filters.scope is not None:
            masks.append(self._has(self._scope, filters.scope))
        if filters.author is not None:
            masks.append(self._has(self._authors, filters.author))
        if filters.after is not None:
            masks.append(self._days >= filters.after.isoformat())
        return np.logical_and.reduce(masks) if masks else None

    def _has(self, positions: dict[str, list[int]], value: str) -> Mask:
        import numpy as np

        mask = np.zeros(len(self._ids), dtype=np.bool_)
        mask[positions.get(value, [])] = True
        return mask


def _positions(values: Iterable[Sequence[str]]) -> dict[str, list[int]]:
    """Return the rows that carry each value."""
    found: dict[str, list[int]] = {}
    for row, carried in enumerate(values):
        for value in carried:
            found.setdefault(value, []).append(row)
    return found
