"""From names to embedders, and whether an index fits one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import rag_engine
from rag_engine.embed import hashes
from rag_engine.embed.embedder import ModelIdentity
from rag_engine.embed.registry import check_same_model, load_embedder
from rag_engine.errors import ModelMismatchError, ModelUnavailableError, UsageError

BUILT = ModelIdentity("bge-small-zh-v1.5", "ab" * 32, 512, 1)


def test_the_default_is_the_embedded_model_by_onnx() -> None:
    """Its identity goes into every index: its values are pinned."""
    embedder = load_embedder()
    assert embedder.engine == "onnx"
    assert embedder.identity == ModelIdentity(
        "bge-small-zh-v1.5",
        "42b01542e2ab3c00e02147c1a2fc8ea17efd0ee51cc1a3defa17ff833d9c7f78",
        512,
        1,
    )


def test_loading_again_hashes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search starts a process each time; verifying would be a good part of it."""
    load_embedder()
    monkeypatch.setattr(hashes, "sha256_of", lambda path: pytest.fail(f"hashed {path}"))
    load_embedder()


@pytest.mark.parametrize("engine", ["onnx", "sentence-transformers"])
def test_a_damaged_model_is_refused_by_every_engine(
    copy_model: Callable[..., Path], engine: str
) -> None:
    """Before any engine has loaded anything."""
    folder = copy_model()
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-100, 2)
        file.truncate()
    with pytest.raises(ModelUnavailableError, match=r"model\.safetensors is damaged"):
        load_embedder(str(folder), engine)


def test_a_copied_folder_has_the_same_weights(copy_model: Callable[..., Path]) -> None:
    """An index moves to a machine where the model lies elsewhere."""
    folder = copy_model()
    loaded = load_embedder(str(folder)).identity
    assert loaded.name == str(folder.resolve())
    check_same_model(load_embedder().identity, loaded)


@pytest.mark.parametrize("engine", ["openai", "ONNX", ""])
def test_an_unknown_engine_lists_those_there_are(engine: str) -> None:
    """The user chooses from the error."""
    with pytest.raises(UsageError, match="onnx, sentence-transformers"):
        load_embedder(engine=engine)


def test_equal_weights_fit_under_another_name() -> None:
    """A hub name and a folder of the same model are one model."""
    check_same_model(BUILT, replace(BUILT, name="/elsewhere/bge"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weights": "cd" * 32}, f"weights (index: {'ab' * 32}; at hand: {'cd' * 32})"),
        ({"dimension": 768}, "dimension (index: 512; at hand: 768)"),
        ({"text_preparation": 2}, "text preparation (index: 1; at hand: 2)"),
    ],
)
def test_what_differs_is_said_with_both_values(change: dict[str, str | int], said: str) -> None:
    """Only that, and what to do."""
    with pytest.raises(ModelMismatchError) as raised:
        check_same_model(BUILT, replace(BUILT, **change))  # type: ignore[arg-type]
    assert raised.value.message.endswith(f"They differ in {said}.")
    assert "knowledge_index.py --full" in raised.value.hint
    assert raised.value.exit_code == 4


def test_everything_that_differs_is_said_at_once() -> None:
    """Another model usually differs in all."""
    with pytest.raises(ModelMismatchError, match=r"weights .*dimension .*text preparation "):
        check_same_model(BUILT, ModelIdentity("other", "cd" * 32, 768, 2))


def test_the_default_engine_needs_no_heavy_package() -> None:
    """Torch takes seconds to import, and a search would wait for them."""
    script = (
        "import sys; from rag_engine.embed.registry import load_embedder; "
        "assert 'onnxruntime' not in sys.modules; load_embedder().embed_query('x'); "
        "heavy = {'torch', 'transformers', 'sentence_transformers', 'huggingface_hub', 'pandas'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(rag_engine.__file__).parents[1],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
