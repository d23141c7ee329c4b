"""The vectors: one LanceDB table, read at the version that the manifest names."""

from rag_engine.store.vectors.matrix import MatrixVectors
from rag_engine.store.vectors.reader import VectorReader, VectorSearch
from rag_engine.store.vectors.table import TABLE, other_tables
from rag_engine.store.vectors.writer import VectorWriter

__all__ = ["TABLE", "MatrixVectors", "VectorReader", "VectorSearch", "VectorWriter", "other_tables"]
