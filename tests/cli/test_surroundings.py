"""What surrounds a call and is nobody's fault: locales, closed streams, odd paths and names."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from programs import ENGINE, Done, index, run_program, search
from rag_engine.cli.main import run
from rag_engine.cli.output import visible
from rag_engine.cli.rendering import render_answer
from rag_engine.cli.summary import render_summary
from rag_engine.corpus.walk import Skipped
from rag_engine.errors import KnowledgeError
from rag_engine.index.request import IndexReport
from rag_engine.search.answer import Answer, Result
from rag_engine.store.manifest import Manifest
from rag_engine.store.records import ChunkRecord

Program = Callable[..., Done]
ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
NOT_UTF_8 = os.fsdecode(b"x\xff")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with one note."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nheron text\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("place", ["flag", "variable", "home"])
def test_no_locale_hinders_a_path_that_is_not_ascii(tmp_path: Path, place: str) -> None:
    """A person called 张三 whose agent runs programs in the C locale."""
    home = tmp_path / "张三"
    folder = home / "笔记"
    folder.mkdir(parents=True)
    (folder / "数据.md").write_text("# 标题\n\nheron\n", encoding="utf-8")
    environment = {**ASCII, "HOME": str(home)}
    if place == "variable":
        environment["KNOWLEDGE_DB_PATH"] = str(home / "索引")
    options = ["--db-path", home / "索引"] if place == "flag" else []
    assert index("--full", folder, *options, environment=environment).code == 0
    for mode in ("fts", "hybrid"):
        done = search("heron", "--mode", mode, *options, environment=environment)
        assert [result["source_file"] for result in done.answer()["results"]] == ["数据.md"]


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        (("--db-path", NOT_UTF_8), {}),
        ((), {"KNOWLEDGE_DB_PATH": NOT_UTF_8}),
        (("--scope", NOT_UTF_8), {}),
        (("--exclude", NOT_UTF_8), {}),
        (("--model", NOT_UTF_8), {}),
        ((NOT_UTF_8,), {}),
    ],
)
def test_bytes_that_are_no_utf_8_are_refused_before_anything_is_written(
    notes: Path, home: Path, arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    """They could be given back neither in JSON nor to the libraries below."""
    (notes.parent / NOT_UTF_8).mkdir()
    done = index("--full", notes, *arguments, environment=environment, cwd=notes.parent)
    assert (done.code, done.stdout) == (2, "")
    assert "UTF-8" in done.stderr
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["", "loop", "~nobody-of-that-name/x", "x" * 5000, "a.md/x", "missing"]
)
@pytest.mark.parametrize("action", ["--full", "--update", "--remove"])
def test_a_folder_that_is_none_is_a_usage_error(
    built: Path, notes: Path, action: str, name: str
) -> None:
    """An empty name, which is the current folder to the library, comes from an unset variable."""
    (notes / "loop").symlink_to("loop")
    done = index(action, name, "--db-path", built / "kb", cwd=notes)
    assert (done.code, done.stdout) == (2, ""), done.stderr


@pytest.mark.parametrize("action", ["--full", "--update"])
def test_an_action_said_twice_means_all_its_folders(tmp_path: Path, action: str) -> None:
    """None of them is dropped without a word."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"# {name}\n", encoding="utf-8")
    kb = tmp_path / "kb"
    index(action, tmp_path / "one", action, tmp_path / "two", "--db-path", kb)
    status = json.loads(index("--status", "--json", "--db-path", kb).stdout)
    assert [root["label"] for root in status["roots"]] == ["one", "two"]


def test_an_agents_name_in_any_bytes_does_not_spoil_the_answer(notes: Path, home: Path) -> None:
    """The audit line is written after the answer: an error then would follow a full stdout."""
    index("--full", notes, "--db-path", notes.parent / "kb")
    environment = {"AUDIT_LOG": "true", "AUDIT_AGENT": NOT_UTF_8}
    options = ("--mode", "fts", "--db-path", notes.parent / "kb")
    search("heron", *options, environment=environment).answer()
    log = home / ".ai-skills" / ".logs" / "search-audit.jsonl"
    assert json.loads(log.read_text(encoding="utf-8"))["agent"] == "x\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_hinder_nothing(notes: Path, closed: str) -> None:
    """Some schedulers start programs without them; nothing may land in a file of the index."""
    kb = notes.parent / "kb"
    program = shlex.join([sys.executable, f"{ENGINE}/knowledge_index.py", "--db-path", str(kb)])
    done = run_program("bash", "-c", f"{program} --full {shlex.quote(str(notes))} {closed}")
    assert (done.code, done.stderr) == (0, "")
    assert search("heron", "--db-path", kb).answer()["total_results"] == 1


def test_an_answer_that_cannot_be_written_is_an_error() -> None:
    """A full disk behind a redirection."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, ENGINE / "knowledge_search.py", "--version"],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 1
    assert b"No space left" in done.stderr and b"Traceback" not in done.stderr


class PanicException(BaseException):
    """Stands in for a panic of Rust, whose class cannot be imported."""


@pytest.mark.parametrize("error", [PanicException("no threads"), MemoryError(), RecursionError()])
def test_no_failure_of_any_kind_shows_a_traceback(
    error: BaseException, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Also what is no Exception to Python."""

    def fail() -> int:
        raise error

    assert run(fail, as_json=False, debug=False) == KnowledgeError.exit_code
    told = capfdbinary.readouterr()
    assert told.out == b""
    assert type(error).__name__.encode() in told.err and b"Traceback" not in told.err


EVIL = "a\x1b[2J\nPROBLEM: all is lost\r\x07\x9b.md"


@pytest.mark.parametrize("colour", [False, True])
def test_no_name_of_a_file_reaches_a_terminal_raw(colour: bool) -> None:
    """Neither moving the cursor nor faking a line, with colours or without."""
    record = ChunkRecord("0" * 12, "r", EVIL, "text", (f"# {EVIL}",), 1, 1, "", "", (), (), "", "")
    answer = Answer("q", "fts", "default", (Result(record, EVIL, EVIL, 1.0),), (EVIL,), _NONE, 0, 0)
    shown = render_answer(answer, colour=colour)
    report = IndexReport(skipped=[Skipped(EVIL, EVIL)], warnings=[EVIL], problems=[EVIL])
    for text in (shown, render_summary(report, Path("/kb"))):
        assert "\x1b[2J" not in text
        assert not any(line.startswith("PROBLEM") for line in text.split("\n"))
        assert not set("\r\x07\x9b") & set(text)


_NONE: Manifest = None  # type: ignore[assignment]


def test_visible_keeps_all_that_is_harmless() -> None:
    """Tabs, other scripts and emoji are no control characters."""
    assert visible("a\tb 数据 👩‍💻 é") == "a\tb 数据 👩‍💻 é"
    assert visible("\x00\x1b\n\x7f\x9b") == "\\x00\\x1b\\x0a\\x7f\\x9b"
