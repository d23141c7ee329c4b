#!/usr/bin/env python3
"""Retrieval quality by mode: R@1, R@5, R@10 and MRR over sets of questions.

    .venv/bin/python scripts/bench/retrieval.py [--set cases] [--set cmrc] [--shared DIR]

cases  examples/cases.jsonl over examples/notes
cmrc   CMRC 2018 development set (848 passages, 3,219 questions), from DIR/eval/cmrc2018_dev.json;
       skipped aloud where that file is absent
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(REPO / "rag-engine"))

from rag_engine.embed.registry import load_embedder  # noqa: E402
from rag_engine.evaluate import Case, load_cases, rank_of_answer, score  # noqa: E402
from rag_engine.index.request import IndexRequest  # noqa: E402
from rag_engine.index.run import run_index  # noqa: E402
from rag_engine.search.answer import Result  # noqa: E402
from rag_engine.search.engine import SearchContext, search  # noqa: E402
from rag_engine.search.fusion import FusionSettings  # noqa: E402
from rag_engine.search.request import MODES, SearchRequest, plan_search  # noqa: E402
from rag_engine.store.snapshot import open_snapshot  # noqa: E402

DEPTH = 50


@dataclass(frozen=True)
class Question:
    """A question, and a function that finds the rank of its answer."""

    query: str
    rank: Callable[[Sequence[Result]], int | None]


def questions_of_cases() -> list[Question]:
    """Return the questions over the example notes."""

    def question(case: Case) -> Question:
        return Question(case.query, lambda results: rank_of_answer(case, results))

    return [question(case) for case in load_cases(REPO / "examples" / "cases.jsonl")]


def questions_of_cmrc(file: Path, corpus: Path) -> list[Question]:
    """Write each passage as a file; a question is answered by any chunk of its passage."""

    def question(text: str, name: str) -> Question:
        def rank(results: Sequence[Result]) -> int | None:
            files = list(dict.fromkeys(result.source_file for result in results))
            return files.index(name) + 1 if name in files else None

        return Question(text, rank)

    questions = []
    for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
        for passage in article["paragraphs"]:
            name = f"{passage['id']}.md"
            (corpus / name).write_text(passage["context"] + "\n", encoding="utf-8")
            questions += [question(qa["question"], name) for qa in passage["qas"]]
    return questions


def measure(name: str, corpus: Path, questions: Sequence[Question], index: Path) -> None:
    """Index the corpus and print one line for each mode."""
    run_index(IndexRequest(folder=index, full=False, directories=(corpus,)), lambda *_: None)
    snapshot = open_snapshot(index)
    embedder = load_embedder()
    context = SearchContext(lambda _: snapshot, lambda _: embedder)
    plain = SearchContext(lambda _: snapshot, lambda _: embedder, FusionSettings(method="plain"))
    print(f"{name}: {len(questions):,} questions, {snapshot.manifest.chunks:,} chunks")
    print(f"  {'mode':<12} {'R@1':>7} {'R@5':>7} {'R@10':>7} {'MRR':>7}")
    runs = [(mode, mode, context) for mode in MODES] + [("plain RRF", "hybrid", plain)]
    for label, mode, with_context in runs:
        ranks = []
        for question in questions:
            request = SearchRequest(query=question.query, mode=mode, top=DEPTH)
            answer = search(plan_search(request), index, with_context)
            ranks.append(question.rank(answer.results))
        found = score(ranks)
        print(
            f"  {label:<12} {found.recall_1:7.4f} {found.recall_5:7.4f} "
            f"{found.recall_10:7.4f} {found.mrr:7.4f}",
            flush=True,
        )


def main() -> None:
    """Measure the sets that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--set", action="append", choices=["cases", "cmrc"], dest="sets")
    parser.add_argument("--shared", type=Path, default=REPO.parent / "shared")
    parser.add_argument("--keep", type=Path, help="folder to keep indexes in, for the next run")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        keep = arguments.keep or Path(temporary)
        for name in arguments.sets or ["cases", "cmrc"]:
            if name == "cases":
                corpus = REPO / "examples" / "notes"
                measure(name, corpus, questions_of_cases(), keep / name)
                continue
            file = arguments.shared / "eval" / "cmrc2018_dev.json"
            if not file.exists():
                print(f"{name}: SKIPPED, {file} is not there")
                continue
            corpus = keep / "cmrc-corpus"
            corpus.mkdir(parents=True, exist_ok=True)
            measure(name, corpus, questions_of_cmrc(file, corpus), keep / name)


if __name__ == "__main__":
    main()
