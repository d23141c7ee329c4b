"""Nothing leaves the machine, and nothing is left in the home folder that is not announced."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from programs import ask, index

ANNOUNCED = {
    Path(".cache/knowledge-search/verified.json"),
}


def test_indexing_and_searching_leave_only_what_is_announced_in_the_home_folder(
    tmp_path: Path, home: Path
) -> None:
    """ONNX Runtime would keep a store of events for its maker there, were it not switched off."""
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\nheronword\n", encoding="utf-8")
    assert index("--full", notes).code == 0
    assert ask("heronword").answer()["mode"] == "hybrid"
    left = {path.relative_to(home) for path in home.rglob("*") if path.is_file()}
    outside = {path for path in left if path.parts[:2] != (".lancedb", "knowledge")}
    assert outside == ANNOUNCED


def test_everything_works_in_a_machine_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run in a network name space of its own, with no interface up."""
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("network name spaces are not to be had here")
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\nheronword\n", encoding="utf-8")
    real = subprocess.run
    monkeypatch.setattr(
        subprocess, "run", lambda command, **rest: real(["unshare", "--net", *command], **rest)
    )
    assert index("--full", notes).code == 0
    assert ask("heronword", "--mode", "hybrid").answer()["total_results"] == 1
