"""The default engine: the model's ONNX graph on the CPU (package `onnxruntime`).

Measured on 2 cores with texts of about 420 tokens: one session of one thread that two Python
threads call with one text each gives 15 texts a second; one session of two threads 12; batches
of 4 or 8 texts of equal length no more than single texts, for 520 and 800 MB instead of 300.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_engine.embed.embedder import ModelIdentity
from rag_engine.embed.fingerprint import GRAPHS, graph_of
from rag_engine.embed.model_config import pooling_of, window_of
from rag_engine.embed.pooling import normalize, pool
from rag_engine.embed.preparation import TEXT_PREPARATION
from rag_engine.embed.tokens import Tokenizer
from rag_engine.errors import DependencyMissingError, ModelUnavailableError

if TYPE_CHECKING:
    from rag_engine.embed.embedder import Vectors
    from rag_engine.embed.tokens import TokenIds

MOST_WORKERS = 8
"""Measured with 510 tokens a text: 2 workers peak at 310 MB, 8 at 500 MB."""

TOKENS_A_RUN = 512
"""Short texts of one length share a run of the graph up to this many tokens together."""

RUNS_AHEAD = 4
"""Runs begun or waiting for each worker: they keep on while the caller saves what it got."""

TEXTS_A_YIELD = 32
"""Texts handed back together, for the caller to save."""

TEXTS_A_WINDOW = 8192
"""Texts tokenized and put in order together: bounds memory to 16 MB of token numbers."""


class OnnxEmbedder:
    """Runs a model's ONNX graph; an `Embedder`.

    Args:
        name: What the user calls the model.
        folder: Its files: a graph, tokenizer.json, the JSON files that say how it is pooled.
        weights: Fingerprint of its weights.
        workers: Texts embedded at the same time; None is one for each usable core.

    Raises:
        ModelUnavailableError: The folder lacks a file, or one cannot be loaded.
        DependencyMissingError: onnxruntime or tokenizers is not installed.
    """

    engine = "onnx"

    def __init__(self, name: str, folder: Path, weights: str, workers: int | None = None) -> None:
        graph = graph_of(folder)
        if graph is None:
            raise ModelUnavailableError(
                f"The model folder {folder} has no ONNX graph ({' or '.join(GRAPHS)}).",
                "Run it with --embedder sentence-transformers.",
            )
        self._pooling = pooling_of(folder)
        self.max_tokens = window_of(folder)
        self._tokenizer = Tokenizer(folder)
        self._session = _open_session(graph)
        self._inputs = frozenset(node.name for node in self._session.get_inputs())
        self._output, dimension = _token_vectors(self._session, graph)
        self.identity = ModelIdentity(name, weights, dimension, TEXT_PREPARATION)
        self._workers = workers or min(_usable_cores(), MOST_WORKERS)
        # Holds for queries of a server too: more at once would take memory and gain nothing.
        self._turns = threading.BoundedSemaphore(self._workers)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return each text's number of tokens after preparation, special tokens excluded."""
        return self._tokenizer.count(texts)

    def embed_query(self, text: str) -> Vectors:
        """Embed one query, cut to the model's window; returns shape (dimension,)."""
        vector: Vectors = self._run([self._tokenizer.encode_cut(text, self.max_tokens)])[0]
        return vector

    def embed_documents(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Vectors]]:
        """Embed texts, the longest first, `TEXTS_A_YIELD` or somewhat more at a time.

        Yields:
            Positions in `texts` and their vectors; every position comes exactly once.

        Raises:
            ValueError: A text is longer than the model's window. Nothing is cut.
        """
        positions: list[int] = []
        vectors: list[Vectors] = []
        threads = ThreadPoolExecutor(self._workers, thread_name_prefix="embed")
        try:
            for run, result in self._in_order(threads, self._runs(texts)):
                positions += run
                vectors.append(result)
                if len(positions) >= TEXTS_A_YIELD:
                    yield positions, np.concatenate(vectors)
                    positions, vectors = [], []
        finally:
            # The caller stopped, or a run failed: do not finish what nobody will take.
            threads.shutdown(cancel_futures=True)
        if positions:
            yield positions, np.concatenate(vectors)

    def _runs(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[TokenIds]]]:
        """Yield what the graph is given at once: texts of one length, so without padding."""
        for start in range(0, len(texts), TEXTS_A_WINDOW):
            encoded = self._tokenizer.encode(texts[start : start + TEXTS_A_WINDOW])
            longest_first = sorted(range(len(encoded)), key=lambda i: (-len(encoded[i]), i))
            positions: list[int] = []
            for i in longest_first:
                length = len(encoded[i])
                if length > self.max_tokens:
                    raise ValueError(
                        f"text {start + i} has {length} tokens, special tokens included; "
                        f"the model takes {self.max_tokens}"
                    )
                if positions and (
                    len(encoded[positions[0]]) != length
                    or (len(positions) + 1) * length > TOKENS_A_RUN
                ):
                    yield [start + p for p in positions], [encoded[p] for p in positions]
                    positions = []
                positions.append(i)
            if positions:
                yield [start + p for p in positions], [encoded[p] for p in positions]

    def _in_order(
        self, threads: ThreadPoolExecutor, runs: Iterator[tuple[list[int], list[TokenIds]]]
    ) -> Iterator[tuple[list[int], Vectors]]:
        """Yield each run's result in turn, with a few runs waiting so that no thread idles."""
        waiting: deque[tuple[list[int], Future[Vectors]]] = deque()
        for positions, ids in runs:
            waiting.append((positions, threads.submit(self._run, ids)))
            if len(waiting) > RUNS_AHEAD * self._workers:
                done, future = waiting.popleft()
                yield done, future.result()
        while waiting:
            done, future = waiting.popleft()
            yield done, future.result()

    def _run(self, texts: list[TokenIds]) -> Vectors:
        """Return the vectors of texts of one length."""
        ids = np.stack(texts).astype(np.int64)
        mask = np.ones_like(ids)
        available = {
            "input_ids": ids,
            "attention_mask": mask,
            "token_type_ids": np.zeros_like(ids),
        }
        feed = {name: array for name, array in available.items() if name in self._inputs}
        with self._turns:
            # ONNX Runtime releases the interpreter's lock while it computes.
            (states,) = self._session.run([self._output], feed)
        return normalize(pool(states, mask, self._pooling))


def _open_session(graph: Path) -> Any:
    # its official packages send usage events to their maker unless this is set before the import
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime
    except ImportError as error:
        raise DependencyMissingError(
            "The Python package onnxruntime is not installed.",
            "Install it: pip install 'onnxruntime>=1.32,<2'",
        ) from error
    options = onnxruntime.SessionOptions()
    # Parallel work comes from several texts at once, not from splitting one (see above).
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors only: warnings would reach the user's terminal
    try:
        return onnxruntime.InferenceSession(
            str(graph),
            options,
            providers=["CPUExecutionProvider"],
        )
    except Exception as error:  # its errors have no common base
        raise ModelUnavailableError(
            f"The model file {graph} cannot be loaded: {error}.", "Get the model's files again."
        ) from error


def _token_vectors(session: Any, graph: Path) -> tuple[str, int]:
    """Return the name of the output with a vector for each token, and its dimension."""
    outputs = {node.name: node.shape for node in session.get_outputs()}
    for name in ("last_hidden_state", "token_embeddings", *outputs):
        shape = outputs.get(name, ())
        if len(shape) == 3 and isinstance(shape[-1], int):
            return name, shape[-1]
    raise ModelUnavailableError(
        f"The graph {graph} has no output with a vector for each token: {outputs}.",
        "Run it with --embedder sentence-transformers.",
    )


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
