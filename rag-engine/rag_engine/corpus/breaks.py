"""Where a line that is too long may be cut: sentences first, then words, then characters."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

_CJK = (
    "\u2e80-\u303f\u3040-\u30ff\u3100-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
)
_CLOSERS = "”’」』）】》\"')\\]"
# A full stop inside a word (1.0, e.g.) ends nothing. Repeats are bounded: a line of half a
# million dots would otherwise be looked at from every dot anew.
_SENTENCE_END = re.compile(
    rf"(?:[。！？；…]{{1,8}}[{_CLOSERS}]{{0,8}}|[.!?;]{{1,8}}[{_CLOSERS}]{{0,8}}(?=\s))\s*"
)
# Runs of CJK and of blanks are taken in small portions so that chunks fill up; a long word is a
# single unknown token to most models, whose parts would count as many.
_WORD = re.compile(rf"[{_CJK}]{{1,32}}|[^\s{_CJK}]{{1,1024}}|\s{{1,256}}")
_MAX_CLUSTER = 64
_JOINERS = "\u200d\u034f"


def sentences(text: str) -> list[int]:
    """Return the borders of a text's sentences, 0 and its length included."""
    borders = [0, *(found.end() for found in _SENTENCE_END.finditer(text))]
    if borders[-1] != len(text):
        borders.append(len(text))
    return borders


def words(text: str) -> list[int]:
    """Return the borders of a text's words and portions of CJK, 0 and its length included."""
    borders = [0]
    for found in _WORD.finditer(text):
        end = cluster_border(text, found.end(), borders[-1])
        if end > borders[-1]:
            borders.append(end)
    if borders[-1] != len(text):
        borders.append(len(text))
    return borders


def halves(text: str) -> list[int]:
    """Return the borders of a text's halves, 0 and its length included; whole characters."""
    return sorted({0, cluster_border(text, (len(text) + 1) // 2, 0), len(text)})


def cluster_border(text: str, wanted: int, after: int) -> int:
    """Move a cut back to where no character that a reader sees is torn apart.

    Args:
        text: Any text.
        wanted: Where the cut would be.
        after: It has to stay behind this.

    Returns:
        The nearest such place at or before `wanted`; `wanted` if there is none within reach.
    """
    for position in range(wanted, max(after, wanted - _MAX_CLUSTER), -1):
        if position >= len(text) or not _is_inside_cluster(text, position):
            return position
    return wanted


def _is_inside_cluster(text: str, position: int) -> bool:
    before, here = text[position - 1], text[position]
    if here < "\u0300":
        return before == "\r" and here == "\n"
    if before in _JOINERS or here in _JOINERS:
        return True
    if unicodedata.category(here) in ("Mn", "Mc", "Me"):
        return True
    if "\U0001f3fb" <= here <= "\U0001f3ff" or "\U000e0020" <= here <= "\U000e007f":
        return True
    if "\u1160" <= here <= "\u11ff":
        return True
    return _is_flag(before) and _is_flag(here) and _flags_before(text, position) % 2 == 1


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flags_before(text: str, position: int) -> int:
    count = 0
    while position - count > 0 and count < _MAX_CLUSTER and _is_flag(text[position - count - 1]):
        count += 1
    return count


def spans(borders: list[int], offset: int) -> list[tuple[int, int]]:
    """Pair borders to ranges, moved by an offset."""
    return [(offset + start, offset + end) for start, end in pairwise(borders)]
