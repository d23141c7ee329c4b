"""One indexing run, from the lock to the publication."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from rag_engine.corpus.chunks import CHUNKING_VERSION
from rag_engine.embed.embedder import Embedder
from rag_engine.embed.registry import check_same_model, load_embedder
from rag_engine.errors import FaultsFoundError, IndexDamagedError, NoIndexError
from rag_engine.index.build import count_changes, index_files
from rag_engine.index.diff import Diff, compare
from rag_engine.index.embedding import VectorSource
from rag_engine.index.request import IndexReport, IndexRequest, Progress
from rag_engine.index.roots import find_root, plan_roots
from rag_engine.store.analysis import ANALYSIS_VERSION
from rag_engine.store.file_states import read_states
from rag_engine.store.fulltext import FullTextReader
from rag_engine.store.journal import EmbeddingJournal
from rag_engine.store.lock import writer_lock
from rag_engine.store.manifest import FILE_NAME, Manifest, read_manifest
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
        UsageError: A named folder does not exist.
        NoIndexError: There is no index and no folder to build one from.
        IndexUnusableError: The index is locked, damaged or of another version or model.
        ModelUnavailableError: The model cannot be loaded.
    """
    started = time.monotonic()
    report = IndexReport()
    with _locked(request.folder, create=bool(request.directories)):
        published = _published(request)
        tasks = plan_roots(request, published)
        embedder = _wanted_embedder(request, published)
        fresh = published is None or not _reusable(request, published, embedder)
        if fresh or (published and published.chunking != CHUNKING_VERSION):
            # one model and one way of splitting in an index: roots that are not named, too
            tasks = [replace(task, active=True, force=True, within=()) for task in tasks]
        states = [] if fresh or not published else read_states(request.folder / published.files)
        diff = compare(tasks, states, request, report)
        if fresh and report.problems:
            raise FaultsFoundError(
                " ".join(report.problems),
                "The index is built anew and needs all its roots; --remove takes one out.",
            )
        base = None if fresh else published
        manifest = _carry_out(request, base, diff, embedder, report, progress)
    report.generation = manifest.generation
    report.files, report.chunks = manifest.documents, manifest.chunks
    report.seconds = time.monotonic() - started
    return report


def remove_root(folder: Path, name: str) -> IndexReport:
    """Take a root, named by its folder or label, out of the index.

    Raises:
        NoIndexError: There is no index.
        UsageError: It has no such root.
        IndexUnusableError: The index is locked or damaged.
    """
    report = IndexReport()
    with _locked(folder, create=False):
        published = read_manifest(folder)
        assert published is not None
        root = find_root(published, name)
        states = read_states(folder / published.files)
        diff = Diff(
            roots=[other for other in published.roots if other != root],
            kept=[state for state in states if state.root != root.label],
            removed=[state for state in states if state.root == root.label],
        )
        request = IndexRequest(folder=folder, full=False)
        manifest = _carry_out(request, published, diff, None, report, lambda *_: None)
    report.generation = manifest.generation
    report.files, report.chunks = manifest.documents, manifest.chunks
    return report


def clear_index(folder: Path) -> None:
    """Remove an index, and nothing else that lies in its folder.

    Raises:
        NoIndexError: There is no index.
        IndexLockedError: Another process is writing it.
    """
    with _locked(folder, create=False):
        remove_index(folder)


@contextmanager
def _locked(folder: Path, *, create: bool) -> Iterator[None]:
    """Hold the index for writing; where it is missing, make its folder only if asked to."""
    if not create and not (folder / FILE_NAME).exists():
        raise NoIndexError(
            f"There is no index in {folder}.",
            "Build one: knowledge_index.py --full DIR, where DIR is your folder of notes.",
        )
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
        return load_embedder(name, request.engine)
    if request.model is None:
        return None
    embedder = load_embedder(request.model, request.engine)
    check_same_model(published.model, embedder.identity)
    return embedder


def _reusable(request: IndexRequest, published: Manifest, embedder: Embedder | None) -> bool:
    """Tell whether the next generation can begin from the published one."""
    if not request.full or embedder is None:
        return True
    old, new = published.model, embedder.identity
    if (old.weights, old.dimension, old.text_preparation) != (
        new.weights,
        new.dimension,
        new.text_preparation,
    ):
        return False
    try:
        read_states(request.folder / published.files)
        FullTextReader(request.folder / published.fulltext)
        VectorReader(request.folder, published.table_version)
    except IndexDamagedError:
        return False
    return True


def _carry_out(
    request: IndexRequest,
    published: Manifest | None,
    diff: Diff,
    embedder: Embedder | None,
    report: IndexReport,
    progress: Progress,
) -> Manifest:
    """Do what the diff says, and publish."""
    folder = request.folder
    current = published is not None and published.analysis == ANALYSIS_VERSION
    if published and current and not diff.to_read and not diff.removed:
        roots = tuple(diff.roots)
        if roots == published.roots and not diff.refreshed:
            return published
        generation = next_generation(folder, published)
        return publish(folder, replace(published, roots=roots, generation=generation), diff.kept)
    if embedder is None and diff.to_read:
        assert published is not None
        embedder = load_embedder(published.model.name, request.engine)
        check_same_model(published.model, embedder.identity)
    if embedder is not None:
        model, engine = embedder.identity, embedder.engine
    else:
        assert published is not None
        model, engine = published.model, published.engine
    writer = GenerationWriter(folder, published=published, dimension=model.dimension)
    replaced = [candidate.previous for candidate in diff.to_read if candidate.previous]
    writer.delete_files((state.root, state.path) for state in [*diff.removed, *replaced])
    journal = EmbeddingJournal(folder, model.dimension)
    states = list(diff.kept)
    if embedder is not None:
        old = VectorReader(folder, published.table_version) if published else None
        source = VectorSource(embedder, journal, old)
        states += index_files(
            diff.to_read,
            embedder=embedder,
            source=source,
            writer=writer,
            ids=ChunkIds(writer.chunk_ids()),
            max_bytes=request.max_bytes,
            report=report,
            progress=progress,
        )
        report.embedded, report.reused = source.embedded, source.reused
    count_changes(diff, states, report)
    scopes = writer.scopes()
    table_version, fulltext = writer.finish()
    manifest = publish(
        folder,
        Manifest(
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
        ),
        states,
    )
    journal.clear()
    writer.clean()
    remove_old_files(folder, manifest)
    return manifest
