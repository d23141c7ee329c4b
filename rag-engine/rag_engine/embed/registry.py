"""From a model's name and an engine's name to an embedder."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rag_engine.embed.fingerprint import verify, weights_fingerprint
from rag_engine.embed.model_files import find_model
from rag_engine.errors import ModelMismatchError, UsageError

if TYPE_CHECKING:
    from rag_engine.embed.embedder import Embedder, ModelIdentity

DEFAULT_ENGINE = "onnx"
ENGINES = ("onnx", "sentence-transformers")


def load_embedder(
    model: str | None = None, engine: str = DEFAULT_ENGINE, *, download: bool = True
) -> Embedder:
    """Find a model, check that its files are whole, and load it.

    Args:
        model: A short name, a folder or a hub name; None is the embedded default.
        engine: One of `ENGINES`.
        download: Whether a hub name may be fetched from the network. A search says no.

    Raises:
        UsageError: There is no such engine.
        ModelUnavailableError: The model cannot be found, is damaged or cannot be loaded.
        DependencyMissingError: The engine's package is not installed.
    """
    if engine not in ENGINES:
        raise UsageError(
            f"No embedder is named {engine!r}.", f"Choose one of {', '.join(ENGINES)}."
        )
    files = find_model(model, graph=engine == "onnx", download=download)
    verify(files.folder)
    weights = weights_fingerprint(files.folder)
    if engine == "onnx":
        from rag_engine.embed.onnx import OnnxEmbedder

        return OnnxEmbedder(files.name, files.folder, weights)
    from rag_engine.embed.sentence_transformers import SentenceTransformersEmbedder

    return SentenceTransformersEmbedder(files.name, files.folder, weights)


def check_same_model(index: ModelIdentity, loaded: ModelIdentity) -> None:
    """Refuse to search or extend an index with a model that did not build it.

    Names may differ: the same weights may lie in another folder.

    Raises:
        ModelMismatchError: Weights, dimension or text preparation differ; both are named.
    """
    built, now = asdict(index), asdict(loaded)
    differing = [
        f"{name.replace('_', ' ')} (index: {built[name]}; at hand: {now[name]})"
        for name in built
        if name != "name" and built[name] != now[name]
    ]
    if differing:
        raise ModelMismatchError(
            f"The index was built with another model ({index.name}) than the one at hand "
            f"({loaded.name}). They differ in {', '.join(differing)}.",
            "Use the index's own model, or rebuild the index: knowledge_index.py --full",
        )
