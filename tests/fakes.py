"""Stand-ins for what costs too much in many small tests. The real model has tests of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rag_engine.embed.embedder import ModelIdentity
from rag_engine.embed.preparation import prepare
from tokenizers import Tokenizer

REPO = Path(__file__).resolve().parent.parent
MODEL = REPO / "rag-engine" / "models" / "bge-small-zh-v1.5"
Vectors = NDArray[np.float32]


@lru_cache
def real_tokenizer() -> Tokenizer:
    """Return the embedded model's tokenizer, which neither cuts nor pads."""
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Count as the real embedder does: prepared texts, no special tokens."""
    prepared = [prepare(text) for text in texts]
    encoded = real_tokenizer().encode_batch(prepared, add_special_tokens=False)
    return [len(encoding.ids) for encoding in encoded]


class HashEmbedder:
    """Deterministic vectors that depend on content: counts of hashed character pairs.

    Texts that share pairs are near each other, so ranking is really tested. Counts its work.
    """

    engine = "hash"
    max_tokens = 512

    def __init__(self, dimension: int = 64, weights: str = "fake-weights") -> None:
        self.identity = ModelIdentity("fake", weights, dimension, 1)
        self.embedded: list[str] = []

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count as the real model does, so that splitting is the real one."""
        return count_tokens(texts)

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Vectors]]:
        """Embed in batches of 16, in order."""
        for start in range(0, len(texts), 16):
            block = list(texts[start : start + 16])
            self.embedded += block
            yield (
                list(range(start, start + len(block))),
                np.stack([self._vector(text) for text in block]),
            )

    def embed_query(self, text: str) -> Vectors:
        """Embed a query as a document."""
        return self._vector(text)

    def _vector(self, text: str) -> Vectors:
        prepared = prepare(text)
        vector = np.zeros(self.identity.dimension, dtype=np.float32)
        for pair in zip(prepared, prepared[1:] + " ", strict=True):
            digest = hashlib.md5("".join(pair).encode(), usedforsecurity=False).digest()
            vector[int.from_bytes(digest[:4], "big") % len(vector)] += 1.0
        return vector / max(float(np.linalg.norm(vector)), 1e-12)
