"""Packs a section that is too large into ranges of text that fit, cutting where it hurts least."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

from rag_engine.corpus import breaks
from rag_engine.corpus.documents import TokenCounter
from rag_engine.corpus.markdown import Block

MAX_CHARACTERS = 4096
"""Of a chunk's text: to many models a word of any length is one unknown token."""

OVERLAP_TOKENS = 64
_FILL = 0.9
"""Share of a chunk's room that is planned with; blocks do not end where shares do."""

_OVERLAP_CHARACTERS = 512
_MAX_REPEATED = 1000
_WHOLE = frozenset(("fence", "table"))


@dataclass(frozen=True, slots=True)
class Span:
    """A range of the text that makes a chunk; `repeat` goes in front when it is embedded."""

    start: int
    end: int
    repeat: str = ""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A range of the text that may be moved to the next chunk as one.

    Attributes:
        start: Offset of its first character.
        end: Offset behind its last.
        tokens: How many it has.
        block: What it is, while it consists of whole lines.
        level: How fine a part of a line it is: 0 a line, 1 a sentence, 2 a word or less.
        repeat: Lines to repeat in a chunk that begins with it, and their tokens.
        heading: Whether it is a heading's line.
        fixed: Whether its lines must not be repeated in the next chunk.
    """

    start: int
    end: int
    tokens: int
    block: Block | None = None
    level: int = 0
    repeat: tuple[str, int] = ("", 0)
    heading: bool = False
    fixed: bool = False


@dataclass(slots=True)
class _Open:
    """The chunk that is being filled."""

    start: int
    end: int
    tokens: int
    limit: int
    repeat: str
    body: bool = False
    floor: int = 0


@dataclass(slots=True)
class Packer:
    """Splits one section.

    Args:
        text: The whole decoded file.
        starts: Offset of each of its lines, and its length.
        first_line: Index of the first line whose tokens are known.
        sums: Tokens of that line and those after it, added up, from 0.
        count_tokens: Counts those of parts of a line.
    """

    text: str
    starts: Sequence[int]
    first_line: int
    sums: Sequence[int]
    count_tokens: TokenCounter
    _spans: list[Span] = field(default_factory=list)
    _open: _Open | None = None
    _limit: int = 0
    _left: int = 0
    _share: int = 0

    def pack(
        self, blocks: Sequence[Block], start: int, end: int, first_limit: int, limit: int
    ) -> list[Span]:
        """Split the lines from `start` up to `end`.

        Args:
            blocks: The blocks among these lines.
            start: Index of the first line.
            end: Index of the line after the last.
            first_limit: Tokens that the first chunk's text may have.
            limit: Tokens that every later one may have.
        """
        self._spans, self._open, self._limit = [], None, first_limit
        self._left = self._tokens(start, end)
        self._plan(limit)
        pending = [*reversed(list(self._pieces(blocks, start, end, _Piece(0, 0, 0))))]
        while pending:
            piece = pending.pop()
            if self._fits(piece):
                self._add(piece)
                continue
            parts = self._parts(piece) if self._should_split(piece, limit) else []
            if len(parts) > 1:
                pending.extend(reversed(parts))
            else:
                self._close(piece, limit)
                self._add(piece)
        self._flush()
        return self._spans

    def _plan(self, limit: int) -> None:
        """Share what is left evenly among the chunks that it needs.

        With chunks filled to the brim the last one would often be a scrap of a few words, which
        ranks by chance.
        """
        chunks = ceil(self._left / (limit * _FILL))
        self._share = ceil(self._left / chunks) if chunks > 1 else limit

    def _fits(self, piece: _Piece) -> bool:
        if self._open is None:
            return self._fits_alone(piece, self._limit)
        tokens = self._open.tokens + piece.tokens
        return (
            tokens <= self._open.limit
            and (not self._open.body or tokens - piece.tokens // 2 <= self._share)
            and piece.end - self._open.start <= MAX_CHARACTERS
        )

    @staticmethod
    def _fits_alone(piece: _Piece, limit: int) -> bool:
        return piece.tokens + piece.repeat[1] <= limit and piece.end - piece.start <= MAX_CHARACTERS

    def _should_split(self, piece: _Piece, limit: int) -> bool:
        """Split what is too large alone, and what would leave a heading behind."""
        if not self._fits_alone(piece, limit):
            return True
        if self._open is None or self._open.body or piece.heading or piece.level >= 2:
            return False
        if piece.block is not None and piece.block.kind in _WHOLE:
            return False
        return self._open.tokens * 2 < self._open.limit

    def _add(self, piece: _Piece) -> None:
        self._left -= piece.tokens
        if self._open is None:
            text, tokens = piece.repeat
            self._open = _Open(
                piece.start, piece.end, piece.tokens, self._limit - tokens, text, floor=piece.start
            )
        else:
            self._open.end = piece.end
            self._open.tokens += piece.tokens
        self._open.body |= not piece.heading
        if piece.fixed or piece.heading:
            self._open.floor = piece.end
        elif piece.block is not None and (last := _last_fixed(piece.block)) is not None:
            self._open.floor = self.starts[last]

    def _close(self, following: _Piece, limit: int) -> None:
        """End the open chunk, and begin the next one with its last lines where there is room."""
        done = self._open
        self._flush()
        self._limit = limit
        self._plan(limit)
        if done is None or following.fixed or following.repeat[0]:
            return
        line = self._line_of(following.start)
        room = min(OVERLAP_TOKENS, limit - following.tokens)
        characters = min(_OVERLAP_CHARACTERS, MAX_CHARACTERS - (following.end - following.start))
        begin = following.start
        # Lines that begin in the chunk, but not its first one: that would repeat all of it.
        while line > 0 and self.starts[line - 1] >= done.floor and begin <= self.starts[line]:
            above = self.starts[line - 1]
            tokens = self._tokens(line - 1, line)
            if above <= done.start or tokens > room or following.start - above > characters:
                break
            room -= tokens
            begin = above
            line -= 1
        if self.text[begin : following.start].strip():
            used = self._tokens(line, self._line_of(following.start))
            self._open = _Open(begin, following.start, used, limit, "", body=True, floor=begin)

    def _flush(self) -> None:
        if self._open is not None:
            self._spans.append(Span(self._open.start, self._open.end, self._open.repeat))
        self._open = None

    def _line_of(self, offset: int) -> int:
        return bisect_right(self.starts, offset) - 1

    def _tokens(self, start: int, end: int) -> int:
        return self.sums[end - self.first_line] - self.sums[start - self.first_line]

    def _pieces(
        self, blocks: Sequence[Block], start: int, end: int, parent: _Piece
    ) -> Iterator[_Piece]:
        """Yield the blocks, and the lines between them, as pieces like `parent`."""
        for block in blocks:
            yield from self._lines(start, block.start, parent)
            yield self._piece(block, parent)
            start = max(start, block.end)
        yield from self._lines(start, end, parent)

    def _piece(self, block: Block, parent: _Piece) -> _Piece:
        return replace(
            parent,
            start=self.starts[block.start],
            end=self.starts[block.end],
            tokens=self._tokens(block.start, block.end),
            block=block,
            heading=block.kind == "heading",
            fixed=parent.fixed or block.kind in _WHOLE,
        )

    def _lines(self, start: int, end: int, parent: _Piece) -> Iterator[_Piece]:
        for line in range(start, end):
            if self.text[self.starts[line] : self.starts[line + 1]].strip():
                yield self._piece(Block("text", line, line + 1), parent)

    def _parts(self, piece: _Piece) -> list[_Piece]:
        """Break a piece into the next smaller ones; into fewer than two if that is impossible."""
        block = piece.block
        if block is None:
            return self._line_parts(piece)
        if block.children:
            parts = list(self._pieces(block.children, block.start, block.end, piece))
        elif block.end - block.start == 1:
            return self._line_parts(replace(piece, block=None))
        elif block.kind in _WHOLE:
            parts = self._rows(piece, block)
        else:
            lines = self._lines(block.start, block.end, piece)
            parts = [replace(line, heading=piece.heading) for line in lines]
        return parts if len(parts) != 1 else self._parts(parts[0])

    def _rows(self, piece: _Piece, block: Block) -> list[_Piece]:
        """Cut a fence or table into its lines; all but the first repeat what explains them."""
        body = min(block.start + block.header, block.end)
        head = Block("text", block.start, body)
        parts = [self._piece(head, piece)] if body > block.start else []
        text = self.text[self.starts[block.start] : self.starts[body]].rstrip("\r\n")
        tokens = self._tokens(block.start, body)
        if text and len(text) <= _MAX_REPEATED and tokens * 4 <= self._limit:
            piece = replace(piece, repeat=(text, tokens))
        return [*parts, *self._lines(body, block.end, piece)]

    def _line_parts(self, piece: _Piece) -> list[_Piece]:
        """Cut a line into sentences, these into words, and these into halves."""
        text = self.text[piece.start : piece.end]
        cuts = (breaks.sentences, breaks.words, breaks.halves)
        level, borders = piece.level, [0, len(text)]
        while len(borders) == 2 and level < len(cuts):
            borders = cuts[level](text)
            level += 1
        if len(borders) == 2:
            return []
        spans = breaks.spans(borders, piece.start)
        counts = self.count_tokens([self.text[start:end] for start, end in spans])
        level = min(level, 2)
        return [
            replace(piece, start=start, end=end, tokens=tokens, block=None, level=level)
            for (start, end), tokens in zip(spans, counts, strict=True)
        ]


def _last_fixed(block: Block) -> int | None:
    """Index of the line after the last fence or table in a block; None where there is none."""
    last = None
    pending = [block]
    while pending:
        here = pending.pop()
        if here.kind in _WHOLE:
            last = max(last or 0, here.end)
        pending.extend(here.children)
    return last
