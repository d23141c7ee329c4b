"""knowledge_index.py as a person calls it."""

from __future__ import annotations

import fcntl
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from answers import check_error
from programs import ENGINE, ask, index, run_program


def _notes(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("# A\n\nheronword text\n", encoding="utf-8")
    return folder


def test_the_summary_counts_and_names(tmp_path: Path) -> None:
    """What was done, what was left out and why."""
    notes = _notes(tmp_path / "notes")
    (notes / "empty.md").write_text("\n\n", encoding="utf-8")
    (notes / "large.md").write_bytes(b"x" * (512 * 1024 + 1))
    (notes / "latin.md").write_bytes(b"# caf\xe9\n\ntext\n")
    (notes / "link.md").symlink_to("/etc/hostname")
    done = index("--full", notes, "--db-path", tmp_path / "kb")
    assert done.code == 0
    assert done.stderr == ""
    for said in ("1 empty", "large.md", "latin.md", "link.md", "embedded", "seconds"):
        assert said in done.stdout
    again = index("--update", "--db-path", tmp_path / "kb")
    assert "0 embedded" in again.stdout
    assert "large.md" in again.stdout


def test_files_of_the_index_are_private(tmp_path: Path) -> None:
    """Notes are; folders 0700, files 0600."""
    index("--full", _notes(tmp_path / "notes"), "--db-path", tmp_path / "kb")
    for path in [tmp_path / "kb", *(tmp_path / "kb").rglob("*")]:
        wanted = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == wanted, path


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "--full"),
        (["--full", "--update"], 2, "--full and --update exclude each other"),
        (["--update"], 3, "--full DIR"),
        (["--full"], 3, "--full DIR"),
        (["--status"], 3, "--full DIR"),
        (["--remove", "x"], 3, "--full DIR"),
        (["--clear", "--yes"], 3, "--full DIR"),
        (["--full", "MISSING"], 2, "does not exist"),
        (["--full", "FILE"], 2, "not a folder"),
        (["--full", "NOTES", "--embedder", "magic"], 2, "magic"),
        (["--full", "NOTES", "--model", "/nowhere/model"], 1, "/nowhere/model"),
        (["--full", "NOTES", "--frobnicate"], 2, "frobnicate"),
    ],
)
def test_errors_say_what_to_do_and_give_their_exit_code(
    tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    """No traceback, whatever is wrong with the call."""
    notes = _notes(tmp_path / "notes")
    places = {"MISSING": tmp_path / "no", "FILE": notes / "a.md", "NOTES": notes}
    done = index(*[places.get(word, word) for word in arguments], "--db-path", tmp_path / "kb")
    assert (done.code, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_an_empty_folder_gives_an_empty_index_that_answers(tmp_path: Path) -> None:
    """A new user may point at a folder before there is anything in it."""
    (tmp_path / "notes").mkdir()
    done = index("--full", tmp_path / "notes", "--db-path", tmp_path / "kb")
    assert done.code == 0
    for mode in ("fts", "vector", "hybrid"):
        answer = ask("anything", "--mode", mode, "--db-path", tmp_path / "kb").answer()
        assert answer["total_results"] == 0


def test_a_missing_root_is_exit_code_5_and_its_notes_stay(tmp_path: Path) -> None:
    """The rest of the run is done all the same."""
    notes = _notes(tmp_path / "notes")
    index("--full", notes, "--db-path", tmp_path / "kb")
    notes.rename(tmp_path / "elsewhere")
    done = index("--update", "--db-path", tmp_path / "kb")
    assert done.code == 5
    assert "PROBLEM" in done.stdout
    assert ask("heronword", "--mode", "fts", "--db-path", tmp_path / "kb").answer()["results"]


def test_a_second_writer_is_told_who_holds_the_index(tmp_path: Path) -> None:
    """Exit code 4, at once; searching goes on."""
    notes, kb = _notes(tmp_path / "notes"), tmp_path / "kb"
    index("--full", notes, "--db-path", kb)
    holder = (
        "import sys, time; sys.path.insert(0, sys.argv[1]);"
        "from pathlib import Path; from rag_engine.store.lock import writer_lock\n"
        "with writer_lock(Path(sys.argv[2])): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, ENGINE, kb], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        done = index("--update", "--db-path", kb)
        assert done.code == 4
        assert str(process.pid) in done.stderr
        assert ask("heronword", "--mode", "fts", "--db-path", kb).answer()["results"]
        process.kill()
    assert index("--update", "--db-path", kb).code == 0


def test_a_lock_that_nobody_holds_is_no_obstacle(tmp_path: Path) -> None:
    """The file may lie there for years; the kernel's lock is what counts."""
    notes, kb = _notes(tmp_path / "notes"), tmp_path / "kb"
    kb.mkdir()
    (kb / "writer.lock").write_text('{"pid": 1}', encoding="utf-8")
    with open(kb / "writer.lock", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    assert index("--full", notes, "--db-path", kb).code == 0


def test_an_index_that_cannot_be_written_is_exit_code_4(
    tmp_path: Path, plain_user: list[str]
) -> None:
    """Read-only folder: said, and nothing half done."""
    notes, kb = _notes(tmp_path / "notes"), tmp_path / "kb"
    index("--full", notes, "--db-path", kb)
    (notes / "b.md").write_text("# B\n\nostrichword\n", encoding="utf-8")
    run_program("chmod", "-R", "a-w,a+rX", kb)
    for folder in [tmp_path, *tmp_path.parents]:
        if folder.stat().st_uid == os.geteuid():
            folder.chmod(folder.stat().st_mode | 0o055)
    done = run_program(
        *plain_user, sys.executable, ENGINE / "knowledge_index.py", "--update", "--db-path", kb
    )
    assert done.code == 4, done
    assert "cannot be written" in done.stderr
    assert ask("heronword", "--mode", "hybrid", "--db-path", kb).answer()["results"]


def test_status_tells_what_is_there_as_text_and_json(tmp_path: Path) -> None:
    """Including tables that are not ours, which are left alone."""
    notes, kb = _notes(tmp_path / "notes"), tmp_path / "kb"
    index("--full", notes, "--db-path", kb, "--exclude", "drafts/", "--scope", "dev")
    (kb / "documents.lance").mkdir()
    text = index("--status", "--db-path", kb).stdout
    for said in (str(notes), "bge-small-zh-v1.5", "drafts/", "documents"):
        assert said in text
    data = json.loads(index("--status", "--json", "--db-path", kb).stdout)
    assert data["roots"][0]["files"] == data["documents"] == data["chunks"] == 1
    assert data["other_tables"] == ["documents"]
    assert data["scopes"] == {"dev": 1}


def test_json_errors_keep_the_contract(tmp_path: Path) -> None:
    """--status --json is for machines, its errors, too."""
    done = index("--status", "--json", "--db-path", tmp_path / "none")
    assert done.code == 3
    check_error(done.stderr)


def test_clear_asks_first_where_nobody_can_answer(tmp_path: Path) -> None:
    """A script must say --yes."""
    notes, kb = _notes(tmp_path / "notes"), tmp_path / "kb"
    index("--full", notes, "--db-path", kb)
    assert index("--clear", "--db-path", kb).code == 2
    assert (kb / "manifest.json").exists()
    assert index("--clear", "--yes", "--db-path", kb).code == 0
    assert not kb.exists()


def test_places_come_from_flag_environment_configuration_and_name(
    tmp_path: Path, home: Path
) -> None:
    """The default index is ~/.lancedb/knowledge, a named one ~/.lancedb/NAME."""
    notes = _notes(tmp_path / "notes")
    index("--full", notes)
    index("--full", notes, "--kb", "work")
    index("--full", notes, environment={"KNOWLEDGE_DB_PATH": str(tmp_path / "env")})
    assert (home / ".lancedb" / "knowledge" / "manifest.json").exists()
    assert (home / ".lancedb" / "work" / "manifest.json").exists()
    assert (tmp_path / "env" / "manifest.json").exists()
    assert ask("heronword", "--mode", "fts", "--kb", "work").answer()["kb"] == "work"


def test_the_first_systems_configuration_names_the_roots_of_a_first_full(
    tmp_path: Path, home: Path
) -> None:
    """Its users type --full as they did."""
    notes = _notes(tmp_path / "notes")
    (home / ".ai-memory").mkdir()
    (home / ".ai-memory" / "config.json").write_text(
        json.dumps({"l3_paths": [str(notes)], "index": {"db_path": str(tmp_path / "old")}}),
        encoding="utf-8",
    )
    assert index("--full").code == 0
    assert (tmp_path / "old" / "manifest.json").exists()
    assert ask("heronword", "--mode", "fts").answer()["results"]


def test_scope_rules_of_the_configuration_reach_files_without_a_scope(
    tmp_path: Path, home: Path
) -> None:
    """And a change of the rules is seen by --update."""
    notes = _notes(tmp_path / "notes")
    config = home / ".config" / "knowledge-search" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[[scope]]\npath = "*.md"\nscope = "dev"\n', encoding="utf-8")
    index("--full", notes)
    assert json.loads(index("--status", "--json").stdout)["scopes"] == {"dev": 1}
    config.write_text('[[scope]]\npath = "*.md"\nscope = "ops"\n', encoding="utf-8")
    index("--update")
    assert json.loads(index("--status", "--json").stdout)["scopes"] == {"ops": 1}
