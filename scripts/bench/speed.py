#!/usr/bin/env python3
"""Speed of the programs as a user runs them: whole processes, medians, ratios in the same run.

    .venv/bin/python scripts/bench/speed.py [--corpus DIR] [--copies 8] [--runs 5]

Indexes N copies of a folder of Markdown (each in a folder of its own) and times: a full build
whose vectors are all known (everything but embedding), an update with nothing changed, one with
one changed file, and searches from the wrapper, cold. The reference of each run is a Python that
starts and ends.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent.parent
INDEXER = REPO / "rag-engine" / "knowledge_index.py"
WRAPPER = REPO / "skills" / "knowledge-search" / "scripts" / "knowledge-search.sh"
VUE = REPO.parent / "shared" / "corpora" / "vue-docs-zh" / "src"


def seconds(command: Sequence[str | Path]) -> float:
    """Return how long a command takes; it must succeed."""
    started = time.perf_counter()
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def measure(
    label: str,
    command: Sequence[str | Path],
    runs: int,
    before: Callable[[int], None] | None = None,
) -> None:
    """Print the median of a command, and its ratio to a bare Python timed in between."""
    times, references = [], []
    for run in range(runs):
        if before:
            before(run)
        references.append(seconds([sys.executable, "-c", "pass"]))
        times.append(seconds(command))
    median, reference = statistics.median(times), statistics.median(references)
    spread = f"{min(times):.2f} to {max(times):.2f}"
    print(f"  {label:<42} {median:7.2f} s  ({spread})  {median / reference:7.1f} x bare Python")


def main() -> None:
    """Build the corpus and the index, and measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--corpus", type=Path, default=VUE)
    parser.add_argument("--copies", type=int, default=8)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    if not arguments.corpus.is_dir():
        print(f"{arguments.corpus} is not there; the example notes stand in for it")
        arguments.corpus = REPO / "examples" / "notes"
    with tempfile.TemporaryDirectory() as temporary:
        notes, index = Path(temporary) / "notes", Path(temporary) / "kb"
        for copy in range(arguments.copies):
            shutil.copytree(arguments.corpus, notes / f"copy{copy}")
        files = sorted(notes.rglob("*.md"))
        size = sum(file.stat().st_size for file in files) / 1e6
        print(f"{len(files):,} files, {size:.1f} MB, {arguments.copies} copies of one folder")
        place = ["--db-path", index]
        first = seconds([sys.executable, INDEXER, "--full", notes, *place])
        print(f"  {'first build, with embedding':<42} {first:7.2f} s")
        measure(
            "--full, every vector known",
            [sys.executable, INDEXER, "--full", *place],
            arguments.runs,
        )
        # files that are younger than two seconds are read again by design
        time.sleep(2.5)
        seconds([sys.executable, INDEXER, "--update", *place])
        update = [sys.executable, INDEXER, "--update", *place]
        measure("--update, nothing changed", update, arguments.runs)

        def touch(run: int) -> None:
            with files[run].open("a", encoding="utf-8") as file:
                file.write(f"\n## Bench {run}\n\nA new passage, number {run}.\n")

        measure("--update, one changed file", update, arguments.runs, touch)
        search = ["bash", WRAPPER, "怎么监听路由变化", *place]
        measure("wrapper, --preset fast, cold", [*search, "--preset", "fast"], arguments.runs)
        measure("wrapper, --preset coding, cold", [*search, "--preset", "coding"], arguments.runs)


if __name__ == "__main__":
    main()
