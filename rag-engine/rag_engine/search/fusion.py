"""Reciprocal rank fusion whose terms are scaled by each list's own scores.

Plain RRF (Cormack, Clarke and Büttcher, SIGIR 2009) knows ranks alone: a first place by a hair
counts as much as one by a mile. Here a list's term for a hit is

    weight x (n + floor) / (k + rank),   n = (score - least) / (greatest - least)

with least and greatest within the first `depth` of the list. docs/retrieval.md has the measurements
behind the constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Method = Literal["scaled", "plain"]


@dataclass(frozen=True, slots=True)
class FusionSettings:
    """Constants of the fusion.

    Attributes:
        method: "scaled" as above, or "plain": weight / (k + rank).
        k: Rank constant of scaled fusion.
        plain_k: Rank constant of plain RRF.
        floor: What a hit gets for being in a list at all.
        depth: Length of the part of a list that its scores are scaled within.
        weights: Weight of each list by name; 1 where none is given.
    """

    method: Method = "scaled"
    k: float = 20.0
    plain_k: float = 10.0
    floor: float = 0.2
    depth: int = 50
    weights: Mapping[str, float] = field(
        default_factory=lambda: {"vector": 1.5, "words": 1.0, "grams": 1.0}
    )


@dataclass(frozen=True, slots=True)
class Ranked:
    """One hit of one list."""

    chunk_id: str
    score: float


@dataclass(frozen=True, slots=True)
class Fused:
    """One hit of the fused list.

    Attributes:
        chunk_id: The chunk.
        score: Sum of its terms over the greatest possible sum; 0 to 1.
        ranks: Its rank in each list that holds it, from 1.
    """

    chunk_id: str
    score: float
    ranks: dict[str, int]


def fuse(lists: Mapping[str, Sequence[Ranked]], settings: FusionSettings) -> list[Fused]:
    """Fuse ranked lists, best first; ties by chunk id.

    Args:
        lists: Hits by list name, each best first, each chunk once.
        settings: The constants.
    """
    sums: dict[str, float] = {}
    ranks: dict[str, dict[str, int]] = {}
    for name, hits in lists.items():
        scaled = _scaled([hit.score for hit in hits], settings.depth)
        for rank, (hit, n) in enumerate(zip(hits, scaled, strict=True), start=1):
            term = _term(name, rank, n, settings)
            sums[hit.chunk_id] = sums.get(hit.chunk_id, 0.0) + term
            ranks.setdefault(hit.chunk_id, {})[name] = rank
    greatest = sum(_term(name, 1, 1.0, settings) for name in lists) or 1.0
    fused = [
        Fused(chunk_id, min(1.0, total / greatest), ranks[chunk_id])
        for chunk_id, total in sums.items()
    ]
    return sorted(fused, key=lambda hit: (-hit.score, hit.chunk_id))


def _term(name: str, rank: int, n: float, settings: FusionSettings) -> float:
    weight = settings.weights.get(name, 1.0)
    if settings.method == "plain":
        return weight / (settings.plain_k + rank)
    return weight * (n + settings.floor) / (settings.k + rank)


def _scaled(scores: Sequence[float], depth: int) -> list[float]:
    """Scale scores to 0..1 within the first `depth`; equal scores are all 1."""
    if not scores:
        return []
    greatest, least = scores[0], scores[min(depth, len(scores)) - 1]
    if greatest <= least:
        return [1.0] * len(scores)
    return [max(0.0, (score - least) / (greatest - least)) for score in scores]
