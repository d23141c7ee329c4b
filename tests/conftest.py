"""What every test gets: a home of its own, a clean environment, no network."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parent.parent
PYTHON_VARIABLES = ("PYTHONPATH", "PYTHONIOENCODING", "PYTHONUTF8", "VIRTUAL_ENV")
OWN_PREFIXES = ("KNOWLEDGE_", "AUDIT_", "OPENAI_", "HF_", "XDG_")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Move the home folder into the test's own and take out what would change behaviour."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in list(os.environ):
        if name.startswith(OWN_PREFIXES) or name in PYTHON_VARIABLES:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    # a server would outlive the test; those that are about it turn it on
    monkeypatch.setenv("KNOWLEDGE_SERVER", "off")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder for an index, with no home in it."""
    path = tmp_path / "index"
    path.mkdir()
    return path


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family == socket.AF_UNIX or address[0] in ("127.0.0.1", "::1", "localhost"):
            return connect(self, address)
        raise AssertionError(f"a test tried to reach {address}")

    monkeypatch.setattr(socket.socket, "connect", guarded)
