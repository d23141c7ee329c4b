"""Retrieval quality from cases: which passages should answer which questions."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_engine.errors import UsageError
from rag_engine.search.answer import Result

_LINE = re.compile(r"(?P<file>.+):L(?P<line>[1-9][0-9]*)")


@dataclass(frozen=True, slots=True)
class Case:
    """One question and what answers it.

    Attributes:
        query: The question.
        expect: Text that stands in an answering passage, compared without case; or "".
        relevant: Answering passages, each "file#Heading" or "file:L12".
        tags: Kinds of the case.
    """

    query: str
    expect: str = ""
    relevant: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()

    def answered_by(self, result: Result) -> bool:
        """Tell whether a result answers the question."""
        if self.expect and self.expect.casefold() in result.record.text.casefold():
            return True
        return any(_matches(target, result) for target in self.relevant)


@dataclass(frozen=True, slots=True)
class Scores:
    """Means over cases.

    Attributes:
        recall_1: Share of cases answered by the first result.
        recall_5: Share answered within five.
        recall_10: Share answered within ten.
        mrr: Mean of 1 / rank of the first answering result, 0 where there is none.
    """

    recall_1: float
    recall_5: float
    recall_10: float
    mrr: float


def load_cases(path: Path) -> list[Case]:
    """Read cases from JSON Lines; blank lines and lines that begin with # are comments.

    Raises:
        UsageError: The file cannot be read, or a line is no case; the message names it.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({error}).", "Name a JSON Lines file.") from error
    cases = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            cases.append(_case(line, f"{path}, line {number}"))
    return cases


def rank_of_answer(case: Case, results: Sequence[Result]) -> int | None:
    """Return the rank, from 1, of the first result that answers the case."""
    ranks = (rank for rank, result in enumerate(results, start=1) if case.answered_by(result))
    return next(ranks, None)


def score(ranks: Sequence[int | None]) -> Scores:
    """Return the means over the ranks of all cases."""
    count = max(1, len(ranks))

    def within(depth: int) -> float:
        return sum(rank is not None and rank <= depth for rank in ranks) / count

    mrr = sum(1 / rank for rank in ranks if rank) / count
    return Scores(within(1), within(5), within(10), mrr)


def _case(line: str, place: str) -> Case:
    try:
        data: Any = json.loads(line)
        case = Case(
            query=data["query"],
            expect=data.get("expect", ""),
            relevant=_texts(data, "relevant"),
            tags=_texts(data, "tags"),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{place}: not a case ({error!r}).", "See docs/evaluation.md.") from error
    named = isinstance(case.query, str) and isinstance(case.expect, str) and case.query.strip()
    if not named or not (case.expect or case.relevant):
        raise UsageError(
            f"{place}: a case needs query, and expect or relevant.", "See docs/evaluation.md."
        )
    return case


def _texts(data: dict[str, Any], key: str) -> tuple[str, ...]:
    values = data.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"{key} is not a list of texts")
    return tuple(values)


def _matches(target: str, result: Result) -> bool:
    if (match := _LINE.fullmatch(target)) and match["file"] == result.source_file:
        return result.record.line_start <= int(match["line"]) <= result.record.line_end
    # file names and headings may hold "#" themselves
    file = f"{result.source_file}#"
    headings = (step.lstrip("#").strip() for step in result.record.heading_path)
    return target.startswith(file) and target.removeprefix(file) in headings
