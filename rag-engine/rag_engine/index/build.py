"""Reading, splitting, embedding and writing the files that a diff names."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rag_engine.corpus.decode import NotTextError
from rag_engine.corpus.documents import Document
from rag_engine.corpus.files import UnreadableFileError, read_file
from rag_engine.corpus.reader import read_document
from rag_engine.corpus.walk import Skipped
from rag_engine.embed.embedder import Embedder
from rag_engine.index.diff import Candidate, Diff
from rag_engine.index.embedding import VectorSource, embedding_hash
from rag_engine.index.request import IndexReport, Progress
from rag_engine.store.file_states import FileState
from rag_engine.store.publication import GenerationWriter
from rag_engine.store.records import ChunkIds, ChunkRecord, build_record

SLICE_CHUNKS = 10_000
"""Chunks held in memory at once, with their texts and vectors: about 50 MB."""

SPECIAL_TOKENS = 2


@dataclass(slots=True)
class _Slice:
    """Files that are embedded and written together."""

    records: list[ChunkRecord]
    texts: list[str]


def index_files(
    candidates: Sequence[Candidate],
    *,
    embedder: Embedder,
    source: VectorSource,
    writer: GenerationWriter,
    ids: ChunkIds,
    max_bytes: int,
    report: IndexReport,
    progress: Progress,
) -> list[FileState]:
    """Index the candidates; returns the states of those that were read.

    A file that has gone meanwhile has no state; one that cannot be used has a state that says
    why. Both are no reason to stop.
    """
    states: list[FileState] = []
    part = _Slice([], [])

    def flush() -> None:
        vectors = source.vectors(
            [record.embedding_hash for record in part.records],
            part.texts,
            lambda done, total: progress("embedding", done, total),
        )
        writer.add(part.records, vectors)
        part.records.clear()
        part.texts.clear()

    for done, candidate in enumerate(candidates, start=1):
        state = _read(candidate, embedder, ids, max_bytes, part, report)
        if state is not None:
            states.append(state)
        progress("reading", done, len(candidates))
        if len(part.records) >= SLICE_CHUNKS:
            flush()
    flush()
    return states


def _read(
    candidate: Candidate,
    embedder: Embedder,
    ids: ChunkIds,
    max_bytes: int,
    part: _Slice,
    report: IndexReport,
) -> FileState | None:
    """Read one file into the slice."""
    root, path = candidate.root, candidate.entry.path
    shown = f"{root.label}/{path}"
    read_ns = time.time_ns()
    try:
        raw, stat = read_file(Path(root.path), path, max_bytes)
    except FileNotFoundError:
        return None
    except UnreadableFileError as error:
        report.skipped.append(Skipped(shown, error.reason))
        return None
    chunks, skipped = 0, ""
    try:
        document = read_document(
            raw,
            path=path,
            default_scope=candidate.default_scope,
            count_tokens=embedder.count_tokens,
            budget=embedder.max_tokens - SPECIAL_TOKENS,
        )
    except NotTextError as error:
        skipped = error.reason
        report.skipped.append(Skipped(shown, skipped))
    else:
        chunks = len(document.chunks)
        report.warnings += [f"{shown}: {warning}" for warning in document.warnings]
        report.empty += not chunks
        for record, text in _records(document, candidate, embedder, ids):
            part.records.append(record)
            part.texts.append(text)
    return FileState(
        root=root.label,
        path=path,
        size=stat.st_size,
        mtime_ns=stat.st_mtime_ns,
        ctime_ns=stat.st_ctime_ns,
        inode=stat.st_ino,
        read_ns=read_ns,
        content_hash=hashlib.sha256(raw).hexdigest(),
        default_scope=candidate.default_scope,
        chunks=chunks,
        skipped=skipped,
    )


def _records(
    document: Document, candidate: Candidate, embedder: Embedder, ids: ChunkIds
) -> Iterator[tuple[ChunkRecord, str]]:
    root, path = candidate.root.label, candidate.entry.path
    chunk_ids = ids.for_file(root, path, document.chunks)
    for chunk, chunk_id in zip(document.chunks, chunk_ids, strict=True):
        record = build_record(
            chunk,
            chunk_id=chunk_id,
            root=root,
            path=path,
            metadata=document.metadata,
            embedding_hash=embedding_hash(embedder.identity, chunk.embedding_text),
        )
        yield record, chunk.embedding_text


def count_changes(diff: Diff, states: Sequence[FileState], report: IndexReport) -> None:
    """Count what happened to files; one that went and came back under another name is renamed."""
    known = {(state.root, state.path) for state in diff.kept}
    replaced = {
        (candidate.root.label, candidate.entry.path): candidate.previous
        for candidate in diff.to_read
        if candidate.previous
    }
    gone = Counter(state.content_hash for state in diff.removed)
    for state in states:
        name = (state.root, state.path)
        if name in known or state.skipped:
            continue
        if before := replaced.get(name):
            # a build from scratch reads what is as it was, too
            same = _meaning(before) == _meaning(state)
            report.unchanged += same
            report.changed += not same
        elif gone[state.content_hash]:
            gone[state.content_hash] -= 1
            report.renamed += 1
        else:
            report.added += 1
    report.removed = gone.total()


def _meaning(state: FileState) -> tuple[str, str]:
    return state.content_hash, state.default_scope
