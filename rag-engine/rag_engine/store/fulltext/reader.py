"""Searching a Tantivy folder: BM25 over our terms, exact filters, scores between 0 and 1."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_engine.store.analysis import Terms, exact_term
from rag_engine.store.files import remove_folder
from rag_engine.store.filters import Filters
from rag_engine.store.fulltext.schema import (
    BOOSTS,
    CHARS,
    GRAMS,
    LOCK_FILES,
    WORDS,
    check_fields,
    damage_named,
    field_name,
    open_index,
    stemmer,
    tantivy_module,
)
from rag_engine.store.records import ChunkRecord

if TYPE_CHECKING:
    import tantivy

K1 = 1.2
"""BM25's k1 in Tantivy: a term's score in a field stays below idf x (k1 + 1) x boost."""

MAX_QUERY_TERMS = 1024
"""Distinct terms of each kind that a query is searched by; the rest of a longer one is left out."""


@dataclass(frozen=True, slots=True)
class TextHit:
    """A chunk found, and its score as a share of the greatest that the query could reach."""

    record: ChunkRecord
    score: float


@dataclass(frozen=True, slots=True)
class _WeightedTerm:
    field: str
    term: str
    boost: float
    greatest: float


class FullTextReader:
    """Searches one folder as it was when it was opened; safe to share between threads."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with _readable(folder) as readable, damage_named(folder):
            self._index = open_index(readable)
            self._documents = _documents(readable / "meta.json")
            self._schema = self._index.schema
            self._searcher = self._index.searcher()
        self._stemmer = stemmer()

    def verify(self) -> None:
        """Open every part of the index that a writer would build on.

        Raises:
            IndexDamagedError: One cannot be opened.
        """
        with damage_named(self._folder):
            check_fields(self._index)

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return int(self._searcher.num_docs)

    def search(
        self, query: Terms, kinds: Sequence[str], limit: int, filters: Filters
    ) -> list[TextHit]:
        """Return the best chunks by BM25, ties by chunk id.

        Args:
            query: Terms of the query.
            kinds: WORDS, GRAMS or both, searched together.
            limit: Greatest number of hits, at least 1.
            filters: Applied before ranking.
        """
        with damage_named(self._folder):
            terms = list(self._weighted_terms(query, kinds))
            if not terms:
                return []
            greatest = sum(term.greatest for term in terms)
            hits = [
                TextHit(self._record(address), min(1.0, score / greatest))
                for score, address in self._top(self._query(terms, filters), limit)
            ]
        hits.sort(key=lambda hit: (-hit.score, hit.record.chunk_id))
        return hits[:limit]

    def get(self, chunk_ids: Iterable[str]) -> dict[str, ChunkRecord]:
        """Return the records of those ids that exist."""
        found = {}
        query = tantivy_module().Query
        with damage_named(self._folder):
            for chunk_id in chunk_ids:
                term = query.term_query(self._schema, "chunk_id", chunk_id, "basic")
                for _, address in self._searcher.search(term, 1).hits:
                    found[chunk_id] = self._record(address)
        return found

    def chunk_ids(self) -> list[str]:
        """Return the ids of all chunks, sorted."""
        everything = tantivy_module().Query.all_query()
        with damage_named(self._folder):
            hits = self._searcher.search(everything, max(1, self.chunks)).hits
            return sorted(self._record(address).chunk_id for _, address in hits)

    def _weighted_terms(self, query: Terms, kinds: Sequence[str]) -> Iterator[_WeightedTerm]:
        """Yield each (field, term) that counts, and the most that it can add to a score.

        A term that no field knows counts in the body with the idf of an unseen term: what the
        query asks for and the index lacks keeps a score from looking complete.
        """
        for kind in kinds:
            for term in self._query_terms(query, kind):
                found = [
                    self._weigh(field_name(part, kind), term, boost)
                    for part, boost in BOOSTS.items()
                ]
                known = [weighted for weighted in found if weighted]
                yield from known or [
                    _WeightedTerm(field_name("body", kind), term, 1.0, self._greatest(0))
                ]
        for char in list(dict.fromkeys(query.lone_chars))[:MAX_QUERY_TERMS]:
            yield self._weigh(CHARS, char, 1.0) or _WeightedTerm(
                CHARS, char, 1.0, self._greatest(0)
            )

    def _query_terms(self, query: Terms, kind: str) -> list[str]:
        if kind == GRAMS:
            return list(dict.fromkeys(query.grams))[:MAX_QUERY_TERMS]
        assert kind == WORDS
        stemmed = (stem for word in query.words for stem in self._stemmer.analyze(word))
        return list(dict.fromkeys(stemmed))[:MAX_QUERY_TERMS]

    def _weigh(self, field: str, term: str, boost: float) -> _WeightedTerm | None:
        frequency = self._searcher.doc_freq(field, term)
        if not frequency:
            return None
        return _WeightedTerm(field, term, boost, boost * self._greatest(frequency))

    def _greatest(self, frequency: int) -> float:
        idf = math.log1p((self._documents - frequency + 0.5) / (frequency + 0.5))
        return idf * (K1 + 1)

    def _query(self, terms: Sequence[_WeightedTerm], filters: Filters) -> tantivy.Query:
        tantivy = tantivy_module()
        clauses = []
        for weighted in terms:
            term = tantivy.Query.term_query(self._schema, weighted.field, weighted.term, "freq")
            if weighted.boost != 1.0:
                term = tantivy.Query.boost_query(term, weighted.boost)
            clauses.append((tantivy.Occur.Should, term))
        query = tantivy.Query.boolean_query(clauses)
        restrictions = [
            # scored as they are, these would add to the BM25 of what they let through
            (tantivy.Occur.Must, tantivy.Query.const_score_query(restriction, 0.0))
            for restriction in self._restrictions(filters)
        ]
        if not restrictions:
            return query
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query), *restrictions])

    def _restrictions(self, filters: Filters) -> Iterator[tantivy.Query]:
        tantivy = tantivy_module()
        exact = [("tags", tag) for tag in filters.tags]
        exact += [] if filters.author is None else [("authors", filters.author)]
        exact += [] if filters.scope is None else [("scope", filters.scope)]
        for field, value in exact:
            yield tantivy.Query.term_query(self._schema, field, exact_term(value), "basic")
        if filters.after is not None:
            yield tantivy.Query.range_query(
                self._schema, "day", tantivy.FieldType.Integer, filters.after.toordinal()
            )

    def _top(self, query: tantivy.Query, limit: int) -> list[tuple[float, Any]]:
        """Return the best hits and all that tie with the last wanted one.

        Tantivy breaks ties by where a document happens to lie; the caller breaks them by id.
        """
        wanted = limit + 1
        while True:
            hits: list[tuple[float, Any]] = self._searcher.search(query, wanted, count=False).hits
            if len(hits) < wanted or hits[-1][0] < hits[limit - 1][0]:
                return hits
            wanted *= 2

    def _record(self, address: Any) -> ChunkRecord:
        payload: Any = self._searcher.doc(address).get_first("payload")
        return ChunkRecord.from_json(bytes(payload))


@contextmanager
def _readable(folder: Path) -> Iterator[Path]:
    """Give a folder that Tantivy can open: it makes a lock file, which a read-only one refuses.

    Files that are open stay readable when the temporary links have gone.
    """
    if os.access(folder, os.W_OK):
        yield folder
        return
    links = Path(tempfile.mkdtemp(prefix="knowledge-search-"))
    try:
        if folder.is_dir():
            for file in folder.iterdir():
                if file.name not in LOCK_FILES:
                    (links / file.name).symlink_to(file.absolute())
        yield links
    finally:
        remove_folder(links)


def _documents(meta: Path) -> int:
    """Return the N of Tantivy's BM25: all documents of all segments, deleted ones too."""
    return sum(segment["max_doc"] for segment in read_segments(meta))


def read_segments(meta: Path) -> list[dict[str, Any]]:
    """Return the segments that Tantivy's meta.json lists."""
    segments: list[dict[str, Any]] = json.loads(meta.read_bytes())["segments"]
    return segments
