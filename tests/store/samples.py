"""Small records, full-text folders and generations for the tests of the stores and the search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fakes import HashEmbedder, Vectors
from hypothesis import strategies as st
from rag_engine.store.analysis import ANALYSIS_VERSION, analyze
from rag_engine.store.filters import Filters
from rag_engine.store.fulltext import GRAMS, WORDS, FullTextReader, FullTextWriter
from rag_engine.store.manifest import Manifest, Root
from rag_engine.store.publication import GenerationWriter, publish
from rag_engine.store.records import ChunkRecord

DIMENSION = 16
EMBEDDER = HashEmbedder(DIMENSION)
ROOT = Root("/notes", "notes")
NO_FILTERS = Filters()

NASTY = (
    "it's", "'", "''", '"', "a\x00b", "\x00", "😀", "two\nlines", "\\", "\\'", "100%", "a_b",
    "-- x", "/* x */", "); DROP", "', 'x", "[x]", "e\u0301", "é", " ", "\u2028", "\ufeff", "dev",
    "DEV", "数据库", "?", "{x}", "$1", "AND", "NULL", "长" * 5000,
)  # fmt: skip
"""Filter values that are syntax, or invisible, or too long, somewhere."""

nasty_values = st.sampled_from(NASTY) | st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8
)


def record(number: int, text: str = "text", **changes: Any) -> ChunkRecord:
    """Return a record whose id is its number and whose file is named after it."""
    values: dict[str, Any] = {
        "chunk_id": chunk_id(number),
        "root": "notes",
        "path": f"note{number:03}.md",
        "text": text,
        "heading_path": (),
        "line_start": 1,
        "line_end": 1,
        "title": "",
        "scope": "",
        "tags": (),
        "authors": (),
        "date": "",
        "embedding_hash": f"{number:032x}",
    }
    return ChunkRecord(**{**values, **changes})


def chunk_id(number: int) -> str:
    """Return the id of the record of that number."""
    return f"{number:012x}"


def numbers(chunk_ids: Iterable[str]) -> list[int]:
    """Return the numbers behind chunk ids."""
    return [int(found, 16) for found in chunk_ids]


def write_fulltext(folder: Path, *batches: Sequence[ChunkRecord]) -> FullTextReader:
    """Write a full-text folder, each batch by a commit of its own, as updates do."""
    previous: Path | None = None
    for count, batch in enumerate(batches or [[]]):
        target = folder / f"{count}"
        writer = FullTextWriter(target, clone_of=previous)
        writer.add(batch)
        writer.commit()
        previous = target
    assert previous is not None
    return FullTextReader(previous)


def find(
    reader: FullTextReader,
    query: str,
    *,
    kinds: Sequence[str] = (WORDS, GRAMS),
    limit: int = 100,
    filters: Filters = NO_FILTERS,
) -> list[int]:
    """Return the numbers of the records found, best first."""
    hits = reader.search(analyze(query), kinds, limit, filters)
    return numbers(hit.record.chunk_id for hit in hits)


def scores(reader: FullTextReader, query: str, filters: Filters = NO_FILTERS) -> list[float]:
    """Return the scores of all that is found, best first."""
    hits = reader.search(analyze(query), (WORDS, GRAMS), 100, filters)
    return [hit.score for hit in hits]


def embed(records: Sequence[ChunkRecord], embedder: HashEmbedder = EMBEDDER) -> Vectors:
    """Return vectors that depend on the records' texts."""
    import numpy as np

    if not records:
        return np.empty((0, embedder.identity.dimension), np.float32)
    return np.stack([embedder.embed_query(record.text) for record in records])


def publish_records(
    folder: Path,
    records: Sequence[ChunkRecord],
    *,
    published: Manifest | None = None,
    delete: Iterable[tuple[str, str]] = (),
    roots: Sequence[Root] = (ROOT,),
    embedder: HashEmbedder = EMBEDDER,
) -> Manifest:
    """Write a generation to both stores and publish it, as an indexing run does."""
    writer = GenerationWriter(folder, published=published, dimension=embedder.identity.dimension)
    writer.delete_files(delete)
    writer.add(records, embed(records, embedder))
    chunks, scopes = len(writer.chunk_ids()), writer.scopes()
    version, fulltext = writer.finish()
    manifest = Manifest(
        name=folder.name,
        generation=writer.generation,
        created="",
        table_version=version,
        fulltext=fulltext,
        files="",
        model=embedder.identity,
        engine=embedder.engine,
        analysis=ANALYSIS_VERSION,
        chunking=1,
        roots=tuple(roots),
        documents=chunks,
        chunks=chunks,
        scopes=scopes,
    )
    return publish(folder, manifest, [])
