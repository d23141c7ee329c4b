"""Writing a folder that begins as a copy of the published one."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rag_engine.store.fulltext import FullTextReader, FullTextWriter, writer
from rag_engine.store.fulltext.writer import MAX_SEGMENTS
from rag_engine.store.publication import private_files
from store.samples import NASTY, find, record, write_fulltext


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def rewrite(
    source: Path, target: Path, delete: list[tuple[str, str]], add: tuple[int, ...] = ()
) -> FullTextWriter:
    """Begin from a folder, delete files, add records, and commit."""
    changed = FullTextWriter(target, clone_of=source)
    for root, path in delete:
        changed.delete_file(root, path)
    changed.add([record(number, "fish") for number in add])
    changed.commit()
    return changed


def test_writing_into_a_copy_leaves_the_published_folder_byte_for_byte(folder: Path) -> None:
    """They share files by hard links; readers of the old one must notice nothing."""
    reader = write_fulltext(folder, [record(number, "fish") for number in range(20)])
    before = contents(folder / "0")
    rewrite(folder / "0", folder / "1", [("notes", "note003.md")], add=(50, 51))
    rewrite(folder / "1", folder / "2", [("notes", f"note{n:03}.md") for n in range(20)])
    assert contents(folder / "0") == before
    assert find(reader, "fish") == find(FullTextReader(folder / "0"), "fish") == list(range(20))
    assert 3 not in find(FullTextReader(folder / "1"), "fish")
    assert find(FullTextReader(folder / "2"), "fish") == [50, 51]


def test_a_copy_shares_segments_and_no_lock(folder: Path) -> None:
    """Linking costs no space; a linked lock file would lock both folders at once."""
    write_fulltext(folder, [record(1)])
    copy = FullTextWriter(folder / "1", clone_of=folder / "0")
    other = FullTextWriter(folder / "2", clone_of=folder / "0")
    segment = next((folder / "0").glob("*.store"))
    assert (folder / "1" / segment.name).samefile(segment)
    copy.commit()
    other.commit()


def test_without_hard_links_files_are_copied(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index on a USB stick or a network drive has to be updatable, too."""
    write_fulltext(folder, [record(1, "fish")])
    before = contents(folder / "0")

    def refuse(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    rewrite(folder / "0", folder / "1", [], add=(2,))
    assert find(FullTextReader(folder / "1"), "fish") == [1, 2]
    assert contents(folder / "0") == before


def test_an_existing_folder_is_not_written_into(folder: Path) -> None:
    """Numbers are never used twice; what lies there may be published."""
    write_fulltext(folder, [record(1)])
    with pytest.raises(FileExistsError):
        FullTextWriter(folder / "0")


def test_what_is_not_committed_is_not_seen(folder: Path) -> None:
    """A run that is killed before its commit leaves a folder without its chunks."""
    write_fulltext(folder, [record(1, "fish")])
    unfinished = FullTextWriter(folder / "1", clone_of=folder / "0")
    unfinished.add([record(2, "fish")])
    assert find(FullTextReader(folder / "1"), "fish") == [1]


FILES = [
    ("notes", "a.md"), ("notes", "a.md.md"), ("notes", "a.m"), ("notes", "A.md"), ("notes", "a_md"),
    ("notes", "dir/a.md"), ("note", "s/a.md"),
    ("note", "sa.md"), ("notes2", "a.md"), ("notes", "a.md "),
    ("notes", "a\n.md"), ("no", "tes\na.md"),
    *(("notes", f"{value}.md") for value in NASTY),
]  # fmt: skip


@pytest.mark.parametrize("gone", range(len(FILES)))
def test_deleting_a_file_deletes_that_file_alone(folder: Path, gone: int) -> None:
    """Names that are prefixes, differ in case or hold any sign are different files."""
    records = [
        record(number, "fish", root=root, path=path) for number, (root, path) in enumerate(FILES)
    ]
    twice = record(999, "fish", root=FILES[gone][0], path=FILES[gone][1])
    write_fulltext(folder, [*records, twice])
    rewrite(folder / "0", folder / "1", [FILES[gone]])
    left = FullTextReader(folder / "1")
    assert find(left, "fish") == [n for n in range(len(FILES)) if n != gone]
    assert left.chunks == len(FILES) - 1


def test_a_folder_is_worn_when_more_than_a_tenth_is_deleted(folder: Path) -> None:
    """Deleted chunks go on counting in BM25; up to a tenth that is borne."""
    write_fulltext(folder, [record(number) for number in range(100)])
    tenth = [("notes", f"note{number:03}.md") for number in range(10)]
    assert not rewrite(folder / "0", folder / "1", []).worn()
    assert not rewrite(folder / "0", folder / "2", tenth).worn()
    assert rewrite(folder / "0", folder / "3", [*tenth, ("notes", "note010.md")]).worn()


def test_a_folder_of_many_segments_is_worn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each update adds a segment, and each segment slows every search."""
    segment = {"max_doc": 10, "deletes": None}
    fresh = FullTextWriter(folder / "0")
    fresh.commit()
    monkeypatch.setattr(writer, "read_segments", lambda _: [segment] * MAX_SEGMENTS)
    assert not fresh.worn()
    monkeypatch.setattr(writer, "read_segments", lambda _: [segment] * (MAX_SEGMENTS + 1))
    assert fresh.worn()


def test_an_empty_folder_is_not_worn(folder: Path) -> None:
    """Nothing of nothing is deleted."""
    empty = FullTextWriter(folder / "0")
    empty.commit()
    assert not empty.worn()


def test_files_are_for_their_owner_alone(folder: Path) -> None:
    """Notes are private, and so is what is made of them."""
    with private_files():
        write_fulltext(folder, [record(1)], [record(2)])
    modes = {stat.S_IMODE(path.stat().st_mode) & 0o077 for path in folder.rglob("*")}
    assert modes == {0}


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=10, unique=True),
    st.lists(st.integers(0, 9), max_size=10, unique=True),
)
@settings(deadline=None, max_examples=15)
def test_deleting_and_adding_leaves_what_sets_would(
    tmp_path_factory: pytest.TempPathFactory, first: list[int], second: list[int]
) -> None:
    """A changed file is deleted and added in one run; neither old nor new may be lost or double."""
    folder = tmp_path_factory.mktemp("sets")
    write_fulltext(folder, [record(number, "fish") for number in first])
    gone = [("notes", f"note{number:03}.md") for number in second]
    rewrite(folder / "0", folder / "1", gone, add=tuple(second))
    assert find(FullTextReader(folder / "1"), "fish") == sorted({*first, *second})
