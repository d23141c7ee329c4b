"""An index over notes in a temporary folder, embedded by a fake that counts its work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fakes import HashEmbedder
from rag_engine.index.request import IndexReport, IndexRequest
from rag_engine.index.run import run_index
from rag_engine.search.engine import SearchContext, search
from rag_engine.search.request import SearchRequest, plan_search
from rag_engine.store.snapshot import Snapshot, open_snapshot


@dataclass
class Base:
    """A knowledge base under test."""

    folder: Path
    notes: Path
    embedder: HashEmbedder
    options: dict[str, object] = field(default_factory=dict)

    def write(self, name: str, text: str) -> Path:
        """Write a note."""
        path = self.notes / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def full(self, *directories: Path, **options: object) -> IndexReport:
        """Run --full; over the notes where nothing else is named."""
        return self._run(True, directories or (self.notes,), options)

    def full_all(self, **options: object) -> IndexReport:
        """Run --full without a folder."""
        return self._run(True, (), options)

    def update(self, *directories: Path, **options: object) -> IndexReport:
        """Run --update."""
        return self._run(False, directories, options)

    def _run(
        self, full: bool, directories: tuple[Path, ...], options: dict[str, object]
    ) -> IndexReport:
        request = IndexRequest(
            folder=self.folder,
            full=full,
            directories=directories,
            **{**self.options, **options},  # type: ignore[arg-type]
        )
        return run_index(request, lambda *_: None)

    def snapshot(self) -> Snapshot:
        """Open what is published."""
        return open_snapshot(self.folder)

    def find(self, query: str, mode: str = "fts", top: int = 50) -> list[str]:
        """Return the source files found, best first, each once."""
        plan = plan_search(SearchRequest(query=query, mode=mode, top=top))
        context = SearchContext(load_model=lambda _: self.embedder)
        answer = search(plan, self.folder, context)
        return list(dict.fromkeys(result.source_file for result in answer.results))

    def rows(self) -> list[tuple[object, ...]]:
        """Return every row of the vector table, sorted; both stores must hold the same."""
        snapshot = self.snapshot()
        records = sorted(snapshot.vectors.records(), key=lambda record: record.chunk_id)
        ids = [record.chunk_id for record in records]
        assert ids == snapshot.fulltext.chunk_ids()
        assert snapshot.fulltext.get(ids) == {record.chunk_id: record for record in records}
        assert len(set(ids)) == len(ids) == snapshot.manifest.chunks
        return [tuple(getattr(record, name) for name in record.__slots__) for record in records]


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> HashEmbedder:
    """The model that every indexing run of the test loads."""
    fake = HashEmbedder()
    monkeypatch.setattr("rag_engine.index.run.load_embedder", lambda *_: fake)
    return fake


@pytest.fixture
def base(tmp_path: Path, embedder: HashEmbedder) -> Base:
    """An empty knowledge base with a folder for notes."""
    notes = tmp_path / "notes"
    notes.mkdir()
    return Base(tmp_path / "kb", notes, embedder)


@pytest.fixture
def make_base(tmp_path: Path, embedder: HashEmbedder) -> Callable[[str, Path], Base]:
    """Return a function that makes a further base over a folder."""
    return lambda name, notes: Base(tmp_path / name, notes, embedder)
