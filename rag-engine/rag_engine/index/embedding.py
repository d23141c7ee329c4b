"""Vectors for chunks: taken from what was embedded before, else from the model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from rag_engine.embed.embedder import Embedder, ModelIdentity
from rag_engine.embed.preparation import prepare
from rag_engine.store.journal import HASH_BYTES, EmbeddingJournal
from rag_engine.store.vectors import VectorReader

if TYPE_CHECKING:
    from rag_engine.embed.embedder import Vectors


def embedding_hash(model: ModelIdentity, text: str) -> str:
    """Return the hash under which the vector of a text can be used again.

    It names the weights, the text preparation and the prepared text, and not the engine that
    ran the model: engines agree to 1e-6.
    """
    key = f"{model.weights}\n{model.text_preparation}\n{prepare(text)}"
    return hashlib.sha256(key.encode()).hexdigest()[: 2 * HASH_BYTES]


class VectorSource:
    """Gives the vectors of texts, embedding each distinct text at most once.

    Args:
        embedder: The model.
        journal: Where new vectors are saved as they come.
        published: Vectors of the published generation; None where there are none of this model.

    Attributes:
        embedded: Texts that went through the model so far.
        reused: Texts whose vectors were there already.
    """

    def __init__(
        self, embedder: Embedder, journal: EmbeddingJournal, published: VectorReader | None
    ) -> None:
        self._embedder = embedder
        self._journal = journal
        self._known = journal.read()
        self._published = published
        self.embedded = 0
        self.reused = 0

    def vectors(
        self,
        hashes: Sequence[str],
        texts: Sequence[str],
        progress: Callable[[int, int], None],
    ) -> Vectors:
        """Return the vectors of texts, shape (len(texts), dimension).

        Args:
            hashes: Embedding hash of each text.
            texts: What to embed.
            progress: Told (done, total) of the texts that go through the model.
        """
        import numpy as np

        known = {key: self._known[key] for key in hashes if key in self._known}
        if self._published is not None:
            known.update(self._published.vectors_by_hash(key for key in hashes if key not in known))
        missing = {key: text for key, text in zip(hashes, texts, strict=True) if key not in known}
        self.reused += len(hashes) - len(missing)
        keys = list(missing)
        progress(0, len(keys))
        done = 0
        for positions, batch in self._embedder.embed_documents(list(missing.values())):
            batch_keys = [keys[position] for position in positions]
            self._journal.append(batch_keys, batch)
            known.update(zip(batch_keys, batch, strict=True))
            done += len(batch_keys)
            progress(done, len(keys))
        self.embedded += done
        dimension = self._embedder.identity.dimension
        if not hashes:
            return np.empty((0, dimension), dtype=np.float32)
        return np.stack([known[key] for key in hashes])
