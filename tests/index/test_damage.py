"""Whatever breaks in the folder of an index: told with the way out, and --full always is one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes import HashEmbedder
from rag_engine.errors import IndexDamagedError, IndexUnusableError, NoIndexError
from rag_engine.store.manifest import read_manifest

from .conftest import Base

NOTES = 6
DAMAGES: dict[str, Callable[[bytes], bytes | None]] = {
    "missing": lambda _: None,
    "half": lambda data: data[: len(data) // 2],
    "overwritten": lambda data: b"\x55" * len(data),
    "one byte": lambda data: _flipped(data, len(data) // 2),
}


def _flipped(data: bytes, position: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :] if data else b"x"


@pytest.fixture
def built(base: Base) -> Base:
    """An index of two roots and three generations: full, a second root, a change."""
    other = base.notes.parent / "other"
    other.mkdir()
    for number in range(NOTES):
        base.write(f"{number}.md", f"# a{number}\n\nheron alpha{number}\n")
        (other / f"{number}.md").write_text(f"# b{number}\n\nheron beta{number}\n")
    base.full()
    base.update(other)
    base.write("0.md", "# a0\n\nheron changed\n")
    base.update()
    return base


def _parts(folder: Path) -> list[Path]:
    """Return the files that the published generation consists of, and lancedb's of all versions."""
    manifest = read_manifest(folder)
    assert manifest is not None
    found = [folder / manifest.files, *(folder / manifest.fulltext).iterdir()]
    for name in ("data", "_deletions", "_versions"):
        found += (folder / "knowledge_chunks.lance" / name).iterdir()
    return sorted(path.relative_to(folder) for path in found if path.is_file())


@pytest.mark.parametrize("damage", DAMAGES)
def test_full_recovers_from_every_damage_and_all_else_names_it(
    built: Base, make_base: Callable[[str, Path], Base], damage: str
) -> None:
    """Each file in turn: no search and no update ends in anything but an answer or exit code 4."""
    everything = len(built.rows())
    for number, part in enumerate(_parts(built.folder)):
        broken = make_base(f"broken{number}", built.notes)
        shutil.copytree(built.folder, broken.folder)
        file = broken.folder / part
        data = DAMAGES[damage](file.read_bytes())
        file.unlink()
        if data is not None:
            file.write_bytes(data)
        for mode in ("fts", "vector", "hybrid"):
            _tried(lambda mode=mode, broken=broken: broken.find("heron", mode))  # type: ignore[misc]
        built.write("1.md", f"# a1\n\nheron {number}\n")
        _tried(broken.update)
        broken.full()
        assert len(broken.rows()) == everything, part
        assert len(broken.find("heron", "hybrid")) == 2 * NOTES, part
        shutil.rmtree(broken.folder, ignore_errors=True)


def _tried(work: Callable[[], object]) -> None:
    try:
        work()
    except IndexUnusableError as error:
        assert error.exit_code == 4


@pytest.mark.parametrize("name", ["fulltext", "files", "knowledge_chunks.lance"])
def test_full_recovers_where_a_whole_folder_is_lost(built: Base, name: str) -> None:
    """Deleted by hand, or not copied with the rest."""
    everything = len(built.rows())
    shutil.rmtree(built.folder / name, ignore_errors=True)
    _tried(built.update)
    built.full()
    assert len(built.rows()) == everything


@pytest.mark.parametrize("name", ["fulltext", "files", "knowledge_chunks.lance"])
def test_a_file_in_place_of_a_folder_is_named_and_left_alone(base: Base, name: str) -> None:
    """It may be anything: it is not for us to remove."""
    base.write("a.md", "# a")
    base.folder.mkdir()
    (base.folder / name).write_text("mine")
    with pytest.raises(IndexUnusableError, match=name):
        base.full()
    assert (base.folder / name).read_text() == "mine"


def test_full_recovers_without_a_manifest(built: Base) -> None:
    """What is left of the old index is no obstacle; only its roots are forgotten."""
    (built.folder / "manifest.json").unlink()
    with pytest.raises(NoIndexError):
        built.find("heron")
    built.full()
    assert len(built.rows()) == NOTES


def test_vectors_of_an_index_whose_full_text_is_lost_are_used_again(
    built: Base, embedder: HashEmbedder
) -> None:
    """Embedding is what takes long."""
    shutil.rmtree(built.folder / "fulltext", ignore_errors=True)
    embedder.embedded.clear()
    built.full()
    assert embedder.embedded == []


@pytest.mark.parametrize("label", ["notes", "gone"])
def test_file_states_that_lost_or_renamed_an_entry_double_nothing(base: Base, label: str) -> None:
    """Edited by hand, or mixed from two copies: what is read is replaced, known or not."""
    base.write("a.md", "# a\n\nheron")
    base.write("b.md", "# b\n\nostrich")
    base.full()
    for run in (base.update, base.full):
        manifest = read_manifest(base.folder)
        assert manifest is not None
        states = base.folder / manifest.files
        rows = json.loads(states.read_bytes())
        states.write_text(json.dumps([[label, "x.md", *rows[0][2:]], *rows[1:]]))
        run()
        assert len(base.rows()) == 2
        assert base.find("heron") == ["a.md"]


@pytest.mark.parametrize("value", [None, 1, {}, "x", [["notes"]], [[None] * 11], [[1] * 11]])
def test_file_states_of_another_shape_are_damage(base: Base, value: object) -> None:
    """JSON that is none of ours; a build from scratch does without."""
    base.write("a.md", "# a\n\nheron")
    base.full()
    manifest = read_manifest(base.folder)
    assert manifest is not None
    (base.folder / manifest.files).write_text(json.dumps(value))
    with pytest.raises(IndexDamagedError):
        base.update()
    base.full()
    assert len(base.rows()) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("table_version", 10**30),
        ("generation", -1),
        ("chunks", 10**30),
        ("scopes", {"dev": "many"}),
        ("roots", [{"path": "/a", "label": "a", "exclude": [1]}]),
        ("roots", [{"path": "/a", "label": "a"}, {"path": "/b", "label": "a"}]),
        ("model", {"name": "m", "weights": "w", "dimension": 10**30, "text_preparation": 1}),
        ("model", {"name": "m", "weights": "w", "dimension": 0, "text_preparation": 1}),
    ],
)
def test_a_manifest_edited_into_nonsense_is_damage(base: Base, key: str, value: object) -> None:
    """Refused when it is read, not later in a library; a build from scratch does without."""
    base.write("a.md", "# a\n\nheron")
    base.full()
    manifest = base.folder / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_bytes()), key: value}))
    for run in (lambda: base.find("heron"), base.update):
        with pytest.raises(IndexDamagedError):
            run()
    base.full()
    assert len(base.rows()) == 1
