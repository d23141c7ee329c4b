"""Pooling and normalisation, on arrays made by hand."""

from __future__ import annotations

import numpy as np
from rag_engine.embed.pooling import normalize, pool

STATES = np.array(
    [[[1, 2], [3, 4], [9, 9]], [[9, 9], [5, 6], [7, 8]]],
    dtype=np.float32,
)
MASK = np.array([[1, 1, 0], [0, 1, 1]])  # padding on the right, and on the left


def test_cls_takes_the_first_token_that_is_not_padding() -> None:
    """Some tokenizers pad on the left."""
    assert pool(STATES, MASK, "cls").tolist() == [[1, 2], [5, 6]]


def test_mean_leaves_padding_out() -> None:
    """A text's vector must not depend on what it was batched with."""
    assert pool(STATES, MASK, "mean").tolist() == [[2, 3], [6, 7]]


def test_the_mean_of_no_tokens_is_zero() -> None:
    """Nothing divides by zero."""
    assert pool(STATES, np.zeros_like(MASK), "mean").tolist() == [[0, 0], [0, 0]]


def test_vectors_get_length_one_and_a_zero_vector_stays_zero() -> None:
    """NaN in an index would poison every search."""
    normal = normalize(np.array([[3, 4], [0, 0]], dtype=np.float32))
    np.testing.assert_allclose(normal, [[0.6, 0.8], [0, 0]], rtol=1e-6)
    assert normal.dtype == np.float32
