"""The plain data that the corpus package hands to the rest: documents and their chunks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

TokenCounter = Callable[[Sequence[str]], list[int]]
"""Number of model tokens of each text after text preparation, without special tokens."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a document says about itself.

    Attributes:
        title: Front matter title, else the first H1, else the file name without its ending.
        scope: Front matter scope, else the scope given for the file, else "".
        tags: In the order written, without repeats.
        authors: In the order written, without repeats.
        date: ISO day (YYYY-MM-DD), or "" where there is none that can be understood.
    """

    title: str
    scope: str = ""
    tags: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    date: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of one document, small enough for the embedding model.

    Attributes:
        text: Verbatim slice of the decoded file.
        heading_path: Headings above and of the passage, each as "## Text".
        line_start: First line of the file that `text` touches, from 1, as `sed -n` counts.
        line_end: Last such line, inclusive.
        embedding_text: What the model is given: prefix (title, headings) and text, before
            text preparation.
    """

    text: str
    heading_path: tuple[str, ...]
    line_start: int
    line_end: int
    embedding_text: str


@dataclass(frozen=True, slots=True)
class Document:
    """A decoded file: its metadata, its chunks and what was odd about it.

    Attributes:
        metadata: What the document says about itself.
        chunks: In file order; empty for a file without text.
        encoding: Python's name of the encoding that the file was decoded with.
        warnings: One sentence for each oddity: replaced bytes, unreadable front matter.
    """

    metadata: Metadata
    chunks: tuple[Chunk, ...]
    encoding: str = "utf-8"
    warnings: tuple[str, ...] = ()
