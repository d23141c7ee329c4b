#!/usr/bin/env python3
"""How fast the embedded model embeds, and with how much memory.

Compares, on the same chunks and each in a process of its own, our ONNX engine with
sentence-transformers in fp32 at its default batch size; rounds are interleaved, medians are
printed. `--sessions` compares ways to run the ONNX graph instead.

    python scripts/bench/embedding.py [--corpus DIR] [--texts N] [--rounds N] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPO / "rag-engine"))

from rag_engine.embed.model_files import find_model  # noqa: E402
from rag_engine.embed.preparation import prepare  # noqa: E402
from rag_engine.embed.registry import load_embedder  # noqa: E402
from rag_engine.embed.tokens import Tokenizer  # noqa: E402

CHUNK_TOKENS = 400
ENGINES = ("onnx", "sentence-transformers")
# Threads inside the session, threads that call it, texts of equal length in a call.
SESSIONS = ("session:2:1:1", "session:1:2:1", "session:2:1:4", "session:1:2:4", "session:1:2:8")


def main() -> int:
    """Run the benchmark and print its result."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", type=Path, default=REPO / "examples" / "notes")
    parser.add_argument("--texts", type=int, default=200, help="chunks to embed (default: 200)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each (default: 3)")
    parser.add_argument("--sessions", action="store_true", help="compare ways to run the graph")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--child", nargs=2, metavar=("WHAT", "CHUNKS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.child[0], Path(options.child[1]))))
        return 0

    chunks = make_chunks(options.corpus)
    if not chunks:
        parser.error(f"no text in the Markdown files of {options.corpus}")
    distinct = len(chunks)
    texts = [chunks[i % distinct] for i in range(options.texts)]
    contestants = SESSIONS if options.sessions else ENGINES
    runs: dict[str, list[dict[str, float]]] = {what: [] for what in contestants}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chunks.json"
        path.write_text(json.dumps(texts), encoding="utf-8")
        for number in range(options.rounds):
            # Every other round backwards: a machine that slows down is unfair to nobody.
            for what in contestants[:: -1 if number % 2 else 1]:
                runs[what].append(run_child(what, path))
                print(f"round {number + 1} {what}: {runs[what][-1]}", file=sys.stderr)
    report(options, runs, distinct)
    return 0


def make_chunks(corpus: Path) -> list[str]:
    """Return the paragraphs of a folder's Markdown files, packed to about 400 tokens."""
    tokenizer = Tokenizer(find_model().folder)
    chunks = []
    for path in sorted(corpus.rglob("*.md")):
        text = path.read_text(encoding="utf-8", errors="replace")
        paragraphs = [part for part in text.split("\n\n") if part.strip()]
        packed: list[str] = []
        size = 0
        for paragraph, tokens in zip(paragraphs, tokenizer.count(paragraphs), strict=True):
            if tokens > CHUNK_TOKENS:  # a benchmark may leave out what a chunker has to split
                continue
            if size + tokens > CHUNK_TOKENS:
                chunks.append("\n\n".join(packed))
                packed, size = [], 0
            packed.append(paragraph)
            size += tokens
        if packed:
            chunks.append("\n\n".join(packed))
    return chunks


def run_child(what: str, path: Path) -> dict[str, float]:
    """Measure one contestant in a fresh process."""
    command = [sys.executable, __file__, "--child", what, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise SystemExit(f"{what} failed:\n{done.stderr}")
    return dict(json.loads(done.stdout))


def measure(what: str, path: Path) -> dict[str, float]:
    """Embed the chunks in this process; returns texts a second, peak memory, time to load."""
    texts = json.loads(path.read_text(encoding="utf-8"))
    start = time.perf_counter()
    if what == "onnx":
        embed = embed_with_ours()
    elif what == "sentence-transformers":
        embed = embed_with_sentence_transformers()
    else:
        embed = embed_with_session(*(int(part) for part in what.split(":")[1:]))
    loaded = time.perf_counter()
    embed(texts[:4])
    start_embedding = time.perf_counter()
    embed(texts)
    seconds = time.perf_counter() - start_embedding
    return {
        "texts_per_second": round(len(texts) / seconds, 2),
        "peak_mb": round(peak_bytes() / 1e6),
        "load_s": round(loaded - start, 2),
    }


def embed_with_ours() -> Callable[[list[str]], None]:
    """Return our ONNX engine's work on a list of texts."""
    embedder = load_embedder()

    def embed(texts: list[str]) -> None:
        assert sum(len(found) for found, _ in embedder.embed_documents(texts)) == len(texts)

    return embed


def embed_with_sentence_transformers() -> Callable[[list[str]], None]:
    """Return what a user of sentence-transformers would write."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(find_model().folder), local_files_only=True)

    def embed(texts: list[str]) -> None:
        model.encode([prepare(text) for text in texts], show_progress_bar=False)

    return embed


def embed_with_session(intra: int, threads: int, batch: int) -> Callable[[list[str]], None]:
    """Return a bare session's work on texts that are cut into groups of equal length."""
    import numpy as np
    import onnxruntime

    folder = find_model().folder
    tokenizer = Tokenizer(folder)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = intra
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"]
    )

    def run(group: list[np.ndarray]) -> None:
        ids = np.stack(group).astype(np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        session.run(None, feed | {"token_type_ids": np.zeros_like(ids)})

    def groups(texts: list[str]) -> Iterator[list[np.ndarray]]:
        ids = sorted(tokenizer.encode(texts), key=len, reverse=True)
        for start in range(0, len(ids), batch):
            group = ids[start : start + batch]
            # All as long as the shortest: the best case for batches.
            yield [one[: len(group[-1])] for one in group]

    def embed(texts: list[str]) -> None:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(run, groups(texts)))

    return embed


def peak_bytes() -> int:
    """Return the peak resident memory of this process."""
    try:
        # Unlike ru_maxrss, not what the parent had when it started this process.
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def report(
    options: argparse.Namespace, runs: dict[str, list[dict[str, float]]], distinct: int
) -> None:
    """Print the medians, as a table or as JSON."""
    medians = {
        what: {key: statistics.median(run[key] for run in found) for key in found[0]}
        for what, found in runs.items()
    }
    result: dict[str, object] = {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "corpus": str(options.corpus),
        "texts": options.texts,
        "distinct_texts": distinct,
        "rounds": options.rounds,
        "medians": medians,
        "runs": runs,
    }
    ratio = None
    if not options.sessions:
        ours, theirs = (medians[engine]["texts_per_second"] for engine in ENGINES)
        ratio = result["ratio"] = round(ours / theirs, 2)
    if options.json:
        print(json.dumps(result, ensure_ascii=False, indent=1))
        return
    print(f"{options.texts} texts ({distinct} distinct), medians of {options.rounds} rounds")
    for what, found in medians.items():
        print(
            f"{what:24} {found['texts_per_second']:7.2f} texts/s   "
            f"peak {found['peak_mb']:5.0f} MB   load {found['load_s']:.2f} s"
        )
    if ratio is not None:
        print(f"onnx is {ratio} times as fast as sentence-transformers")


if __name__ == "__main__":
    raise SystemExit(main())
