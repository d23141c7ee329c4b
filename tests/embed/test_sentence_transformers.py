"""The optional engine gives the vectors of the default one."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rag_engine.embed.embedder import Embedder
from rag_engine.embed.onnx import OnnxEmbedder
from rag_engine.embed.sentence_transformers import SentenceTransformersEmbedder
from rag_engine.errors import DependencyMissingError, ModelUnavailableError

TEXTS = [
    "向量数据库如何更新一条记录？",
    "How to rotate the API key of LanceDB",
    "```python\ndef connect(url: str) -> Connection:\n    ...\n```",
    "🙂🙂 部署完成 🚀 done",
    "",
    "半截\ud83d代理",
    "长" * 510,
    "word " * 510,
    *(f"笔记 note {n}" for n in range(40)),
]


@pytest.fixture(scope="module")
def transformer(model_folder: Path) -> SentenceTransformersEmbedder:
    """The engine, loaded once: importing torch takes seconds."""
    return SentenceTransformersEmbedder("bge-small-zh-v1.5", model_folder, "weights")


def embed_all(embedder: Embedder, texts: list[str]) -> np.ndarray:
    """Return the vectors in the order of the texts; every position must come once."""
    vectors: dict[int, np.ndarray] = {}
    for positions, batch in embedder.embed_documents(texts):
        assert not set(positions) & set(vectors)
        vectors.update(zip(positions, batch, strict=True))
    return np.stack([vectors[position] for position in range(len(texts))])


def test_both_engines_give_the_same_vectors(
    transformer: SentenceTransformersEmbedder, embedder: OnnxEmbedder
) -> None:
    """An index that one of them built is searched with the other."""
    assert transformer.identity == embedder.identity
    assert transformer.max_tokens == embedder.max_tokens
    ours, theirs = embed_all(embedder, TEXTS), embed_all(transformer, TEXTS)
    assert theirs.dtype == np.float32
    np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.parametrize("query", [*TEXTS[:6], "字" * 10_000, "word " * 3000])
def test_both_engines_embed_and_cut_queries_alike(
    transformer: SentenceTransformersEmbedder, embedder: OnnxEmbedder, query: str
) -> None:
    """Queries longer than the window included."""
    np.testing.assert_allclose(
        transformer.embed_query(query), embedder.embed_query(query), atol=1e-4
    )


def test_both_engines_count_alike_and_in_silence(
    transformer: SentenceTransformersEmbedder,
    embedder: OnnxEmbedder,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Chunk borders, and so chunk ids, must not depend on the engine."""
    texts = [*TEXTS, "字" * 2000]
    assert transformer.count_tokens(texts) == embedder.count_tokens(texts)
    assert capfd.readouterr() == ("", "")


def test_a_document_over_the_window_is_refused(transformer: SentenceTransformersEmbedder) -> None:
    """The package itself would cut it without a word."""
    with pytest.raises(ValueError, match="text 1 has 513 tokens"):
        list(transformer.embed_documents(["short", "字" * 511]))
    assert list(transformer.embed_documents([])) == []


def test_a_folder_with_mean_pooling_loads_in_silence_and_equals_the_other_engine(
    copy_model: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    """Not the embedded model; its missing pooler, reported by transformers, concerns nobody."""
    folder = copy_model("SHA256SUMS")
    config = {"word_embedding_dimension": 512, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps(config | {"pooling_mode_cls_token": False}), encoding="utf-8"
    )
    transformer = SentenceTransformersEmbedder("mean", folder, "weights")
    ours = embed_all(OnnxEmbedder("mean", folder, "weights"), TEXTS[:6])
    np.testing.assert_allclose(ours, embed_all(transformer, TEXTS[:6]), atol=1e-4)
    assert capfd.readouterr() == ("", "")


def test_a_model_that_cannot_be_loaded_is_named(
    small_folder: Callable[[dict[str, bytes | str]], Path],
) -> None:
    """And the network is not asked for it."""
    folder = small_folder({"config.json": "{}", "model.safetensors": b"no weights"})
    with pytest.raises(ModelUnavailableError, match="cannot load the model") as raised:
        SentenceTransformersEmbedder("m", folder, "weights")
    assert str(folder) in raised.value.message


def test_a_missing_package_is_told_with_the_way_to_install_it(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The small set of requirements has no torch."""
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(DependencyMissingError, match="pip install torch"):
        SentenceTransformersEmbedder("m", model_folder, "weights")
