"""Writing a Tantivy folder that no manifest names yet."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from rag_engine.store.fulltext.reader import read_segments
from rag_engine.store.fulltext.schema import (
    LOCK_FILES,
    build_document,
    check_fields,
    create_index,
    damage_named,
    file_term,
    open_index,
)
from rag_engine.store.records import ChunkRecord

MAX_DELETED_SHARE = 0.1
MAX_SEGMENTS = 12
_HEAP_BYTES = 64_000_000
_CHANGED_IN_PLACE = ("meta.json", ".managed.json")


class FullTextWriter:
    """Fills a new folder, empty or begun as a copy of a published one.

    Args:
        folder: Made here; must not exist.
        clone_of: Folder to begin with. Its segment files are shared by hard links: Tantivy
            never changes a segment file, so the original stays as it is byte for byte.
    """

    def __init__(self, folder: Path, *, clone_of: Path | None = None) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        if clone_of is None:
            self._index = create_index(folder)
        else:
            with damage_named(clone_of):
                _link_files(clone_of, folder)
                self._index = open_index(folder)
                check_fields(self._index)
        # one thread: several would scatter a small index over as many segments
        self._writer = self._index.writer(heap_size=_HEAP_BYTES, num_threads=1)

    def delete_file(self, root: str, path: str) -> None:
        """Delete all chunks of one file that were there at the last commit."""
        self._writer.delete_documents_by_term("file", file_term(root, path))

    def add(self, records: Iterable[ChunkRecord]) -> None:
        """Add chunks."""
        for record in records:
            self._writer.add_document(build_document(record))

    def commit(self) -> None:
        """Write everything to disk and end; Tantivy syncs its files itself."""
        self._writer.commit()
        self._writer.wait_merging_threads()

    def worn(self) -> bool:
        """Tell, after the commit, whether the folder should be built anew.

        Tantivy's BM25 counts deleted chunks until a merge takes them out, and nothing outside
        Tantivy can make it merge.
        """
        segments = read_segments(self.folder / "meta.json")
        total = sum(segment["max_doc"] for segment in segments)
        deleted = sum((segment["deletes"] or {}).get("num_deleted_docs", 0) for segment in segments)
        return len(segments) > MAX_SEGMENTS or deleted > total * MAX_DELETED_SHARE


def _link_files(source: Path, target: Path) -> None:
    for file in source.iterdir():
        if file.name in LOCK_FILES:
            continue
        if file.name in _CHANGED_IN_PLACE:
            shutil.copyfile(file, target / file.name)
        else:
            _link(file, target / file.name)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        # a file system without hard links, as on many USB sticks and network drives
        shutil.copyfile(source, target)
