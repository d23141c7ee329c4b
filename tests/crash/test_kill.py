"""kill -9 anywhere: what was published stays, what was embedded is not embedded again."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fakes import HashEmbedder
from rag_engine.index.request import IndexRequest
from rag_engine.index.run import run_index
from rag_engine.search.engine import SearchContext, search
from rag_engine.search.request import SearchRequest, plan_search
from rag_engine.store.snapshot import open_snapshot

TESTS = Path(__file__).resolve().parent.parent
ENGINE = TESTS.parent / "rag-engine"
KILLS = 25

# Runs the real indexer with the fake model, slowed down so that kills meet every phase.
CHILD = """
import os, sys, time
sys.path[:0] = sys.argv[1:3]
import fakes, rag_engine.index.run as run
from pathlib import Path
from rag_engine.index.request import IndexRequest
from rag_engine.index.run import run_index

class Slow(fakes.HashEmbedder):
    def embed_documents(self, texts):
        for positions, batch in super().embed_documents(texts):
            time.sleep(0.004)
            with open(sys.argv[5], "a") as log:
                log.write("".join("%s\\n" % texts[p].replace("\\n", " ") for p in positions))
            yield positions, batch

run.load_embedder = lambda *_: Slow()
import lancedb
print("ready", flush=True)
full = sys.argv[6] == "full"
run_index(IndexRequest(folder=Path(sys.argv[3]), full=full, directories=(Path(sys.argv[4]),)),
          lambda *_: None)
print("done", flush=True)
"""


def _write(notes: Path, version: int, count: int = 120) -> None:
    for number in range(count):
        if number % 3 == version % 3 or version == 0:
            text = f"# n{number}\n\nheronword version {version}\n\n## 第二节\n\n鸟 {version}\n"
            (notes / f"{number}.md").write_text(text, encoding="utf-8")


@contextmanager
def _indexer(kb: Path, notes: Path, log: Path, kind: str) -> Iterator[subprocess.Popen[str]]:
    """Start an indexer and wait until it is about to begin."""
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, ENGINE, TESTS, kb, notes, log, kind],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process


def _finish(kb: Path, notes: Path, log: Path, kind: str) -> None:
    """Run an indexer to its end."""
    with _indexer(kb, notes, log, kind) as process:
        assert process.stdout is not None
        assert process.stdout.read() == "done\n"
    assert process.returncode == 0


def _hits(kb: Path) -> dict[str, set[str]]:
    """Search in every mode; returns the files found by mode."""
    context = SearchContext(load_model=lambda _: HashEmbedder())
    found = {}
    for mode in ("fts", "vector", "hybrid"):
        plan = plan_search(SearchRequest(query="heronword", mode=mode, top=100))
        found[mode] = {result.source_file for result in search(plan, kb, context).results}
    return found


def _rows(kb: Path) -> list[object]:
    snapshot = open_snapshot(kb)
    rows = sorted(snapshot.vectors.records(), key=lambda record: record.chunk_id)
    assert [row.chunk_id for row in rows] == snapshot.fulltext.chunk_ids()
    assert len(rows) == snapshot.manifest.chunks
    return list(rows)


@pytest.mark.parametrize("kind", ["full", "update"])
def test_killed_at_random_moments_the_index_stays_whole(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each kill: searchable, consistent; at the end: equal to a clean build."""
    notes, kb, log = tmp_path / "notes", tmp_path / "kb", tmp_path / "embedded"
    notes.mkdir()
    _write(notes, 0)
    monkeypatch.setattr("rag_engine.index.run.load_embedder", lambda *_: HashEmbedder())
    run_index(IndexRequest(folder=kb, full=True, directories=(notes,)), lambda *_: None)
    chance = random.Random(f"kills of {kind}")
    for version in range(1, KILLS // 2 + 2):
        _write(notes, version)
        with _indexer(kb, notes, log, kind) as process:
            time.sleep(chance.uniform(0, 0.5))
            process.send_signal(signal.SIGKILL)
        assert len(_rows(kb)) == 240
        assert all(len(files) > 90 for files in _hits(kb).values())
    log.unlink(missing_ok=True)
    _finish(kb, notes, log, kind)
    clean = tmp_path / "clean"
    run_index(IndexRequest(folder=clean, full=True, directories=(notes,)), lambda *_: None)
    assert _rows(kb) == _rows(clean)


def test_what_was_embedded_before_a_kill_is_not_embedded_again(tmp_path: Path) -> None:
    """A first run over a large folder can be stopped and goes on where it was."""
    notes, kb, log = tmp_path / "notes", tmp_path / "kb", tmp_path / "embedded"
    notes.mkdir()
    _write(notes, 0, count=400)
    with _indexer(kb, notes, log, "full") as process:
        deadline = time.monotonic() + 60
        # bytes: the last character may be half written
        while not (log.exists() and log.read_bytes().count(b"\n") >= 160):
            assert time.monotonic() < deadline
            assert process.poll() is None
        process.kill()
    before = log.read_text(encoding="utf-8", errors="replace").splitlines()
    log.unlink()
    _finish(kb, notes, log, "full")
    after = log.read_text(encoding="utf-8").splitlines()
    # at most the batch that was on its way
    assert len(set(before) & set(after)) <= 16
    # a line of the log itself may have been cut by the kill
    assert len(set(before[:-1]) | set(after)) in (799, 800)


@pytest.mark.parametrize("limit_kib", [40, 400])
def test_a_full_disk_is_told_and_leaves_the_published_index(
    tmp_path: Path, limit_kib: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bound on the size of files stands in for the disk that is full."""
    notes, kb = tmp_path / "notes", tmp_path / "kb"
    notes.mkdir()
    _write(notes, 0)
    monkeypatch.setattr("rag_engine.index.run.load_embedder", lambda *_: HashEmbedder())
    run_index(IndexRequest(folder=kb, full=True, directories=(notes,)), lambda *_: None)
    for number in range(3000):
        (notes / f"x{number}.md").write_text(
            f"# x{number}\n\n{'鸟类观察' * 20} {number}\n", encoding="utf-8"
        )
    script = (
        "import resource, signal, sys; sys.path[:0] = sys.argv[1:3];"
        "import lancedb, fakes, rag_engine.index.run as run;"
        "run.load_embedder = lambda *_: fakes.HashEmbedder();"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit_kib * 1024}, {limit_kib * 1024}));"
        "from rag_engine.cli.index import main;"
        "sys.exit(main(['--update', '--db-path', sys.argv[3]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, ENGINE, TESTS, kb],
        capture_output=True,
        text=True,
        env=os.environ,
        timeout=120,
        check=False,
    )
    assert done.returncode == 4, done
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert len(_rows(kb)) == 240
    assert all(len(files) > 90 for files in _hits(kb).values())
