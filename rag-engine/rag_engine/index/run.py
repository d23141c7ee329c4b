"""One indexing run, from the lock to the publication."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from rag_engine.corpus.chunks import CHUNKING_VERSION
from rag_engine.embed.embedder import Embedder, ModelIdentity, same_model
from rag_engine.embed.registry import DEFAULT_ENGINE, check_same_model, load_embedder
from rag_engine.errors import FaultsFoundError, IndexDamagedError, IndexFormatError
from rag_engine.index.build import count_changes, index_files
from rag_engine.index.diff import Diff, compare
from rag_engine.index.embedding import VectorSource
from rag_engine.index.request import IndexReport, IndexRequest, Progress
from rag_engine.index.roots import find_root, plan_roots, resolve_directories
from rag_engine.store.analysis import ANALYSIS_VERSION
from rag_engine.store.file_states import FileState, read_states
from rag_engine.store.fulltext import FullTextReader
from rag_engine.store.journal import EmbeddingJournal
from rag_engine.store.lock import writer_lock
from rag_engine.store.manifest import FILE_NAME, Manifest, no_index, read_manifest
from rag_engine.store.publication import (
    GenerationWriter,
    next_generation,
    not_writable,
    private_files,
    publish,
    remove_index,
    remove_old_files,
)
from rag_engine.store.records import ChunkIds
from rag_engine.store.vectors import VectorReader


def run_index(request: IndexRequest, progress: Progress) -> IndexReport:
    """Bring an index up to date, or build roots of it from scratch.

    Raises:
        UsageError: A named folder does not exist, or lies in the folder of the index.
        NoIndexError: There is no index and no folder to build one from.
        IndexUnusableError: The index is locked, damaged or of another version or model.
        ModelUnavailableError: The model cannot be loaded.
    """
    started = time.monotonic()
    report = IndexReport()
    request = replace(request, directories=resolve_directories(request))
    with _locked(request.folder, create=bool(request.directories)):
        published = _published(request)
        tasks = plan_roots(request, published)
        embedder = _wanted_embedder(request, published)
        base = published if published and _reusable(request, published, embedder) else None
        anew = base is None or base.chunking != CHUNKING_VERSION
        if anew:
            # one model and one way of splitting in an index: roots that are not named, too
            tasks = [replace(task, active=True, force=True, within=()) for task in tasks]
        states = read_states(request.folder / base.files) if base else []
        diff = compare(tasks, states, request, report)
        if anew and report.problems:
            raise FaultsFoundError(
                " ".join(report.problems),
                "The index is built anew and needs all its roots; --remove takes one out.",
            )
        run = _Run(request, published, base, embedder, report, progress)
        manifest = run.carry_out(diff)
    return _completed(report, manifest, started)


def remove_root(folder: Path, name: str) -> IndexReport:
    """Take a root, named by its folder or label, out of the index.

    Raises:
        NoIndexError: There is no index.
        UsageError: It has no such root.
        IndexUnusableError: The index is locked or damaged.
    """
    started = time.monotonic()
    report = IndexReport()
    with _locked(folder, create=False):
        published = read_manifest(folder)
        if published is None:
            raise no_index(folder)
        root = find_root(published, name)
        states = read_states(folder / published.files)
        diff = Diff(
            roots=[other for other in published.roots if other != root],
            kept=[state for state in states if state.root != root.label],
            removed=[state for state in states if state.root == root.label],
        )
        request = IndexRequest(folder=folder, full=False)
        run = _Run(request, published, published, None, report, lambda *_: None)
        manifest = run.carry_out(diff)
    return _completed(report, manifest, started)


def clear_index(folder: Path) -> None:
    """Remove an index, and nothing else that lies in its folder.

    Raises:
        NoIndexError: There is no index.
        IndexForeignError: What looks like one is a file of another program.
        IndexLockedError: Another process is writing it.
    """
    with suppress(IndexDamagedError, IndexFormatError):
        read_manifest(folder)
    with _locked(folder, create=False):
        remove_index(folder)


def _completed(report: IndexReport, manifest: Manifest, started: float) -> IndexReport:
    report.generation = manifest.generation
    report.files, report.chunks = manifest.documents, manifest.chunks
    report.seconds = time.monotonic() - started
    return report


@contextmanager
def _locked(folder: Path, *, create: bool) -> Iterator[None]:
    """Hold the index for writing; where it is missing, make its folder only if asked to."""
    try:
        exists = (folder / FILE_NAME).exists()
    except OSError as error:
        raise not_writable(folder, error) from error
    if not create and not exists:
        raise no_index(folder)
    with private_files(), writer_lock(folder):
        try:
            yield
        except OSError as error:
            # files of the notes have errors of their own: this is one of the index's files
            raise not_writable(folder, error) from error


def _published(request: IndexRequest) -> Manifest | None:
    try:
        return read_manifest(request.folder)
    except IndexDamagedError:
        # built from scratch from folders that are named, it needs nothing of the old one
        if request.full and request.directories:
            return None
        raise


def _wanted_embedder(request: IndexRequest, published: Manifest | None) -> Embedder | None:
    """Load the model where the run surely needs it, or was told which one it must be."""
    if request.full or published is None:
        name = request.model or (published.model.name if published else None)
        return load_embedder(name, _engine(request, published))
    if request.model is None:
        return None
    embedder = load_embedder(request.model, _engine(request, published))
    check_same_model(published.model, embedder.identity)
    return embedder


def _engine(request: IndexRequest, published: Manifest | None) -> str:
    """Return what runs the model: as asked, as before for the same model, or the default."""
    if request.engine is not None:
        return request.engine
    same = published is not None and request.model in (None, published.model.name)
    return published.engine if published is not None and same else DEFAULT_ENGINE


def _reusable(request: IndexRequest, published: Manifest, embedder: Embedder | None) -> bool:
    """Tell whether the next generation can begin from the published one.

    A build from scratch looks at all of it first: it is what people are told to run when
    something is damaged, so no damage may stop it.
    """
    if not request.full or embedder is None:
        return True
    if not same_model(published.model, embedder.identity):
        return False
    try:
        read_states(request.folder / published.files)
        fulltext = FullTextReader(request.folder / published.fulltext)
        vectors = VectorReader(request.folder, published.table_version)
        fulltext.verify()
        vectors.verify()
        return fulltext.chunk_ids() == vectors.chunk_ids()
    except IndexDamagedError:
        return False


@dataclass(slots=True)
class _Run:
    """Does what a diff says, and publishes.

    Attributes:
        request: What was asked.
        published: What is published now; its vectors are reused where they can be.
        base: The generation that the next one begins from; None begins with nothing.
        embedder: The model, once it is needed.
        report: Where counts go.
        progress: Who is told.
    """

    request: IndexRequest
    published: Manifest | None
    base: Manifest | None
    embedder: Embedder | None
    report: IndexReport
    progress: Progress

    def carry_out(self, diff: Diff) -> Manifest:
        """Write and publish the next generation; returns what is published in the end."""
        base = self.base
        if base and base.analysis == ANALYSIS_VERSION and not diff.to_read and not diff.removed:
            return self._publish_states(base, diff)
        if self.embedder is None and diff.to_read:
            assert base is not None
            self.embedder = load_embedder(base.model.name, _engine(self.request, base))
            check_same_model(base.model, self.embedder.identity)
        return self._publish_rows(diff)

    def _publish_states(self, base: Manifest, diff: Diff) -> Manifest:
        """Publish what moved of files and roots; the stores stay as they are."""
        roots = tuple(diff.roots)
        if roots == base.roots and not diff.refreshed:
            return base
        folder = self.request.folder
        generation = next_generation(folder, base)
        manifest = replace(base, roots=roots, generation=generation)
        return publish(folder, manifest, diff.kept, base)

    def _publish_rows(self, diff: Diff) -> Manifest:
        folder = self.request.folder
        if self.embedder is not None:
            model, engine = self.embedder.identity, self.embedder.engine
        else:
            assert self.base is not None
            model, engine = self.base.model, self.base.engine
        journal = EmbeddingJournal(folder, model.dimension)
        known = self._known_vectors(model)
        writer = GenerationWriter(folder, published=self.base, dimension=model.dimension)
        if self.base is not None:
            # also of files that are new to the file states: those may have lost them
            read = [(found.root.label, found.entry.path) for found in diff.to_read]
            writer.delete_files([*((gone.root, gone.path) for gone in diff.removed), *read])
        states = [*diff.kept, *self._index(diff, writer, journal, known)]
        count_changes(diff, states, self.report)
        scopes = writer.scopes()
        table_version, fulltext = writer.finish()
        manifest = Manifest(
            name=folder.name,
            generation=writer.generation,
            created="",
            table_version=table_version,
            fulltext=fulltext,
            files="",
            model=model,
            engine=engine,
            analysis=ANALYSIS_VERSION,
            chunking=CHUNKING_VERSION,
            roots=tuple(diff.roots),
            documents=sum(state.chunks > 0 for state in states),
            chunks=sum(state.chunks for state in states),
            scopes=scopes,
        )
        manifest = publish(folder, manifest, states, self.published)
        journal.clear()
        writer.clean()
        remove_old_files(folder, manifest)
        return manifest

    def _index(
        self,
        diff: Diff,
        writer: GenerationWriter,
        journal: EmbeddingJournal,
        known: VectorReader | None,
    ) -> list[FileState]:
        if self.embedder is None:
            return []
        source = VectorSource(self.embedder, journal, known)
        states = index_files(
            diff.to_read,
            embedder=self.embedder,
            source=source,
            writer=writer,
            ids=ChunkIds(writer.chunk_ids()),
            max_bytes=self.request.max_bytes,
            report=self.report,
            progress=self.progress,
        )
        self.report.embedded, self.report.reused = source.embedded, source.reused
        return states

    def _known_vectors(self, model: ModelIdentity) -> VectorReader | None:
        """Open the published vectors, also of an index whose other files are damaged."""
        if self.published is None or not same_model(self.published.model, model):
            return None
        try:
            reader = VectorReader(self.request.folder, self.published.table_version)
            if self.base is None:
                reader.verify()
        except IndexDamagedError:
            if self.base is not None:
                raise
            return None
        return reader
