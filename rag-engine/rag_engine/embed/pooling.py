"""From one vector per token to one vector per text; pure functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rag_engine.embed.embedder import Vectors

PoolingMode = Literal["cls", "mean"]

SMALLEST_NORM = 1e-12
"""Floor of the norm: a text whose vector is zero stays zero and does not become NaN."""


def pool(states: Vectors, mask: NDArray[np.int64], mode: PoolingMode) -> Vectors:
    """Reduce token vectors to text vectors.

    Args:
        states: Shape (texts, tokens, dimension).
        mask: Shape (texts, tokens), 1 for a token and 0 for padding, on either side.
        mode: "cls" takes the first token that is not padding, "mean" the mean of all such.

    Returns:
        Shape (texts, dimension), not normalised.
    """
    if mode == "cls":
        return states[np.arange(len(states)), mask.argmax(axis=1)]
    weights = mask.astype(np.float32)
    sums: Vectors = np.einsum("btd,bt->bd", states, weights)
    return sums / np.maximum(weights.sum(axis=1, keepdims=True), 1.0)


def normalize(vectors: Vectors) -> Vectors:
    """Return the vectors with length 1, in float32; zero vectors stay zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.maximum(norms, SMALLEST_NORM)).astype(np.float32, copy=False)
