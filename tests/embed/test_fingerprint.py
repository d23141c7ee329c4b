"""The fingerprint of weights, and the check of a model's files."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from rag_engine.embed import hashes
from rag_engine.embed.fingerprint import verify, weights_fingerprint
from rag_engine.errors import ModelUnavailableError

MakeFolder = Callable[[dict[str, bytes | str]], Path]


def sha(content: bytes) -> str:
    """SHA-256 of bytes."""
    return hashlib.sha256(content).hexdigest()


def test_the_embedded_model_is_whole_and_has_the_published_fingerprint(model_folder: Path) -> None:
    """The fingerprint is that of model.safetensors in SHA256SUMS."""
    verify(model_folder)
    sums = (model_folder / "SHA256SUMS").read_text(encoding="utf-8")
    assert f"{weights_fingerprint(model_folder)}  model.safetensors\n" in sums


def test_weights_are_safetensors_before_all_else(small_folder: MakeFolder) -> None:
    """Both engines must name the same weights, whichever of these files they open."""
    files: dict[str, bytes | str] = {
        "onnx/model.onnx": b"graph",
        "pytorch_model.bin": b"old",
        "model.safetensors": b"new",
    }
    folder = small_folder(files)
    assert weights_fingerprint(folder) == sha(b"new")
    (folder / "model.safetensors").unlink()
    assert weights_fingerprint(folder) == sha(b"old")
    (folder / "pytorch_model.bin").unlink()
    assert weights_fingerprint(folder) == sha(b"graph")


def test_every_shard_counts(small_folder: MakeFolder) -> None:
    """Weights in several files are one fingerprint, which any of them changes."""
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    folder = small_folder(
        {
            "model.safetensors.index.json": json.dumps(index),
            "model-1.safetensors": b"1",
            "model-2.safetensors": b"2",
        }
    )
    before = weights_fingerprint(folder)
    lines = f"{sha(b'1')}  model-1.safetensors\n{sha(b'2')}  model-2.safetensors"
    assert before in {sha("\n".join(sorted(lines.split("\n"))).encode())}
    (folder / "model-2.safetensors").write_bytes(b"two")
    assert weights_fingerprint(folder) != before
    (folder / "model-1.safetensors").unlink()
    with pytest.raises(ModelUnavailableError, match=r"model-1\.safetensors is missing"):
        weights_fingerprint(folder)


def test_the_external_data_of_a_graph_count(copy_model: Callable[..., Path]) -> None:
    """Two models of one shape have the same graph and differ in that data only."""
    folder = copy_model("SHA256SUMS")
    (folder / "onnx").mkdir()
    for name in ("model.onnx", "model.safetensors"):
        (folder / name).rename(folder / "onnx" / name)
    before = weights_fingerprint(folder)
    with (folder / "onnx" / "model.safetensors").open("r+b") as file:
        file.seek(-2, 2)
        file.write(b"\0\0")
    assert weights_fingerprint(folder) != before


def test_a_folder_without_weights_is_refused(small_folder: MakeFolder) -> None:
    """There is nothing to tell this model from another by."""
    with pytest.raises(ModelUnavailableError, match=r"no model\.safetensors"):
        weights_fingerprint(small_folder({"config.json": "{}"}))


@pytest.fixture
def summed(small_folder: MakeFolder) -> Path:
    """A folder with SHA256SUMS, one file of it in a folder of its own."""
    return small_folder(
        {
            "a b.json": b"a",
            "1_Pooling/config.json": b"p",
            "SHA256SUMS": f"{sha(b'a')}  a b.json\n{sha(b'p')} *1_Pooling/config.json\n",
        }
    )


def test_whole_files_pass_and_are_hashed_once(
    summed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second search trusts what the first one saw."""
    calls: list[Path] = []
    hash_file = hashes.sha256_of
    monkeypatch.setattr(hashes, "sha256_of", lambda path: calls.append(path) or hash_file(path))
    verify(summed)
    verify(summed)
    assert len(calls) == 2


@pytest.mark.parametrize("content", [b"q", b"", b"pp", None])
def test_a_damaged_truncated_or_missing_file_is_named(summed: Path, content: bytes | None) -> None:
    """Also if it was whole when it was first looked at."""
    verify(summed)
    damaged = summed / "1_Pooling" / "config.json"
    damaged.unlink()
    if content is not None:
        damaged.write_bytes(content)
    with pytest.raises(ModelUnavailableError) as raised:
        verify(summed)
    assert str(damaged) in raised.value.message
    assert ("is missing" if content is None else "is damaged") in raised.value.message
    assert "reinstall" in raised.value.hint


def test_a_clone_gets_the_file_again_by_the_command_in_the_error(
    copy_model: Callable[..., Path], tmp_path: Path
) -> None:
    """The command really restores the file, from any folder."""
    model = copy_model("model.safetensors", name="a clone/rag-engine/models/bge")
    sums = [
        f"{sha(path.read_bytes())}  {path.relative_to(model).as_posix()}\n"
        for path in sorted(model.rglob("*.json"))
    ]
    (model / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    clone = tmp_path / "a clone"
    for command in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"],
    ):
        subprocess.run(["git", "-C", str(clone), *command], check=True)
    (model / "1_Pooling" / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelUnavailableError, match="is damaged") as raised:
        verify(model)
    command = raised.value.hint.removeprefix("Get it again: ")
    assert command.startswith("git -C ")
    subprocess.run(command, shell=True, check=True, cwd="/")
    verify(model)


@pytest.mark.parametrize("content", [b"ba7816bf", b"not a sum at all\n", b"\xff\xfe"])
def test_damaged_sums_are_named(summed: Path, content: bytes) -> None:
    """Half a file of sums must not pass as all of it."""
    (summed / "SHA256SUMS").write_bytes(content)
    with pytest.raises(ModelUnavailableError, match="SHA256SUMS"):
        verify(summed)


def test_a_folder_without_sums_passes(small_folder: MakeFolder) -> None:
    """Models from elsewhere have none."""
    verify(small_folder({"config.json": "{}"}))
