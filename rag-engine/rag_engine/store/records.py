"""The unit that both stores hold: one chunk with all that an answer shows of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields

from rag_engine.corpus.documents import Chunk, Metadata


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk as it is stored.

    Attributes:
        chunk_id: 12 hexadecimal digits, unique within the index.
        root: Label of the root that holds the file.
        path: File, relative to its root, with "/".
        text: Verbatim passage.
        heading_path: Headings, each as "## Text".
        line_start: First line of the file, from 1.
        line_end: Last line, inclusive.
        title: Title of the document.
        scope: Scope of the document, or "".
        tags: Tags of the document.
        authors: Authors of the document.
        date: ISO day, or "".
        embedding_hash: Hash of the model's weights, text preparation and the embedded text.
    """

    chunk_id: str
    root: str
    path: str
    text: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    title: str
    scope: str
    tags: tuple[str, ...]
    authors: tuple[str, ...]
    date: str
    embedding_hash: str

    def to_json(self) -> bytes:
        """Return the record as the full-text index stores it."""
        values = {name: getattr(self, name) for name in _FIELDS}
        return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> ChunkRecord:
        """Read what `to_json` wrote."""
        return cls.from_dict(json.loads(data))

    @classmethod
    def from_dict(cls, values: dict[str, object]) -> ChunkRecord:
        """Build a record from a mapping with at least its fields; lists become tuples."""
        return cls(**{name: _plain(values[name]) for name in _FIELDS})  # type: ignore[arg-type]


_FIELDS = tuple(field.name for field in fields(ChunkRecord))


def _plain(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


class ChunkIds:
    """Gives out chunk ids: stable for a passage, unique within the index.

    An id is a hash of root, file, heading path and text, and of a counter for passages of one
    file that are equal in all of these; nothing else of a file moves it. Two passages that
    collide in 48 bits (likely once in a thousand indexes of 750,000 chunks) are told apart by
    a salt.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def for_file(self, root: str, path: str, chunks: Iterable[Chunk]) -> list[str]:
        """Return an id for each chunk of one file, in order."""
        repeats: dict[tuple[tuple[str, ...], str], int] = {}
        ids: list[str] = []
        for chunk in chunks:
            passage = (chunk.heading_path, chunk.text)
            repeats[passage] = repeats.get(passage, -1) + 1
            ids.append(
                self._unique([root, path, *chunk.heading_path, chunk.text], repeats[passage])
            )
        return ids

    def _unique(self, parts: list[str], repeat: int) -> str:
        salt = 0
        while True:
            key = json.dumps([*parts, repeat, salt] if salt else [*parts, repeat])
            chunk_id = hashlib.sha256(key.encode()).hexdigest()[:12]
            if chunk_id not in self._taken:
                self._taken.add(chunk_id)
                return chunk_id
            salt += 1


def build_record(
    chunk: Chunk, *, chunk_id: str, root: str, path: str, metadata: Metadata, embedding_hash: str
) -> ChunkRecord:
    """Join a chunk with what is known of its file."""
    return ChunkRecord(
        chunk_id=chunk_id,
        root=root,
        path=path,
        text=chunk.text,
        heading_path=chunk.heading_path,
        line_start=chunk.line_start,
        line_end=chunk.line_end,
        title=metadata.title,
        scope=metadata.scope,
        tags=metadata.tags,
        authors=metadata.authors,
        date=metadata.date,
        embedding_hash=embedding_hash,
    )
