"""Opening the published generation, and no other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rag_engine.errors import IndexDamagedError, IndexFormatError, NoIndexError
from rag_engine.store import snapshot
from rag_engine.store.files import remove_folder
from rag_engine.store.manifest import FILE_NAME, Manifest, read_manifest, write_manifest
from rag_engine.store.snapshot import open_snapshot
from store.samples import find, numbers, publish_records, record


@pytest.mark.parametrize("name", ["", "none"])
def test_where_nothing_was_published_there_is_no_index(folder: Path, name: str) -> None:
    """Exit code 3, with the command that makes one."""
    with pytest.raises(NoIndexError, match="--full"):
        open_snapshot(folder / name)


def test_both_stores_are_of_the_generation_that_was_opened(folder: Path) -> None:
    """Vectors are opened late; what was published meanwhile must not show in them."""
    first = publish_records(folder, [record(1, "fish")])
    opened = open_snapshot(folder)
    publish_records(folder, [record(2, "fish")], published=first)
    assert find(opened.fulltext, "fish") == [1]
    assert numbers(opened.vectors.chunk_ids()) == [1]
    assert numbers(open_snapshot(folder).vectors.chunk_ids()) == [1, 2]


@pytest.mark.parametrize("change", [-1, 1])
def test_another_text_analysis_is_refused(folder: Path, change: int) -> None:
    """Its terms would not meet the query's: nothing found, and nobody told why."""
    manifest = publish_records(folder, [record(1)])
    write_manifest(folder, replace(manifest, analysis=manifest.analysis + change))
    with pytest.raises(IndexFormatError, match="--update"):
        open_snapshot(folder)


@pytest.mark.parametrize("change", [-1, 1])
def test_counts_that_do_not_agree_are_damage(folder: Path, change: int) -> None:
    """A restored backup can hold a manifest and a full-text folder of two moments."""
    manifest = publish_records(folder, [record(1), record(2)])
    write_manifest(folder, replace(manifest, chunks=manifest.chunks + change))
    with pytest.raises(IndexDamagedError, match="chunks"):
        open_snapshot(folder)


def test_a_missing_full_text_folder_is_damage(folder: Path) -> None:
    """Nothing newer is published, so reading the manifest again does not help."""
    manifest = publish_records(folder, [record(1)])
    remove_folder(folder / manifest.fulltext)
    with pytest.raises(IndexDamagedError):
        open_snapshot(folder)


def test_missing_vectors_do_not_hinder_the_full_text(folder: Path) -> None:
    """Mode fts needs none of them, and must not pay for opening them."""
    publish_records(folder, [record(1, "fish")])
    remove_folder(folder / "knowledge_chunks.lance")
    opened = open_snapshot(folder)
    assert find(opened.fulltext, "fish") == [1]
    with pytest.raises(IndexDamagedError):
        _ = opened.vectors


def _stale_reads(monkeypatch: pytest.MonkeyPatch, first: list[Manifest | None]) -> None:
    """Let the first reads of the manifest give these, as if publications came in between."""

    def read(folder: Path) -> Manifest | None:
        return first.pop(0) if first else read_manifest(folder)

    monkeypatch.setattr(snapshot, "read_manifest", read)


def test_a_generation_replaced_while_it_is_opened_gives_way_to_the_newer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between reading the manifest and opening its files, these can be cleaned up."""
    old = publish_records(folder, [record(1)])
    middle = publish_records(folder, [record(2)])
    new = publish_records(folder, [record(3)])
    for gone in (old, middle):
        remove_folder(folder / gone.fulltext)
    _stale_reads(monkeypatch, [old, middle])
    opened = open_snapshot(folder)
    assert opened.manifest == new
    assert numbers(opened.fulltext.chunk_ids()) == [3]


def test_an_index_removed_while_it_is_opened_is_no_index(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--clear by somebody else is not damage."""
    old = publish_records(folder, [record(1)])
    remove_folder(folder)
    _stale_reads(monkeypatch, [old])
    with pytest.raises(NoIndexError):
        open_snapshot(folder)


def test_opening_and_reading_changes_no_file_of_the_index(folder: Path) -> None:
    """Searching never changes an index; Tantivy's empty lock files are all it may leave."""
    publish_records(folder, [record(1, "fish")])
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    opened = open_snapshot(folder)
    find(opened.fulltext, "fish")
    opened.vectors.chunk_ids()
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert {path: data for path, data in after.items() if path.suffix != ".lock"} == {
        path: data for path, data in before.items() if path.suffix != ".lock"
    }


def test_a_manifest_that_is_no_file_is_damage(folder: Path) -> None:
    """It cannot be read, which is not the same as not being there."""
    (folder / FILE_NAME).mkdir()
    with pytest.raises(IndexDamagedError, match="manifest"):
        open_snapshot(folder)


def test_a_newer_format_is_refused(folder: Path) -> None:
    """Exit code 4 and the advice to update the program."""
    (folder / FILE_NAME).write_text(json.dumps({"format": 99}), encoding="utf-8")
    with pytest.raises(IndexFormatError, match="Update the program"):
        open_snapshot(folder)
