"""What a Tantivy document of ours looks like, and the one place that imports tantivy.

Words and grams are fields of their own, each for title, headings, path and body, so that mode
fts can search them together and mode hybrid can fuse them as two lists. Words are stemmed
(English Snowball, a no-op for Chinese), grams are not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from rag_engine.errors import DependencyMissingError, IndexDamagedError
from rag_engine.store.analysis import Terms, analyze, exact_term
from rag_engine.store.manifest import REBUILD_HINT
from rag_engine.store.records import ChunkRecord

if TYPE_CHECKING:
    import tantivy

WORDS, GRAMS, CHARS = "words", "grams", "chars"
BOOSTS = {"title": 0.5, "headings": 0.3, "path": 0.2, "body": 1.0}
"""Of what stands outside the body; a passage's own heading line is in its body as well."""
LOCK_FILES = (".tantivy-meta.lock", ".tantivy-writer.lock")

_EXACT = ("chunk_id", "file", "scope", "tags", "authors")
_STEMMED, _PLAIN = "spaces_stemmed", "spaces"


def field_name(part: str, kind: str) -> str:
    """Return the field that holds one kind of terms of one part of a document."""
    return f"{part}_{kind}"


def _indexed_fields() -> list[str]:
    parts = [field_name(part, kind) for part in BOOSTS for kind in (WORDS, GRAMS)]
    return [*_EXACT, *parts, CHARS]


def build_schema() -> tantivy.Schema:
    """Build the schema of a new folder."""
    builder = tantivy_module().SchemaBuilder()
    for name in _EXACT:
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field("day", indexed=True, fast=True)
    builder.add_bytes_field("payload", stored=True)
    for part in BOOSTS:
        for kind, analyzer in ((WORDS, _STEMMED), (GRAMS, _PLAIN)):
            builder.add_text_field(
                field_name(part, kind), tokenizer_name=analyzer, index_option="freq"
            )
    builder.add_text_field(CHARS, tokenizer_name=_PLAIN, index_option="freq")
    return builder.build()


def create_index(folder: Path) -> tantivy.Index:
    """Make an empty index in an existing folder."""
    index = tantivy_module().Index(build_schema(), path=str(folder))
    _register_analyzers(index)
    return index


def open_index(folder: Path) -> tantivy.Index:
    """Open an existing index; to be called under `damage_named`, with the folder to name."""
    index = tantivy_module().Index.open(str(folder))
    _register_analyzers(index)
    return index


def check_fields(index: tantivy.Index) -> None:
    """Open every field of every segment, which Tantivy else does when it first needs one."""
    searcher = index.searcher()
    for name in _indexed_fields():
        searcher.doc_freq(name, "")


@contextmanager
def damage_named(folder: Path) -> Iterator[None]:
    """Raise what Tantivy raises inside as the error that says the folder cannot be read."""
    try:
        yield
    except BaseException as error:
        # Tantivy panics over some damage; that class is no Exception and cannot be imported
        panicked = type(error).__name__ == "PanicException"
        if not panicked and not isinstance(error, ValueError | KeyError | OSError):
            raise
        raise IndexDamagedError(
            f"The full-text index {folder} cannot be read ({error}).", REBUILD_HINT
        ) from error


def stemmer() -> tantivy.TextAnalyzer:
    """Return the analyzer of words; documents and queries must go through the same."""
    tantivy = tantivy_module()
    spaces = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return spaces.filter(tantivy.Filter.stemmer("english")).build()


def build_document(record: ChunkRecord) -> tantivy.Document:
    """Build the Tantivy document of a chunk."""
    document = tantivy_module().Document()
    document.add_text("chunk_id", record.chunk_id)
    document.add_text("file", file_term(record.root, record.path))
    document.add_text("scope", exact_term(record.scope))
    for tag in record.tags:
        document.add_text("tags", exact_term(tag))
    for author in record.authors:
        document.add_text("authors", exact_term(author))
    if record.date:
        document.add_integer("day", date.fromisoformat(record.date).toordinal())
    document.add_bytes("payload", record.to_json())
    parts = {
        "title": " ".join((record.title, *record.tags)),
        "headings": "\n".join(record.heading_path),
        "path": record.path,
        "body": record.text,
    }
    chars: list[str] = []
    for part, text in parts.items():
        # title, headings and path are the same in many chunks of a file
        terms = analyze(text) if part == "body" else _analyze_once(text)
        document.add_text(field_name(part, WORDS), " ".join(terms.words))
        document.add_text(field_name(part, GRAMS), " ".join(terms.grams))
        chars += terms.chars
    document.add_text(CHARS, " ".join(chars))
    return document


@lru_cache(maxsize=1024)
def _analyze_once(text: str) -> Terms:
    return analyze(text)


def file_term(root: str, path: str) -> str:
    """Return the term that all chunks of one file carry."""
    return exact_term(f"{root}\0{path}")


def tantivy_module() -> ModuleType:
    """Import tantivy where it is needed.

    Raises:
        DependencyMissingError: It is not installed.
    """
    try:
        import tantivy
    except ImportError as error:
        raise DependencyMissingError(
            f"The Python package tantivy is missing ({error}).",
            "Install what the engine needs: pip install -r rag-engine/requirements.txt",
        ) from error
    return tantivy


def _register_analyzers(index: tantivy.Index) -> None:
    tantivy = tantivy_module()
    spaces = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    index.register_tokenizer(_PLAIN, spaces.build())
    index.register_tokenizer(_STEMMED, stemmer())
