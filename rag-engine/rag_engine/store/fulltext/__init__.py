"""The full-text index: Tantivy, fed with terms that our own analysis makes.

Tantivy's query parser is never used: a query is a list of terms, a filter an exact term.
"""

from rag_engine.store.fulltext.reader import FullTextReader, TextHit
from rag_engine.store.fulltext.schema import GRAMS, WORDS
from rag_engine.store.fulltext.writer import FullTextWriter

__all__ = ["GRAMS", "WORDS", "FullTextReader", "FullTextWriter", "TextHit"]
