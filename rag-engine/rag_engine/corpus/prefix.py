"""What stands in front of a chunk when it is embedded: its title and the headings above it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rag_engine.corpus.breaks import cluster_border
from rag_engine.corpus.documents import TokenCounter

MAX_PART = 400
"""Characters of a title or heading that are worth embedding with every chunk."""

_TITLE_SHARE = 3


@dataclass(frozen=True, slots=True)
class Prefix:
    """Lines to put in front, and how many tokens they are."""

    text: str
    tokens: int


@dataclass(slots=True)
class Prefixes:
    """Builds prefixes of at most a given number of tokens.

    Args:
        title: The document's title.
        limit: Tokens that a prefix may have.
        count_tokens: Counts them.
    """

    title: str
    limit: int
    count_tokens: TokenCounter
    _counts: dict[str, int] = field(default_factory=dict)
    _made: dict[tuple[str, ...], Prefix] = field(default_factory=dict)

    def prepare(self, paths: Iterable[Sequence[str]]) -> None:
        """Count the parts of many prefixes in one call."""
        parts = {label(segment) for path in paths for segment in path} | {self.title[:MAX_PART]}
        new = sorted(parts - self._counts.keys())
        self._counts.update(zip(new, self.count_tokens(new), strict=True))

    def of(self, headings: Sequence[str], own: Sequence[str] = ()) -> Prefix:
        """Return the prefix of a chunk.

        Args:
            headings: Segments of the heading path that the chunk's text does not hold.
            own: Those that it does hold; a title that says the same is not repeated.
        """
        labels = [label(segment) for segment in headings]
        title = self.title[:MAX_PART]
        said = {part.casefold() for part in (*labels, *map(label, own))}
        parts = tuple(part for part in labels if part)
        if title and title.casefold() not in said:
            parts = (title, *parts)
        if parts not in self._made:
            self._made[parts] = self._fit(parts, titled=parts[:1] == (title,))
        return self._made[parts]

    def _fit(self, parts: tuple[str, ...], *, titled: bool) -> Prefix:
        """Keep the beginning of the title, then headings from the nearest one upwards."""
        missing = [part for part in parts if part not in self._counts]
        self._counts.update(zip(missing, self.count_tokens(missing), strict=True))
        total = sum(self._counts[part] for part in parts)
        if total <= self.limit:
            return Prefix("\n".join(parts), total)
        kept: list[str] = []
        left = self.limit
        head, headings = (parts[:1], parts[1:]) if titled else ((), parts)
        for part in head:
            text, tokens = self._cut(part, self.limit // _TITLE_SHARE if headings else left)
            head = (text,) if text else ()
            left -= tokens
        for part in reversed(headings):
            text, tokens = self._cut(part, left)
            if not text:
                break
            kept.insert(0, text)
            left -= tokens
        return Prefix("\n".join((*head, *kept)), self.limit - left)

    def _cut(self, part: str, limit: int) -> tuple[str, int]:
        """Return the longest beginning that fits, in steps of an eighth, and its tokens."""
        if self._counts[part] <= limit:
            return part, self._counts[part]
        ends = {cluster_border(part, len(part) * eighth // 8, 0) for eighth in range(1, 8)}
        shorter = [part[:end].rstrip() for end in sorted(ends, reverse=True)]
        for text, tokens in zip(shorter, self.count_tokens(shorter), strict=True):
            if text and tokens <= limit:
                return text, tokens
        return "", 0


def label(segment: str) -> str:
    """Return a path segment's text, without its marks, as far as it is worth embedding."""
    return segment.lstrip("#").strip()[:MAX_PART]
