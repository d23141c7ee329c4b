"""From what a user asks to a settled plan."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rag_engine.errors import UsageError
from rag_engine.search.request import (
    MAX_QUERY_BYTES,
    PRESETS,
    SearchPlan,
    SearchRequest,
    plan_search,
    split_tags,
)
from rag_engine.store.filters import Filters


def plan(query: str = "q", **asked: Any) -> SearchPlan:
    """Settle a request."""
    return plan_search(SearchRequest(query=query, **asked))


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("coding", ("hybrid", 3, "dev")),
        ("audit", ("hybrid", 5, "dev")),
        ("qa", ("hybrid", 10, None)),
        ("fast", ("fts", 5, None)),
        (None, ("hybrid", 5, None)),
        ("default", ("hybrid", 5, None)),
    ],
)
def test_presets_are_those_that_the_skill_promises(
    preset: str | None, expected: tuple[str, int, str | None]
) -> None:
    """SKILL.md has this table; agents choose by it."""
    settled = plan(preset=preset)
    assert (settled.mode, settled.top, settled.preferred_scope) == expected
    assert settled.preset == (preset or "default")
    assert settled.mode_is_explicit is False
    assert settled.filters == Filters()


@pytest.mark.parametrize("preset", [*PRESETS, None])
def test_a_flag_beats_its_preset(preset: str | None) -> None:
    """Whatever the preset says, --mode, --top and --scope say it last; a scope turns strict."""
    settled = plan(preset=preset, mode="vector", top=42, scope="ops")
    assert (settled.mode, settled.mode_is_explicit, settled.top) == ("vector", True, 42)
    assert (settled.filters.scope, settled.preferred_scope) == ("ops", None)


def test_the_same_mode_by_flag_counts_as_said() -> None:
    """Who asks for hybrid by name wants an error where it cannot be had."""
    assert plan(preset="coding", mode="hybrid").mode_is_explicit


def test_configured_defaults_are_for_searches_without_a_preset() -> None:
    """A preset beats the configuration, and a flag beats both."""

    def settled(**asked: Any) -> tuple[str, int]:
        found = plan_search(SearchRequest(query="q", **asked), default_mode="fts", default_top=7)
        assert found.mode_is_explicit is ("mode" in asked)
        return found.mode, found.top

    assert settled() == ("fts", 7)
    assert settled(preset="default") == ("fts", 7)
    assert settled(preset="qa") == ("hybrid", 10)
    assert settled(mode="vector", top=1) == ("vector", 1)


def test_filters_are_taken_as_they_are() -> None:
    """Their values are data, odd ones too; only the date is read."""
    settled = plan(scope="it's", tags=('"', "a b"), author="\x00", after="2024-02-29")
    assert settled.filters == Filters("it's", ('"', "a b"), "\x00", date(2024, 2, 29))


@pytest.mark.parametrize("query", ["", " ", "\t\n", "\u3000", "\u2028"])
def test_an_empty_query_is_a_usage_error(query: str) -> None:
    """On every front end the same, and not a list of arbitrary notes."""
    with pytest.raises(UsageError, match="empty"):
        plan(query)


@pytest.mark.parametrize("letter", ["a", "猫", "😀", "\x00"])
def test_a_query_may_have_32_kib_and_not_a_byte_more(letter: str) -> None:
    """Bytes count, as a shell counts them, and not characters."""
    size = len(letter.encode())
    longest = letter * (MAX_QUERY_BYTES // size) + "x" * (MAX_QUERY_BYTES % size)
    assert plan(longest).query == longest
    with pytest.raises(UsageError, match="32,769"):
        plan(longest + "x")


@pytest.mark.parametrize(
    "asked",
    [
        {"query": "\ud800"},
        {"query": "a\udcffb"},
        {"scope": "\udcff"},
        {"author": "x\ud800"},
        {"tags": ("ok", "\udc80")},
    ],
)
def test_what_is_not_utf8_is_a_usage_error(asked: dict[str, Any]) -> None:
    """A shell can pass any bytes; neither store can compare them."""
    with pytest.raises(UsageError, match="UTF-8"):
        plan(**asked)


@pytest.mark.parametrize("top", [0, -1, 101, 10**9])
@pytest.mark.parametrize("preset", [None, "qa"])
def test_a_number_out_of_range_is_a_usage_error(top: int, preset: str | None) -> None:
    """Tantivy panics at 0; a thousand results would flood an agent."""
    with pytest.raises(UsageError, match="1 to 100"):
        plan(preset=preset, top=top)


@pytest.mark.parametrize("top", [1, 100])
def test_the_ends_of_the_range_are_in_it(top: int) -> None:
    """1 and 100 are promised."""
    assert plan(top=top).top == top


@pytest.mark.parametrize(
    "day",
    [
        "", "2024", "2024-5-1", "2024-13-01", "2024-02-30", "20240501", "2024-W01-1", "2024-001",
        "01-05-2024", "2024/05/01", "2024-05-01T10:00", " 2024-05-01", "2024-05-01\n", "today",
        "２０２４-０５-０１", "0000-01-01", "'; --",
    ],
)  # fmt: skip
def test_a_day_that_is_not_one_is_a_usage_error(day: str) -> None:
    """Guessing would silently leave notes out; the right form is in the message."""
    with pytest.raises(UsageError, match="YYYY-MM-DD"):
        plan(after=day)


@given(st.dates())
@settings(deadline=None, max_examples=50)
def test_every_day_can_be_asked_for(day: date) -> None:
    """From year 1 to 9999."""
    assert plan(after=day.isoformat()).filters.after == day


@pytest.mark.parametrize("name", ["", "Coding", "codin", "coding ", "x"])
def test_an_unknown_preset_names_the_known(name: str) -> None:
    """An agent that misremembers corrects itself from the message."""
    with pytest.raises(UsageError, match="coding, audit, qa, fast"):
        plan(preset=name)


@pytest.mark.parametrize("name", ["", "FTS", "bm25", "semantic"])
def test_an_unknown_mode_names_the_known(name: str) -> None:
    """By flag, with a preset or without one, or from the configuration."""
    for preset in (None, "fast"):
        with pytest.raises(UsageError, match="vector, fts, hybrid"):
            plan(mode=name, preset=preset)


def test_an_unknown_configured_mode_is_an_error_too() -> None:
    """It must not be taken for another one."""
    with pytest.raises(UsageError, match="vector, fts, hybrid"):
        plan_search(SearchRequest(query="q"), default_mode="bm25")


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("a,b", ("a", "b")),
        (" a , b c ,", ("a", "b c")),
        ("a", ("a",)),
        ('O\'Neil,"x"', ("O'Neil", '"x"')),
    ],
)
def test_tags_are_split_at_commas(text: str, tags: tuple[str, ...]) -> None:
    """Blanks around a comma are how people write lists; those inside a tag belong to it."""
    assert split_tags(text) == tags


@pytest.mark.parametrize("text", ["", " , ,"])
def test_tags_that_name_none_are_refused(text: str) -> None:
    """A filter that filters nothing would answer from what was to be left out."""
    with pytest.raises(UsageError, match="no tag"):
        split_tags(text)
