"""The endpoint file: what makes no sense is no endpoint, and two clones do not share one."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from rag_engine.serve import endpoint as module
from rag_engine.serve.endpoint import (
    Endpoint,
    cache_folder,
    code_version,
    own_endpoint_file,
    read_endpoint,
    write_endpoint,
)

GOOD = Endpoint(4711, "token", os.getpid(), "version", str(module.ENGINE))


def test_it_reads_what_it_wrote(tmp_path: Path) -> None:
    """And nobody else can read the token under the umask that the server has."""
    before = os.umask(0o077)
    try:
        write_endpoint(tmp_path / "endpoint", GOOD)
    finally:
        os.umask(before)
    assert read_endpoint(tmp_path / "endpoint") == GOOD
    assert stat.S_IMODE((tmp_path / "endpoint").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "text",
    ["", "abc", "1\n2\n3", "x\ntoken\n99\nv\n/e\n", "80\ntoken\nabc\nv\n/e\n",
     "80\ntoken\n-1\nv\n/e\n",
     "80\ntoken\n0\nv\n/e\n", "80\ntoken\n1\nv\n/e\n", "0\ntoken\n99\nv\n/e\n",
     "99999\nt\n99\nv\n/e\n",
     "80\n\n99\nv\n/e\n", "\0"],
)  # fmt: skip
def test_what_makes_no_sense_is_no_endpoint(tmp_path: Path, text: str) -> None:
    """Above all no process id that would signal a group, or process 1."""
    (tmp_path / "endpoint").write_text(text, encoding="utf-8")
    assert read_endpoint(tmp_path / "endpoint") is None


def test_another_clones_live_server_keeps_its_name() -> None:
    """Ours takes the next; a dead one's name is free."""
    folder = cache_folder()
    folder.mkdir(parents=True)
    assert own_endpoint_file() == folder / "endpoint"
    write_endpoint(folder / "endpoint", Endpoint(1, "t", os.getpid(), "v", "/another/clone"))
    assert own_endpoint_file() == folder / "endpoint.2"
    write_endpoint(folder / "endpoint.2", GOOD)
    assert own_endpoint_file() == folder / "endpoint.2"
    (folder / "endpoint.2").unlink()
    with subprocess.Popen(["true"]) as dead:
        dead.wait()
    write_endpoint(folder / "endpoint", Endpoint(1, "t", dead.pid, "v", "/another/clone"))
    assert own_endpoint_file() == folder / "endpoint"


def test_the_version_changes_with_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new, a changed and a removed file."""
    monkeypatch.setattr(module, "ENGINE", tmp_path)
    package = tmp_path / "rag_engine"
    package.mkdir()
    (package / "a.py").write_text("one", encoding="utf-8")
    versions = [code_version()]
    (package / "b.py").write_text("two", encoding="utf-8")
    versions.append(code_version())
    (package / "a.py").write_text("three", encoding="utf-8")
    versions.append(code_version())
    (package / "b.py").unlink()
    versions.append(code_version())
    assert len(set(versions)) == 4
    assert code_version() == versions[-1]
