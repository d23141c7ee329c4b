"""Where a model's files are looked for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rag_engine.embed import model_files
from rag_engine.embed.model_files import DEFAULT_MODEL, find_model
from rag_engine.errors import DependencyMissingError, ModelUnavailableError, UsageError


@pytest.mark.parametrize("name", [None, "bge-small-zh-v1.5", "BAAI/bge-small-zh-v1.5"])
def test_the_embedded_model_is_the_default_and_has_two_names(
    name: str | None, model_folder: Path
) -> None:
    """None of them may ask the network."""
    found = find_model(name)
    assert (found.name, found.folder) == (DEFAULT_MODEL, model_folder)
    assert (found.folder / "model.onnx").is_file()


def test_the_folder_of_the_embedded_model_is_called_by_its_short_name(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An index that says so can be read on another machine."""
    (tmp_path / "link").symlink_to(model_folder)
    monkeypatch.chdir(model_folder.parent)
    for given in (str(model_folder), f"./{DEFAULT_MODEL}/", str(tmp_path / "link")):
        assert find_model(given).name == DEFAULT_MODEL


def test_a_relative_folder_gets_an_absolute_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """A later search starts in another directory."""
    (tmp_path / "mine").mkdir()
    (home / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    found = find_model("mine")
    assert found.name == str((tmp_path / "mine").resolve())
    assert found.folder == (tmp_path / "mine").resolve()
    assert find_model("~/models").folder == (home / "models").resolve()


def test_an_installed_package_may_carry_the_model_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wheel has no folder beside the package."""
    package = tmp_path / "site-packages" / "rag_engine"
    inside = package / "models" / DEFAULT_MODEL
    inside.mkdir(parents=True)
    monkeypatch.setattr(model_files, "__file__", str(package / "embed" / "model_files.py"))
    assert find_model().folder == inside.resolve()
    inside.rmdir()
    with pytest.raises(ModelUnavailableError, match=str(inside)):
        find_model()


@pytest.mark.parametrize("name", ["/nowhere/at/all", "./missing", "~/missing", "a/b/c", "模型"])
def test_a_missing_folder_is_named_in_full(name: str) -> None:
    """What cannot be a hub name is never looked for there."""
    with pytest.raises(ModelUnavailableError, match="does not exist") as raised:
        find_model(name)
    assert str(Path(name).expanduser().resolve()) in raised.value.message


def test_a_file_in_place_of_a_folder_is_told(tmp_path: Path) -> None:
    """People give the path of model.onnx."""
    path = tmp_path / "model.onnx"
    path.write_bytes(b"")
    with pytest.raises(ModelUnavailableError, match="is a file"):
        find_model(str(path))


@pytest.mark.parametrize("name", ["", " ", "a\0b", "x" * 5000])
def test_what_cannot_be_a_name_is_a_usage_error(name: str) -> None:
    """Not an error of the operating system, nor a traceback."""
    with pytest.raises(UsageError):
        find_model(name)


def test_a_hub_name_without_the_hub_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The small set of requirements does not name it."""
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DependencyMissingError, match="pip install huggingface_hub"):
        find_model("owner/model")
