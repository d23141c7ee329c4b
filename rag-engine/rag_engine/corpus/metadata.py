"""From front matter fields of any shape to the five that a document has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import PurePosixPath

from rag_engine.corpus.documents import Metadata

MAX_VALUE = 1000
_BLANKS_AND_CONTROLS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_SURROGATES = re.compile("[\ud800-\udfff]")
_COMMAS = re.compile("[,，、]")
# YAML's timestamp, its seconds optional: 2024-5-1, 2024-05-01T10:00:00+08:00, 2024-05-01 10:00.
_TIMESTAMP = re.compile(
    r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})"
    r"(?:(?:[Tt]|[ \t]+)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.\d*)?)?"
    r"(?:[ \t]*(?:[Zz]|[-+]\d{1,2}(?::?\d{2})?))?)?",
    re.ASCII,
)


def read_metadata(
    fields: Mapping[str, object], *, first_heading: str, file_name: str, default_scope: str
) -> tuple[Metadata, tuple[str, ...]]:
    """Read a document's metadata; never raises.

    Args:
        fields: Front matter, names in any case.
        first_heading: The first H1, for a document without a title; "" where there is none.
        file_name: Its name without the ending is the title of last resort.
        default_scope: For a document that sets none.

    Returns:
        The metadata, and a sentence for each value that could not be used.
    """
    known = {name.strip().lower(): value for name, value in fields.items()}
    warnings: list[str] = []
    title = _single(known, "title", warnings) or clean(first_heading)
    authors = (*_several(known, "author", warnings), *_several(known, "authors", warnings))
    metadata = Metadata(
        title=title or clean(PurePosixPath(file_name).stem),
        scope=_single(known, "scope", warnings) or clean(default_scope),
        tags=tuple(dict.fromkeys(_several(known, "tags", warnings))),
        authors=tuple(dict.fromkeys(authors)),
        date=_day(_single(known, "date", warnings), warnings),
    )
    return metadata, tuple(warnings)


def clean(value: str) -> str:
    """Make one line of a value, without control characters, of at most MAX_VALUE characters."""
    return _SURROGATES.sub("\ufffd", _BLANKS_AND_CONTROLS.sub(" ", value))[:MAX_VALUE].strip()


def _single(known: Mapping[str, object], name: str, warnings: list[str]) -> str:
    """Return a value that has to be one string; a list of one counts as that."""
    value = known.get(name)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        return clean(value)
    if value:
        warnings.append(f"the front matter's {name} is not a single value and is left out")
    return ""


def _several(known: Mapping[str, object], name: str, warnings: list[str]) -> Iterator[str]:
    """Yield the entries of a list, of a comma separated string, or of a mapping's keys."""
    value = known.get(name)
    person = name.startswith("author")
    if isinstance(value, str):
        value = _COMMAS.split(value)
    elif isinstance(value, dict):
        value = [value] if person and "name" in value else list(value)
    for entry in value if isinstance(value, list) else ():
        if person and isinstance(entry, dict):
            entry = entry.get("name")
        if isinstance(entry, str):
            if text := clean(entry):
                yield text
        elif entry is not None:
            warnings.append(f"a nested entry of the front matter's {name} is left out")


def _day(value: str, warnings: list[str]) -> str:
    """Return the day of a timestamp as it was written, in no other time zone."""
    if not value:
        return ""
    if (found := _TIMESTAMP.fullmatch(value)) and _is_time(found):
        try:
            return date(int(found["year"]), int(found["month"]), int(found["day"])).isoformat()
        except ValueError:
            pass
    warnings.append(f"the date {value[:60]!r} is not a valid YYYY-MM-DD and is left out")
    return ""


def _is_time(found: re.Match[str]) -> bool:
    return (
        int(found["hour"] or 0) <= 23
        and int(found["minute"] or 0) <= 59
        and int(found["second"] or 0) <= 60
    )
