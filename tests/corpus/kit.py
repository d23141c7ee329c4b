"""What the tests of the corpus share: a reader with real token counts, checks that always hold."""

from __future__ import annotations

from collections.abc import Sequence

from fakes import count_tokens
from rag_engine.corpus.documents import Chunk, Document
from rag_engine.corpus.front_matter import split_front_matter
from rag_engine.corpus.reader import read_document

BUDGET = 510


def read(content: str | bytes, path: str = "folder/note.md", budget: int = BUDGET) -> Document:
    """Read a note with the real tokenizer."""
    raw = content.encode() if isinstance(content, str) else content
    return read_document(raw, path=path, default_scope="", count_tokens=count_tokens, budget=budget)


def places(document: Document) -> list[tuple[tuple[str, ...], int, int]]:
    """List the chunks' heading paths and lines."""
    return [(chunk.heading_path, chunk.line_start, chunk.line_end) for chunk in document.chunks]


def decoded(raw: bytes, document: Document) -> str:
    """Decode a file as a reader of a citation would, by the encoding that the document names."""
    text = raw.decode(document.encoding, "replace").lstrip("\ufeff")
    return text.replace("\0", "\ufffd")


def assert_sound(raw: bytes, document: Document, budget: int = BUDGET) -> None:
    """Check what holds for every document: exact citations, nothing lost, everything fits."""
    lines = decoded(raw, document).split("\n")
    seen: set[int] = set()
    for chunk in document.chunks:
        assert chunk.text.strip()
        assert len(chunk.text) <= 4096
        cited = "\n".join(lines[chunk.line_start - 1 : chunk.line_end])
        assert chunk.text in cited
        assert chunk.embedding_text.endswith(chunk.text)
        seen.update(range(chunk.line_start, chunk.line_end + 1))
    body = split_front_matter("\n".join(lines)).body_line
    lost = [n for n, line in enumerate(lines[body:], body + 1) if line.strip() and n not in seen]
    assert not lost
    counts = count_tokens([chunk.embedding_text for chunk in document.chunks])
    assert max(counts, default=0) <= budget
    keys = [(c.heading_path, c.text, c.line_start, c.line_end) for c in document.chunks]
    assert len(set(keys)) == len(keys)
    assert [c.line_start for c in document.chunks] == sorted(c.line_start for c in document.chunks)


def texts(chunks: Sequence[Chunk]) -> list[str]:
    """List the chunks' texts."""
    return [chunk.text for chunk in chunks]
