"""The model's tokenizer: from texts to token numbers (package `tokenizers`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_engine.embed.preparation import prepare
from rag_engine.errors import DependencyMissingError, ModelUnavailableError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    TokenIds = NDArray[np.int32]

_BLOCK = 256
"""Texts tokenized at once: a tokenizer's result is some 50 KB a text, its ids are 2 KB."""


class Tokenizer:
    """Tokenizes prepared texts, without cutting or padding any.

    Args:
        folder: The model's folder, with its `tokenizer.json`.

    Raises:
        ModelUnavailableError: The file is missing or damaged.
        DependencyMissingError: The package tokenizers is not installed.
    """

    def __init__(self, folder: Path) -> None:
        try:
            import tokenizers
        except ImportError as error:
            raise DependencyMissingError(
                "The Python package tokenizers is not installed.",
                "Install it: pip install 'tokenizers>=0.23,<0.24'",
            ) from error
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise ModelUnavailableError(
                f"The model {folder} has no tokenizer.json.",
                "Run it with --embedder sentence-transformers, or get the model's files again.",
            )
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # tokenizers raises nothing narrower
            raise ModelUnavailableError(
                f"The model file {path} cannot be read: {error}.", "Get the model's files again."
            ) from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return each text's number of tokens after preparation, special tokens excluded."""
        # an encoding knows its length; its ids as a Python list would cost as much again
        return [len(encoding) for encoding in self._encodings(texts, special=False)]

    def encode(self, texts: Sequence[str]) -> list[TokenIds]:
        """Return each text's token numbers after preparation, special tokens included."""
        return [
            np.asarray(encoding.ids, dtype=np.int32)
            for encoding in self._encodings(texts, special=True)
        ]

    def encode_cut(self, text: str, max_tokens: int) -> TokenIds:
        """Return a text's token numbers, cut to `max_tokens` with its special tokens whole."""
        encoding = self._tokenizer.encode(prepare(text))
        if len(encoding.ids) > max_tokens:
            # The special tokens at the end count: cut what is between them, as the
            # tokenizer's own truncation does, without switching that on for other threads.
            bare = self._tokenizer.encode(prepare(text), add_special_tokens=False)
            bare.truncate(max_tokens - self._tokenizer.num_special_tokens_to_add(is_pair=False))
            encoding = self._tokenizer.post_process(bare)
        return np.asarray(encoding.ids, dtype=np.int32)

    def _encodings(self, texts: Sequence[str], *, special: bool) -> Iterator[Any]:
        for start in range(0, len(texts), _BLOCK):
            block = [prepare(text) for text in texts[start : start + _BLOCK]]
            # The fast variant leaves out the offsets, which nobody here reads.
            yield from self._tokenizer.encode_batch_fast(block, add_special_tokens=special)
