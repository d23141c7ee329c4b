"""Running the product's programs as users do: real processes, a home of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answers import check_answer, check_error

REPO = Path(__file__).resolve().parent.parent
ENGINE = REPO / "rag-engine"
WRAPPER = REPO / "skills" / "knowledge-search" / "scripts" / "knowledge-search.sh"
TIMEOUT_S = 120


@dataclass(frozen=True)
class Done:
    """A program that has ended."""

    code: int
    stdout: str
    stderr: str

    def answer(self) -> dict[str, Any]:
        """Return the answer on stdout, validated; nothing may be on stderr."""
        assert self.code == 0, self.stderr
        assert self.stderr == ""
        return check_answer(self.stdout)

    def error(self, code: int) -> dict[str, Any]:
        """Return the error on stderr, validated; stdout must be empty."""
        assert (self.code, self.stdout) == (code, ""), self
        return check_error(self.stderr)


def run_program(
    *command: str | Path, environment: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Done:
    """Run a program to its end."""
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        env={**os.environ, **(environment or {})},
        cwd=cwd,
        timeout=TIMEOUT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def index(*arguments: str | Path, **options: Any) -> Done:
    """Run knowledge_index.py."""
    return run_program(sys.executable, ENGINE / "knowledge_index.py", *arguments, **options)


def search(*arguments: str | Path, **options: Any) -> Done:
    """Run knowledge_search.py; piped, so it prints JSON."""
    return run_program(sys.executable, ENGINE / "knowledge_search.py", *arguments, **options)


def ask(*arguments: str | Path, **options: Any) -> Done:
    """Run the Bash wrapper."""
    return run_program("bash", WRAPPER, *arguments, **options)
