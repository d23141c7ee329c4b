"""Chunks: verbatim, exactly placed, small enough, cut where it hurts least."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from corpus.kit import BUDGET, assert_sound, places, read, texts
from fakes import count_tokens
from rag_engine.corpus.chunks import CHUNKING_VERSION, chunk_sections
from rag_engine.corpus.sections import split_sections

SENTENCE = "这是一个用来测试分块的句子，它有三十个左右的字。"


def test_the_version_is_pinned() -> None:
    """An index made by other rules must be rebuilt: raise it when chunks change."""
    assert CHUNKING_VERSION == 1


def test_a_section_that_fits_is_one_chunk_of_its_lines() -> None:
    """From its heading to its last line, without the blank ones around."""
    document = read("\n\n# A\n\ntext\n\n- x\n\n\n## B\ncode\n")
    assert places(document) == [(("# A",), 3, 7), (("# A", "## B"), 10, 11)]
    assert texts(document.chunks) == ["# A\n\ntext\n\n- x", "## B\ncode"]


def test_the_embedded_text_is_title_headings_above_and_text() -> None:
    """What the text itself begins with is not repeated."""
    document = read("---\ntitle: 手册\n---\n# A\n## B\n\n### C\ntext\n")
    assert [c.embedding_text for c in document.chunks] == ["手册\n# A\n## B\n\n### C\ntext"]
    document = read("# A\none\n## B\ntwo\n")
    assert [c.embedding_text for c in document.chunks] == ["# A\none", "A\n## B\ntwo"]


def test_the_text_is_verbatim_with_crlf_and_indentation() -> None:
    """Only the last line's own end is left out."""
    document = read("\r\n    code\r\n\r\n  text  \r\n")
    assert texts(document.chunks) == ["    code\r\n\r\n  text  "]
    assert places(document) == [((), 2, 4)]


def test_a_large_section_is_cut_between_blocks() -> None:
    """Paragraphs stay whole while they fit, and each chunk after the first names its heading."""
    paragraphs = [f"{n} " + SENTENCE * 4 for n in range(12)]
    raw = "# 标题\n\n" + "\n\n".join(paragraphs) + "\n"
    document = read(raw)
    assert_sound(raw.encode(), document)
    assert len(document.chunks) >= 3
    for paragraph in paragraphs:
        assert any(paragraph in chunk.text for chunk in document.chunks)
    for chunk in document.chunks[1:]:
        assert chunk.embedding_text.startswith("标题\n")
        assert chunk.text[0].isdigit()
        assert chunk.heading_path == ("# 标题",)


def test_splits_of_a_section_overlap_by_whole_lines() -> None:
    """By up to about 64 tokens; never by all of the chunk before."""
    raw = "# T\n\n" + "".join(f"第{n}行 {SENTENCE}\n" for n in range(100))
    document = read(raw)
    assert_sound(raw.encode(), document)
    for before, after in zip(document.chunks, document.chunks[1:], strict=False):
        shared = range(after.line_start, before.line_end + 1)
        assert 1 <= len(shared) <= 3
        lines = before.text.split("\n")[-len(shared) :]
        assert after.text.startswith("\n".join(lines))
        assert sum(count_tokens(lines)) <= 64


def test_no_section_overlaps_another() -> None:
    """Other headings, other matters."""
    raw = "".join(f"# H{n}\n\n{SENTENCE * 15}\n\n" for n in range(5))
    document = read(raw)
    ends = [chunk.line_end for chunk in document.chunks]
    assert all(
        chunk.line_start > end
        for end, chunk in zip(ends, document.chunks[1:], strict=False)
        if chunk.text.startswith("# ")
    )


@pytest.mark.parametrize(
    ("opener", "line", "closer", "repeated"),
    [
        ("```python", "print('数据库', 1)", "```", "```python"),
        ("~~~~ js", "let a = `b`;", "~~~~", "~~~~ js"),
        ("| 名称 | b |\n|---|:-:|", "| 数据 | 值 {} |", "", "| 名称 | b |\n|---|:-:|"),
    ],
)
def test_a_fence_or_table_too_large_alone_repeats_what_explains_it(
    opener: str, line: str, closer: str, repeated: str
) -> None:
    """In the embedded text only; what is cited stays verbatim, and nothing overlaps."""
    rows = [line.replace("{}", str(n)) for n in range(200)]
    raw = "# T\n\n" + "\n".join([opener, *rows, closer]) + "\n\nafter\n"
    document = read(raw)
    assert_sound(raw.encode(), document)
    inner = [c for c in document.chunks[1:] if c.text.startswith(line[:2])]
    assert len(inner) >= 2
    for before, chunk in zip(document.chunks, inner, strict=False):
        assert chunk.embedding_text == f"T\n{repeated}\n{chunk.text}"
        assert chunk.line_start == before.line_end + 1


def test_a_fence_that_fits_alone_is_never_cut() -> None:
    """Even if there was room for its first lines in the chunk before."""
    fence = "```\n" + "x = 1  # 数据\n" * 45 + "```"
    raw = f"# T\n\n{SENTENCE * 6}\n\n{fence}\n\n{SENTENCE * 6}\n\n{fence}\n"
    document = read(raw)
    assert_sound(raw.encode(), document)
    assert sum(fence in chunk.text for chunk in document.chunks) == 2


def test_a_fence_inside_a_list_is_kept_whole_when_the_list_is_cut() -> None:
    """A list goes to its items, an item to its blocks."""
    fence = "  ```\n" + "  x = 1\n" * 60 + "  ```\n"
    raw = "# T\n\n" + "".join(f"- item {n}\n\n{fence}\n" for n in range(6))
    document = read(raw)
    assert_sound(raw.encode(), document)
    assert sum(chunk.text.count(fence.rstrip("\n")) for chunk in document.chunks) == 6


def test_no_chunk_is_a_heading_only_while_text_follows() -> None:
    """A paragraph that fits alone but not with its heading is cut instead."""
    raw = f"# 标题\n\n{SENTENCE * 20}\n\n{SENTENCE * 20}\n"
    document = read(raw)
    assert_sound(raw.encode(), document)
    assert SENTENCE in document.chunks[0].text


def test_a_long_line_is_cut_at_sentences() -> None:
    """And its parts name the same line."""
    raw = f"{SENTENCE * 100}\n"
    document = read(raw)
    assert_sound(raw.encode(), document)
    assert all(chunk.text.endswith("。") for chunk in document.chunks)
    assert {place[1:] for place in places(document)} == {(1, 1)}


@pytest.mark.parametrize(
    ("content", "most"),
    [
        ("数" * 3000 + "尾标记甲", 8),
        ("aGVsbG8gd29ybGQ" * 2000 + "\nTAILMARK9", 10),
        ("👩\u200d👩\u200d👧" * 700 + " ZWJTAIL", 3),
        ("x" * 100_000 + " tail", 27),
        ("word " * 20_000 + "tail", 50),
        ("# " + "标题" * 1000 + "\n\nBODYUNDERLONGHEADING\n", 7),
        ("# h\n" + "1,2;3:" * 3000, 40),
        ("a" + " " * 20_000 + "b", 2),
    ],
)
def test_giant_lines_are_cut_into_few_chunks(content: str, most: int) -> None:
    """Each fits the model, none is longer than 4,096 characters, the end is kept."""
    document = read(content)
    assert_sound(content.encode(), document)
    assert 1 <= len(document.chunks) <= most
    assert document.chunks[-1].text.endswith(content.rstrip()[-1])


def test_a_table_of_many_rows_keeps_its_last() -> None:
    """One chunk for each few dozen rows."""
    raw = "| h | 值 |\n| --- | --- |\n" + "".join(f"| r{n} | 值{n} |\n" for n in range(800))
    document = read(raw)
    assert_sound(raw.encode(), document)
    assert "r799" in document.chunks[-1].text
    assert len(document.chunks) < 30


def test_equal_parts_of_a_line_are_one_chunk() -> None:
    """The same text at the same place twice would have the same id."""
    raw = "啊" * 5000
    document = read(raw)
    assert_sound(raw.encode(), document)


def test_equal_sections_are_chunks_of_their_own() -> None:
    """With their own lines."""
    document = read("# Log\n\n## 1\n\n### Fixed\n- none\n\n## 2\n\n### Fixed\n- none\n")
    assert [place[1:] for place in places(document)] == [(1, 6), (8, 11)]


def test_deep_and_long_headings_leave_room_for_text() -> None:
    """The prefix is cut, the text is not."""
    words = " ".join(f"word{n}" for n in range(90))
    raw = "".join(f"{'#' * n} {words}\n\n" for n in range(1, 7)) + "DEEPBODY7 " * 400 + "\n"
    document = read(raw)
    assert_sound(raw.encode(), document)
    assert len(document.chunks) < 12


def test_the_budget_is_the_callers() -> None:
    """Other models have other windows."""
    raw = f"# 标题\n\n{(SENTENCE + chr(10)) * 50}"
    for budget in (16, 64, 128, 2048):
        document = read(raw, budget=budget)
        assert_sound(raw.encode(), document, budget)
    assert len(read(raw, budget=2048).chunks) == 1


def test_a_count_that_does_not_add_up_is_met_all_the_same() -> None:
    """Not every tokenizer splits at white space; what counts is the embedded text as a whole."""

    def greedy(items: Sequence[str]) -> list[int]:
        return [len(item) + len(item) ** 2 // 1000 for item in items]

    text = "# T\n\n" + (SENTENCE + "\n") * 60
    chunks = chunk_sections(split_sections(text).sections, text, "T", greedy, 400)
    assert max(greedy([chunk.embedding_text for chunk in chunks])) <= 400


def test_counting_is_done_in_few_calls() -> None:
    """One call costs more than a line."""
    calls = 0

    def counted(items: Sequence[str]) -> list[int]:
        nonlocal calls
        calls += 1
        assert items
        return count_tokens(items)

    text = "".join(f"# H{n}\n\n{SENTENCE}\n\n" for n in range(200))
    text += "# Long\n\n" + (SENTENCE + "\n") * 200
    chunk_sections(split_sections(text).sections, text, "T", counted, BUDGET)
    assert calls <= 10
    assert chunk_sections((), "", "T", counted, BUDGET) == ()
