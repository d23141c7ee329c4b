"""One search: plan, open, retrieve, fuse, answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from rag_engine.embed.embedder import Embedder, ModelIdentity
from rag_engine.errors import (
    DependencyMissingError,
    IndexDamagedError,
    ModelMismatchError,
    ModelUnavailableError,
)
from rag_engine.search.answer import Answer, Result
from rag_engine.search.fusion import FusionSettings
from rag_engine.search.request import Mode, SearchPlan
from rag_engine.search.retrieval import Hit, retrieve_hybrid, retrieve_text, retrieve_vectors
from rag_engine.store.filters import Filters
from rag_engine.store.snapshot import Snapshot, open_snapshot


def load_for_index(model: ModelIdentity) -> Embedder:
    """Load the model that an index was built with.

    Raises:
        ModelUnavailableError: It cannot be found or loaded.
        ModelMismatchError: What is found under its name is another model.
    """
    from rag_engine.embed.registry import check_same_model, load_embedder

    # a search uses no network: what the indexer fetched must be there
    embedder = load_embedder(model.name, download=False)
    check_same_model(model, embedder.identity)
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
    load_model: Callable[[ModelIdentity], Embedder] = load_for_index
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
        embedder = context.load_model(snapshot.manifest.model)
        vectors = snapshot.vectors
        query = embedder.embed_query(plan.query)
        if plan.mode == "vector":
            return "vector", retrieve_vectors(plan, filters, snapshot, vectors, query)
        return "hybrid", retrieve_hybrid(
            plan, filters, snapshot, vectors, query, context.fusion, warnings
        )
    except ModelMismatchError:
        raise
    except (ModelUnavailableError, DependencyMissingError, IndexDamagedError) as error:
        lost = isinstance(error, IndexDamagedError) and _is_replaced(snapshot, context)
        if plan.mode_is_explicit or lost:
            raise
        warnings.append(f"Vector search could not run, so full text alone answered: {error}")
        return "fts", retrieve_text(plan, filters, snapshot, warnings)


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
