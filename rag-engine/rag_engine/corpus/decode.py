"""From bytes to text, in whatever encoding a note was saved; guesses are always named."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from rag_engine.corpus.han import is_plausible_chinese
from rag_engine.errors import KnowledgeError

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_BOMS = (
    # UTF-32 first: its little-endian mark starts with UTF-16's.
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"PK\x03\x04", "a ZIP archive or office document"),
    (b"\x1f\x8b\x08", "a gzip archive"),
    (b"BZh9", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"\x28\xb5\x2f\xfd", "a zstd archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an office document"),
    (b"\x7fELF", "a program"),
    (b"\xcf\xfa\xed\xfe", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"SQLite format 3\x00", "a database"),
    (b"bplist00", "a property list"),
    (b"\x00\x00\x01\x00", "an icon"),
)
# These could begin a text too, so they count only with bytes that no text holds.
_TEXTUAL_MAGIC = (
    (b"%PDF-", "a PDF document"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "an image, sound or film"),
)
# Tab, line feed, form feed, carriage return, backspace and escape are found in texts.
_CONTROLS = bytes(set(range(32)) - set(b"\t\n\f\r\b\x1b\x00"))
_CONTROL_CHARACTERS = frozenset(_CONTROLS.decode()) | {REPLACEMENT}
# Fewer ideographs than this may all be usual ones by chance.
_MIN_IDEOGRAPHS = 4


class NotTextError(KnowledgeError):
    """The bytes are no text.

    Args:
        reason: What they are instead, in a few words.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"Not a text file: {reason}.")
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Decoded:
    """A file's text.

    Attributes:
        text: Without byte order mark and NUL characters, line ends as they are in the file.
        encoding: Python's name of it; `raw.decode(encoding, "replace")` gives the same text
            with its NULs.
        warning: What was guessed, replaced or lost; empty where nothing was.
    """

    text: str
    encoding: str
    warning: str = ""


def decode(raw: bytes) -> Decoded:
    """Decode a note.

    Raises:
        NotTextError: The bytes are an image, an archive or the like.
    """
    _refuse_magic(raw)
    for mark, name, plain in _BOMS:
        if raw.startswith(mark) and not (name == "utf-32" and _fails(raw, name)):
            return _finish(raw, name, plain, len(mark))
    if (utf_16 := _utf_16_without_mark(raw)) is not None:
        return _finish(raw, utf_16, utf_16, 0, f"no byte order mark, read as {utf_16.upper()}")
    _refuse_controls(raw)
    if _fails(raw, "utf-8") and not _is_mostly_utf_8(raw) and _is_gb18030(raw):
        return _finish(raw, "gb18030", "gb18030", 0, "not UTF-8, read as GB18030")
    return _finish(raw, "utf-8", "utf-8", 0)


def _fails(raw: bytes, encoding: str) -> bool:
    try:
        raw.decode(encoding)
    except UnicodeError:
        return True
    return False


def _finish(raw: bytes, name: str, plain: str, start: int, guess: str = "") -> Decoded:
    """Decode with replacement, and say what was replaced."""
    text = raw.decode(name, "replace").lstrip("\ufeff")
    warnings = [guess] if guess else []
    bad, first = _undecodable(raw[start:], plain)
    if bad:
        line = raw[start : start + first].decode(plain, "replace").count("\n") + 1
        label = plain.upper()
        warnings.append(
            f"{_count(bad, 'byte')} not valid {label} replaced by U+FFFD, the first on line {line}"
        )
    if nuls := text.count("\0"):
        line = text.count("\n", 0, text.index("\0")) + 1
        warnings.append(
            f"{_count(nuls, 'NUL character')} replaced by U+FFFD, the first on line {line}"
        )
        text = text.replace("\0", REPLACEMENT)
    if name not in ("utf-8", "utf-8-sig") and _is_noise(text):
        raise NotTextError(f"as {plain.upper()} it holds hardly any text")
    return Decoded(text, name, "; ".join(warnings))


def _is_noise(text: str) -> bool:
    """Say whether a text is binary data behind what looks like a byte order mark.

    Nearly every pair of bytes is some character, but a tenth of them are for private use.
    """
    odd = [c for c in set(text) if c in _CONTROL_CHARACTERS or "\ue000" <= c <= "\uf8ff"]
    return (sum(map(text.count, odd)) - 1) * 16 > len(text)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _undecodable(raw: bytes, encoding: str) -> tuple[int, int]:
    """Count the bytes that do not decode; returns their number and the first one's offset."""
    try:
        raw.decode(encoding)
    except UnicodeDecodeError as error:
        good = raw.decode(encoding, "ignore").encode(encoding)
        return len(raw) - len(good), error.start
    return 0, -1


def _is_mostly_utf_8(raw: bytes) -> bool:
    """A cut or patched UTF-8 file: few bytes are bad, and there are characters of three bytes.

    GB18030 text looks like UTF-8 of two bytes here and there, hardly ever like three.
    """
    bad, _ = _undecodable(raw, "utf-8")
    above_ascii = len(raw) - len(raw.translate(None, bytes(range(128, 256))))
    long = any(c >= "\u0800" and c != REPLACEMENT for c in raw.decode("utf-8", "replace"))
    return long and above_ascii - bad >= 4 * bad


def _is_gb18030(raw: bytes) -> bool:
    try:
        return is_plausible_chinese(raw.decode("gb18030"))
    except UnicodeError:
        return False


def _utf_16_without_mark(raw: bytes) -> str | None:
    """Recognise UTF-16 by its NULs, which all stand on one side of the byte pairs.

    ASCII with a NUL in it decodes as UTF-16 too, into random ideographs; so the text has to be
    mostly of an alphabet, or read like Chinese.
    """
    nuls = raw.count(0)
    if not nuls or len(raw) % 2:
        return None
    odd = raw[1::2].count(0)
    if odd not in (0, nuls):
        return None
    name = "utf-16-le" if odd else "utf-16-be"
    if _fails(raw, name):
        return None
    text = raw.decode(name)
    if not _CONTROL_CHARACTERS.isdisjoint(text):
        return None
    alphabetic = sum(character < "\u0500" for character in text)
    if alphabetic * 5 >= len(text) * 4:
        return name
    ideographs = sum("\u4e00" <= character <= "\u9fff" for character in text)
    return name if ideographs >= _MIN_IDEOGRAPHS and is_plausible_chinese(text) else None


def _refuse_magic(raw: bytes) -> None:
    for magic, kind in _MAGIC:
        if raw.startswith(magic):
            raise NotTextError(kind)
    for magic, kind in _TEXTUAL_MAGIC:
        if raw.startswith(magic) and (b"\0" in raw or _fails(raw, "utf-8")):
            raise NotTextError(kind)


def _refuse_controls(raw: bytes) -> None:
    """Refuse bytes among which too many are never found in a text."""
    nuls = raw.count(0)
    controls = len(raw) - len(raw.translate(None, _CONTROLS))
    # Every tenth of random bytes is such a one; a broken text may hold a few.
    share = 25 if _fails(raw, "utf-8") else 4
    if nuls * 2 > len(raw) or (controls - 1) * share > len(raw):
        raise NotTextError("binary data")
