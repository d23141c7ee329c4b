"""Evaluation: reading cases, judging results, scoring ranks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from rag_engine.errors import UsageError
from rag_engine.evaluate import Case, Scores, load_cases, rank_of_answer, score
from rag_engine.search.answer import Result
from store.samples import record

REPO = Path(__file__).resolve().parent.parent


def result(source_file: str = "a.md", text: str = "text", **changes: Any) -> Result:
    """Return a result in lines 10 to 12 of a file."""
    values = {"line_start": 10, "line_end": 12, **changes}
    return Result(record(1, text, **values), source_file, f"/notes/{source_file}", 0.5)


def write(folder: Path, text: str) -> Path:
    """Write a file of cases."""
    path = folder / "cases.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def test_cases_are_read_between_comments_and_blank_lines(tmp_path: Path) -> None:
    """The format that the design gives, with Windows line ends and a byte order mark too."""
    lines = [
        "\ufeff# questions about deployment",
        "",
        '{"query": "怎么部署", "expect": "回滚", "note": "for people", "other": 1}',
        "   # indented comment",
        '  {"query": "b", "relevant": ["a.md#X", "a.md:L12"], "tags": ["exact"]}  \r',
    ]
    assert load_cases(write(tmp_path, "\n".join(lines))) == [
        Case("怎么部署", expect="回滚"),
        Case("b", relevant=("a.md#X", "a.md:L12"), tags=("exact",)),
    ]
    assert load_cases(write(tmp_path, "# nothing\n")) == []


@pytest.mark.parametrize(
    "line",
    [
        "not json", "{", "5", "null", "[]", '"x"',
        '{"expect": "x"}', '{"query": "q"}', '{"query": "q", "expect": ""}',
        '{"query": "q", "relevant": []}', '{"query": 5, "expect": "x"}',
        '{"query": " ", "expect": "x"}', '{"query": "q", "expect": 5}',
        '{"query": "q", "expect": null}', '{"query": "q", "relevant": "a.md#X"}',
        '{"query": "q", "relevant": [5]}', '{"query": "q", "expect": "x", "tags": "exact"}',
    ],
)  # fmt: skip
def test_a_line_that_is_no_case_is_named(tmp_path: Path, line: str) -> None:
    """Passed over, it would make the scores look better or worse than they are."""
    with pytest.raises(UsageError, match="line 3"):
        load_cases(write(tmp_path, f'# c\n{{"query": "q", "expect": "x"}}\n{line}\n'))


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes | None) -> None:
    """A mistyped path is the user's to correct, without a traceback."""
    path = tmp_path / "cases.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"cases\.jsonl cannot be read"):
        load_cases(path)


@pytest.mark.parametrize(
    ("expect", "text", "answers"),
    [
        ("RollBack", "how to rollback", True),
        ("straße", "STRASSE", True),
        ("回滚", "先看日志，再回滚", True),
        ("roll back", "rollback", False),
        ("x", "", False),
    ],
)
def test_expected_text_is_compared_without_case(expect: str, text: str, answers: bool) -> None:
    """It stands for what a person would look for in the passage."""
    assert Case("q", expect=expect).answered_by(result(text=text)) is answers


@pytest.mark.parametrize(
    ("target", "answers"),
    [
        ("a.md#Deploy", True),
        ("a.md#Release", True),
        ("a.md#deploy", False),
        ("a.md#Dep", False),
        ("b.md#Deploy", False),
        ("x/a.md#Deploy", False),
        ("a.md#", False),
        ("a.md", False),
        ("a.md#C# tips", True),
        ("a.md:L10", True),
        ("a.md:L12", True),
        ("a.md:L9", False),
        ("a.md:L13", False),
        ("b.md:L11", False),
        ("a.md:L011", False),
        ("a.md#Step:L2", True),
    ],
)
def test_a_relevant_passage_is_a_heading_or_a_line_of_a_file(target: str, answers: bool) -> None:
    """Exactly that file, and a heading above the passage or a line in it."""
    headings = ("# Release", "## Deploy", "### C# tips", "#### Step:L2")
    assert Case("q", relevant=(target,)).answered_by(result(heading_path=headings)) is answers


def test_names_of_files_may_hold_any_sign() -> None:
    """C#.md is a common name of notes, and so are colons."""
    found = result("work/C#: L1.md", heading_path=("# Types",))
    assert Case("q", relevant=("work/C#: L1.md#Types",)).answered_by(found)
    assert Case("q", relevant=("work/C#: L1.md:L11",)).answered_by(found)
    assert not Case("q", relevant=("work/C#Types",)).answered_by(found)


def test_any_of_the_conditions_is_enough() -> None:
    """A question may have several right passages."""
    case = Case("q", expect="zzz", relevant=("b.md#X", "a.md:L11"))
    assert case.answered_by(result())
    assert case.answered_by(result("c.md", text="zzz"))
    assert not case.answered_by(result("c.md"))


def test_the_rank_is_that_of_the_first_answer() -> None:
    """Counted from 1; none is none."""
    case = Case("q", expect="yes")
    results = [result(text="no"), result(text="yes"), result(text="yes")]
    assert rank_of_answer(case, results) == 2
    assert rank_of_answer(case, results[:1]) is None
    assert rank_of_answer(case, []) is None


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([1, 1], Scores(1.0, 1.0, 1.0, 1.0)),
        ([None, None], Scores(0.0, 0.0, 0.0, 0.0)),
        ([1, 2, 5, 6, 10, 11, None, None], Scores(1 / 8, 3 / 8, 5 / 8, 0.0)),
        ([2, 4], Scores(0.0, 1.0, 1.0, 0.375)),
        ([], Scores(0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_scores_are_means_over_all_cases(ranks: list[int | None], expected: Scores) -> None:
    """Reckoned by hand; a case without an answer counts as 0."""
    found = score(ranks)
    assert (found.recall_1, found.recall_5, found.recall_10) == (
        expected.recall_1,
        expected.recall_5,
        expected.recall_10,
    )
    mrr = expected.mrr or sum(1 / rank for rank in ranks if rank) / max(1, len(ranks))
    assert found.mrr == pytest.approx(mrr)


def test_the_cases_of_the_examples_are_cases() -> None:
    """The demo and the quality test run on them."""
    path = REPO / "examples" / "cases.jsonl"
    cases = load_cases(path)
    assert cases
    for case in cases:
        for target in case.relevant:
            file = target.partition("#")[0].rpartition(":L")[0] or target.partition("#")[0]
            assert (REPO / "examples" / "notes" / file).is_file(), target
    assert json.loads(json.dumps([case.query for case in cases]))
