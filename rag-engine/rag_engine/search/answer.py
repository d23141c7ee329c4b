"""What a search answers with: the JSON of schema version 1.0."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rag_engine.errors import KnowledgeError
from rag_engine.store.manifest import Manifest
from rag_engine.store.records import ChunkRecord

SCHEMA_VERSION = "1.0"


@dataclass(frozen=True, slots=True)
class Result:
    """One passage found.

    Attributes:
        record: The chunk.
        source_file: The file's name in answers.
        source_path: Its absolute path.
        score: 0 to 1, comparable within one answer (vector and fts: between answers, too).
        signals: What each retriever said of it: "cosine", "bm25" (share of the greatest), and
            "ranks" by list.
    """

    record: ChunkRecord
    source_file: str
    source_path: str
    score: float
    signals: dict[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as it stands in the JSON."""
        record = self.record
        return {
            "chunk_id": record.chunk_id,
            "text": record.text,
            "score": round(self.score, 6),
            "source_file": self.source_file,
            "heading_path": list(record.heading_path),
            "line_range": f"L{record.line_start}-L{record.line_end}",
            "metadata": {
                "title": record.title,
                "scope": record.scope,
                "tags": ",".join(record.tags),
                "author": ",".join(record.authors),
                "date": record.date,
            },
            "source_path": self.source_path,
            "signals": self.signals,
        }


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one search.

    Attributes:
        query: The question as it was asked.
        mode: The mode really used.
        preset: The preset, or "default".
        results: Best first.
        warnings: One sentence for each thing that was not as asked.
        manifest: The generation that was searched.
        age_s: Seconds since it was published.
        took_ms: Milliseconds the search took.
    """

    query: str
    mode: str
    preset: str
    results: tuple[Result, ...]
    warnings: tuple[str, ...]
    manifest: Manifest
    age_s: int
    took_ms: int

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as the JSON object."""
        return {
            "schema_version": SCHEMA_VERSION,
            "query": self.query,
            "mode": self.mode,
            "preset": self.preset,
            "total_results": len(self.results),
            "results": [result.to_dict() for result in self.results],
            "warnings": list(self.warnings),
            "kb": self.manifest.name,
            "took_ms": self.took_ms,
            "index": {"generation": self.manifest.generation, "age_s": self.age_s},
        }


def error_to_dict(error: KnowledgeError, query: str | None = None) -> dict[str, Any]:
    """Return an error as the JSON object that goes to stderr."""
    data: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "error": str(error)}
    if query is not None:
        data["query"] = query
    return data
