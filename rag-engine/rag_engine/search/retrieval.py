"""The three modes: full text, vectors, and both fused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag_engine.errors import IndexDamagedError
from rag_engine.search.fusion import FusionSettings, Ranked, fuse
from rag_engine.search.request import SearchPlan
from rag_engine.store.analysis import Terms, analyze
from rag_engine.store.filters import Filters
from rag_engine.store.fulltext import GRAMS, WORDS
from rag_engine.store.manifest import REBUILD_HINT
from rag_engine.store.records import ChunkRecord
from rag_engine.store.snapshot import Snapshot
from rag_engine.store.vectors import VectorSearch

if TYPE_CHECKING:
    from rag_engine.embed.embedder import Vectors

VECTOR = "vector"


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk found, its score (0 to 1), and what the retrievers said of it."""

    record: ChunkRecord
    score: float
    signals: dict[str, Any]


def retrieve_text(
    plan: SearchPlan, filters: Filters, snapshot: Snapshot, warnings: list[str]
) -> list[Hit]:
    """Search the full text, words and grams together."""
    terms = _terms(plan.query, warnings)
    hits = snapshot.fulltext.search(terms, (WORDS, GRAMS), plan.top, filters)
    return [Hit(hit.record, hit.score, {"bm25": round(hit.score, 6)}) for hit in hits]


def retrieve_vectors(
    plan: SearchPlan, filters: Filters, snapshot: Snapshot, vectors: VectorSearch, query: Vectors
) -> list[Hit]:
    """Search the vectors; a cosine below 0 is shown as 0."""
    found = vectors.search(query, plan.top, filters)
    records = _records(snapshot, [chunk_id for chunk_id, _ in found], {})
    return [
        Hit(records[chunk_id], min(1.0, max(0.0, cosine)), {"cosine": round(cosine, 6)})
        for chunk_id, cosine in found
    ]


def retrieve_hybrid(
    plan: SearchPlan,
    filters: Filters,
    snapshot: Snapshot,
    vectors: VectorSearch,
    query: Vectors,
    settings: FusionSettings,
    warnings: list[str],
) -> list[Hit]:
    """Fuse three lists: vectors, BM25 over words, BM25 over grams."""
    depth = max(settings.depth, plan.top)
    terms = _terms(plan.query, warnings)
    text = {
        kind: snapshot.fulltext.search(terms, (kind,), depth, filters) for kind in (WORDS, GRAMS)
    }
    cosines = dict(vectors.search(query, depth, filters))
    lists = {VECTOR: [Ranked(chunk_id, cosine) for chunk_id, cosine in cosines.items()]}
    for kind, hits in text.items():
        lists[kind] = [Ranked(hit.record.chunk_id, hit.score) for hit in hits]
    fused = fuse(lists, settings)[: plan.top]

    shares = {kind: {hit.record.chunk_id: hit.score for hit in hits} for kind, hits in text.items()}
    at_hand = {hit.record.chunk_id: hit.record for hits in text.values() for hit in hits}
    records = _records(snapshot, [hit.chunk_id for hit in fused], at_hand)
    found = []
    for hit in fused:
        signals: dict[str, Any] = {"ranks": hit.ranks}
        if hit.chunk_id in cosines:
            signals["cosine"] = round(cosines[hit.chunk_id], 6)
        share = max((shares[kind].get(hit.chunk_id, 0.0) for kind in shares), default=0.0)
        if share:
            signals["bm25"] = round(share, 6)
        found.append(Hit(records[hit.chunk_id], hit.score, signals))
    return found


def _terms(query: str, warnings: list[str]) -> Terms:
    terms = analyze(query)
    if not terms.words and not terms.chars:
        warnings.append("The query holds no word or character that full text can look for.")
    return terms


def _records(
    snapshot: Snapshot, chunk_ids: list[str], at_hand: dict[str, ChunkRecord]
) -> dict[str, ChunkRecord]:
    """Return the records of found chunks; both stores must know them."""
    missing = [chunk_id for chunk_id in chunk_ids if chunk_id not in at_hand]
    records = {**at_hand, **snapshot.fulltext.get(missing)}
    if lost := [chunk_id for chunk_id in missing if chunk_id not in records]:
        raise IndexDamagedError(
            f"The index {snapshot.folder} has vectors without text (chunk {lost[0]}).", REBUILD_HINT
        )
    return records
