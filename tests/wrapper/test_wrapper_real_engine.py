"""The wrapper of this repository in front of its own engine, on a small index."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from answers import check_answer, check_error
from wrapper.shell import SKILL, environment, run

WRAPPER = SKILL / "scripts" / "knowledge-search.sh"
ENGINE = SKILL.parents[1] / "rag-engine"
NOTE = """---
title: 数据库笔记
tags: [mysql, pool]
---
# 数据库

## 连接池

连接池耗尽时先看 `max_connections`，it's "36" 🐘.
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose knowledge base holds one note."""
    folder = tmp_path_factory.mktemp("indexed")
    (folder / "notes").mkdir()
    (folder / "notes" / "pool.md").write_text(NOTE, encoding="utf-8")
    command = [sys.executable, ENGINE / "knowledge_index.py", "--full", folder / "notes"]
    outcome = run(command, environment(folder))
    assert outcome.code == 0, outcome.err
    return folder


def without_time(text: bytes) -> dict[str, Any]:
    """Return an answer less what differs from one search to the next."""
    answer = check_answer(text.decode("utf-8"))
    answer.pop("took_ms", None)
    answer.get("index", {}).pop("age_s", None)
    return answer


@pytest.mark.parametrize(
    "query", ["连接池耗尽", 'it\'s "36" 🐘', "max_connections\n", "$(x) `y` \\"]
)
def test_the_wrapper_answers_what_the_engine_answers(bash: str, home: Path, query: str) -> None:
    """Nothing is lost or added on the way, quotes and line breaks included."""
    env = environment(home)
    outcome = run([bash, WRAPPER, query, "--preset", "fast"], env, cwd="/")
    direct = [sys.executable, ENGINE / "knowledge_search.py", "--json", query, "--preset", "fast"]
    assert outcome.code == 0, outcome.err
    answer = without_time(outcome.out)
    assert answer == without_time(run(direct, env).out)
    assert (answer["query"], answer["mode"], answer["preset"]) == (query, "fts", "fast")


def test_a_citation_leads_to_the_lines_on_disk(bash: str, home: Path) -> None:
    """The loop of SKILL.md: search, read, cite."""
    outcome = run([bash, WRAPPER, "连接池", "--preset=fast", "--top=1"], environment(home))
    result = check_answer(outcome.out.decode("utf-8"))["results"][0]
    first, last = (int(line[1:]) for line in result["line_range"].split("-"))
    lines = (home / "notes" / result["source_file"]).read_text(encoding="utf-8").split("\n")
    assert result["text"] in "\n".join(lines[first - 1 : last])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["q"], 3),
        (["q", "--top", "0"], 2),
        (["q", "--bogus"], 2),
        (["one", "two"], 2),
        ([" "], 2),
        (["--preset"], 2),
    ],
)
def test_the_engines_errors_come_through(
    bash: str, tmp_path: Path, arguments: list[str], code: int
) -> None:
    """One object on stderr, nothing on stdout, and the engine's exit code."""
    outcome = run([bash, WRAPPER, *arguments], environment(tmp_path))
    assert (outcome.code, outcome.out) == (code, b"")
    assert check_error(outcome.err.decode("utf-8"))


def test_help_and_version_need_no_index(bash: str, tmp_path: Path) -> None:
    """They are for people: plain text on stdout."""
    for option in ("--help", "--version"):
        outcome = run([bash, WRAPPER, option], environment(tmp_path))
        assert (outcome.code, outcome.err) == (0, b"")
        assert outcome.out
        with pytest.raises(json.JSONDecodeError):
            json.loads(outcome.out)


def test_the_engines_help_names_the_same_options(bash: str, tmp_path: Path) -> None:
    """The wrapper has no help of its own that could disagree."""
    text = run([bash, WRAPPER, "--help"], environment(tmp_path)).out.decode("utf-8")
    code = WRAPPER.read_text(encoding="utf-8").split("set -euo")[0]
    named = {word.strip("[]") for word in code.split() if word.startswith("[--")}
    assert len(named) == 12
    for option in named:
        assert option in text
