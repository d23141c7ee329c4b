"""The optional engine: any model that the package `sentence_transformers` can run."""

from __future__ import annotations

import importlib
import logging
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_engine.embed.embedder import ModelIdentity
from rag_engine.embed.model_config import window_of
from rag_engine.embed.pooling import normalize
from rag_engine.embed.preparation import TEXT_PREPARATION, prepare
from rag_engine.errors import DependencyMissingError, ModelUnavailableError

if TYPE_CHECKING:
    from rag_engine.embed.embedder import Vectors

BATCH = 8
"""Texts computed at once: batches of 32 texts of 510 tokens take over 2 GB."""

TEXTS_A_YIELD = 32
_BLOCK = 256


class SentenceTransformersEmbedder:
    """Runs a model with sentence-transformers; an `Embedder`.

    Args:
        name: What the user calls the model.
        folder: Its files.
        weights: Fingerprint of its weights.

    Raises:
        ModelUnavailableError: The folder's model cannot be loaded.
        DependencyMissingError: sentence-transformers is not installed.
    """

    engine = "sentence-transformers"

    def __init__(self, name: str, folder: Path, weights: str) -> None:
        self._model = _load(folder)
        self.max_tokens = window_of(folder)
        if self._model.max_seq_length is not None:
            # Its window must not be the narrower one: it would cut without a word.
            self.max_tokens = min(self.max_tokens, int(self._model.max_seq_length))
            self._model.max_seq_length = self.max_tokens
        dimension = self._model.get_embedding_dimension()
        self.identity = ModelIdentity(name, weights, int(dimension), TEXT_PREPARATION)
        self._lock = threading.Lock()

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's number of tokens after preparation, special tokens excluded."""
        return self._count(texts, special=False)

    def embed_query(self, text: str) -> Vectors:
        """Embed one query, cut to the model's window; returns shape (dimension,)."""
        vector: Vectors = self._encode([text])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Vectors]]:
        """Embed texts, the longest first, `TEXTS_A_YIELD` at a time.

        Yields:
            Positions in `texts` and their vectors; every position comes exactly once.

        Raises:
            ValueError: A text is longer than the model's window. Nothing is cut.
        """
        lengths = self._count(texts, special=True)
        order = sorted(range(len(texts)), key=lambda i: (-lengths[i], i))
        if order and lengths[order[0]] > self.max_tokens:
            raise ValueError(
                f"text {order[0]} has {lengths[order[0]]} tokens, special tokens included; "
                f"the model takes {self.max_tokens}"
            )
        for start in range(0, len(order), TEXTS_A_YIELD):
            positions = order[start : start + TEXTS_A_YIELD]
            yield positions, self._encode([texts[i] for i in positions])

    def _count(self, texts: Sequence[str], *, special: bool) -> list[int]:
        counts: list[int] = []
        for start in range(0, len(texts), _BLOCK):
            block = [prepare(text) for text in texts[start : start + _BLOCK]]
            with self._lock:
                ids = self._model.tokenizer(
                    block,
                    add_special_tokens=special,
                    truncation=False,
                    return_attention_mask=False,
                    verbose=False,  # no notice on stderr about long texts
                )["input_ids"]
            counts += map(len, ids)
        return counts

    def _encode(self, texts: list[str]) -> Vectors:
        # One at a time: its tokenizer's truncation is a setting shared between threads.
        with self._lock:
            vectors = self._model.encode(
                [prepare(text) for text in texts],
                prompt="",  # as the onnx engine: both must give the same vectors
                batch_size=BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return normalize(np.asarray(vectors, dtype=np.float32))


def _load(folder: Path) -> Any:
    # Else the tokenizer warns on stderr after every fork.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    try:
        # Absolute: the package, not this module.
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise DependencyMissingError(
            "The Python package sentence-transformers is not installed.",
            "Install it: pip install torch==2.13.0 'sentence-transformers>=6.2,<7'",
        ) from error
    # transformers shows a bar for the weights, and reports the unused pooler as missing.
    importlib.import_module("transformers.utils.logging").disable_progress_bar()
    for logger in ("transformers", "sentence_transformers"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    try:
        return SentenceTransformer(str(folder), local_files_only=True)
    except Exception as error:  # its errors have no common base
        raise ModelUnavailableError(
            f"sentence-transformers cannot load the model {folder}: {error}.",
            "Check that the folder holds a whole model.",
        ) from error
