"""knowledge_search.py and the wrapper, as users and agents call them."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from answers import check_answer
from programs import ENGINE, WRAPPER, Done, ask, index, run_program, search

FRONT_ENDS = pytest.mark.parametrize("front_end", [search, ask], ids=["engine", "wrapper"])
FrontEnd = Callable[..., Done]


@FRONT_ENDS
@pytest.mark.parametrize("mode", ["vector", "fts", "hybrid"])
def test_each_mode_finds_the_passage_with_its_exact_place(
    built: Path, front_end: FrontEnd, mode: str
) -> None:
    """The one thing the product is for."""
    answer = front_end("怎么回滚部署", "--mode", mode, "--db-path", built / "kb").answer()
    best = answer["results"][0]
    assert (answer["mode"], answer["preset"]) == (mode, "default")
    assert best["source_file"] == "deploy.md"
    assert best["heading_path"] == ["# 部署手册", "## 回滚"]
    # the title has no text of its own, so it begins the passage below it
    assert best["line_range"] == "L8-L12"
    lines = (built / "notes" / "deploy.md").read_text(encoding="utf-8").split("\n")
    assert best["text"] == "\n".join(lines[7:12])
    assert best["metadata"] == {
        "title": "部署手册",
        "scope": "dev",
        "tags": "部署,k8s",
        "author": "sre",
        "date": "2025-03-01",
    }


def test_wrapper_and_engine_answer_the_same(built: Path) -> None:
    """One contract, whichever way it is reached."""
    arguments = ("cache stampede", "--preset", "qa", "--db-path", built / "kb")
    answers: list[dict[str, Any]] = []
    for front_end in (search, ask):
        answer = front_end(*arguments).answer()
        del answer["took_ms"], answer["index"]
        answers.append(answer)
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("preset", "mode", "top"),
    [("coding", "hybrid", 3), ("audit", "hybrid", 5), ("qa", "hybrid", 10), ("fast", "fts", 5)],
)
def test_presets_set_mode_and_number_and_prefer_their_scope(
    built: Path, preset: str, mode: str, top: int
) -> None:
    """The table of the contract."""
    answer = ask("部署 cache", "--preset", preset, "--db-path", built / "kb").answer()
    assert (answer["preset"], answer["mode"]) == (preset, mode)
    assert len(answer["results"]) <= top
    scopes = {result["metadata"]["scope"] for result in answer["results"]}
    assert scopes == ({"dev"} if preset in ("coding", "audit") else {"dev", ""})


@FRONT_ENDS
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "query"),
        ([""], "query"),
        (["  \n"], "query"),
        (["x", "y"], "quotes"),
        (["x", "--top", "0"], "--top"),
        (["x", "--top", "-3"], "--top"),
        (["x", "--top", "101"], "--top"),
        (["x", "--top", "many"], "--top"),
        (["x", "--after", "yesterday"], "--after"),
        (["x", "--after", "2024-02-30"], "--after"),
        (["x", "--preset", "best"], "preset"),
        (["x", "--mode", "magic"], "mode"),
        (["x", "--frobnicate"], "frobnicate"),
        (["x", "--kb", "../up"], "--kb"),
        (["x", "--kb", "a", "--db-path", "/tmp/b"], "exclude"),
        (["数" * 10_923], "32"),
    ],
)
def test_a_wrong_call_is_told_as_json_with_exit_code_2(
    front_end: FrontEnd, arguments: list[str], said: str
) -> None:
    """An agent reads what was wrong and what to do instead."""
    error = front_end(*arguments).error(2)
    assert said.lower() in error["error"].lower()


@FRONT_ENDS
def test_no_index_is_exit_code_3_and_says_how_to_make_one(
    front_end: FrontEnd, tmp_path: Path
) -> None:
    """The first thing that a new user meets."""
    error = front_end("anything", "--db-path", tmp_path / "none").error(3)
    assert "knowledge_index.py --full" in error["error"]
    assert error["query"] == "anything"
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("manifest", ["", "{", "[]", '{"format": 1}', '{"format": "x"}', "\x00"])
def test_a_damaged_manifest_is_exit_code_4(copy: Path, manifest: str) -> None:
    """Half a file must never be half understood."""
    (copy / "manifest.json").write_text(manifest, encoding="utf-8")
    assert "manifest" in ask("x", "--db-path", copy).error(4)["error"]


def test_an_index_of_a_newer_format_is_refused(copy: Path) -> None:
    """An older program must not guess."""
    data = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    (copy / "manifest.json").write_text(json.dumps({**data, "format": 99}), encoding="utf-8")
    assert "format 99" in ask("x", "--db-path", copy).error(4)["error"]


def test_an_index_of_another_text_analysis_is_refused_and_mended_by_update(copy: Path) -> None:
    """It is never half read: terms of two analyses do not meet."""
    data = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    (copy / "manifest.json").write_text(json.dumps({**data, "analysis": 0}), encoding="utf-8")
    assert "--update" in ask("回滚", "--db-path", copy).error(4)["error"]
    assert "0 embedded" in index("--update", "--db-path", copy).stdout
    assert ask("回滚", "--preset", "fast", "--db-path", copy).answer()["total_results"]


@pytest.mark.parametrize("key", ["dimension", "weights"])
def test_a_model_that_differs_is_always_an_error(copy: Path, key: str) -> None:
    """Vectors of two models cannot be compared; full text alone still can be asked for."""
    data = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    data["model"][key] = 384 if key == "dimension" else "0" * 64
    (copy / "manifest.json").write_text(json.dumps(data), encoding="utf-8")
    for arguments in ([], ["--preset", "coding"], ["--mode", "vector"]):
        assert key in ask("回滚", *arguments, "--db-path", copy).error(4)["error"]
    assert ask("回滚", "--mode", "fts", "--db-path", copy).answer()["total_results"]


def test_without_the_model_a_preset_falls_back_to_full_text_and_says_so(copy: Path) -> None:
    """A silent change of quality is what users complain about."""
    data = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    data["model"]["name"] = "/nowhere/model"
    (copy / "manifest.json").write_text(json.dumps(data), encoding="utf-8")
    answer = ask("回滚", "--preset", "coding", "--db-path", copy).answer()
    assert answer["mode"] == "fts"
    assert answer["results"][0]["source_file"] == "deploy.md"
    assert any("/nowhere/model" in warning for warning in answer["warnings"])
    assert "/nowhere/model" in ask("回滚", "--mode", "hybrid", "--db-path", copy).error(1)["error"]


def test_lost_files_of_a_generation_are_told_as_damage(copy: Path) -> None:
    """Exit code 4 and the way out, not a traceback of a library."""
    for path in copy.glob("fulltext/*/*.store"):
        path.unlink()
    assert "--full" in ask("回滚", "--preset", "fast", "--db-path", copy).error(4)["error"]


def test_lost_vectors_are_named_in_a_warning(copy: Path) -> None:
    """Full text still answers; a mode asked for by name does not change."""
    for path in copy.glob("knowledge_chunks.lance/_versions/*"):
        path.unlink()
    answer = ask("回滚", "--db-path", copy).answer()
    assert answer["mode"] == "fts"
    assert any("ector" in warning for warning in answer["warnings"])
    ask("回滚", "--mode", "vector", "--db-path", copy).error(4)


def test_a_read_only_index_is_searched_in_every_mode(
    built: Path, tmp_path: Path, plain_user: list[str]
) -> None:
    """A shared index on a read-only disk is a common thing."""
    copied = tmp_path / "kb"
    run_program("cp", "-r", built / "kb", copied)
    run_program("chmod", "-R", "a-w,a+rX", copied)
    tmp_path.chmod(0o755)
    before = sorted((path.name, path.stat().st_mtime_ns) for path in copied.rglob("*"))
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.geteuid() and not parent.stat().st_mode & stat.S_IXOTH:
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)
    environment = {"HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    for mode in ("fts", "vector", "hybrid"):
        command = [*plain_user, sys.executable, ENGINE / "knowledge_search.py", "回滚"]
        done = run_program(*command, "--mode", mode, "--db-path", copied, environment=environment)
        assert done.answer()["results"][0]["source_file"] == "deploy.md"
    assert before == sorted((path.name, path.stat().st_mtime_ns) for path in copied.rglob("*"))


@FRONT_ENDS
@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "LANG": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "gbk"},
        {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii"},
    ],
)
def test_no_locale_changes_query_or_answer(
    built: Path, front_end: FrontEnd, environment: dict[str, str]
) -> None:
    """Agents start programs in bare environments."""
    arguments = ("回滚 🐘", "--preset", "fast", "--db-path", built / "kb")
    answer = front_end(*arguments, environment=environment).answer()
    assert answer["query"] == "回滚 🐘"
    assert {result["source_file"] for result in answer["results"]} >= {"deploy.md"}


@pytest.mark.parametrize(
    "query",
    ['said "hello"', "\\ $(rm) `x`", "-retry", "NOT AND OR (", "回滚\n'; DROP", "%s %d {x}"],
)
def test_a_query_is_data(built: Path, query: str) -> None:
    """No character of it is syntax to anything on its way."""
    answer = ask("--mode", "hybrid", "--db-path", built / "kb", "--", query).answer()
    assert answer["query"] == query


def test_bytes_that_are_no_utf_8_are_a_usage_error(built: Path) -> None:
    """They cannot be given back in JSON."""
    done = subprocess.run(
        ["bash", WRAPPER, b"a\xff", "--db-path", built / "kb"], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"UTF-8" in done.stderr


def test_the_audit_log_gets_one_line_for_each_search(built: Path, home: Path) -> None:
    """With the fields of the contract, readable by the user alone."""
    environment = {"AUDIT_LOG": "true", "AUDIT_AGENT": "test agent"}
    for query in ("回滚", "nothing at all"):
        ask(query, "--preset", "fast", "--db-path", built / "kb", environment=environment).answer()
    ask("", environment=environment).error(2)
    ask("回滚", "--preset", "fast", "--db-path", built / "kb").answer()
    log = home / ".ai-skills" / ".logs" / "search-audit.jsonl"
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert [(line["query"], line["agent"], line["mode"], line["preset"]) for line in lines] == [
        ("回滚", "test agent", "fts", "fast"),
        ("nothing at all", "test agent", "fts", "fast"),
    ]
    assert all({"timestamp", "action", "scope", "results_count"} <= set(line) for line in lines)


def test_a_terminal_shows_text_with_marks_and_no_control_characters(
    built: Path, tmp_path: Path
) -> None:
    """A person reads it; a note must not be able to move the cursor."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "evil.md").write_text("# Evil\n\nheron \x1b[2J\x07 text\n", encoding="utf-8")
    index("--full", notes, "--db-path", tmp_path / "kb")
    shown = _on_terminal("heron", "--mode", "fts", "--db-path", str(tmp_path / "kb"))
    assert "evil.md:1-3" in shown
    assert "\x1b[1;33mheron\x1b[0m" in shown
    assert "\x1b[2J" not in shown and "\x07" not in shown
    as_json = _on_terminal("heron", "--json", "--mode", "fts", "--db-path", str(tmp_path / "kb"))
    check_answer(as_json.replace("\r\n", "\n"))


def _on_terminal(*arguments: str) -> str:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, ENGINE / "knowledge_search.py", *arguments],
        stdout=slave,
        stderr=slave,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(slave)
    output = b""
    while True:
        try:
            block = os.read(master, 65536)
        except OSError:
            break
        if not block:
            break
        output += block
    os.close(master)
    assert process.wait(timeout=60) == 0
    return output.decode()


def test_a_reader_that_goes_away_ends_the_program_quietly(built: Path) -> None:
    """`| head -c 1` must not leave a traceback."""
    command = (
        f"'{sys.executable}' '{ENGINE}/knowledge_search.py' 回滚 --mode fts --db-path '{built}/kb'"
    )
    done = run_program("bash", "-c", f"{command} | true")
    assert done.stderr == ""


def test_help_and_version_need_no_index() -> None:
    """They are the first thing that anybody asks for."""
    for front_end in (search, ask):
        assert "--preset" in front_end("--help").stdout
        assert front_end("--version").stdout.startswith("knowledge-search ")
