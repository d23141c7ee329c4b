"""An index in a folder that holds other things: nothing of those is read, changed or removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from rag_engine.errors import IndexForeignError, UsageError
from rag_engine.index.run import clear_index

from .conftest import Base

OLD = 1_500_000_000


def _foreign(folder: Path) -> dict[Path, bytes]:
    """Put files of a person among an index's, under names like its own, all of them old."""
    names = (
        "notes.md",
        "files/2024.md",
        "files/2024.json",
        "files/list.json",
        "files/.hidden.md",
        "fulltext/2023/x.md",
        "fulltext/readme",
        "other.lance/data",
        ".manifest.json.bak",
    )
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
        os.utime(path, (OLD, OLD))
        os.utime(path.parent, (OLD, OLD))
    return {folder / name: name.encode() for name in names}


def _read(files: dict[Path, bytes]) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in files if path.exists()}


def test_files_of_a_person_outlive_runs_and_the_index_itself(base: Base) -> None:
    """`--db-path ~/things`, where "files" and "fulltext" are folders already."""
    foreign = _foreign(base.folder)
    base.write("a.md", "# a\n\nheron")
    base.full()
    base.write("a.md", "# a\n\nostrich")
    base.update()
    assert base.find("ostrich") == ["a.md"]
    assert _read(foreign) == foreign
    clear_index(base.folder)
    assert _read(foreign) == foreign
    left = {path for path in base.folder.rglob("*") if path.is_file()}
    assert left == set(foreign)


@pytest.mark.parametrize("below", ["", "files", "deep/notes"])
def test_notes_in_the_folder_of_the_index_are_refused(base: Base, below: str) -> None:
    """Before anything is written there."""
    notes = base.folder / below
    notes.mkdir(parents=True)
    (notes / "a.md").write_text("# a")
    for run in (base.full, base.update):
        with pytest.raises(UsageError, match="--db-path"):
            run(notes)
    assert [path for path in base.folder.rglob("*") if path.is_file()] == [notes / "a.md"]


@pytest.mark.parametrize("name", [".kb", "kb", "deep/er/kb"])
def test_an_index_among_the_notes_is_fine(base: Base, name: str) -> None:
    """It holds no file that looks like a note, and its changes are no changes of notes."""
    base.folder = base.notes / name
    base.write("a.md", "# a\n\nheron")
    base.full()
    base.update()
    report = base.update()
    assert (report.files, report.added, report.removed) == (1, 0, 0)
    assert base.find("heron") == ["a.md"]


def test_a_manifest_of_another_program_is_neither_replaced_nor_removed(base: Base) -> None:
    """Web sites and browser extensions have a manifest.json as well."""
    base.write("a.md", "# a")
    base.folder.mkdir()
    manifest = base.folder / "manifest.json"
    manifest.write_text('{"name": "My extension", "manifest_version": 3}')
    before = manifest.read_bytes()
    for run in (base.full, base.update, base.full_all, lambda: clear_index(base.folder)):
        with pytest.raises(IndexForeignError, match="another program"):
            run()
    assert manifest.read_bytes() == before
