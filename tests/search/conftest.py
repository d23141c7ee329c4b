"""What the tests of the search share."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder for an index, with no home in it."""
    path = tmp_path / "index"
    path.mkdir()
    return path
