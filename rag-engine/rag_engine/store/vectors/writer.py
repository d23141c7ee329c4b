"""Writing rows that no manifest names yet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rag_engine.errors import IndexDamagedError
from rag_engine.store.files import remove_folder, sync_files
from rag_engine.store.records import ChunkRecord
from rag_engine.store.vectors.table import (
    TABLE,
    arrow_table,
    check_versions,
    connect,
    damage_named,
    open_table,
    quote,
    read_records,
    table_schema,
)

if TYPE_CHECKING:
    from rag_engine.embed.embedder import Vectors

_FILES_PER_DELETE = 500


class VectorWriter:
    """Writes rows that no manifest names yet, beginning from the published version.

    Args:
        folder: Folder of the index.
        dimension: Length of the vectors.
        published: Version to begin from; None begins with an empty table, and leaves the rows
            of older versions readable for those who still read them.
    """

    def __init__(self, folder: Path, dimension: int, published: int | None) -> None:
        self._folder = folder
        self._schema = table_schema(dimension)
        self._synced = _files(folder)
        database = connect(folder)
        if published is None:
            _remove_broken_table(folder)
            self._table = database.create_table(TABLE, schema=self._schema, mode="overwrite")
        else:
            self._table = open_table(folder)
            check_versions(self._table, folder)
            with damage_named(folder):
                self._table.checkout(published)
                # what a killed run left behind the published version goes
                self._table.restore()

    def delete_files(self, files: Iterable[tuple[str, str]]) -> None:
        """Delete all rows of the given (root label, path)."""
        wanted = list(files)
        for start in range(0, len(wanted), _FILES_PER_DELETE):
            block = wanted[start : start + _FILES_PER_DELETE]
            by_root: dict[str, list[str]] = {}
            for root, path in block:
                by_root.setdefault(root, []).append(quote(path))
            conditions = [
                f"(root = {quote(root)} AND path IN ({', '.join(paths)}))"
                for root, paths in by_root.items()
            ]
            with damage_named(self._folder):
                self._table.delete(" OR ".join(conditions))

    def add(self, records: Sequence[ChunkRecord], vectors: Vectors) -> None:
        """Add rows; vectors has the shape (len(records), dimension)."""
        if records:
            self._table.add(arrow_table(records, vectors, self._schema))

    def column(self, name: str) -> list[str]:
        """Return one text column of all rows as they are now."""
        with damage_named(self._folder):
            values: list[str] = self._table.search().select([name]).to_arrow()[name].to_pylist()
        return values

    def finish(self) -> int:
        """Compact, make the files last through a power cut, and return the version to publish."""
        self._table.optimize()
        sync_files(_files(self._folder) - self._synced)
        return int(self._table.version)

    def clean(self, grace: timedelta) -> None:
        """Remove versions older than the grace; to be called only after publishing."""
        self._table.optimize(cleanup_older_than=grace)

    def records(self) -> list[ChunkRecord]:
        """Return all rows as they will be published, without their vectors."""
        return read_records(self._table, self._folder)


def _remove_broken_table(folder: Path) -> None:
    """Remove a table that lancedb could not even write a new version of."""
    path = folder / f"{TABLE}.lance"
    if not path.exists():
        return
    try:
        check_versions(open_table(folder), folder)
    except IndexDamagedError:
        remove_folder(path)


def _files(folder: Path) -> set[Path]:
    return {path for path in (folder / f"{TABLE}.lance").rglob("*") if path.is_file()}
