"""Front matter: found where it is, read as it was written, never fatal."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rag_engine.corpus import front_matter
from rag_engine.corpus.front_matter import split_front_matter

NOTE = "---\ntitle: 标题\ntags: [甲, 乙]\n---\n# H\nbody\n"
FIELDS = {"title": "标题", "tags": ["甲", "乙"]}


@pytest.mark.parametrize(
    ("text", "body_line"),
    [
        (NOTE, 4),
        (NOTE.replace("\n", "\r\n"), 4),
        (NOTE.replace("---\n", "---  \t\n"), 4),
        (NOTE.replace("\n---\n", "\n...\n"), 4),
        ("---\ntitle: 标题\ntags: [甲, 乙]\n---", 4),
        ("---\ntitle: 标题\ntags:\n  - 甲\n  - 乙\n---\n", 6),
        ("---\n\n# comment\ntitle: 标题\ntags: [甲, 乙]\n\n---\n", 7),
        ("+++\ntitle = '标题'\ntags = ['甲', '乙']\n+++\n", 4),
        ("+++ \r\ntitle = '标题'\r\ntags = ['甲', '乙']\r\n+++\r\n", 4),
    ],
)
def test_the_block_is_found_in_every_form(text: str, body_line: int) -> None:
    """CRLF, blanks after the marks, dots as the closer, no final line end."""
    result = split_front_matter(text)
    assert dict(result.fields) == FIELDS
    assert (result.body_line, result.warnings) == (body_line, ())


@pytest.mark.parametrize("text", ["---\n---\n# H\n", "---\n\n \n---\n", "+++\n+++\n", "---\n---"])
def test_an_empty_block_is_front_matter_without_fields(text: str) -> None:
    """Not two thematic breaks that end up in a chunk."""
    result = split_front_matter(text)
    assert (dict(result.fields), result.warnings) == ({}, ())
    assert result.body_line == text.rstrip("\n").split("# H")[0].rstrip("\n").count("\n") + 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "---",
        "---\n",
        "# H\n---\na: b\n---\n",
        "\n---\na: b\n---\n",
        " ---\na: b\n---\n",
        "----\na: b\n----\n",
        "--- # x\na: b\n---\n",
        "---\na: b\nno closer\n",
        "---\na: b\n --- \n",
        "---\n# Heading\n---\ntext\n",
        "---\nA paragraph between breaks.\n---\n",
        "---\n- a\n- b\n---\n",
        "---\n**Note**: [a: b\n---\n",
        "---\ntitle：全角冒号\n---\n",
        "+++\nplain words\n+++\n",
        "+++\n",
        "+++\n[a link](x) and more\n+++\n",
    ],
)
def test_what_is_no_mapping_at_the_very_top_is_body(text: str) -> None:
    """A document may start with a thematic break; its text must not be lost."""
    assert split_front_matter(text) == front_matter.FrontMatter()


def test_scalars_are_kept_as_they_were_written() -> None:
    """Dates that do not exist, booleans and version numbers survive."""
    text = (
        "---\n"
        "date: 2024-02-30\nyear: 2024\nanswer: no\nversion: 1.10\noctal: 0o17\nbig: 1_000\n"
        "nan: .nan\nempty:\ntilde: ~\nnone: null\nquoted: 'null'\nblank: ''\n"
        "1: one\n2024-05-01: day\n.inf: far\nfold: >-\n  a\n  b\nplain: a\n  b\n"
        "when: 2001-12-14 21:59:43.10 -5\ntyped: !!int 7\nbinary: !!binary aGk=\n"
        "---\n"
    )
    assert dict(split_front_matter(text).fields) == {
        "date": "2024-02-30",
        "year": "2024",
        "answer": "no",
        "version": "1.10",
        "octal": "0o17",
        "big": "1_000",
        "nan": ".nan",
        "empty": None,
        "tilde": None,
        "none": None,
        "quoted": "null",
        "blank": "",
        "1": "one",
        "2024-05-01": "day",
        ".inf": "far",
        "fold": "a b",
        "plain": "a b",
        "when": "2001-12-14 21:59:43.10 -5",
        "typed": "7",
        "binary": "aGk=",
    }


def test_toml_values_become_the_strings_that_were_written() -> None:
    """So that both kinds are read by the same rules."""
    text = (
        "+++\nday = 2024-05-01\nmoment = 2024-05-01T10:00:00+08:00\nversion = 1.10\n"
        "count = 3\ndraft = true\nlist = [1, 'a']\n[table]\nkey = 'v'\n+++\n"
    )
    assert dict(split_front_matter(text).fields) == {
        "day": "2024-05-01",
        "moment": "2024-05-01T10:00:00+08:00",
        "version": "1.10",
        "count": "3",
        "draft": "true",
        "list": ["1", "a"],
        "table": {"key": "v"},
    }


@pytest.mark.parametrize(
    ("block", "line", "cause"),
    [
        ("title: a: b", 2, "mapping values"),
        ("x: 1\ntags: [a, b", 0, ""),
        ("x: 1\n\ty: 2", 3, ""),
        ("x: 'open\n# Not a heading", 0, ""),
        ("ok: 1\nbad: \x07", 3, "control characters"),
        ("x: @at", 2, ""),
        ("x: 1\nbroken line\ny: 2", 0, ""),
    ],
)
def test_an_unreadable_block_is_named_with_line_and_cause(
    block: str, line: int, cause: str
) -> None:
    """It is no body: a line of it must not become a heading."""
    text = f"---\n{block}\n---\n# H\n"
    result = split_front_matter(text)
    assert dict(result.fields) == {}
    assert not result.readable
    assert result.body_line == text.count("\n") - 1
    assert len(result.warnings) == 1
    assert "not readable YAML on line" in result.warnings[0]
    assert cause in result.warnings[0]
    assert not line or f"on line {line}:" in result.warnings[0]


def test_lines_in_warnings_count_line_feeds_only() -> None:
    """YAML also breaks lines at U+2028 and lone carriage returns; readers of the file do not."""
    result = split_front_matter("---\na: x\u2028y\rz\x85\nb: c: d\n---\n")
    assert "on line 3:" in result.warnings[0]


@pytest.mark.parametrize(
    ("block", "line"), [("a = ", 2), ("a = 1\nb = [", 0), ("a = 1\na = 2", 0), ("[x]\ny", 0)]
)
def test_unreadable_toml_is_named_likewise(block: str, line: int) -> None:
    """With TOML's own words."""
    result = split_front_matter(f"+++\n{block}\n+++\n")
    assert not result.readable
    assert "not readable TOML" in result.warnings[0]
    assert not line or f"on line {line}:" in result.warnings[0]


@pytest.mark.parametrize(
    "block",
    [
        "k: " + "[" * 20_000,
        "k: " + "{a: " * 20_000,
        "k:\n" + "".join("  " * n + "- \n" for n in range(1, 170)),
        "k: " + "- " * 20_000 + "x",
        "k: " + "[" * 40 + "]" * 40,
        "k: v\n" * 20_000,
    ],
)
def test_deep_or_long_blocks_are_refused_before_they_hurt(block: str) -> None:
    """Some of these crash a parser that builds the tree first."""
    result = split_front_matter(f"---\n{block}\n---\n# H\n")
    assert not result.readable
    assert result.warnings
    assert dict(split_front_matter(f"+++\nk = {'[' * 5000}\n+++\n").fields) == {}


def test_moderate_nesting_is_read() -> None:
    """The bound is far above what people write."""
    result = split_front_matter("---\nk: " + "[" * 20 + "x" + "]" * 20 + "\n---\n")
    assert result.readable


def test_aliases_are_not_expanded_and_are_named() -> None:
    """A few lines of them stand for gigabytes."""
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    result = split_front_matter("---\n" + "\n".join(lines) + "\n---\n# T\n")
    assert result.fields["a8"] == [None] * 9
    assert result.warnings == ("a YAML alias is left out of the front matter on line 3",)


def test_keys_that_are_no_scalars_are_dropped() -> None:
    """The rest of the block is not."""
    result = split_front_matter("---\na: b\n? [x, y]\n: z\n? {m: n}\n: o\n---\n")
    assert dict(result.fields) == {"a": "b"}


def test_without_the_c_library_the_result_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML's wheels have it, other builds may not."""
    import yaml

    broken = "---\na: b: c\n---\n"
    with_library = split_front_matter(NOTE)
    monkeypatch.delattr(yaml, "CBaseLoader", raising=False)
    assert split_front_matter(NOTE) == with_library
    assert "on line 2:" in split_front_matter(broken).warnings[0]
    assert "#x0007" in split_front_matter("---\na: \x07\n---\n").warnings[0]
    assert split_front_matter('---\na: "\\ud83d"\n---\n').body_line == 3


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["---", "+++"]),
    st.text("ab:=-[]{}'\"#&*!|>%@`,\n\r\t \\\x85\u2028é数\x07", max_size=60),
)
def test_no_block_raises(mark: str, block: str) -> None:
    """And the body begins right behind the closing line, or at the top."""
    text = f"{mark}\n{block}\n{mark}\nbody"
    result = split_front_matter(text)
    lines = text.split("\n")
    assert result.body_line == 0 or lines[result.body_line - 1].rstrip(" \t\r") in (mark, "...")
