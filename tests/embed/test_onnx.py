"""The default engine, on the embedded model."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rag_engine.embed import onnx
from rag_engine.embed.embedder import Embedder
from rag_engine.embed.onnx import OnnxEmbedder
from rag_engine.errors import DependencyMissingError, ModelUnavailableError

TEXTS = [
    "向量数据库如何更新一条记录？",
    "How to rotate the API key",
    "def connect(url: str) -> Connection: ...",
    "🙂🙂 部署完成 🚀",
    "",
    *("笔记" * n for n in range(1, 60, 7)),
    *(f"note {n}" for n in range(40)),
    "长" * 510,
]


def embed_all(embedder: Embedder, texts: list[str]) -> np.ndarray:
    """Return the vectors in the order of the texts; every position must come once."""
    vectors = np.full((len(texts), embedder.identity.dimension), np.nan, dtype=np.float32)
    for positions, batch in embedder.embed_documents(texts):
        assert batch.shape == (len(positions), embedder.identity.dimension)
        assert batch.dtype == np.float32
        assert np.isnan(vectors[positions]).all()
        vectors[positions] = batch
    assert not np.isnan(vectors).any()
    return vectors


def test_the_vector_of_hello_world_is_the_published_one(embedder: OnnxEmbedder) -> None:
    """An oracle from elsewhere: fastembed's tests give these values, tolerance 1e-3."""
    published = [-0.01023294, 0.07634465, 0.0691722, -0.04458365, -0.03160762]
    np.testing.assert_allclose(embedder.embed_query("hello world")[:5], published, atol=1e-3)


def test_it_says_what_it_is(embedder: OnnxEmbedder) -> None:
    """What the index records."""
    assert (embedder.engine, embedder.max_tokens) == ("onnx", 512)
    assert (embedder.identity.dimension, embedder.identity.text_preparation) == (512, 1)


def test_capitals_do_not_matter(embedder: OnnxEmbedder) -> None:
    """Each word with a capital would be an unknown token."""
    np.testing.assert_array_equal(
        embedder.embed_query("LanceDB API"), embedder.embed_query("lancedb  api ")
    )
    assert embedder.embed_query("LanceDB") @ embedder.embed_query("Tantivy") < 0.9


def test_documents_come_complete_and_equal_to_single_texts(embedder: OnnxEmbedder) -> None:
    """Neither order nor what a text is computed with may change its vector."""
    vectors = embed_all(embedder, TEXTS)
    single = np.stack([embedder.embed_query(text) for text in TEXTS])
    np.testing.assert_allclose(vectors, single, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_a_similar_meaning_is_nearer(embedder: OnnxEmbedder) -> None:
    """The vectors mean something, in Chinese and in English."""
    query = embedder.embed_query("怎么修改数据库里的数据")
    near, far = embed_all(embedder, ["更新数据库中的一条记录", "今天的晚饭很好吃"])
    assert query @ near > query @ far + 0.2


def test_batches_are_handed_over_before_the_rest_is_computed(
    embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller saves each batch, so that a killed run loses little."""
    monkeypatch.setattr(onnx, "RUNS_AHEAD", 1)
    runs: list[int] = []
    run = OnnxEmbedder._run
    monkeypatch.setattr(
        OnnxEmbedder, "_run", lambda self, ids: runs.append(len(ids)) or run(self, ids)
    )
    batches = embedder.embed_documents(["字" * (n % 50) for n in range(2000)])
    positions, _ = next(batches)
    assert 32 <= len(positions) <= 64
    assert sum(runs) < 200
    batches.close()
    computed = sum(runs)
    assert computed < 200
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("embed")]


def test_no_run_of_the_graph_holds_padding_or_more_than_one_window(
    embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Padding is wasted work, and memory grows with what a run holds."""
    shapes: list[tuple[int, ...]] = []
    session = embedder._session

    class Watched:
        def run(self, outputs: list[str], feed: dict[str, Any]) -> list[np.ndarray]:
            assert feed["attention_mask"].all()
            shapes.append(feed["input_ids"].shape)
            return session.run(outputs, feed)  # type: ignore[no-any-return]

    monkeypatch.setattr(embedder, "_session", Watched())
    embed_all(embedder, TEXTS)
    assert sum(texts for texts, _ in shapes) == len(TEXTS)
    assert max(texts * tokens for texts, tokens in shapes) <= 512
    assert max(texts for texts, _ in shapes) > 30


def test_windows_do_not_mix_positions_up(
    embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only so many texts are tokenized at once."""
    expected = embed_all(embedder, TEXTS)
    monkeypatch.setattr(onnx, "TEXTS_A_WINDOW", 7)
    np.testing.assert_allclose(embed_all(embedder, TEXTS), expected, atol=1e-5)


def test_no_texts_yield_nothing(embedder: OnnxEmbedder) -> None:
    """Not an empty batch either."""
    assert list(embedder.embed_documents([])) == []


def test_a_document_fills_the_window_and_no_more(embedder: OnnxEmbedder) -> None:
    """510 tokens and two special ones; one more is the chunker's fault and must be heard."""
    embed_all(embedder, ["字" * 510])
    with pytest.raises(ValueError, match="text 1 has 513 tokens"):
        list(embedder.embed_documents(["short", "字" * 511]))


def test_a_query_is_cut_to_the_window(embedder: OnnxEmbedder) -> None:
    """A query may be 32 KiB long."""
    np.testing.assert_array_equal(
        embedder.embed_query("字" * 10_000), embedder.embed_query("字" * 510)
    )


def test_queries_may_come_from_many_threads(embedder: OnnxEmbedder) -> None:
    """The resident server answers several searches at once."""
    with ThreadPoolExecutor(8) as pool:
        vectors = list(pool.map(embedder.embed_query, TEXTS))
    expected = [embedder.embed_query(text) for text in TEXTS]
    np.testing.assert_allclose(np.stack(vectors), np.stack(expected), atol=1e-6)


def test_only_declared_inputs_are_fed(
    embedder: OnnxEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Graphs of other families know no token types, and refuse inputs that they do not know."""
    fed: list[set[str]] = []

    class Session:
        def run(self, _: list[str], feed: dict[str, np.ndarray]) -> list[np.ndarray]:
            fed.append(set(feed))
            return [np.ones((*feed["input_ids"].shape, 512), dtype=np.float32)]

    monkeypatch.setattr(embedder, "_session", Session())
    monkeypatch.setattr(embedder, "_inputs", frozenset({"input_ids", "attention_mask"}))
    embedder.embed_query("x")
    assert fed == [{"input_ids", "attention_mask"}]


def test_mean_pooling_is_taken_from_the_folder(
    copy_model: Callable[..., Path], embedder: OnnxEmbedder
) -> None:
    """The same graph, pooled otherwise, gives other vectors."""
    folder = copy_model("SHA256SUMS")
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps({"pooling_mode_mean_tokens": True}), encoding="utf-8"
    )
    mean = OnnxEmbedder("mean", folder, "weights")
    similarity = mean.embed_query("hello world") @ embedder.embed_query("hello world")
    assert 0.3 < similarity < 0.99


def test_a_folder_without_a_graph_points_to_the_other_engine(
    copy_model: Callable[..., Path],
) -> None:
    """Most models on the hub have none."""
    with pytest.raises(ModelUnavailableError, match="--embedder sentence-transformers"):
        OnnxEmbedder("m", copy_model("model.onnx", "model.safetensors"), "weights")


def test_a_graph_that_cannot_be_loaded_is_named(
    copy_model: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    """Where there are no sums to check, the runtime finds it; it must not log to stderr."""
    folder = copy_model("model.safetensors", "SHA256SUMS")
    (folder / "model.onnx").write_bytes((folder / "model.onnx").read_bytes()[:1000])
    with pytest.raises(ModelUnavailableError, match=r"model\.onnx cannot be loaded"):
        OnnxEmbedder("m", folder, "weights")
    assert capfd.readouterr() == ("", "")


def test_a_missing_package_is_told_with_the_way_to_install_it(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback of imports helps nobody."""
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(DependencyMissingError, match="pip install 'onnxruntime"):
        OnnxEmbedder("m", model_folder, "weights")
