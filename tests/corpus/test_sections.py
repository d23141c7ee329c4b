"""Sections: headings where CommonMark has them, exact lines, the right chain above."""

from __future__ import annotations

import pytest
from rag_engine.corpus import sections
from rag_engine.corpus.markdown import parse_blocks
from rag_engine.corpus.sections import Outline, split_sections


def headings(text: str) -> list[tuple[int, str, int, int]]:
    """List level, text, first and last line (from 1) of the headings."""
    return [(h.level, h.text, h.start + 1, h.end) for h in parse_blocks(text, 0)[1]]


def paths(text: str) -> list[tuple[str, ...]]:
    """List the heading paths of the sections."""
    return [section.path for section in split_sections(text).sections]


FENCES = [
    "```sh\n# fake\n`````",
    "````md\n```\n# fake\n```\n# fake\n````",
    "   ```\n# fake\n    ```\n# fake\n   ```",
    "~~~ sh ```x\n# fake\n```\n# fake\n~~~ word\n# fake\n~~~",
    "```~~~\n# fake\n```",
    "```\n# fake\n~~~\n# fake\n```",
    "<!--\n# fake\n\n# fake\n-->",
    "<div>\n# fake\n</div>",
    "<pre>\n\n# fake\n\n</pre>",
    "<script>\n\n# fake\n</script>",
    "> # fake\n> text",
    "> fake\n> ---",
    "- # fake\n  ## fake",
    "1. # fake\n\n   fake\n   ====",
    "- a\n\n      # fake",
    "    # fake\n\t# fake",
    "#fake\n#\u3000fake\n＃ fake\n####### fake\n\\# fake",
    "text\n    # fake",
]


@pytest.mark.parametrize("block", FENCES)
def test_what_looks_like_a_heading_inside_another_block_is_none(block: str) -> None:
    """The headings around it are found, at their lines."""
    text = f"# A real\n\n{block}\n\n# B real\nbody\n"
    line = 4 + block.count("\n") + 1
    assert headings(text) == [(1, "A real", 1, 1), (1, "B real", line, line)]


def test_an_open_fence_reaches_to_the_end() -> None:
    """As every renderer shows it."""
    assert headings("# A\n```py\n# fake\n\n# fake") == [(1, "A", 1, 1)]


def test_a_backtick_in_the_info_string_makes_no_fence() -> None:
    """The next heading is a heading."""
    assert headings("# A\n``` a`b\n# B\n") == [(1, "A", 1, 1), (1, "B", 3, 3)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Title\n=====\n\ntext\n\nSub\n-\n", [(1, "Title", 1, 2), (2, "Sub", 6, 7)]),
        ("one\ntwo\n  three\n---\n", [(2, "one two three", 1, 4)]),
        ("a  \nb\\\n===\n", [(1, "a b\\", 1, 3)]),
        ("- item\n---\n\n> quote\n---\n\n| a |\n| --- |\n| 1 |\n\nword\n\n---\n", []),
        ("text\n\n===\n", []),
        ("```\nx\n```\n---\n", []),
        ("[label]: /url\n---\n", []),
        ("a\n=\nb\n-\n", [(1, "a", 1, 2), (2, "b", 3, 4)]),
    ],
)
def test_setext_headings_start_at_their_first_line(
    text: str, expected: list[tuple[int, str, int, int]]
) -> None:
    """And thematic breaks after other blocks are none."""
    assert headings(text) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("# C# tips #", (1, "C# tips")),
        ("## Title ##   ", (2, "Title")),
        ("### Keep\\#", (3, "Keep\\#")),
        ("### Tight#", (3, "Tight#")),
        ("## #", (2, "")),
        ("#", (1, "")),
        ("###### six", (6, "six")),
        (" ## one blank", (2, "one blank")),
        ("   # three", (1, "three")),
        ("#\ttab", (1, "tab")),
        ("# `code` **bold** [x](y)", (1, "`code` **bold** [x](y)")),
        ("# 👩\u200d💻 שלום \u200bzero", (1, "👩\u200d💻 שלום \u200bzero")),
        ("# a\u2028b\x0cc\x85d", (1, "a\u2028b\x0cc\x85d")),
    ],
)
def test_an_atx_heading_keeps_its_raw_text(line: str, expected: tuple[int, str]) -> None:
    """Without opening and closing marks."""
    for end in ("\n", "\r\n", ""):
        assert headings(f"{line}{end}") == [(*expected, 1, 1)]


def test_only_line_feeds_count_as_line_ends() -> None:
    """The parser would count lone carriage returns, other tools U+2028 and form feeds."""
    text = "a\rb\u2028c\x0cd\x0be\x85f\r\n\r\n# Two\rstill\n\ntext\r\r\n# Six\n"
    assert headings(text) == [(1, "Two still", 3, 3), (1, "Six", 6, 6)]


def test_lines_are_counted_from_the_top_of_the_file() -> None:
    """Front matter included."""
    outline = split_sections("---\na: b\n---\n# H\ntext\n", 3)
    assert [(s.path, s.start, s.end) for s in outline.sections] == [(("# H",), 3, 6)]
    assert split_sections("---\na: b\n---", 3) == Outline(())


def test_a_level_that_is_skipped_ends_at_the_next_one_above() -> None:
    """A stale heading in the path would be a wrong citation."""
    text = "# A\n### C\ntext c\n## B\ntext b\n# D\ntext d\n"
    assert paths(text) == [("# A", "### C"), ("# A", "## B"), ("# D",)]


def test_a_document_may_start_deep_and_rise() -> None:
    """The chain holds what was really above."""
    assert paths("### C\nc\n# A\na\n###### F\nf\n## B\nb\n") == [
        ("### C",),
        ("# A",),
        ("# A", "###### F"),
        ("# A", "## B"),
    ]


def test_text_before_the_first_heading_has_an_empty_path() -> None:
    """It is a section like others."""
    outline = split_sections("\npreamble\n\n# H\ntext\n")
    assert [(s.path, s.start, s.end) for s in outline.sections] == [((), 0, 3), (("# H",), 3, 6)]


def test_a_bare_heading_joins_the_section_below_it() -> None:
    """A chunk of a heading only answers nothing; its line still belongs to some chunk."""
    outline = split_sections("# A\n\n## B\n\n### C\n\ntext\n\n## D\ntext\n")
    first, second = outline.sections
    assert (first.path, first.above, first.start) == (("# A", "## B", "### C"), (), 0)
    assert (second.path, second.above, second.start) == (("# A", "## D"), ("# A",), 8)


def test_a_bare_heading_without_a_section_below_it_stands_alone() -> None:
    """It must be found as well."""
    assert paths("# A\n# B\n## C\n# D\n") == [("# A",), ("# B", "## C"), ("# D",)]
    assert paths("# A\n### B\n## C") == [("# A", "### B"), ("# A", "## C")]


@pytest.mark.parametrize(
    ("heading", "segment"),
    [
        ("## Title {#the-id}", "## Title"),
        ("## Title {#id .class key=val}  ", "## Title"),
        ("## Title {#id} ##", "## Title"),
        ("## `code()` <sup class='x' /> {#id}", "## `code()` <sup class='x' />"),
        ("## {#id}", "##"),
        ("##", "##"),
        ("## Set {a, b}", "## Set {a, b}"),
        ("## {#id} inside", "## {#id} inside"),
    ],
)
def test_an_anchor_is_no_part_of_the_path(heading: str, segment: str) -> None:
    """It stays in the text, which is verbatim."""
    assert paths(f"{heading}\ntext\n") == [(segment,)]


def test_the_first_h1_with_text_is_the_title_of_last_but_one_resort() -> None:
    """Not one in a quote or fence, and not one of a lower level."""
    text = "## Zero\n> # quote\n\n#\n\n# One {#one}\n\n# Two\n"
    assert split_sections(text).first_heading == "One"
    assert split_sections("## Only\n").first_heading == ""


def test_a_very_long_heading_is_cut_in_the_path() -> None:
    """Every chunk below it carries the path."""
    (path,) = paths("# " + "标题" * 5000 + "\n\ntext\n")
    assert len(path[0]) <= 1002


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n\u3000\n", "\r\n\r", "\x0c\n\x85"])
def test_white_space_makes_no_section(text: str) -> None:
    """Whatever kind it is."""
    assert split_sections(text).sections == ()


def test_blocks_have_their_lines_and_nesting() -> None:
    """They are where a large section may be cut."""
    text = (
        "para\npara\n\n- item\n\n  ```py\n  x\n  ```\n- two\n\n| a |\n|---|\n| b |\n\n"
        "> quote\n\n<div>\nhtml\n</div>\n\n    code\n\n---\n"
    )
    (section,) = split_sections(text).sections
    kinds = [(b.kind, b.start, b.end) for b in section.blocks]
    assert kinds == [
        ("paragraph", 0, 2),
        ("list", 3, 10),
        ("table", 10, 13),
        ("quote", 14, 15),
        ("html", 16, 19),
        ("code", 20, 21),
        ("rule", 22, 23),
    ]
    item = section.blocks[1].children[0]
    assert [(b.kind, b.start, b.end, b.header) for b in item.children] == [
        ("paragraph", 3, 4, 0),
        ("fence", 5, 8, 1),
    ]
    assert section.blocks[2].header == 2


def test_a_fault_of_the_parser_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is read as plain lines, and that is said."""

    def broken(text: str, first_line: int) -> None:
        raise RecursionError

    monkeypatch.setattr(sections, "parse_blocks", broken)
    outline = split_sections("---\na: b\n---\n# H\ntext\n", 3)
    assert [(s.path, s.start, s.end) for s in outline.sections] == [((), 3, 6)]
    assert "could not be parsed" in outline.warnings[0]


HOSTILE = {
    "brackets": "[" * 20_000,
    "quotes": (">" * 50 + " x\n") * 1000,
    "quotes of many depths": "".join(">" * (n % 100) + " x\n" for n in range(1000)),
    "bullets on one line": "- " * 20_000 + "x",
    "pluses on one line": "+ " * 20_000 + "x",
    "numbers on one line": "1. " * 20_000 + "x",
    "quoted bullets": "> - " * 5000 + "x",
    "indented lists": "".join("  " * n + "- x\n" for n in range(500)),
    "tabbed lists": "".join("\t" * n + "- x\n" for n in range(500)),
    "deep list, lazy lines": "- " * 30 + "x\n" + "y\n" * 5000,
    "open titles": '[a]: b "x\n' * 5000,
    "open labels": "[a\n" * 5000,
    "one long line": "x" * 1_000_000,
    "wide table": "|a" * 5000 + "\n" + "|-" * 5000 + "\n" + "|a\n" * 2000,
    "open tags": "<a\n" * 5000,
    "attributes": "<a " + "b=c " * 10_000,
    "asterisks": "* " * 20_000 + "x",
    "backslashes": "|\\" * 20_000 + "\n|-|\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_hides_no_heading_behind_it(name: str) -> None:
    """Neither the parser's own nesting limit nor Python's recursion limit is met."""
    outline = split_sections(HOSTILE[name] + "\n\n# End\n\ntext\n")
    assert outline.warnings == ()
    assert outline.sections[-1].path == ("# End",)
    assert outline.sections[0].start == 0


def test_a_long_thematic_break_is_none_of_the_deep_lists() -> None:
    """It is written with the same characters."""
    (section,) = split_sections("- " * 500 + "\n\ntext\n").sections
    assert [block.kind for block in section.blocks] == ["rule", "paragraph"]


def test_many_headings_are_many_sections() -> None:
    """In linear time."""
    assert len(split_sections("# a\ntext\n" * 5000).sections) == 5000
