"""A small index made by the real program with the real model, once for each worker."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from programs import index

NOTES = {
    "deploy.md": "---\ntitle: 部署手册\nscope: dev\ntags: [部署, k8s]\n"
    "author: sre\ndate: 2025-03-01\n---\n"
    "# 部署手册\n\n## 回滚\n\n执行 `kubectl rollout undo deploy/api` 回到上一个版本。\n\n"
    "## 扩容\n\n把副本数改成 6，观察 10 分钟。\n",
    "cache.md": "# Cache\n\nThe cache keeps entries for 300 seconds.\n\n## Stampede\n\n"
    "One request refreshes, the others wait.\n",
    "quotes.md": '# Odd text\n\nsaid "hello" \\ $(rm) `x` 🐘 ends\n',
}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with notes/ and kb/; not to be changed."""
    folder = tmp_path_factory.mktemp("built")
    notes = folder / "notes"
    notes.mkdir()
    for name, text in NOTES.items():
        (notes / name).write_text(text, encoding="utf-8")
    done = index("--full", notes, "--db-path", folder / "kb", environment={"HOME": str(folder)})
    assert done.code == 0, done.stderr
    return folder


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    """A copy of the index that a test may damage."""
    shutil.copytree(built / "kb", tmp_path / "kb")
    return tmp_path / "kb"


@pytest.fixture
def plain_user() -> list[str]:
    """Command that runs the rest as a user whom file modes hold back; root is not."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is missing, and root is not held back by modes")
    return ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
