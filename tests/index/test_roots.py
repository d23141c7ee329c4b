"""Several roots in one index: nothing is dropped, nothing twice, names are unambiguous."""

from __future__ import annotations

from pathlib import Path

import pytest
from rag_engine.errors import NoIndexError, UsageError
from rag_engine.index.run import clear_index, remove_root
from rag_engine.store.manifest import read_manifest

from .conftest import Base


def _note(folder: Path, name: str, word: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# {word}\n\n{word} text\n", encoding="utf-8")
    return path


def test_indexing_a_second_folder_leaves_the_first_alone(base: Base, tmp_path: Path) -> None:
    """The complaint heard most: indexing two folders that deletes all others."""
    _note(base.notes, "a.md", "heron")
    base.full()
    _note(tmp_path / "work", "b.md", "ostrich")
    base.full(tmp_path / "work")
    assert base.find("heron") == ["notes/a.md"]
    assert base.find("ostrich") == ["work/b.md"]


def test_ids_do_not_change_when_names_get_their_label(base: Base, tmp_path: Path) -> None:
    """A citation that an agent noted must stay good."""
    _note(base.notes, "a.md", "heron")
    base.full()
    before = base.snapshot().vectors.chunk_ids()
    _note(tmp_path / "work", "b.md", "ostrich")
    base.update(tmp_path / "work")
    assert set(before) < set(base.snapshot().vectors.chunk_ids())


def test_folders_of_one_name_get_labels_that_differ(base: Base, tmp_path: Path) -> None:
    """The same file name in both must lead to two different source files."""
    _note(base.notes, "a.md", "heron")
    _note(tmp_path / "other" / "notes", "a.md", "heron")
    base.full(base.notes, tmp_path / "other" / "notes")
    assert sorted(base.find("heron")) == ["notes-2/a.md", "notes/a.md"]
    base.rows()


def test_a_root_inside_a_root_holds_its_files_alone(base: Base) -> None:
    """No file is indexed twice, whichever root comes first."""
    _note(base.notes, "a.md", "heron")
    _note(base.notes / "[inner] x", "b.md", "ostrich")
    base.full()
    base.full(base.notes / "[inner] x")
    assert base.find("ostrich") == ["[inner] x/b.md"]
    base.full_all()
    assert base.find("ostrich") == ["[inner] x/b.md"]
    assert base.find("heron") == ["notes/a.md"]
    base.rows()


def test_update_of_a_sub_folder_touches_only_that(base: Base) -> None:
    """--update DIR brings up to date what is below DIR."""
    _note(base.notes, "a.md", "heron")
    _note(base.notes, "sub/b.md", "ostrich")
    base.full()
    _note(base.notes, "a.md", "pelican")
    _note(base.notes, "sub/b.md", "walrus")
    base.update(base.notes / "sub")
    assert base.find("walrus") == ["sub/b.md"]
    assert base.find("pelican") == []
    assert len(base.snapshot().manifest.roots) == 1
    base.update()
    assert base.find("pelican") == ["a.md"]


def test_update_of_one_root_leaves_the_others_as_they_are(base: Base, tmp_path: Path) -> None:
    """--update DIR is no --update of everything."""
    work = tmp_path / "work"
    _note(base.notes, "a.md", "heron")
    _note(work, "b.md", "ostrich")
    base.full(base.notes, work)
    _note(base.notes, "a.md", "pelican")
    _note(work, "b.md", "walrus")
    base.update(work)
    assert base.find("walrus") == ["work/b.md"]
    assert base.find("heron") == ["notes/a.md"]


def test_a_root_through_a_link_is_the_same_root(base: Base, tmp_path: Path) -> None:
    """A path and a link to it must not make two roots of one folder."""
    _note(base.notes, "a.md", "heron")
    base.full()
    link = tmp_path / "link"
    link.symlink_to(base.notes)
    base.full(link)
    assert base.find("heron") == ["a.md"]


def test_remove_takes_one_root_out_by_folder_or_label(base: Base, tmp_path: Path) -> None:
    """The other stays, and its files lose the label again."""
    _note(base.notes, "a.md", "heron")
    _note(tmp_path / "work", "b.md", "ostrich")
    _note(tmp_path / "play", "c.md", "walrus")
    base.full(base.notes, tmp_path / "work", tmp_path / "play")
    remove_root(base.folder, str(tmp_path / "work"))
    remove_root(base.folder, "play")
    assert base.find("ostrich") == base.find("walrus") == []
    assert base.find("heron") == ["a.md"]
    base.rows()
    with pytest.raises(UsageError, match="not a root"):
        remove_root(base.folder, "nothing")


def test_clear_removes_the_index_and_nothing_else(base: Base) -> None:
    """Tables of other programs in the same folder, and the notes, stay."""
    _note(base.notes, "a.md", "heron")
    base.full()
    foreign = base.folder / "documents.lance"
    foreign.mkdir()
    clear_index(base.folder)
    assert [path.name for path in base.folder.iterdir()] == ["documents.lance"]
    assert (base.notes / "a.md").exists()
    with pytest.raises(NoIndexError):
        base.find("heron")
    with pytest.raises(NoIndexError):
        clear_index(base.folder)


def test_an_index_can_be_built_again_after_clear(base: Base) -> None:
    """And with all roots removed it can be filled again."""
    _note(base.notes, "a.md", "heron")
    base.full()
    clear_index(base.folder)
    base.full()
    remove_root(base.folder, "notes")
    manifest = read_manifest(base.folder)
    assert manifest is not None
    assert (manifest.roots, manifest.chunks) == ((), 0)
    assert base.find("heron") == []
    base.update(base.notes)
    assert base.find("heron") == ["a.md"]
