"""Metadata: the five fields, from whatever people write."""

from __future__ import annotations

import json

import pytest
from rag_engine.corpus.documents import Metadata
from rag_engine.corpus.metadata import read_metadata


def described(**fields: object) -> tuple[Metadata, tuple[str, ...]]:
    """Read fields of a note that has a heading and a default scope."""
    return read_metadata(
        fields, first_heading="First H1", file_name="a.b.md", default_scope="notes"
    )


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("标题", "标题"),
        ("2024", "2024"),
        ("1.10", "1.10"),
        (["one"], "one"),
        ("a\r\n b\tc\x07\u2028d", "a b c d"),
        ("  x  ", "x"),
        ("", "First H1"),
        (None, "First H1"),
        (" \t", "First H1"),
        ([], "First H1"),
        ({}, "First H1"),
    ],
)
def test_the_title_is_what_was_written_or_the_first_heading(written: object, title: str) -> None:
    """On one line, without control characters."""
    assert described(title=written) == (Metadata(title, "notes"), ())


def test_without_title_and_heading_the_file_name_is_the_title() -> None:
    """Without its ending only."""
    metadata, _ = read_metadata({}, first_heading=" ", file_name="a.b.md", default_scope="")
    assert metadata == Metadata("a.b")


@pytest.mark.parametrize("name", ["Title", "TITLE", " title "])
def test_field_names_are_case_insensitive(name: str) -> None:
    """Templates differ."""
    assert described(**{name: "x"})[0].title == "x"


@pytest.mark.parametrize("written", [{"a": "b"}, ["a", "b"], [["a"]]])
def test_a_title_or_scope_that_is_no_single_value_is_named(written: object) -> None:
    """Its fallback is used."""
    metadata, warnings = described(title=written, scope=written)
    assert (metadata.title, metadata.scope) == ("First H1", "notes")
    assert len(warnings) == 2


def test_a_documents_own_scope_beats_the_default() -> None:
    """An empty one does not."""
    assert described(scope="dev")[0].scope == "dev"
    assert described(scope="")[0].scope == "notes"


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("数据库", ("数据库",)),
        ("alpha, beta，数据库 索引、c", ("alpha", "beta", "数据库 索引", "c")),
        (" , ,a,, ", ("a",)),
        (
            ["2024", "no", None, "1.10", "#hash", "O'Neil", ""],
            ("2024", "no", "1.10", "#hash", "O'Neil"),
        ),
        (["a", "b", "a"], ("a", "b")),
        (["a, b"], ("a, b",)),
        ({"a": "1", "b": None}, ("a", "b")),
        ("", ()),
        (None, ()),
    ],
)
def test_tags_come_from_lists_strings_and_mappings(written: object, tags: tuple[str, ...]) -> None:
    """A single string is one tag, never its letters; commas separate only in a string."""
    assert described(tags=written) == (Metadata("First H1", "notes", tags), ())


def test_nested_entries_are_left_out_and_named() -> None:
    """The others stay."""
    metadata, warnings = described(tags=["a", ["b"], {"c": "d"}])
    assert metadata.tags == ("a",)
    assert len(warnings) == 2


@pytest.mark.parametrize(
    ("fields", "authors"),
    [
        ({"author": "Li"}, ("Li",)),
        ({"author": "Li Lei, Han"}, ("Li Lei", "Han")),
        ({"author": ["Li Lei", "Han"]}, ("Li Lei", "Han")),
        ({"authors": ["A"], "author": "B"}, ("B", "A")),
        ({"authors": ["A"], "author": "A"}, ("A",)),
        ({"authors": [{"name": "A", "url": "x"}, "B"]}, ("A", "B")),
        ({"author": {"name": "A", "url": "x"}}, ("A",)),
        ({"author": {"A": None, "B": None}}, ("A", "B")),
    ],
)
def test_authors_come_from_both_fields(fields: dict[str, object], authors: tuple[str, ...]) -> None:
    """A person written out counts by name."""
    assert described(**fields)[0].authors == authors


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2024-05-01", "2024-05-01"),
        ("2024-5-1", "2024-05-01"),
        ("2024-05-01T10:00:00+08:00", "2024-05-01"),
        ("2024-05-01T23:59:59Z", "2024-05-01"),
        ("2024-05-01 10:00", "2024-05-01"),
        ("2001-12-14t21:59:43.10-05:00", "2001-12-14"),
        ("2001-12-14 21:59:43.10 -5", "2001-12-14"),
        ("2024-02-29", "2024-02-29"),
        (["2024-05-01"], "2024-05-01"),
        ("", ""),
        (None, ""),
    ],
)
def test_a_date_is_the_day_that_was_written(written: object, day: str) -> None:
    """In no other time zone: the writer's day is what a filter by day means."""
    assert described(date=written) == (Metadata("First H1", "notes", date=day), ())


@pytest.mark.parametrize(
    "written",
    [
        "2024-02-30",
        "2023-02-29",
        "2024-13-01",
        "0000-01-01",
        "2024.05.01",
        "01/05/2024",
        "2024/05/01",
        "20240501",
        "May 1, 2024",
        "2024-05",
        "24-05-01",
        "２０２４-05-01",
        "2024-05-01T25:00:00",
        "2024-05-01 10:61",
        "2024-05-01 and more",
        "yesterday",
        "10:00:00",
        ["2024-05-01", "2024-05-02"],
    ],
)
def test_a_date_in_another_form_is_left_out_and_named(written: object) -> None:
    """Guessing which number is the month would make filters lie."""
    metadata, warnings = described(date=written)
    assert metadata.date == ""
    assert len(warnings) == 1


def test_values_are_bounded_and_can_be_written_as_json() -> None:
    """Every chunk of a document carries them."""
    nasty = "x\ud83d\0\x1b" + "数" * 2000
    metadata, _ = described(title=nasty, scope=nasty, tags=[nasty], author=[nasty], date=nasty)
    for value in (metadata.title, metadata.scope, *metadata.tags, *metadata.authors):
        assert len(value) <= 1000
        json.dumps(value, ensure_ascii=False).encode()
        assert value.isprintable()
