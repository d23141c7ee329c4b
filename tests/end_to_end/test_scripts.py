"""The first commands of the README, in a copy of the repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from answers import check_answer
from programs import REPO, run_program


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A copy of the tracked files, with this environment as its .venv."""
    folder = tmp_path / "clone with spaces"
    folder.mkdir()
    listed = subprocess.run(
        ["git", "-C", REPO, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(REPO / name, target)
    (folder / ".venv").symlink_to(REPO / ".venv")
    return folder


def test_the_demo_indexes_asks_with_each_preset_and_reuses_everything_the_second_time(
    clone: Path,
) -> None:
    """What a newcomer sees first."""
    first = run_program("bash", clone / "scripts" / "demo.sh")
    assert first.code == 0, first.stderr
    answers = [check_answer(line) for line in first.stdout.splitlines() if line.startswith("{")]
    assert [answer["preset"] for answer in answers] == ["coding", "audit", "qa", "fast"]
    assert all(answer["results"] for answer in answers)
    second = run_program("bash", clone / "scripts" / "demo.sh")
    assert "0 embedded" in second.stdout


def test_setup_says_what_it_needs_where_python_is_too_old(clone: Path, tmp_path: Path) -> None:
    """3.10 has reached its end of life."""
    (clone / ".venv").unlink()
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("python3", "python3.11", "python3.12", "python3.13", "python"):
        (programs / name).write_text(
            '#!/bin/sh\ncase "$1" in --version) echo Python 3.10.14;; *) exit 1;; esac\n',
            encoding="utf-8",
        )
        (programs / name).chmod(0o755)
    environment = {"PATH": f"{programs}:/usr/bin:/bin"}
    done = run_program("bash", clone / "scripts" / "setup.sh", environment=environment)
    assert done.code == 1
    assert "3.11" in done.stderr and "3.10.14" in done.stderr
    assert not (clone / ".venv").exists()
