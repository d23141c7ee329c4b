"""A real server over a real index, in a home folder of its own."""

from __future__ import annotations

import http.client
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest
from programs import ENGINE, Done, index, run_program

NOTES = {
    "deploy.md": (
        "---\nscope: dev\ntags: [部署]\n---\n# 部署\n\n用 kubectl rollout undo 回滚部署。\n"
    ),
    "cache.md": "# Cache\n\nEntries live for 300 seconds, then one request refreshes them.\n",
}
STOP_SECONDS = 30.0


@dataclass(frozen=True)
class Reply:
    """What the server answered."""

    status: int
    body: str
    headers: dict[str, str]


@dataclass(frozen=True)
class Place:
    """A home folder with notes, an index and perhaps a server."""

    home: Path

    @property
    def kb(self) -> Path:
        """Folder of the index."""
        return self.home / "kb"

    @property
    def environment(self) -> dict[str, str]:
        """Variables under which programs use this home and its server."""
        return {"HOME": str(self.home), "KNOWLEDGE_SERVER": "on"}

    @property
    def endpoint_file(self) -> Path:
        """Where the server says how to reach it."""
        return self.home / ".cache" / "knowledge-search" / "endpoint"

    def endpoint(self) -> list[str]:
        """Return port, token, pid, version and engine."""
        return self.endpoint_file.read_text(encoding="utf-8").splitlines()

    def program(self, *arguments: str) -> Done:
        """Run knowledge_server.py."""
        return run_program(
            sys.executable,
            ENGINE / "knowledge_server.py",
            *arguments,
            environment=self.environment,
        )

    def ask(
        self, query: str | bytes, headers: dict[str, str] | None = None, **options: str
    ) -> Reply:
        """Send a search over HTTP."""
        port, token = self.endpoint()[:2]
        options = {name.replace("_", "-"): value for name, value in options.items()}
        url = "/search?" + urlencode({"db-path": str(self.kb), **options})
        sent = {"Authorization": f"Bearer {token}", **(headers or {})}
        body = query.encode() if isinstance(query, str) else query
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
        try:
            connection.request("POST", url, body, sent)
            answer = connection.getresponse()
            return Reply(answer.status, answer.read().decode(), dict(answer.getheaders()))
        finally:
            connection.close()

    def wait_until_gone(self) -> None:
        """Wait until the server has taken its endpoint file away."""
        deadline = time.monotonic() + STOP_SECONDS
        while self.endpoint_file.exists():
            assert time.monotonic() < deadline, "the server does not leave"
            time.sleep(0.05)


def make_place(folder: Path) -> Place:
    """Build notes and index in a folder."""
    place = Place(folder)
    notes = folder / "notes"
    notes.mkdir(parents=True)
    for name, text in NOTES.items():
        (notes / name).write_text(text, encoding="utf-8")
    done = index("--full", notes, "--db-path", place.kb, environment=place.environment)
    assert done.code == 0, done.stderr
    return place


def end_servers(place: Place) -> None:
    """Kill what still serves from this home."""
    for file in place.endpoint_file.parent.glob("endpoint*"):
        with suppress(OSError, ValueError, IndexError):
            pid = int(file.read_text(encoding="utf-8").splitlines()[2])
            # a test may have put its own process there
            if pid != os.getpid():
                os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A running server, for tests that leave it running."""
    place = make_place(tmp_path_factory.mktemp("server"))
    done = place.program("start")
    assert done.code == 0, done.stderr
    yield place
    end_servers(place)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A home without a server; what a test starts there is ended."""
    place = make_place(tmp_path / "place")
    yield place
    end_servers(place)
