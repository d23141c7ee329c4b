"""Records and chunk ids."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rag_engine.corpus.documents import Chunk
from rag_engine.store import records
from rag_engine.store.records import ChunkIds, ChunkRecord
from store.samples import NASTY, record

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=10)


def chunk(text: str, *headings: str, line: int = 1) -> Chunk:
    """Return a chunk that stands at a line."""
    return Chunk(text, headings, line, line, f"{headings} {text}")


@given(texts, st.lists(texts), st.lists(texts), st.integers(1, 10**6))
@settings(deadline=None, max_examples=100)
def test_a_record_is_read_as_it_was_written(
    text: str, tags: list[str], headings: list[str], line: int
) -> None:
    """What an answer shows comes out of the full-text index byte for byte."""
    written = record(1, text, tags=tuple(tags), heading_path=tuple(headings), line_end=line)
    assert ChunkRecord.from_json(written.to_json()) == written


def test_ids_are_twelve_digits_and_the_same_every_time() -> None:
    """Agents keep ids between sessions; --full must give them again."""
    chunks = [chunk("a", "# T"), chunk("b", "# T"), chunk("b", "# T", "## S")]
    ids = ChunkIds().for_file("notes", "a.md", chunks)
    assert all(re.fullmatch("[0-9a-f]{12}", given) for given in ids)
    assert len(set(ids)) == 3
    assert ChunkIds().for_file("notes", "a.md", chunks) == ids


def test_an_id_depends_on_file_headings_and_text_alone() -> None:
    """Lines above, other passages and other files move; the passage stays the same one."""
    plain = ChunkIds().for_file("notes", "a.md", [chunk("x", "# T")])[0]
    moved = ChunkIds().for_file("notes", "a.md", [chunk("new", "# T"), chunk("x", "# T", line=90)])
    assert moved[1] == plain
    others = [
        ChunkIds().for_file("notes", "b.md", [chunk("x", "# T")]),
        ChunkIds().for_file("other", "a.md", [chunk("x", "# T")]),
        ChunkIds().for_file("notes", "a.md", [chunk("x", "# U")]),
        ChunkIds().for_file("notes", "a.md", [chunk("y", "# T")]),
        ChunkIds().for_file("notes", "a.md", [chunk("x")]),
    ]
    assert plain not in [ids[0] for ids in others]


def test_equal_passages_of_a_file_get_ids_of_their_own() -> None:
    """A changelog says "### Fixed - none" many times; each is a result with its own lines."""
    repeated = [chunk("- none", "### Fixed", line=line) for line in (3, 7, 11)]
    ids = ChunkIds().for_file("notes", "log.md", repeated)
    assert len(set(ids)) == 3
    between = [repeated[0], chunk("other", "### Added"), *repeated[1:]]
    again = ChunkIds().for_file("notes", "log.md", between)
    assert [again[0], *again[2:]] == ids, "what stands between does not move them"


@given(st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.sampled_from("ab"), max_size=3))))
@settings(deadline=None, max_examples=100)
def test_ids_are_unique_for_any_passages(passages: list[tuple[str, list[str]]]) -> None:
    """Headings and text must not run into each other in what is hashed."""
    ids = ChunkIds().for_file("notes", "a.md", [chunk(text, *path) for text, path in passages])
    assert len(set(ids)) == len(passages)


def test_colliding_hashes_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """48 bits collide one day; two chunks of one id would overwrite each other."""

    class Tiny:
        def __init__(self, data: bytes) -> None:
            self._digest = hashlib.md5(data, usedforsecurity=False).hexdigest()

        def hexdigest(self) -> str:
            return "0" * 11 + self._digest[0]

    monkeypatch.setattr(records.hashlib, "sha256", Tiny)
    chunks = [chunk(text) for text in NASTY[:14]]
    ids = ChunkIds().for_file("notes", "a.md", chunks)
    assert len(set(ids)) == len(chunks)
    assert ChunkIds().for_file("notes", "a.md", chunks) == ids
    taken = ChunkIds(ids).for_file("notes", "b.md", chunks[:2])
    assert not set(taken) & set(ids), "ids that other files have are not given again"
