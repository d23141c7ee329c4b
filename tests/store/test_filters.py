"""Filters: the same documents pass in both stores, whatever the values hold."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rag_engine.store.filters import Filters
from rag_engine.store.fulltext import FullTextReader
from rag_engine.store.records import ChunkRecord
from rag_engine.store.vectors import VectorReader, VectorWriter
from store.samples import NASTY, find, nasty_values, numbers, record, write_fulltext

EAST = np.array([1, 0], np.float32)


class Both:
    """The same records in both stores; every one of them matches the query."""

    def __init__(self, folder: Path, records: list[ChunkRecord]) -> None:
        writer = VectorWriter(folder, 2, None)
        writer.add(records, np.stack([EAST] * len(records)))
        self._vectors = VectorReader(folder, writer.finish())
        self._fulltext: FullTextReader = write_fulltext(folder / "fulltext", records)

    def passing(self, filters: Filters) -> list[int]:
        """Return the numbers of what passes; fail where the stores do not agree."""
        found = self._vectors.search(EAST, 1000, filters)
        vectors = numbers(name for name, _ in found)
        fulltext = find(self._fulltext, "gamma", limit=1000, filters=filters)
        assert sorted(fulltext) == sorted(vectors)
        return sorted(vectors)


def passes(candidate: ChunkRecord, filters: Filters) -> bool:
    """Tell what the filters mean, in plain Python."""
    return (
        (filters.scope is None or candidate.scope == filters.scope)
        and all(tag in candidate.tags for tag in filters.tags)
        and (filters.author is None or filters.author in candidate.authors)
        and (
            filters.after is None
            or (candidate.date != "" and date.fromisoformat(candidate.date) >= filters.after)
        )
    )


days = st.sampled_from(["", "0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31"])
lists = st.lists(nasty_values, max_size=3).map(tuple)
one_record = st.tuples(st.just("") | nasty_values, lists, lists, days)


@given(st.lists(one_record, min_size=1, max_size=8), st.data())
@settings(deadline=None, max_examples=20)
def test_both_stores_let_the_same_documents_through(
    values: list[tuple[str, tuple[str, ...], tuple[str, ...], str]], data: st.DataObject
) -> None:
    """Mode fts and mode vector would else answer the same restricted question differently."""
    records = [
        record(number, "gamma", scope=scope, tags=tags, authors=authors, date=day)
        for number, (scope, tags, authors, day) in enumerate(values)
    ]
    # mostly values that some document has, so that the filters let something through
    scopes = st.sampled_from([r.scope for r in records]) | nasty_values
    tags = st.sampled_from([tag for r in records for tag in r.tags] or ["x"]) | nasty_values
    authors = st.sampled_from([a for r in records for a in r.authors] or ["x"]) | nasty_values
    filters = st.builds(
        Filters,
        scope=st.none() | scopes,
        tags=st.lists(tags, max_size=2).map(tuple),
        author=st.none() | authors,
        after=st.none() | st.dates() | st.sampled_from([date.min, date.max, date(1970, 1, 1)]),
    )
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        both = Both(Path(name), records)
        for _ in range(6):
            chosen = data.draw(filters)
            expected = [n for n, candidate in enumerate(records) if passes(candidate, chosen)]
            assert both.passing(chosen) == expected


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """Return one document for each nasty value, which is its scope, a tag and an author."""
    records = [
        record(number, "gamma", scope=value, tags=("all", value), authors=("Li", value))
        for number, value in enumerate(NASTY)
    ]
    return Both(tmp_path_factory.mktemp("nasty"), records)


@pytest.mark.parametrize("number", range(len(NASTY)), ids=[ascii(v)[:20] for v in NASTY])
def test_a_value_is_compared_exactly(nasty: Both, number: int) -> None:
    """No character of a value is syntax, and no two values are the same for a filter."""
    value = NASTY[number]
    assert nasty.passing(Filters(scope=value)) == [number]
    assert nasty.passing(Filters(tags=(value,))) == [number]
    assert nasty.passing(Filters(author=value)) == [number]
    assert nasty.passing(Filters(scope=value, tags=(value, "all"), author="Li")) == [number]
    assert nasty.passing(Filters(scope=value + "x")) == []


def test_several_tags_all_have_to_be_there(folder: Path) -> None:
    """--tags A,B narrows; tags match whole, not by a part of them."""
    tags: list[tuple[str, ...]] = [
        ("a", "b"),
        ("a",),
        ("b",),
        ("ab",),
        ("a,b",),
        (),
        ("c", "b", "a"),
    ]
    both = Both(folder, [record(n, "gamma", tags=given) for n, given in enumerate(tags)])
    assert both.passing(Filters(tags=("a", "b"))) == [0, 6]
    assert both.passing(Filters(tags=("a",))) == [0, 1, 6]
    assert both.passing(Filters(tags=("b", "b"))) == [0, 2, 6]
    assert both.passing(Filters(tags=("A",))) == []
    assert both.passing(Filters()) == list(range(7))


def test_after_takes_the_day_itself_and_no_undated_document(folder: Path) -> None:
    """On that day or later; a note without a date could be of any."""
    dates = ["2024-05-01", "2024-04-30", "", "2030-01-01"]
    both = Both(folder, [record(n, "gamma", date=day) for n, day in enumerate(dates)])
    assert both.passing(Filters(after=date(2024, 5, 1))) == [0, 3]
    assert both.passing(Filters(after=date.min)) == [0, 1, 3]
    assert both.passing(Filters(after=date.max)) == []


FILTERS = {
    "tags": Filters(tags=("keep",)),
    "scope": Filters(scope="keep"),
    "author": Filters(author="keep"),
    "after": Filters(after=date(2024, 1, 1)),
    "two": Filters(scope="keep", tags=("keep",)),
    "all": Filters("keep", ("keep",), "keep", date(2024, 1, 1)),
}


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> tuple[FullTextReader, VectorReader]:
    """Return 15 documents to keep, outranked by 60 others in both stores."""
    drop = [
        record(number, "gamma " * 8, scope="drop", tags=("drop",), date="2023-12-31")
        for number in range(60)
    ]
    keep = [
        record(
            100 + number, "gamma and much that has nothing to do with it", scope="keep",
            tags=("keep", "x"), authors=("keep",),
            date=(date(2024, 1, 1) + timedelta(days=number)).isoformat(),
        )
        for number in range(15)
    ]  # fmt: skip
    folder = tmp_path_factory.mktemp("crowded")
    far = np.array([0.1, 1], np.float32)
    writer = VectorWriter(folder, 2, None)
    writer.add([*drop, *keep], np.stack([EAST] * 60 + [far] * 15))
    version = writer.finish()
    return write_fulltext(folder / "fulltext", [*drop, *keep]), VectorReader(folder, version)


@pytest.mark.parametrize("name", FILTERS)
def test_what_is_filtered_out_takes_no_place(
    crowded: tuple[FullTextReader, VectorReader], name: str
) -> None:
    """Sixty better hits that may not be shown must not starve the ten that may."""
    fulltext, vectors = crowded
    filters = FILTERS[name]
    expected = [100 + number for number in range(10)]
    assert find(fulltext, "gamma", limit=10, filters=filters) == expected
    found = vectors.search(EAST, 10, filters)
    assert numbers(chunk_id for chunk_id, _ in found) == expected


@pytest.mark.parametrize("name", FILTERS)
def test_filters_leave_scores_as_they_are(
    crowded: tuple[FullTextReader, VectorReader], name: str
) -> None:
    """A filter is no evidence of relevance: it must add nothing to BM25."""
    fulltext, _ = crowded
    from rag_engine.store.analysis import analyze
    from rag_engine.store.fulltext import GRAMS, WORDS

    def scored(filters: Filters) -> dict[str, float]:
        hits = fulltext.search(analyze("gamma nothing"), (WORDS, GRAMS), 100, filters)
        return {hit.record.chunk_id: hit.score for hit in hits}

    free, filtered = scored(Filters()), scored(FILTERS[name])
    assert filtered
    assert filtered.items() <= free.items()
