"""The whole way from bytes to a document."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest
from corpus.kit import assert_sound, places, read, texts
from fakes import REPO
from rag_engine.corpus.decode import NotTextError
from rag_engine.corpus.documents import Metadata

NOTE = (
    "---\ntitle: 标题一\ntags: [甲, 乙]\nauthor: Li\ndate: 2024-5-1\nscope: dev\n---\n# H\nbody\n"
)


@pytest.mark.parametrize(
    "raw",
    [
        NOTE.encode(),
        codecs.BOM_UTF8 + NOTE.encode(),
        NOTE.replace("\n", "\r\n").encode(),
        codecs.BOM_UTF8 + NOTE.replace("\n", "\r\n").encode(),
        NOTE.encode("utf-16"),
        NOTE.encode("gb18030"),
    ],
)
def test_a_note_is_the_same_however_it_was_saved(raw: bytes) -> None:
    """Byte order mark, line ends and encoding change neither metadata nor lines."""
    document = read(raw)
    assert document.metadata == Metadata("标题一", "dev", ("甲", "乙"), ("Li",), "2024-05-01")
    assert places(document) == [(("# H",), 8, 9)]
    assert document.chunks[0].embedding_text.splitlines() == ["标题一", "# H", "body"]
    assert_sound(raw, document)


@pytest.mark.parametrize("text", ["", "\n\n", " \n\t\r\n", "---\ntitle: x\n---\n", "\ufeff"])
def test_a_note_without_text_has_no_chunks(text: str) -> None:
    """It is empty, not broken."""
    document = read(text)
    assert (document.chunks, document.warnings) == ((), ())


def test_the_title_falls_back_to_the_first_h1_then_to_the_file_name() -> None:
    """A document is never without one."""
    assert read("## Two\n# 一 {#id}\n").metadata.title == "一"
    assert read("text\n", "a/读 书.v1.md").metadata.title == "读 书.v1"


def test_every_oddity_is_a_warning() -> None:
    """None stops the others."""
    raw = b"---\ndate: 1.2.3\ntags: [a, [b]]\n---\n# T\nbad \xff\n"
    warnings = read(raw).warnings
    assert len(warnings) == 3
    assert all(warning[-1] not in ".\n" for warning in warnings)


def test_front_matter_that_cannot_be_read_is_found_as_text() -> None:
    """None of it became metadata; a line of it is no heading either."""
    raw = "---\ntitle: a: pelican\n# no heading\n---\n# H\nbody\n"
    document = read(raw)
    assert places(document) == [((), 1, 4), (("# H",), 5, 6)]
    assert document.metadata.title == "H"
    assert "pelican" in texts(document.chunks)[0]
    assert len(document.warnings) == 1


def test_binary_data_is_refused() -> None:
    """By the one error that reading raises."""
    with pytest.raises(NotTextError):
        read(b"\x89PNG\r\n\x1a\n\0\0")


def test_reading_twice_gives_the_same() -> None:
    """Identity rests on it."""
    assert read(NOTE) == read(NOTE)


def example_notes() -> list[Path]:
    """List the example notes; none are there before they are written."""
    return sorted((REPO / "examples/notes").rglob("*.md"))


def test_every_example_note_is_sound() -> None:
    """Real notes, whole."""
    notes = example_notes()
    if not notes:
        pytest.skip("examples/notes holds no notes yet")
    for note in notes:
        raw = note.read_bytes()
        document = read(raw, note.name)
        assert document.chunks
        assert_sound(raw, document)
