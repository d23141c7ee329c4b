"""The block structure of a Markdown text, by markdown-it's parser, with exact lines.

The parser is kept from what makes it slow or wrong on hostile text: it sees a copy in which
lone carriage returns are blanks (it would count them as line ends), deep nesting is cut off
(it recurses, and every level reads every line again) and no text inside blocks is parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

MAX_COLUMNS = 48
"""Indentation, quote marks and list markers in front of a line's text beyond this are text."""

MAX_QUOTES = 16
"""Likewise quotes in quotes: every one reads all its lines again."""

_MAX_REFERENCE_LINES = 16
_LEAVES = {
    "paragraph_open": "paragraph",
    "heading_open": "heading",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "hr": "rule",
    "table_open": "table",
}
_CONTAINERS = {
    "blockquote_open": "quote",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "list_item_open": "item",
}
_CONTAINER_ENDS = frozenset(name.replace("_open", "_close") for name in _CONTAINERS)
_MARKER = r"(?:[ \t]|>|[-+*](?=[ \t])|\d{1,9}[.)](?=[ \t]))"
# Two characters at least belong to a level of lists, a tab is up to four columns.
_DEEP_PREFIX = re.compile(rf"^{_MARKER}{{{MAX_COLUMNS // 4},}}", re.MULTILINE)
_MARKERS = re.compile(_MARKER)
_RULE = re.compile(r"[ \t]*(?:(?:-[ \t]*)+|(?:\*[ \t]*)+)(?:\n|\Z)")
_LONE_CR = re.compile(r"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class Block:
    """A block and its lines; `end` is the first line after it.

    Attributes:
        kind: paragraph, heading, fence, code, html, rule, table, quote, list, item, or text
            for lines that belong to no block.
        start: Index of its first line in the file, from 0.
        end: Index of the line after its last.
        children: The blocks in a quote, list or list item.
        header: Number of first lines that explain the rest: a fence's opener, a table's head.
    """

    kind: str
    start: int
    end: int
    children: tuple[Block, ...] = ()
    header: int = 0


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that is in no quote, list or other block.

    Attributes:
        level: 1 to 6.
        text: What was written, on one line, without marks.
        start: Index of its first line in the file, from 0.
        end: Index of the line after its last.
    """

    level: int
    text: str
    start: int
    end: int


@dataclass(slots=True)
class _Open:
    """A container that is not closed yet."""

    kind: str
    start: int
    end: int
    children: list[Block] = field(default_factory=list)


def parse_blocks(text: str, first_line: int) -> tuple[list[Block], list[Heading]]:
    """Parse the blocks of a text.

    Args:
        text: The body of a file.
        first_line: Index, in the file, of the text's first line; added to every line.

    Returns:
        The outermost blocks in order, headings among them, and the headings once more.
    """
    tokens = _parser().parse(_tame(text))
    return _to_blocks(tokens, first_line), _to_headings(tokens, first_line)


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import reference

    def bounded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        """Look for a link definition in a few lines; many open titles cost the square else."""
        everything = state.lineMax
        state.lineMax = min(everything, start + _MAX_REFERENCE_LINES)
        try:
            return reference(state, start, end, silent)
        finally:
            state.lineMax = everything

    # The limit would swallow the rest of the text, headings included; _tame bounds the depth.
    parser = MarkdownIt("commonmark", {"maxNesting": 1_000_000}).enable("table")
    parser.disable(["inline", "text_join"])
    parser.block.ruler.at("reference", bounded)
    return parser


def _tame(text: str) -> str:
    """Return a copy with the same lines that is safe to parse."""
    return _DEEP_PREFIX.sub(_cut_prefix, _LONE_CR.sub(" ", text))


def _cut_prefix(found: re.Match[str]) -> str:
    """Turn what is too deep into text, save for blank lines and thematic breaks."""
    prefix = found.group()
    line_end = found.string.find("\n", found.end())
    if line_end == found.end() or found.end() == len(found.string):
        return prefix
    if prefix.strip(" \t") and _RULE.match(found.string, found.start()):
        return prefix
    column = quotes = 0
    for marker in _MARKERS.finditer(prefix):
        column += 4 - column % 4 if marker.group() == "\t" else len(marker.group())
        quotes += marker.group() == ">"
        if column > MAX_COLUMNS or quotes > MAX_QUOTES:
            return prefix[: marker.start()] + "x"
    return prefix


def _to_blocks(tokens: Iterable[Token], offset: int) -> list[Block]:
    root = _Open("root", 0, 0)
    stack = [root]
    for token in tokens:
        if token.type in _CONTAINER_ENDS:
            done = stack.pop()
            stack[-1].children.append(Block(done.kind, done.start, done.end, tuple(done.children)))
            continue
        if token.map is None:
            continue
        start, end = token.map[0] + offset, token.map[1] + offset
        if kind := _CONTAINERS.get(token.type):
            stack.append(_Open(kind, start, end))
        elif kind := _LEAVES.get(token.type):
            header = {"fence": 1, "table": 2}.get(kind, 0)
            stack[-1].children.append(Block(kind, start, end, header=header))
    return root.children


def _to_headings(tokens: list[Token], offset: int) -> list[Heading]:
    return [
        Heading(
            int(token.tag[1]),
            " ".join(line.strip() for line in tokens[index + 1].content.split("\n")),
            token.map[0] + offset,
            token.map[1] + offset,
        )
        for index, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map is not None
    ]
