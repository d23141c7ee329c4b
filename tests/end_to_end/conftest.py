"""The example notes, indexed once a worker by the real program with the real model."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import REPO, index

NOTES = REPO / "examples" / "notes"


@pytest.fixture(scope="session")
def example_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the index; not to be changed."""
    folder = tmp_path_factory.mktemp("examples")
    done = index("--full", NOTES, "--db-path", folder / "kb", environment={"HOME": str(folder)})
    assert done.code == 0, done.stderr
    return folder / "kb"
