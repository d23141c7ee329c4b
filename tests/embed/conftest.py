"""The embedded model, loaded once, and folders with copies of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rag_engine.embed.model_files import find_model
from rag_engine.embed.onnx import OnnxEmbedder


@pytest.fixture(scope="session")
def model_folder() -> Path:
    """The embedded model's folder."""
    return find_model().folder


@pytest.fixture(scope="session")
def embedder(model_folder: Path) -> OnnxEmbedder:
    """The default engine; made without the registry, whose stamps would go to the real home."""
    return OnnxEmbedder("bge-small-zh-v1.5", model_folder, "weights", workers=2)


@pytest.fixture
def copy_model(model_folder: Path, tmp_path: Path) -> Callable[..., Path]:
    """Copy the embedded model, without the files that are named."""

    def copy(*without: str, name: str = "copied-model") -> Path:
        return shutil.copytree(
            model_folder, tmp_path / name, ignore=lambda _, names: set(without) & set(names)
        )

    return copy


@pytest.fixture
def small_folder(tmp_path: Path) -> Callable[[dict[str, bytes | str]], Path]:
    """Make a folder of small files, for what only looks at files."""

    def make(files: dict[str, bytes | str]) -> Path:
        folder = tmp_path / "small-model"
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return folder

    return make
