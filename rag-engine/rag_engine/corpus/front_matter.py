"""The block of metadata at the head of a note: YAML between `---`, or TOML between `+++`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from typing import Any

MAX_DEPTH = 32
MAX_CHARACTERS = 64 * 1024
_YAML_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
# Line ends to YAML but not to us: they would shift the lines that its errors name.
_OTHER_LINE_ENDS = re.compile("\r(?!\n)|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_YAML_ENTRY = re.compile(
    r"""[ \t]*(?:[^\s#\-?:,\[\]{}&*!|>'"%@`][^:\n]*|"[^"\n]*"|'[^'\n]*')[ \t]*:(?:\s|$)"""
)
_TOML_ENTRY = re.compile(r"""[ \t]*(?:\[[\w."' \t[\]-]+\][ \t\r]*(?:#|$)|[\w."' \t-]+=)""")


class _UnreadableError(Exception):
    """A block cannot be read.

    Args:
        cause: Why, in a few words.
        line: Where, from 0 within the block, or -1.
    """

    def __init__(self, cause: str, line: int = -1) -> None:
        super().__init__(cause)
        self.cause = cause
        self.line = line


class _NotAMappingError(Exception):
    """The block is something else than metadata: text between two thematic breaks."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands in front of a note's body.

    Attributes:
        fields: Names and values; a scalar is the string that was written, or None for YAML's
            null; a list or mapping holds the like.
        body_line: Index of the body's first line, from 0; a block that cannot be read is no
            part of the body.
        warnings: What could not be read, and where.
        readable: False where there is a block that could not be read at all.
    """

    fields: Mapping[str, object] = field(default_factory=dict)
    body_line: int = 0
    warnings: tuple[str, ...] = ()
    readable: bool = True


def split_front_matter(text: str) -> FrontMatter:
    """Find and read the front matter of a text; never raises.

    A block that is no mapping, such as a paragraph between two thematic breaks, is body.
    """
    mark = text[:3]
    if mark not in ("---", "+++") or text[3 : (text + "\n").index("\n")].strip(" \t\r"):
        return FrontMatter()
    found = _find_block(text, ("---", "...") if mark == "---" else ("+++",))
    if found is None:
        return FrontMatter()
    block, body_line = found
    looks_right = (_YAML_ENTRY if mark == "---" else _TOML_ENTRY).match(_first_content(block))
    kind = "YAML" if mark == "---" else "TOML"
    warnings: list[str] = []
    try:
        if len(block) > MAX_CHARACTERS:
            raise _UnreadableError(f"it is longer than {MAX_CHARACTERS:,} characters")
        block = _OTHER_LINE_ENDS.sub(" ", block.replace("\r\n", "\n"))
        fields = _read_yaml(block, warnings) if mark == "---" else _read_toml(block)
    except _NotAMappingError:
        return FrontMatter()
    except _UnreadableError as error:
        if not looks_right:
            return FrontMatter()
        where = f" on line {error.line + 2}" if error.line >= 0 else ""
        problem = f"the front matter is not readable {kind}{where}: {error.cause}"
        return FrontMatter({}, body_line, (problem,), readable=False)
    return FrontMatter(fields, body_line, tuple(warnings))


def _find_block(text: str, closers: tuple[str, ...]) -> tuple[str, int] | None:
    """Return the lines up to the closing one, and the index of the line after it."""
    start = position = text.find("\n") + 1
    line = 1
    while 0 < position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        if text.startswith(closers, position) and not text[position + 3 : end].strip(" \t\r"):
            return text[start:position], line + 1
        position = end + 1
        line += 1
    return None


def _first_content(block: str) -> str:
    for line in block.split("\n"):
        if line.strip() and not line.lstrip().startswith("#"):
            return line
    return ""


def _read_yaml(block: str, warnings: list[str]) -> dict[str, object]:
    if not block.strip():
        return {}
    import yaml

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    events: Iterable[Any] = yaml.parse(block, Loader=loader)
    try:
        found = _build(events, warnings)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        cause = error.problem or error.context or "it is malformed"
        raise _UnreadableError(cause, mark.line if mark else -1) from error
    except yaml.reader.ReaderError as error:
        line = block.count("\n", 0, error.position)
        raise _UnreadableError(f"{error.reason} (#x{_code(error.character):04x})", line) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _UnreadableError(str(error).split("\n")[0] or type(error).__name__) from error
    if not isinstance(found, dict):
        raise _NotAMappingError
    return found


def _code(character: object) -> int:
    """Return a bad character's code; the C parser gives the number, the other the character."""
    if isinstance(character, int):
        return character
    return ord(character[:1]) if isinstance(character, str | bytes) and character else 0


def _build(events: Iterable[Any], warnings: list[str]) -> object:
    """Build the first document from YAML's events, every scalar as it was written.

    Reading events, and not nodes, keeps dates that do not exist, `no` and 1.10 as they are, and
    stops before a nesting that would exhaust the stack. Aliases are not expanded: a few lines
    of them stand for gigabytes.
    """
    import yaml

    stack: list[tuple[list[object], bool]] = []
    for event in events:
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(stack) >= MAX_DEPTH:
                raise _UnreadableError(f"it is nested deeper than {MAX_DEPTH} levels", _line(event))
            stack.append(([], isinstance(event, yaml.MappingStartEvent)))
            continue
        value: object = None
        if isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            parts, mapping = stack.pop()
            value = _mapping(parts) if mapping else parts
        elif isinstance(event, yaml.ScalarEvent):
            plain = event.style is None or event.style == ""
            value = None if plain and event.value in _YAML_NULLS else event.value
        elif isinstance(event, yaml.AliasEvent):
            if not warnings:
                place = f"the front matter on line {_line(event) + 2}"
                warnings.append(f"a YAML alias is left out of {place}")
        else:
            continue
        if not stack:
            return value
        stack[-1][0].append(value)
    return None


def _line(event: Any) -> int:
    return int(event.start_mark.line)


def _mapping(parts: list[object]) -> dict[str, object]:
    """Pair keys and values; a key that is no scalar is dropped, null is the empty key."""
    return {
        key if isinstance(key, str) else "": value
        for key, value in zip(parts[::2], parts[1::2], strict=True)
        if key is None or isinstance(key, str)
    }


def _read_toml(block: str) -> dict[str, object]:
    if not block.strip():
        return {}
    import tomllib

    try:
        found = tomllib.loads(block, parse_float=str)
    except tomllib.TOMLDecodeError as error:
        cause = str(error)
        at = re.search(r"\(at line (\d+), column \d+\)$", cause)
        line = int(at.group(1)) - 1 if at else block.count("\n") - 1
        raise _UnreadableError(cause.rpartition(" (at ")[0] or cause, line) from error
    except (ValueError, RecursionError) as error:
        raise _UnreadableError(str(error) or type(error).__name__) from error
    return {key: _as_written(value, 1) for key, value in found.items()}


def _as_written(value: object, depth: int) -> object:
    """Turn TOML's typed values into the strings that YAML's reader gives."""
    if depth > MAX_DEPTH:
        raise _UnreadableError(f"it is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {str(key): _as_written(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_written(item, depth + 1) for item in value]
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    return str(value)
