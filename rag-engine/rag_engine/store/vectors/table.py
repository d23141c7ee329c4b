"""The LanceDB table: its schema, rows in and out, and the one place that imports lancedb.

Importing lancedb takes 1 to 2 s when cold, so it happens only where vectors are needed.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_engine.errors import DependencyMissingError, IndexDamagedError
from rag_engine.store.manifest import REBUILD_HINT
from rag_engine.store.records import ChunkRecord

if TYPE_CHECKING:
    import lancedb
    import pyarrow as pa

    from rag_engine.embed.embedder import Vectors

TABLE = "knowledge_chunks"
"""Tables of other names in the same folder belong to other programs and are left alone."""

_OS_ERROR = re.compile(r"\(os error (\d+)\)")
_REFUSALS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)

LANCE_ERRORS = (RuntimeError, ValueError, OSError, KeyError)
"""What lancedb raises when files are missing, damaged or not readable."""


def connect(folder: Path) -> lancedb.DBConnection:
    """Connect to the database in an index folder.

    Raises:
        DependencyMissingError: lancedb is not installed.
    """
    # lance's logger would warn on stderr that a table which is about to be made does not exist
    os.environ.setdefault("LANCEDB_LOG", "error")
    try:
        import lancedb
    except ImportError as error:
        raise DependencyMissingError(
            f"The Python package lancedb is missing ({error}).",
            "Install what the engine needs: pip install -r rag-engine/requirements.txt",
        ) from error
    return lancedb.connect(str(folder))


def open_table(folder: Path) -> lancedb.table.Table:
    """Open the table at its latest version.

    Raises:
        IndexDamagedError: It is not there or cannot be read.
    """
    database = connect(folder)
    with damage_named(folder):
        return database.open_table(TABLE)


def check_versions(table: lancedb.table.Table, folder: Path) -> None:
    """Read the metadata of all versions, old ones too: lancedb writes only where all are whole.

    Raises:
        IndexDamagedError: That of one cannot be read.
    """
    with damage_named(folder):
        table.list_versions()


@contextmanager
def damage_named(folder: Path) -> Iterator[None]:
    """Raise what lancedb raises inside as the error that says the vectors cannot be read."""
    try:
        yield
    except LANCE_ERRORS as error:
        if _is_refused_write(error):
            raise
        raise IndexDamagedError(
            f"The vectors in {folder / TABLE}.lance cannot be read ({error}).", REBUILD_HINT
        ) from error


def _is_refused_write(error: Exception) -> bool:
    """Tell whether a write failed for want of space or permission; only the text knows."""
    found = _OS_ERROR.search(str(error))
    return found is not None and int(found.group(1)) in _REFUSALS


def other_tables(folder: Path) -> list[str]:
    """Return the names of tables in the folder that other programs made."""
    found = (path.stem for path in folder.glob("*.lance") if path.is_dir())
    return sorted(name for name in found if name != TABLE)


def table_schema(dimension: int) -> pa.Schema:
    """Return the columns; docs/index-format.md describes them."""
    import pyarrow as pa

    return pa.schema(
        [
            ("chunk_id", pa.string()),
            ("root", pa.string()),
            ("path", pa.string()),
            ("text", pa.string()),
            ("heading_path", pa.list_(pa.string())),
            ("line_start", pa.int32()),
            ("line_end", pa.int32()),
            ("title", pa.string()),
            ("scope", pa.string()),
            ("tags", pa.list_(pa.string())),
            ("authors", pa.list_(pa.string())),
            ("date", pa.date32()),
            ("embedding_hash", pa.string()),
            ("vector", pa.list_(pa.float32(), dimension)),
        ]
    )


def arrow_table(records: Sequence[ChunkRecord], vectors: Vectors, schema: pa.Schema) -> pa.Table:
    """Return rows to add; vectors has the shape (len(records), dimension)."""
    import pyarrow as pa

    columns: list[Any] = []
    for field in schema:
        if field.name == "vector":
            flat = pa.array(vectors.reshape(-1), pa.float32())
            columns.append(pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]))
        elif field.name == "date":
            days = pa.array([record.date or None for record in records], pa.string())
            columns.append(days.cast(pa.date32()))
        else:
            values = [getattr(record, field.name) for record in records]
            columns.append(pa.array(values, field.type))
    return pa.table(columns, schema=schema)


def read_records(table: lancedb.table.Table, folder: Path) -> list[ChunkRecord]:
    """Return all rows without their vectors."""
    columns = [name for name in table.schema.names if name != "vector"]
    with damage_named(folder):
        rows = table.search().select(columns).to_arrow()
    return [
        ChunkRecord.from_dict({**row, "date": row["date"].isoformat() if row["date"] else ""})
        for row in rows.to_pylist()
    ]


def matrix_of(column: pa.ChunkedArray) -> Vectors:
    """Return a column of vectors as one array, shape (rows, dimension)."""
    flat: Vectors = column.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(len(column), -1) if len(column) else flat.reshape(0, 0)


def quote(value: str) -> str:
    """Return a string as a literal of LanceDB's SQL; only the quote itself is special there."""
    return "'" + value.replace("'", "''") + "'"
