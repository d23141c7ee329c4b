"""The one request object that every front end fills, and the presets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal, cast, get_args

from rag_engine.errors import UsageError
from rag_engine.store.filters import Filters

Mode = Literal["vector", "fts", "hybrid"]
MODES: tuple[str, ...] = get_args(Mode)
DEFAULT_MODE: Mode = "hybrid"
DEFAULT_TOP = 5
MAX_TOP = 100
MAX_QUERY_BYTES = 32 * 1024
DEFAULT_PRESET = "default"


@dataclass(frozen=True, slots=True)
class Preset:
    """Defaults for a situation; its scope is a preference, not a restriction."""

    mode: Mode
    top: int
    scope: str | None


PRESETS = {
    "coding": Preset("hybrid", 3, "dev"),
    "audit": Preset("hybrid", 5, "dev"),
    "qa": Preset("hybrid", 10, None),
    "fast": Preset("fts", 5, None),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A search as a user asks for it: what is None was not said.

    Attributes:
        query: The question, 1 byte to 32 KiB of UTF-8.
        preset: Name of a preset.
        mode: "vector", "fts" or "hybrid".
        top: Number of results, 1 to 100.
        scope: Only documents of this scope.
        tags: Only documents that carry all of them.
        author: Only documents with this author.
        after: Only documents of that day (YYYY-MM-DD) or later.
    """

    query: str
    preset: str | None = None
    mode: str | None = None
    top: int | None = None
    scope: str | None = None
    tags: tuple[str, ...] = ()
    author: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """A request with its presets and defaults settled.

    Attributes:
        query: The question.
        preset: Name of the preset, "default" where there was none.
        mode: Mode to search in.
        mode_is_explicit: It was said by flag, so nothing else will do.
        top: Number of results.
        filters: Strict restrictions.
        preferred_scope: Scope to restrict to where the index has documents of it.
    """

    query: str
    preset: str
    mode: Mode
    mode_is_explicit: bool
    top: int
    filters: Filters
    preferred_scope: str | None


def plan_search(
    request: SearchRequest, *, default_mode: str | None = None, default_top: int | None = None
) -> SearchPlan:
    """Check a request and settle it: flags beat the preset, the preset beats the defaults.

    Args:
        request: What was asked.
        default_mode: The configuration's mode for searches without a preset.
        default_top: The configuration's number of results for the same.

    Raises:
        UsageError: The request is wrong; the message says how.
    """
    _check_query(request.query)
    _check_filters(request)
    if request.preset is None or request.preset == DEFAULT_PRESET:
        name = DEFAULT_PRESET
        preset = Preset(_mode(default_mode or DEFAULT_MODE), default_top or DEFAULT_TOP, None)
    else:
        name = request.preset
        if name not in PRESETS:
            raise UsageError(f"There is no preset {name!r}.", f"Presets: {', '.join(PRESETS)}.")
        preset = PRESETS[name]
    top = preset.top if request.top is None else request.top
    if not 1 <= top <= MAX_TOP:
        raise UsageError(f"--top is {top}.", f"It goes from 1 to {MAX_TOP}.")
    return SearchPlan(
        query=request.query,
        preset=name,
        mode=preset.mode if request.mode is None else _mode(request.mode),
        mode_is_explicit=request.mode is not None,
        top=top,
        filters=Filters(
            scope=request.scope,
            tags=request.tags,
            author=request.author,
            after=None if request.after is None else _day(request.after),
        ),
        preferred_scope=preset.scope if request.scope is None else None,
    )


def request_from_texts(query: str, options: Mapping[str, str]) -> SearchRequest:
    """Fill a request from options as they are typed: on a command line, in a URL.

    Args:
        query: The question.
        options: Values by name: preset, mode, top, scope, tags, author, after.

    Raises:
        UsageError: A number or the list of tags is none.
    """
    return SearchRequest(
        query=query,
        preset=options.get("preset"),
        mode=options.get("mode"),
        top=_number("--top", options["top"]) if "top" in options else None,
        scope=options.get("scope"),
        tags=split_tags(options["tags"]) if "tags" in options else (),
        author=options.get("author"),
        after=options.get("after"),
    )


def split_tags(text: str) -> tuple[str, ...]:
    """Return the tags of "A,B"; blanks around them do not count.

    Raises:
        UsageError: There is none.
    """
    tags = tuple(tag for tag in (part.strip() for part in text.split(",")) if tag)
    if not tags:
        raise UsageError(f"--tags {text!r} names no tag.", "Write them as A,B.")
    return tags


def _check_query(query: str) -> None:
    size = _size("query", query)
    if size > MAX_QUERY_BYTES:
        raise UsageError(
            f"The query has {size:,} bytes.", f"It may have {MAX_QUERY_BYTES:,}; shorten it."
        )
    if not query.strip():
        raise UsageError("The query is empty.", 'Say what you look for: "how do we deploy?"')


def _check_filters(request: SearchRequest) -> None:
    for what, values in (
        ("scope", (request.scope,)),
        ("author", (request.author,)),
        ("tag", request.tags),
    ):
        for value in values:
            _size(what, value or "")


def _size(what: str, text: str) -> int:
    """Return the number of bytes; half characters, of which UTF-8 has none, are refused."""
    try:
        return len(text.encode())
    except UnicodeEncodeError as error:
        raise UsageError(f"The {what} is not valid UTF-8.", "Send it as UTF-8 text.") from error


def _mode(name: str) -> Mode:
    if name not in MODES:
        raise UsageError(f"There is no mode {name!r}.", f"Modes: {', '.join(MODES)}.")
    return cast(Mode, name)


def _day(text: str) -> date:
    try:
        # the library alone would take 2024-W01-1 as well
        if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise UsageError(f"--after {text!r} is not a date.", "Write it as YYYY-MM-DD.")


def _number(option: str, text: str) -> int:
    # int() alone takes "1_0", " 5" and digits of any script
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        raise UsageError(f"{option} {text!r} is not a whole number.", "Write it like 5.")
    return int(text)
