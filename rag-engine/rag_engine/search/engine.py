"""One search: plan, open, retrieve, fuse, answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from rag_engine.embed.embedder import Embedder
from rag_engine.errors import (
    DependencyMissingError,
    IndexDamagedError,
    ModelUnavailableError,
)
from rag_engine.search.answer import Answer, Result
from rag_engine.search.fusion import FusionSettings
from rag_engine.search.request import Mode, SearchPlan
from rag_engine.search.retrieval import Hit, retrieve_hybrid, retrieve_text, retrieve_vectors
from rag_engine.store.filters import Filters
from rag_engine.store.manifest import Manifest
from rag_engine.store.snapshot import Snapshot, open_snapshot


def load_for_index(manifest: Manifest) -> Embedder:
    """Load the model that an index was built with.

    ONNX Runtime is tried first, whatever built the index: it loads in a fraction of the time, and
    vectors do not depend on the engine. A model without a graph for it needs the engine it had.

    Raises:
        ModelUnavailableError: It cannot be found or loaded.
        ModelMismatchError: What is found under its name is another model.
    """
    from rag_engine.embed.registry import DEFAULT_ENGINE, check_same_model, load_embedder

    # a search uses no network: what the indexer fetched must be there
    try:
        embedder = load_embedder(manifest.model.name, DEFAULT_ENGINE, download=False)
    except ModelUnavailableError:
        if manifest.engine == DEFAULT_ENGINE:
            raise
        embedder = load_embedder(manifest.model.name, manifest.engine, download=False)
    check_same_model(manifest.model, embedder.identity)
    return embedder


@dataclass(frozen=True, slots=True)
class SearchContext:
    """Where a search finds what it needs; a resident process gives functions that cache.

    Attributes:
        open_index: Opens the published generation of an index folder.
        load_model: Loads the model that an index was built with.
        fusion: Constants of the fusion.
    """

    open_index: Callable[[Path], Snapshot] = open_snapshot
    load_model: Callable[[Manifest], Embedder] = load_for_index
    fusion: FusionSettings = field(default_factory=FusionSettings)


def search(plan: SearchPlan, folder: Path, context: SearchContext) -> Answer:
    """Answer one search.

    Args:
        plan: What to look for.
        folder: Folder of the index.
        context: Where index and model come from.

    Raises:
        NoIndexError: There is no index.
        IndexUnusableError: It is damaged, of another version, or of another model.
        ModelUnavailableError: The model is missing, and the mode was asked for by name.
    """
    started = time.monotonic()
    while True:
        snapshot = context.open_index(folder)
        try:
            return _search(plan, snapshot, context, started)
        except IndexDamagedError:
            # a generation that was replaced while we read it: its files may be gone by now
            if not _is_replaced(snapshot, context):
                raise


def _search(plan: SearchPlan, snapshot: Snapshot, context: SearchContext, started: float) -> Answer:
    warnings: list[str] = []
    filters = _settle_scope(plan, snapshot, warnings)
    mode, hits = _retrieve(plan, filters, snapshot, context, warnings)
    if not hits and filters != Filters():
        warnings.append(_nothing_matched(filters, snapshot))
    manifest = snapshot.manifest
    created = datetime.fromisoformat(manifest.created)
    return Answer(
        query=plan.query,
        mode=mode,
        preset=plan.preset,
        results=tuple(_result(hit, snapshot) for hit in hits),
        warnings=tuple(warnings),
        manifest=manifest,
        age_s=max(0, int((datetime.now(UTC) - created).total_seconds())),
        took_ms=int((time.monotonic() - started) * 1000),
    )


def _settle_scope(plan: SearchPlan, snapshot: Snapshot, warnings: list[str]) -> Filters:
    scope = plan.preferred_scope
    if scope is None:
        return plan.filters
    if scope in snapshot.manifest.scopes:
        return replace(plan.filters, scope=scope)
    warnings.append(
        f"The preset {plan.preset} prefers the scope {scope}, but no document of this index has "
        "it; all documents were searched."
    )
    return plan.filters


def _retrieve(
    plan: SearchPlan,
    filters: Filters,
    snapshot: Snapshot,
    context: SearchContext,
    warnings: list[str],
) -> tuple[Mode, list[Hit]]:
    """Run the retrievers; without vectors, a mode that was not asked for by name becomes fts."""
    if plan.mode == "fts":
        return "fts", retrieve_text(plan, filters, snapshot, warnings)
    try:
        embedder = context.load_model(snapshot.manifest)
        vectors = snapshot.vector_search
        query = embedder.embed_query(plan.query)
        if plan.mode == "vector":
            return "vector", retrieve_vectors(plan, filters, snapshot, vectors, query)
        return "hybrid", retrieve_hybrid(
            plan, filters, snapshot, vectors, query, context.fusion, warnings
        )
    except (ModelUnavailableError, DependencyMissingError, IndexDamagedError) as error:
        lost = isinstance(error, IndexDamagedError) and _is_replaced(snapshot, context)
        if plan.mode_is_explicit or lost:
            raise
        warnings.append(f"Vector search could not run, so full text alone answered: {error}")
        return "fts", retrieve_text(plan, filters, snapshot, warnings)


def _nothing_matched(filters: Filters, snapshot: Snapshot) -> str:
    """Say which filters were in force: an empty answer is not yet an answer about the notes."""
    asked = [f"scope {filters.scope!r}"] if filters.scope is not None else []
    asked += [f"tag {tag!r}" for tag in filters.tags]
    asked += [f"author {filters.author!r}"] if filters.author is not None else []
    asked += [f"date from {filters.after.isoformat()}"] if filters.after is not None else []
    scopes = ", ".join(sorted(scope for scope in snapshot.manifest.scopes if scope)) or "none"
    return (
        f"Nothing was found among documents with {' and '.join(asked)}; filters compare exactly, "
        f"capitals included. Scopes of this index: {scopes}."
    )


def _is_replaced(snapshot: Snapshot, context: SearchContext) -> bool:
    """Tell whether another generation has been published since the snapshot was opened."""
    current = context.open_index(snapshot.folder).manifest
    return current.generation != snapshot.manifest.generation


def _result(hit: Hit, snapshot: Snapshot) -> Result:
    record = hit.record
    root = snapshot.manifest.root(record.root)
    return Result(
        record=record,
        source_file=snapshot.manifest.source_file(record.root, record.path),
        source_path=str(Path(root.path) / record.path) if root else record.path,
        score=hit.score,
        signals=hit.signals,
    )
