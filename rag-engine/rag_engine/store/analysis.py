"""Text analysis for the full-text index: from mixed Chinese, English and code to search terms.

The same functions analyse documents and queries, so a query is never syntax: whatever its
characters, it becomes a list of terms. Three kinds of terms come out of a text:

- words: Chinese words as jieba's search mode cuts them, and Latin words and identifiers;
- grams: overlapping pairs of CJK characters, and the same Latin words and identifiers;
- chars: single CJK characters, which only a query of a lone character asks for.

An identifier gives itself whole and its parts: `src/userStore.ts` gives the path, `userstore.ts`,
`userstore`, `user`, `store`, `ts`.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise

ANALYSIS_VERSION = 1
"""Raised with every change that makes the terms of old and new indexes differ."""

MAX_TERM_BYTES = 128
"""Longer terms are replaced by a prefix and a hash: Tantivy drops very long ones silently."""

_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA_HANGUL = "\u3040-\u30ff\u31f0-\u31ff\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_WORD = rf"[^\W_{_HAN}{_KANA_HANGUL}]"
# A flag's dashes or a leading dot (--amend, .NET) count only where no word stands before them.
_RUN = re.compile(
    rf"(?P<cjk>[{_HAN}{_KANA_HANGUL}]+)"
    rf"|(?<![^\s(\[{{'\"`,;=|])(?P<lead>--?|\.)?(?P<latin>{_WORD}+(?:[-._/\\:@~+#&]+{_WORD}+)*"
    rf"(?:\+\+|\#)?)"
    rf"|(?P<inner>{_WORD}+(?:[-._/\\:@~+#&]+{_WORD}+)*(?:\+\+|\#)?)"
)
_HAN_OR_OTHER = re.compile(rf"(?P<han>[{_HAN}]+)|[{_KANA_HANGUL}]+")
_PATH_SEPARATORS = re.compile(r"[/\\:@~&]+")
_PART_SEPARATORS = re.compile(r"[-._+#]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^A-Za-z0-9]+")
_VERSION = re.compile(r"v(\d+(?:\.\d+)+.*)")
_MAX_JOINED_PARTS = 4
_MAX_CACHED = 64


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one text, in order, repeats included.

    Attributes:
        words: Chinese words (jieba, search mode), Latin words, identifiers and their parts.
        grams: Pairs of CJK characters, Latin words, identifiers and their parts.
        chars: Single CJK characters.
        lone_chars: Those of `chars` that stand alone, with no CJK neighbour.
    """

    words: tuple[str, ...]
    grams: tuple[str, ...]
    chars: tuple[str, ...]
    lone_chars: tuple[str, ...]


def analyze(text: str) -> Terms:
    """Return the search terms of a text; text may hold any characters at all."""
    words: list[str] = []
    grams: list[str] = []
    chars: list[str] = []
    lone: list[str] = []
    cut = _word_cutter()
    for match in _RUN.finditer(unicodedata.normalize("NFKC", text)):
        run = match["cjk"]
        if run is None:
            lead, whole = match["lead"] or "", match["latin"] or match["inner"]
            # words recur, long runs (base64, hashes) hardly do and would fill the memory
            known = _known_identifier_terms if len(whole) <= _MAX_CACHED else _identifier_terms
            terms = known(lead, whole)
            words += terms
            grams += terms
            continue
        for part in _HAN_OR_OTHER.finditer(run):
            words += map(_bounded, cut(part["han"]) if part["han"] else (part[0],))
        grams += map("".join, pairwise(run))
        chars += run
        if len(run) == 1:
            lone.append(run)
    return Terms(tuple(words), tuple(grams), tuple(chars), tuple(lone))


def exact_term(value: str) -> str:
    """Return the term under which a filter value (tag, author, scope, file) is indexed."""
    return _bounded(value)


@cache
def _word_cutter() -> Callable[[str], list[str]]:
    """Return jieba's search mode; its dictionary is loaded at the first call, in 0.1 s."""
    import rjieba

    cut: Callable[[str], list[str]] = rjieba.cut_for_search
    return cut


def _identifier_terms(lead: str, whole: str) -> tuple[str, ...]:
    """Return an identifier whole, its path segments, their parts and the parts joined."""
    if not lead and whole.isascii() and whole.isalpha() and whole.islower():
        return (_bounded(whole),)
    return tuple(dict.fromkeys(_bounded(term) for term in _identifier_forms(lead, whole) if term))


_known_identifier_terms = lru_cache(maxsize=65536)(_identifier_terms)


def _identifier_forms(lead: str, whole: str) -> Iterator[str]:
    yield _fold(lead + whole)
    yield _fold(whole)
    for segment in _PATH_SEPARATORS.split(whole):
        folded = _fold(segment)
        yield folded
        if version := _VERSION.fullmatch(folded):
            yield version[1]
        parts = [part for part in _PART_SEPARATORS.split(segment) if part]
        pieces = [piece for part in parts for piece in _camel_pieces(part)]
        if 1 < len(parts) <= _MAX_JOINED_PARTS and parts[-1].isalpha():
            yield _fold("".join(parts))
        for part in parts + pieces if len(parts) > 1 or len(pieces) > 1 else []:
            # a lone digit of a version or date says nothing
            if len(part) > 1 or not part.isdigit():
                yield _fold(part)


def _camel_pieces(part: str) -> list[str]:
    """Split camelCase and HTTPServer; digits stay with the letters before them."""
    if part.islower() or part.isupper() or not part.isascii():
        return []
    pieces: list[str] = []
    for piece in _CAMEL.findall(part):
        if piece.isdigit() and pieces:
            pieces[-1] += piece
        else:
            pieces.append(piece)
    # K8s is one word: a piece of one letter is no part of a name
    return pieces if len(pieces) > 1 and all(len(piece) > 1 for piece in pieces) else []


def _fold(text: str) -> str:
    """Lower-case, and take the accents off Latin letters: café is found by cafe."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    decomposed = unicodedata.normalize("NFD", lowered)
    kept: list[str] = []
    for char in decomposed:
        if unicodedata.combining(char) and kept and kept[-1].isascii():
            continue
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept))


def _bounded(term: str) -> str:
    if len(term) <= MAX_TERM_BYTES // 4 or len(term.encode()) <= MAX_TERM_BYTES:
        return term
    digest = hashlib.blake2b(term.encode(), digest_size=16).hexdigest()
    return f"{term[:16]}~{digest}"
