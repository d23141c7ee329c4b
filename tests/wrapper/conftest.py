"""The shells in which the scripts are tried, and the checkout they are in."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from wrapper.shell import SYSTEM_PATH, Checkout

BASH32 = os.environ.get("BASH32", "")  # the path of a Bash 3.2, where there is one
SHELLS = ["bash", "bash-3.2"] if BASH32 else ["bash"]


@pytest.fixture(scope="session", params=SHELLS)
def bash(request: pytest.FixtureRequest) -> str:
    """Bash: the one of this machine, and the oldest one that the scripts promise to run in."""
    if request.param == "bash-3.2":
        return BASH32
    found = shutil.which("bash", path=SYSTEM_PATH)
    assert found is not None, "these tests need bash"
    return found


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout that tests only read."""
    return Checkout.make(tmp_path_factory.mktemp("checkout") / "repo")


@pytest.fixture
def own_checkout(tmp_path: Path) -> Checkout:
    """A checkout that the test may change."""
    return Checkout.make(tmp_path / "repo")
