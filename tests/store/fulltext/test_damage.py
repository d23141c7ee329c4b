"""Folders that cannot be read as they should: damaged ones, and read-only ones."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from rag_engine.errors import IndexDamagedError
from rag_engine.store.analysis import analyze
from rag_engine.store.files import remove_folder
from rag_engine.store.filters import Filters
from rag_engine.store.fulltext import GRAMS, WORDS, FullTextReader, FullTextWriter
from rag_engine.store.fulltext.schema import LOCK_FILES
from store.samples import find, record, write_fulltext

ENGINE = Path(__file__).resolve().parents[3] / "rag-engine"
ENDINGS = [".fast", ".fieldnorm", ".idx", ".pos", ".store", ".term", "meta.json"]


def use(folder: Path) -> None:
    """Do all that a search does with a folder."""
    reader = FullTextReader(folder)
    reader.search(analyze("fish 猫"), (WORDS, GRAMS), 5, Filters())
    reader.get(reader.chunk_ids())


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("damage", ["missing", "empty", "half", "overwritten"])
def test_a_damaged_file_is_told_as_damage(folder: Path, ending: str, damage: str) -> None:
    """Exit code 4 and the way out, never a traceback: which of its files broke is chance."""
    write_fulltext(folder, [record(number, f"fish {number} 猫") for number in range(40)])
    file = next(path for path in (folder / "0").iterdir() if path.name.endswith(ending))
    data = file.read_bytes()
    file.unlink()  # and not written over: what is mapped into memory must not shrink
    if damage != "missing":
        kept = {"empty": b"", "half": data[: len(data) // 2], "overwritten": b"\x55" * len(data)}
        file.write_bytes(kept[damage])
    with pytest.raises(IndexDamagedError, match="--full"):
        use(folder / "0")


def test_stored_texts_that_rotted_are_told_as_damage(folder: Path) -> None:
    """Tantivy checks no content when it opens; it fails, or panics, while it reads."""
    write_fulltext(folder, [record(number, f"fish {number} 猫") for number in range(40)])
    whole = next((folder / "0").glob("*.store")).read_bytes()
    told = 0
    for position in range(0, len(whole), len(whole) // 15):
        rotten = folder / f"rotten{position}"
        shutil.copytree(folder / "0", rotten)
        store = next(rotten.glob("*.store"))
        changed = bytes([whole[position] ^ 0x55])
        store.write_bytes(whole[:position] + changed + whole[position + 1 :])
        try:
            use(rotten)
        except IndexDamagedError:
            told += 1
    assert told


@pytest.mark.parametrize("what", ["none", "empty", "file"])
def test_what_is_no_index_is_told_as_damage_and_left_alone(folder: Path, what: str) -> None:
    """Opening must not make a folder, nor put an empty index into one."""
    target = folder / "0"
    if what == "empty":
        target.mkdir()
    elif what == "file":
        target.write_bytes(b"")
    with pytest.raises(IndexDamagedError):
        FullTextReader(target)
    assert {path.name for path in folder.rglob("*")} - {*LOCK_FILES} <= {"0"}


def test_a_damaged_folder_cannot_be_begun_from(folder: Path) -> None:
    """An update of a damaged index says so instead of publishing half of it."""
    write_fulltext(folder, [record(1)])
    (folder / "0" / "meta.json").write_bytes(b"{")
    with pytest.raises(IndexDamagedError):
        FullTextWriter(folder / "1", clone_of=folder / "0")


@pytest.mark.parametrize("relative", [False, True])
def test_a_read_only_folder_is_searched_without_touching_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch, relative: bool
) -> None:
    """Tantivy makes a lock file when it opens; on a read-only index it has no place for it."""
    write_fulltext(folder, [record(1, "fish"), record(2)])
    # a copy, as the writer's own threads may still touch the locks of the original
    target = folder / "copy"
    shutil.copytree(folder / "0", target, ignore=shutil.ignore_patterns(*LOCK_FILES))
    before = {path.name: path.stat().st_mtime_ns for path in target.iterdir()}
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.chdir(folder)
    assert find(FullTextReader(Path("copy") if relative else target), "fish") == [1]
    assert {path.name: path.stat().st_mtime_ns for path in target.iterdir()} == before


@pytest.mark.parametrize("what", ["none", "empty"])
def test_a_read_only_folder_without_an_index_is_damage(
    folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The temporary folder of links must not stand in for what is missing."""
    if what == "empty":
        (folder / "0").mkdir()
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(IndexDamagedError):
        FullTextReader(folder / "0")


AS_ANOTHER_USER = """
import os, sys
import rjieba, tantivy
from pathlib import Path
from rag_engine.store.fulltext import FullTextReader, WORDS
from rag_engine.store.analysis import analyze
from rag_engine.store.filters import Filters
rjieba.cut_for_search("\\u732b")
os.setgid(65534)
os.setuid(65534)
hits = FullTextReader(Path(sys.argv[1])).search(analyze("fish"), (WORDS,), 5, Filters())
print(len(hits), os.access(sys.argv[1], os.W_OK))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_can_search_an_index_that_is_not_his() -> None:
    """A shared index, for real: a process without the right to write into the folder."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        write_fulltext(Path(name), [record(1, "fish")])
        for path in Path(name).rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        done = subprocess.run(
            [sys.executable, "-c", AS_ANOTHER_USER, str(Path(name) / "0")],
            env={**os.environ, "PYTHONPATH": str(ENGINE), "TMPDIR": "/tmp"},
            capture_output=True,
            check=False,
        )
        assert (done.stdout, done.stderr) == (b"1 False\n", b"")


def test_an_open_reader_outlives_its_folder(folder: Path) -> None:
    """A search that has begun ends well when its generation is cleaned up meanwhile."""
    reader = write_fulltext(folder, [record(1, "fish")])
    remove_folder(folder / "0")
    assert find(reader, "fish") == [1]
