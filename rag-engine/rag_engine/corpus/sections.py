"""From a text to its sections: a heading and what follows, up to the next one."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_engine.corpus.markdown import Block, Heading, parse_blocks

MAX_HEADING = 1000
"""Characters of a heading that its path keeps; every chunk below it repeats them."""

_ANCHOR = re.compile(r"[ \t]*\{#[^{}\n]*\}[ \t]*$")


@dataclass(frozen=True, slots=True)
class Section:
    """Lines under one heading; or under several, where the upper ones have no text.

    Attributes:
        path: Headings above and of the section, as "## Text"; empty before the first one.
        above: Those of them that are not among the section's own lines.
        start: Index of its first line in the file, from 0.
        end: Index of the line after its last.
        blocks: Its outermost blocks in order; lines between them belong to none.
    """

    path: tuple[str, ...]
    above: tuple[str, ...]
    start: int
    end: int
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """A document's sections in order.

    Attributes:
        sections: They hold every line of the body that is not blank.
        first_heading: Text of the first H1 that has any, else "".
        warnings: A sentence where the text could not be parsed as Markdown.
    """

    sections: tuple[Section, ...]
    first_heading: str = ""
    warnings: tuple[str, ...] = ()


def split_sections(text: str, body_line: int = 0) -> Outline:
    """Split a decoded file at its headings; never raises.

    Args:
        text: The whole file.
        body_line: Index of the first line that is Markdown.
    """
    lines = text.split("\n")
    if body_line >= len(lines):
        return Outline(())
    try:
        blocks, headings = parse_blocks("\n".join(lines[body_line:]), body_line)
    except Exception as error:  # noqa: BLE001 - a fault of the parser must not lose a document
        problem = f"the Markdown could not be parsed ({type(error).__name__}); read as plain lines"
        whole = Section((), (), body_line, len(lines))
        return Outline((whole,) if _has_text(lines, body_line, len(lines)) else (), "", (problem,))
    first = next((h.text for h in headings if h.level == 1 and _label(h.text)), "")
    sections = _merge_bare(lines, _cut(len(lines), body_line, headings), headings)
    kept = [section for section in sections if _has_text(lines, section.start, section.end)]
    return Outline(tuple(_share_out(kept, blocks)), _label(first))


def _label(text: str) -> str:
    """Return a heading's text without the anchor that Pandoc and VitePress allow behind it."""
    return _ANCHOR.sub("", text).strip()[:MAX_HEADING].rstrip()


def _has_text(lines: Sequence[str], start: int, end: int) -> bool:
    return any(line and not line.isspace() for line in lines[start:end])


def _cut(line_count: int, body_line: int, headings: Sequence[Heading]) -> list[Section]:
    """Make a section of each heading, with the path that the levels give it."""
    starts = [*(heading.start for heading in headings), line_count]
    sections = [Section((), (), body_line, starts[0])]
    chain: list[tuple[int, str]] = []
    for heading, end in zip(headings, starts[1:], strict=True):
        while chain and chain[-1][0] >= heading.level:
            chain.pop()
        above = tuple(segment for _, segment in chain)
        segment = f"{'#' * heading.level} {_label(heading.text)}".rstrip()
        chain.append((heading.level, segment))
        sections.append(Section((*above, segment), above, heading.start, end))
    return sections


def _merge_bare(
    lines: Sequence[str], sections: Sequence[Section], headings: Sequence[Heading]
) -> list[Section]:
    """Join a heading without text to the section below it, if that is one of its own."""
    merged = [sections[0]]
    upper: Section | None = None
    for number, (heading, section) in enumerate(zip(headings, sections[1:], strict=True)):
        if upper is not None:
            section = Section(section.path, upper.above, upper.start, section.end)
        below = headings[number + 1] if number + 1 < len(headings) else None
        if (
            below is not None
            and below.level > heading.level
            and not _has_text(lines, heading.end, section.end)
        ):
            upper = section
        else:
            merged.append(section)
            upper = None
    return merged


def _share_out(sections: Sequence[Section], blocks: Sequence[Block]) -> list[Section]:
    """Give each section its blocks; no block reaches over the border of two."""
    starts = [block.start for block in blocks]
    return [
        replace(
            section,
            blocks=tuple(
                blocks[bisect_left(starts, section.start) : bisect_left(starts, section.end)]
            ),
        )
        for section in sections
    ]
