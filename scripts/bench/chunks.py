#!/usr/bin/env python3
"""The splitting over a whole corpus: every citation checked, sizes and speed printed.

    .venv/bin/python scripts/bench/chunks.py [--corpus DIR]

Checks each file as the property tests do (lines exact, nothing lost, every text within the model's
window) and ends with exit code 5 where that does not hold. The default corpus is the Vue
documentation, skipped aloud where it is absent; the example notes are checked always.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(REPO / "rag-engine"), str(REPO / "tests")]

from corpus import kit  # noqa: E402
from fakes import count_tokens  # noqa: E402
from rag_engine.corpus.documents import Document  # noqa: E402
from rag_engine.corpus.walk import scan  # noqa: E402

VUE = REPO.parent / "shared" / "corpora" / "vue-docs-zh" / "src"


def check(corpus: Path) -> int:
    """Check a corpus and print what was found; returns the number of faulty files."""
    documents: list[tuple[str, bytes, Document]] = []
    found = scan(corpus)
    started = time.perf_counter()
    for entry in found.files:
        raw = (corpus / entry.path).read_bytes()
        documents.append((entry.path, raw, kit.read(raw, entry.path)))
    seconds = time.perf_counter() - started
    faulty = 0
    for path, raw, document in documents:
        try:
            kit.assert_sound(raw, document)
        except AssertionError as error:
            faulty += 1
            print(f"  FAULT {path}: {error}")
    chunks = [chunk for _, _, document in documents for chunk in document.chunks]
    tokens = sorted(count_tokens([chunk.embedding_text for chunk in chunks]))
    size = sum(len(raw) for _, raw, _ in documents) / 1e6
    print(
        f"{corpus.name}: {len(documents)} files, {size:.2f} MB, {len(chunks):,} chunks in "
        f"{seconds:.1f} s; tokens min {tokens[0]}, median {statistics.median(tokens):.0f}, "
        f"max {tokens[-1]}; {faulty} faulty files"
    )
    return faulty


def main() -> int:
    """Check the corpora."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", type=Path, default=VUE)
    arguments = parser.parse_args()
    faulty = check(REPO / "examples" / "notes")
    if arguments.corpus.is_dir():
        faulty += check(arguments.corpus)
    else:
        print(f"SKIPPED: {arguments.corpus} is not there")
    return 5 if faulty else 0


if __name__ == "__main__":
    sys.exit(main())
