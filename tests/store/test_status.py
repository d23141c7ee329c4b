"""What --status tells."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from rag_engine.errors import IndexDamagedError, NoIndexError
from rag_engine.store.file_states import FileState
from rag_engine.store.files import remove_folder
from rag_engine.store.manifest import Root
from rag_engine.store.publication import publish
from rag_engine.store.status import read_status
from store.samples import EMBEDDER, publish_records, record


def state(root: str, path: str, chunks: int = 1) -> FileState:
    """Return the state of an indexed file."""
    return FileState(root, path, 1, 2, 3, 4, 5, "ab", "", chunks)


def test_it_tells_what_is_indexed_root_by_root(folder: Path) -> None:
    """A root that has gone is missing; files without text are none."""
    roots = (Root(str(folder), "here", "dev", ("*.tmp",)), Root("/nowhere/at/all", "gone"))
    manifest = publish_records(folder, [record(1, scope="dev"), record(2)], roots=roots)
    states = [state("here", "a.md"), state("here", "b.md", 0), state("gone", "c.md")]
    published = publish(folder, replace(manifest, generation=2), states)
    status = read_status(folder)
    assert [(root["label"], root["files"], root["present"]) for root in status.roots] == [
        ("here", 1, True),
        ("gone", 1, False),
    ]
    assert (status.roots[0]["scope"], status.roots[0]["exclude"]) == ("dev", ["*.tmp"])
    assert (status.generation, status.chunks, status.updated) == (2, 2, published.created)
    assert (status.model, status.dimension) == ("fake", EMBEDDER.identity.dimension)
    assert status.scopes == {"dev": 1, "": 1}
    assert json.loads(json.dumps(status.to_dict()))["schema_version"] == "1.0"


def test_the_size_is_that_of_this_index(folder: Path) -> None:
    """Hard links count once, and tables of other programs not at all."""
    publish_records(folder, [record(1)])
    size = read_status(folder).bytes
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert size == sum({path.stat().st_ino: path.stat().st_size for path in files}.values()) > 0
    (folder / "old.lance").mkdir()
    (folder / "old.lance" / "big").write_bytes(b"x" * 10_000)
    os.link(next(folder.glob("fulltext/*/*.store")), folder / "fulltext" / "link")
    status = read_status(folder)
    assert (status.bytes, status.other_tables) == (size, ("old",))


def test_no_index_names_the_tables_that_are_there(folder: Path) -> None:
    """Who comes from the first system has to understand why his notes are not found."""
    with pytest.raises(NoIndexError, match="--full"):
        read_status(folder)
    (folder / "old_knowledge.lance").mkdir()
    with pytest.raises(NoIndexError, match="old_knowledge"):
        read_status(folder)


def test_missing_file_states_are_damage(folder: Path) -> None:
    """They are a part of the published generation."""
    publish_records(folder, [record(1)])
    remove_folder(folder / "files")
    with pytest.raises(IndexDamagedError):
        read_status(folder)
