"""What the rest of the engine knows of an embedding model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """What makes two vectors comparable; the engine that ran the model is not part of it.

    Attributes:
        name: What the user calls the model: a short name, a hub name or a folder.
        weights: SHA-256 of the model's weights, hexadecimal.
        dimension: Length of its vectors.
        text_preparation: Version of the preparation of texts (`rag_engine.embed.preparation`).
    """

    name: str
    weights: str
    dimension: int
    text_preparation: int


def same_model(first: ModelIdentity, second: ModelIdentity) -> bool:
    """Tell whether vectors of two models can be compared; names may differ."""
    return replace(first, name="") == replace(second, name="")


class Embedder(Protocol):
    """Turns texts into L2-normalised float32 vectors."""

    @property
    def identity(self) -> ModelIdentity:
        """What the index records of this model, and later compares."""

    @property
    def engine(self) -> str:
        """Name of what runs the model: "onnx", "sentence-transformers"."""

    @property
    def max_tokens(self) -> int:
        """Length of the model's window in tokens, special tokens included."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's number of tokens after text preparation, special tokens excluded."""

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Vectors]]:
        """Embed texts in batches, in the order that suits the engine.

        Yields:
            Positions in `texts` and their vectors, shape (len(positions), dimension); every
            position comes exactly once. A caller can save each batch as it comes.
        """

    def embed_query(self, text: str) -> Vectors:
        """Embed one query, cut to the model's window; returns shape (dimension,)."""
