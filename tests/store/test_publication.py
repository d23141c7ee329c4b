"""Building the next generation beside the published one, publishing it, cleaning up."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from rag_engine.store import publication
from rag_engine.store.file_states import FileState, read_states
from rag_engine.store.fulltext import FullTextReader
from rag_engine.store.journal import EmbeddingJournal
from rag_engine.store.lock import writer_lock
from rag_engine.store.manifest import FILE_NAME, read_manifest
from rag_engine.store.publication import (
    GRACE,
    GenerationWriter,
    next_generation,
    private_files,
    publish,
    remove_index,
    remove_old_files,
)
from rag_engine.store.snapshot import open_snapshot
from store.samples import DIMENSION, chunk_id, embed, find, numbers, publish_records, record


def seen(folder: Path) -> list[int]:
    """Return the numbers of the published chunks; fail where the stores do not agree."""
    snapshot = open_snapshot(folder)
    assert snapshot.fulltext.chunk_ids() == snapshot.vectors.chunk_ids()
    return numbers(snapshot.fulltext.chunk_ids())


def age(path: Path, seconds: float) -> None:
    """Make a file or folder look as if it was written so long ago."""
    moment = path.stat().st_mtime - seconds
    os.utime(path, (moment, moment))


def test_what_is_published_is_seen_by_both_stores(folder: Path) -> None:
    """One generation: full text and vectors of the same chunks, and its numbers counted up."""
    first = publish_records(folder, [record(1, scope="dev"), record(2)])
    assert read_manifest(folder) == first
    assert (first.generation, first.chunks, first.scopes) == (1, 2, {"dev": 1, "": 1})
    assert seen(folder) == [1, 2]
    second = publish_records(folder, [record(3)], published=first, delete=[("notes", "note001.md")])
    assert second.generation > first.generation
    assert second.created >= first.created
    assert seen(folder) == [2, 3]


def test_what_is_not_published_is_not_seen_and_not_kept(folder: Path) -> None:
    """A run killed after writing both stores leaves the old generation, and no rests of its own."""
    first = publish_records(folder, [record(1)])
    killed = GenerationWriter(folder, published=first, dimension=DIMENSION)
    killed.add([record(2)], embed([record(2)]))
    killed.finish()
    assert seen(folder) == [1]
    publish_records(folder, [record(3)], published=first)
    assert seen(folder) == [1, 3]


def test_a_generation_from_nothing_replaces_the_old_one_when_it_is_published(
    folder: Path,
) -> None:
    """--full never empties a working index: until the end the old one answers."""
    publish_records(folder, [record(1)])
    writer = GenerationWriter(folder, published=None, dimension=DIMENSION)
    writer.add([record(2)], embed([record(2)]))
    assert seen(folder) == [1]
    writer.finish()
    assert seen(folder) == [1]
    publish_records(folder, [record(3)])
    assert seen(folder) == [3]


def test_a_failure_to_publish_leaves_the_old_generation(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full at the last step costs the run, not the index."""
    first = publish_records(folder, [record(1)])

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(publication, "write_manifest", fail)
        publish_records(folder, [record(2)], published=first)
    assert seen(folder) == [1]


def test_many_deletions_make_the_full_text_new(folder: Path) -> None:
    """Scores must be as after --full once much has gone, as BM25 counts deleted chunks."""
    records = [record(number, "fish " * (number + 1)) for number in range(20)]
    first = publish_records(folder, records)
    gone = [("notes", f"note{number:03}.md") for number in range(15)]
    publish_records(folder, [], published=first, delete=gone)
    updated = open_snapshot(folder)
    assert seen(folder) == list(range(15, 20))
    built = folder / "other"
    publish_records(built, records[15:])
    assert _scored(updated.fulltext) == _scored(open_snapshot(built).fulltext)
    folders = {path.name for path in (folder / "fulltext").iterdir()}
    assert folders == {Path(first.fulltext).name, Path(updated.manifest.fulltext).name}


def _scored(reader: FullTextReader) -> list[tuple[int, float]]:
    from rag_engine.store.analysis import analyze
    from rag_engine.store.filters import Filters
    from rag_engine.store.fulltext import GRAMS, WORDS

    hits = reader.search(analyze("fish"), (WORDS, GRAMS), 100, Filters())
    return [(int(hit.record.chunk_id, 16), hit.score) for hit in hits]


def test_full_text_of_another_analysis_is_made_new(folder: Path) -> None:
    """Terms of two analyses in one folder would never meet."""
    first = publish_records(folder, [record(1, "fish"), record(2, "fish")])
    old = replace(first, analysis=first.analysis - 1)
    (folder / first.fulltext / "meta.json").write_bytes(b"of a format long gone")
    publish_records(folder, [record(3, "fish")], published=old, delete=[("notes", "note001.md")])
    assert find(open_snapshot(folder).fulltext, "fish") == [2, 3]


def test_ids_and_scopes_are_those_of_the_next_generation(folder: Path) -> None:
    """New ids must not meet kept ones, and a preset asks which scopes there are."""
    first = publish_records(folder, [record(1, scope="dev"), record(2, scope="ops")])
    writer = GenerationWriter(folder, published=first, dimension=DIMENSION)
    writer.delete_files([("notes", "note002.md")])
    writer.add([record(3, scope="dev")], embed([record(3)]))
    assert sorted(writer.chunk_ids()) == [chunk_id(1), chunk_id(3)]
    assert writer.scopes() == {"dev": 2}


def test_numbers_are_never_used_twice(folder: Path) -> None:
    """A killed run may have left a folder under the next number."""
    first = publish_records(folder, [record(1)])
    assert next_generation(folder, first) == first.generation + 1
    (folder / "fulltext" / "000041").mkdir()
    (folder / "files" / "000040.json").write_bytes(b"")
    (folder / "fulltext" / "notes").mkdir()
    assert next_generation(folder, first) == 42
    assert next_generation(folder / "none", None) == 1
    assert publish_records(folder, [record(2)], published=first).generation == 42


def test_file_states_are_published_with_the_generation(folder: Path) -> None:
    """An update compares with what the published generation saw, not with an older one."""
    first = publish_records(folder, [record(1)])
    state = FileState("notes", "a.md", 1, 2, 3, 4, 5, "ab", "", 1)
    second = publish(folder, replace(first, generation=9), [state])
    assert read_states(folder / second.files) == [state]
    assert read_states(folder / first.files) == []


def test_old_files_go_only_after_the_grace(folder: Path) -> None:
    """Searches that have just read the old manifest still open what it names."""
    old = publish_records(folder, [record(1)])
    new = publish_records(folder, [record(2)])
    rests = [folder / ".manifest.json.1234", folder / "files" / ".000001.json.1234"]
    for rest in rests:
        rest.write_bytes(b"x")
    outdated = [folder / old.fulltext, folder / old.files, *rests]
    current = [folder / new.fulltext, folder / new.files]
    for path in [*outdated, *current]:
        age(path, GRACE.total_seconds() - 60)
    remove_old_files(folder, new)
    assert all(path.exists() for path in [*outdated, *current])
    for path in [*outdated, *current]:
        age(path, 120)
    remove_old_files(folder, new)
    assert not any(path.exists() for path in outdated)
    assert all(path.exists() for path in current)
    assert seen(folder) == [2]


def test_cleaning_leaves_what_is_not_ours(folder: Path) -> None:
    """Only numbered files and our own temporary ones are removed, however old the others are."""
    manifest = publish_records(folder, [record(1)])
    foreign = [folder / "old.lance", folder / "fulltext" / "notes", folder / ".hidden"]
    for path in foreign:
        path.mkdir()
        age(path, 10 * GRACE.total_seconds())
    remove_old_files(folder, manifest)
    assert all(path.exists() for path in foreign)


def test_an_index_is_removed_whole(folder: Path) -> None:
    """--clear leaves nothing, not even an empty folder."""
    with writer_lock(folder):
        publish_records(folder, [record(1)])
        EmbeddingJournal(folder, DIMENSION).append(["00" * 16], embed([record(1)]))
        remove_index(folder)
    assert not folder.exists()


def test_tables_of_other_programs_survive_the_removal(folder: Path) -> None:
    """The first system's notes lie in the same folder."""
    publish_records(folder, [record(1)])
    other = folder / "old_knowledge.lance" / "data"
    other.mkdir(parents=True)
    (other / "x.lance").write_bytes(b"x")
    remove_index(folder)
    assert sorted(path.name for path in folder.rglob("*")) == [
        "data",
        "old_knowledge.lance",
        "x.lance",
    ]


def test_the_manifest_goes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed in between, a removal leaves no manifest that names missing files."""
    publish_records(folder, [record(1)])
    present: list[bool] = []
    monkeypatch.setattr(
        publication, "remove_folder", lambda _: present.append((folder / FILE_NAME).exists())
    )
    remove_index(folder)
    assert present
    assert not any(present)


def test_everything_written_is_for_its_owner_alone(folder: Path) -> None:
    """Folders 0700 and files 0600, those that LanceDB and Tantivy make too."""
    with private_files():
        first = publish_records(folder, [record(1)])
        publish_records(folder, [record(2)], published=first)
    for path in folder.rglob("*"):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode & 0o077 == 0, path


def test_the_umask_is_put_back(folder: Path) -> None:
    """A resident process writes other files as well."""
    before = os.umask(0o022)
    try:
        with pytest.raises(ZeroDivisionError), private_files():
            _ = 1 / 0
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)
