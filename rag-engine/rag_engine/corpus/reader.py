"""From a note's bytes to a document: decoded, described, and cut into chunks."""

from __future__ import annotations

from pathlib import PurePosixPath

from rag_engine.corpus.chunks import chunk_sections
from rag_engine.corpus.decode import decode
from rag_engine.corpus.documents import Document, TokenCounter
from rag_engine.corpus.front_matter import split_front_matter
from rag_engine.corpus.metadata import read_metadata
from rag_engine.corpus.sections import Section, split_sections


def read_document(
    raw: bytes,
    *,
    path: str,
    default_scope: str,
    count_tokens: TokenCounter,
    budget: int,
) -> Document:
    """Read a note.

    Args:
        raw: Its bytes.
        path: Relative to its root; the file name is the title of last resort.
        default_scope: For a document that sets none.
        count_tokens: The model's own count.
        budget: Tokens that an embedded text may have, special tokens excluded.

    Returns:
        The document; without chunks if there is nothing but white space in its body.

    Raises:
        NotTextError: The bytes are an image, an archive or the like.
    """
    decoded = decode(raw)
    front = split_front_matter(decoded.text)
    outline = split_sections(decoded.text, front.body_line)
    metadata, oddities = read_metadata(
        front.fields,
        first_heading=outline.first_heading,
        file_name=path.rpartition("/")[2],
        default_scope=default_scope,
    )
    sections = outline.sections
    if not front.readable:
        # Nothing of it became metadata: as text it can at least be found.
        sections = (Section((), (), 0, front.body_line), *sections)
    # A file's name is no part of what is embedded: most say little, and a renamed file keeps its
    # vectors.
    own_title = "" if metadata.title == PurePosixPath(path).stem else metadata.title
    chunks = chunk_sections(sections, decoded.text, own_title, count_tokens, budget)
    warnings = (decoded.warning, *front.warnings, *oddities, *outline.warnings)
    return Document(metadata, chunks, decoded.encoding, tuple(filter(None, warnings)))
