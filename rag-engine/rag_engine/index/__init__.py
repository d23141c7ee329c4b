"""Indexing: scan -> diff -> chunk -> embed -> write -> publish."""

from rag_engine.index.request import IndexReport, IndexRequest, Progress, ScopeRule
from rag_engine.index.run import clear_index, remove_root, run_index

__all__ = [
    "IndexReport",
    "IndexRequest",
    "Progress",
    "ScopeRule",
    "clear_index",
    "remove_root",
    "run_index",
]
