"""Runs the skill's scripts in a real Bash, in checkouts made for the test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answers import check_error

SKILL = Path(__file__).resolve().parents[2] / "skills" / "knowledge-search"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"

# Prints its arguments as they came, separated by NUL, and ends with the code it is told.
STAND_IN = """
import os, sys
sys.stdout.buffer.write(b"\\0".join(os.fsencode(argument) for argument in sys.argv[1:]))
sys.exit(int(os.environ.get("STAND_IN_EXIT", "0")))
"""


@dataclass(frozen=True)
class Outcome:
    """What a script did."""

    code: int
    out: bytes
    err: bytes

    @property
    def arguments(self) -> list[bytes]:
        """The arguments that reached the stand-in engine, after its own `--json`."""
        assert self.code == 0, (self.code, self.err)
        received = self.out.split(b"\0")
        assert received[0] == b"--json", received
        return received[1:]

    def refusal(self, code: int) -> str:
        """The text of the error, which is all there is on stderr while stdout is empty."""
        assert (self.code, self.out) == (code, b""), self
        return str(check_error(self.err.decode("utf-8"))["error"])


def run(command: list[Any], env: dict[str, str], **options: Any) -> Outcome:
    """Run a command to its end, with nothing of this process's environment."""
    done = subprocess.run(command, env=env, capture_output=True, timeout=60, **options)
    return Outcome(done.returncode, done.stdout, done.stderr)


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return a plain environment, in which this test run's Python is the active one."""
    return {
        "PATH": SYSTEM_PATH,
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "VIRTUAL_ENV": sys.prefix,
        **more,
    }


@dataclass(frozen=True)
class Checkout:
    """A folder laid out like the repository: the real skill, and a stand-in for the engine."""

    root: Path

    @classmethod
    def make(cls, root: Path, engine: bool = True) -> Checkout:
        """Lay it out at `root`, with or without an engine."""
        shutil.copytree(SKILL, root / "skills" / "knowledge-search")
        if engine:
            (root / "rag-engine").mkdir()
            (root / "rag-engine" / "knowledge_search.py").write_text(STAND_IN, encoding="utf-8")
        return cls(root)

    @property
    def skill(self) -> Path:
        """The folder of the skill."""
        return self.root / "skills" / "knowledge-search"

    @property
    def wrapper(self) -> Path:
        """The script that searches."""
        return self.skill / "scripts" / "knowledge-search.sh"

    @property
    def install(self) -> Path:
        """The script that installs."""
        return self.skill / "scripts" / "install.sh"

    @property
    def engine(self) -> Path:
        """The stand-in for the engine's command line."""
        return self.root / "rag-engine" / "knowledge_search.py"


def make_program(path: Path, text: str) -> Path:
    """Write an executable file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def say_who(path: Path, name: str) -> Path:
    """Make a stand-in for Python that prints its name, and the engine that it was given."""
    return make_program(path, f"#!/bin/sh\nprintf '%s %s' {name} \"$1\"\n")


def folder_with(folder: Path, *programs: str) -> str:
    """Make a folder that holds these programs and no others, to be a PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    for program in programs:
        found = shutil.which(program, path=SYSTEM_PATH)
        assert found is not None, f"{program} is not on {SYSTEM_PATH}"
        os.symlink(found, folder / program)
    return str(folder)
