"""The vectors: one table, read at the version that is published."""

from __future__ import annotations

import random
import shutil
import stat
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from fakes import Vectors
from rag_engine.errors import IndexDamagedError
from rag_engine.store.filters import Filters
from rag_engine.store.publication import private_files
from rag_engine.store.records import ChunkRecord
from rag_engine.store.vectors import TABLE, VectorReader, VectorWriter, other_tables
from rag_engine.store.vectors.table import quote
from store.samples import NASTY, chunk_id, numbers, record

EAST = np.array([1, 0, 0], np.float32)
NORTH = np.array([0, 1, 0], np.float32)


def at(degrees: float) -> Vectors:
    """Return the unit vector at an angle from the east."""
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), 0], dtype=np.float32)


def write(
    folder: Path,
    records: list[ChunkRecord],
    vectors: list[Vectors],
    *,
    published: int | None = None,
    delete: tuple[tuple[str, str], ...] = (),
) -> int:
    """Write rows and return the version to publish."""
    writer = VectorWriter(folder, 3, published)
    writer.delete_files(delete)
    writer.add(records, np.stack(vectors) if vectors else np.empty((0, 3), np.float32))
    return writer.finish()


def ids(folder: Path, version: int) -> list[int]:
    """Return the numbers of the rows of a version."""
    return numbers(VectorReader(folder, version).chunk_ids())


def test_the_nearest_come_first_with_their_cosine(folder: Path) -> None:
    """Cosines are shown to users as they are: 1 the same, 0 nothing in common, -1 opposite."""
    angles = [90, 0, 180, 60]
    version = write(folder, [record(n) for n in range(4)], [at(angle) for angle in angles])
    found = VectorReader(folder, version).search(EAST, 10, Filters())
    assert numbers(name for name, _ in found) == [1, 3, 0, 2]
    assert [cosine for _, cosine in found] == pytest.approx([1.0, 0.5, 0.0, -1.0], abs=1e-6)


@pytest.mark.parametrize("limit", [1, 5, 99])
def test_ties_are_broken_by_id_however_many_there_are(folder: Path, limit: int) -> None:
    """Boilerplate repeats in a hundred notes; which of them are shown must not be chance."""
    shuffled = random.Random(1).sample(range(100), 100)
    version = write(folder, [record(n) for n in shuffled], [EAST] * 100)
    version = write(folder, [record(200)], [NORTH], published=version)
    found = VectorReader(folder, version).search(EAST, limit, Filters())
    assert numbers(name for name, _ in found) == list(range(limit))


def test_a_version_does_not_see_later_writes(folder: Path) -> None:
    """A reader keeps answering from the generation it opened while the next one is written."""
    first = write(folder, [record(1), record(2)], [EAST, NORTH])
    reader = VectorReader(folder, first)
    second = write(folder, [record(3)], [EAST], published=first, delete=(("notes", "note001.md"),))
    assert numbers(reader.chunk_ids()) == [1, 2]
    assert numbers(name for name, _ in reader.search(EAST, 5, Filters())) == [1, 2]
    assert ids(folder, first) == [1, 2]
    assert ids(folder, second) == [2, 3]


def test_rows_that_a_killed_run_left_are_gone(folder: Path) -> None:
    """The next run begins from what is published and not from the latest rows."""
    first = write(folder, [record(1)], [EAST])
    killed = VectorWriter(folder, 3, first)
    killed.add([record(2)], np.stack([EAST]))
    writer = VectorWriter(folder, 3, first)
    assert numbers(writer.column("chunk_id")) == [1]
    writer.add([record(3)], np.stack([EAST]))
    assert ids(folder, writer.finish()) == [1, 3]
    assert ids(folder, first) == [1]


def test_building_from_nothing_leaves_older_versions_readable(folder: Path) -> None:
    """--full must not empty a working index, and may be killed before it publishes."""
    first = write(folder, [record(1), record(2)], [EAST, NORTH])
    reader = VectorReader(folder, first)
    rebuilt = VectorWriter(folder, 3, None)
    assert rebuilt.column("chunk_id") == []
    rebuilt.add([record(3)], np.stack([EAST]))
    assert numbers(name for name, _ in reader.search(EAST, 5, Filters())) == [1, 2]
    assert ids(folder, first) == [1, 2]
    back = write(folder, [record(4)], [EAST], published=first)
    assert ids(folder, back) == [1, 2, 4]


def test_building_from_nothing_can_change_the_dimension(folder: Path) -> None:
    """Another model has vectors of another length; the old ones stay readable until it is done."""
    first = write(folder, [record(1)], [EAST])
    writer = VectorWriter(folder, 5, None)
    writer.add([record(2)], np.ones((1, 5), np.float32))
    second = writer.finish()
    assert (ids(folder, first), ids(folder, second)) == ([1], [2])
    restored = write(folder, [record(3)], [EAST], published=first)
    found = VectorReader(folder, restored).search(EAST, 5, Filters())
    assert numbers(name for name, _ in found) == [1, 3]


def test_vectors_are_found_again_by_hash(folder: Path) -> None:
    """What was embedded once is never embedded again, whichever file it stands in now."""
    records = [record(n, embedding_hash=f"{n % 900:032x}") for n in range(1300)]
    vectors = [at(n % 900) for n in range(1300)]
    reader = VectorReader(folder, write(folder, records, vectors))
    wanted = [f"{n:032x}" for n in (*range(900), 0, 5000)]
    found = reader.vectors_by_hash(wanted)
    assert set(found) == set(wanted[:900])
    for number in (0, 450, 899):
        assert found[f"{number:032x}"].tobytes() == at(number).tobytes(), "bit for bit"
    assert reader.vectors_by_hash([]) == {}
    assert reader.vectors_by_hash(["' OR '1'='1"]) == {}


def test_records_come_back_whole(folder: Path) -> None:
    """A full-text folder that is worn is built again from these."""
    records = [
        record(
            number, f"text {value}", path=f"{value}.md", title=value, scope=value,
            tags=(value, "x"), authors=(value,), heading_path=("# T", value),
            date="2024-02-29" if number % 2 else "",
        )
        for number, value in enumerate(NASTY)
    ]  # fmt: skip
    writer = VectorWriter(folder, 3, None)
    writer.add(records, np.stack([EAST] * len(records)))
    assert sorted(writer.records(), key=lambda r: r.chunk_id) == records
    version = writer.finish()
    read = VectorReader(folder, version).records()
    assert sorted(read, key=lambda r: r.chunk_id) == records


FILES = [
    ("notes", "a.md"), ("notes", "a.md.md"), ("notes", "A.md"), ("note", "s/a.md"),
    ("note", "sa.md"), ("x'", "a.md"),
    ("notes2", "a.md"), ("notes", "a%.md"), *(("notes", f"{value}.md") for value in NASTY),
]  # fmt: skip


def test_deleting_files_deletes_those_alone(folder: Path) -> None:
    """Names that are prefixes, patterns or hold quotes are different files, each in its root."""
    records = [record(n, root=root, path=path) for n, (root, path) in enumerate(FILES)]
    writer = VectorWriter(folder, 3, None)
    writer.add(records, np.stack([EAST] * len(records)))
    left = set(range(len(FILES)))
    for gone in ([0], [4, 6], list(range(7, len(FILES), 2)), [5, 3]):
        writer.delete_files([FILES[number] for number in gone])
        left -= set(gone)
        assert set(numbers(writer.column("chunk_id"))) == left


def test_many_files_are_deleted_at_once(folder: Path) -> None:
    """A root that is taken out can have thousands of them."""
    records = [record(number) for number in range(1200)]
    files = tuple((r.root, r.path) for r in records[:1100])
    version = write(folder, records, [EAST] * 1200)
    after = write(folder, [], [], published=version, delete=files)
    assert ids(folder, after) == list(range(1100, 1200))


@pytest.mark.filterwarnings("ignore:optimize.cleanup_older_than=0")
def test_old_versions_go_after_the_grace_and_the_latest_stays(folder: Path) -> None:
    """Cleaning with no grace is what a published version must survive."""
    first = write(folder, [record(1)], [EAST])
    writer = VectorWriter(folder, 3, first)
    writer.add([record(2)], np.stack([NORTH]))
    second = writer.finish()
    writer.clean(timedelta(minutes=10))
    assert ids(folder, first) == [1], "within the grace"
    writer.clean(timedelta(0))
    assert ids(folder, second) == [1, 2]
    with pytest.raises(IndexDamagedError):
        VectorReader(folder, first)


@pytest.mark.parametrize("version", [0, 99])
def test_a_version_that_is_not_there_is_damage(folder: Path, version: int) -> None:
    """The manifest names one that has gone or never was."""
    write(folder, [record(1)], [EAST])
    with pytest.raises(IndexDamagedError, match="--full"):
        VectorReader(folder, version).chunk_ids()


def test_no_table_is_damage(folder: Path) -> None:
    """The manifest says that there is one."""
    with pytest.raises(IndexDamagedError):
        VectorReader(folder, 1)
    with pytest.raises(IndexDamagedError):
        VectorWriter(folder, 3, 1)


USES: dict[str, Callable[[Path, int], object]] = {
    "search": lambda folder, version: VectorReader(folder, version).search(EAST, 3, Filters()),
    "ids": lambda folder, version: VectorReader(folder, version).chunk_ids(),
    "hashes": lambda folder, version: VectorReader(folder, version).vectors_by_hash(["00"]),
    "records": lambda folder, version: VectorReader(folder, version).records(),
    "column": lambda folder, version: VectorWriter(folder, 3, version).column("scope"),
    "delete": lambda folder, version: VectorWriter(folder, 3, version).delete_files(FILES),
    "rebuild": lambda folder, version: VectorWriter(folder, 3, version).records(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_damaged_data_is_told_as_damage(folder: Path, use: str, damage: str) -> None:
    """Exit code 4 and the way out, by searches and by updates, never a traceback."""
    version = write(folder, [record(number) for number in range(9)], [EAST] * 9)
    for path in (folder / f"{TABLE}.lance" / "data").iterdir():
        if damage == "missing":
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(IndexDamagedError, match="--full"):
        USES[use](folder, version)


@pytest.mark.filterwarnings("ignore:optimize.cleanup_older_than=0")
def test_tables_of_other_programs_are_named_and_not_touched(folder: Path) -> None:
    """The first system keeps its own tables in the same folder."""
    assert other_tables(folder) == []
    version = write(folder, [record(1)], [EAST])
    shutil.copytree(folder / f"{TABLE}.lance", folder / "old_knowledge.lance")
    (folder / "b.lance").mkdir()
    (folder / "notes.lance").write_bytes(b"a file is no table")
    (folder / "fulltext").mkdir()
    before = {path: path.stat().st_mtime_ns for path in (folder / "old_knowledge.lance").rglob("*")}
    assert other_tables(folder) == ["b", "old_knowledge"]
    writer = VectorWriter(folder, 3, version)
    writer.finish()
    writer.clean(timedelta(0))
    VectorWriter(folder, 3, None).finish()
    after = {path: path.stat().st_mtime_ns for path in (folder / "old_knowledge.lance").rglob("*")}
    assert after == before
    assert other_tables(folder / "none") == []


def test_files_are_for_their_owner_alone(folder: Path) -> None:
    """Notes are private, and so is what is made of them."""
    with private_files():
        write(folder, [record(1)], [EAST])
    assert {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in folder.rglob("*")} == {0}


def test_reading_writes_nothing(folder: Path) -> None:
    """Searching never changes an index."""
    version = write(folder, [record(1)], [EAST])
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    reader = VectorReader(folder, version)
    reader.search(EAST, 3, Filters(scope="x"))
    reader.vectors_by_hash(["00"])
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_searching_says_nothing_on_the_terminal(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """LanceDB warns of missing tables and of implicit columns; an agent would read it as errors."""
    version = write(folder, [record(1)], [EAST])
    VectorReader(folder, version).search(EAST, 3, Filters(tags=("x",)))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("value", "literal"), [("a", "'a'"), ("it's", "'it''s'"), ("''", "''''''"), ("\\", "'\\'")]
)
def test_only_the_quote_is_doubled(value: str, literal: str) -> None:
    """Anything more would change what is compared; anything less would end the literal."""
    assert quote(value) == literal


def test_an_empty_table_answers(folder: Path) -> None:
    """An index of empty notes is an index."""
    version = write(folder, [], [])
    reader = VectorReader(folder, version)
    assert (reader.search(EAST, 5, Filters()), reader.chunk_ids(), reader.records()) == ([], [], [])
    assert chunk_id(0) not in reader.vectors_by_hash(["00"])
