"""From sections to chunks: passages that fit the embedding model, with exact lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from rag_engine.corpus.documents import Chunk, TokenCounter
from rag_engine.corpus.packing import MAX_CHARACTERS, Packer, Span
from rag_engine.corpus.prefix import Prefix, Prefixes
from rag_engine.corpus.sections import Section

CHUNKING_VERSION = 1
"""To be raised whenever the same file would give other chunks or other embedded text."""

_SHRINK = (1.0, 0.8, 0.6, 0.4, 0.2)


@dataclass(frozen=True, slots=True)
class _Work:
    """What splitting the sections of one document needs.

    Attributes:
        text: The decoded file.
        starts: Offset of each line, and the text's length.
        prefixes: Makes titles and headings into prefixes.
        count_tokens: The model's own count.
        budget: Tokens that an embedded text may have.
    """

    text: str
    starts: Sequence[int]
    prefixes: Prefixes
    count_tokens: TokenCounter
    budget: int


def chunk_sections(
    sections: Sequence[Section],
    text: str,
    title: str,
    count_tokens: TokenCounter,
    budget: int,
) -> tuple[Chunk, ...]:
    """Make chunks of a document's sections, in order; none is blank, none comes twice.

    Args:
        sections: From `split_sections`.
        text: The decoded file that they were made from.
        title: The document's title.
        count_tokens: Counts many texts at once; called a few times a document.
        budget: Tokens that an embedded text may have, special tokens excluded.
    """
    if not sections:
        return ()

    def count(texts: Sequence[str]) -> list[int]:
        return count_tokens(texts) if texts else []

    prefixes = Prefixes(title, budget // 4, count)
    prefixes.prepare([section.path for section in sections])
    work = _Work(text, _line_starts(text), prefixes, count, budget)
    chunks = _whole_sections(work, sections)
    large = [section for section, chunk in zip(sections, chunks, strict=True) if chunk is None]
    sums = _token_sums(work, large)
    made: list[Chunk] = []
    for section, chunk in zip(sections, chunks, strict=True):
        made.extend([chunk] if chunk else _split(work, section, sums[section.start]))
    # A line of one repeated word is cut into equal parts: they say the same of the same line.
    unique: dict[tuple[object, ...], Chunk] = {}
    for chunk in made:
        place = (chunk.heading_path, chunk.text, chunk.line_start, chunk.line_end)
        unique.setdefault(place, chunk)
    return tuple(unique.values())


def _line_starts(text: str) -> list[int]:
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    starts[-1] = len(text)
    return starts


def _whole_sections(work: _Work, sections: Sequence[Section]) -> list[Chunk | None]:
    """Make one chunk of each section, or None where it does not fit."""
    chunks: list[Chunk | None] = []
    for section in sections:
        span = Span(work.starts[section.start], work.starts[section.end])
        chunk = _chunk(work, section, span, _first_prefix(work, section).text)
        chunks.append(chunk if chunk and len(chunk.text) <= MAX_CHARACTERS else None)
    candidates = [number for number, chunk in enumerate(chunks) if chunk]
    counts = work.count_tokens([chunk.embedding_text for chunk in chunks if chunk])
    for number, count in zip(candidates, counts, strict=True):
        if count > work.budget:
            chunks[number] = None
    return chunks


def _token_sums(work: _Work, sections: Sequence[Section]) -> dict[int, list[int]]:
    """Count the tokens of every line of these sections at once, and add them up by section.

    Models split words at white space, so the lines of a text have as many tokens as the text.
    """
    starts = work.starts
    lines = [
        work.text[starts[line] : starts[line + 1]]
        for section in sections
        for line in range(section.start, section.end)
    ]
    counts = iter(work.count_tokens(lines))
    return {
        section.start: [0, *accumulate(islice(counts, section.end - section.start))]
        for section in sections
    }


def _first_prefix(work: _Work, section: Section) -> Prefix:
    return work.prefixes.of(section.above, section.path[len(section.above) :])


def _split(work: _Work, section: Section, sums: Sequence[int]) -> list[Chunk]:
    """Split a section; again, into less, for a model whose counts do not add up."""
    first = _first_prefix(work, section)
    later = work.prefixes.of(section.path)
    packer = Packer(work.text, work.starts, section.start, sums, work.count_tokens)
    chunks: list[Chunk] = []
    for share in _SHRINK:
        budget = int(work.budget * share)
        first_limit = max(1, budget - first.tokens)
        limit = max(1, min(first_limit, budget - later.tokens))
        spans = packer.pack(section.blocks, section.start, section.end, first_limit, limit)
        made = [
            _chunk(work, section, span, later.text if number else first.text)
            for number, span in enumerate(spans)
        ]
        chunks = [chunk for chunk in made if chunk]
        if max(work.count_tokens([chunk.embedding_text for chunk in chunks]), default=0) <= (
            work.budget
        ):
            break
    return chunks


def _chunk(work: _Work, section: Section, span: Span, prefix: str) -> Chunk | None:
    """Make a chunk of a range of text without the blank lines at its ends; None of a blank one."""
    found = _trim(work.text, span.start, span.end)
    if found is None:
        return None
    start, end = found
    text = work.text[start:end]
    parts = [part for part in (prefix, span.repeat, text) if part]
    return Chunk(
        text,
        section.path,
        bisect_right(work.starts, start),
        bisect_right(work.starts, end - 1),
        "\n".join(parts),
    )


def _trim(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Leave out blank lines, blanks where a line was cut, and the last line's terminator."""
    content = text[start:end]
    first = start + len(content) - len(content.lstrip())
    last = start + len(content.rstrip())
    if first >= last:
        return None
    line = text.rfind("\n", 0, first) + 1
    start = line if line >= start else first
    newline = text.find("\n", last, end)
    if newline >= 0:
        end = newline
    elif end < len(text):
        end = last
    return start, end - 1 if text[end - 1] == "\r" else end
