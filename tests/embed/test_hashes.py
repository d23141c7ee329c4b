"""Files are hashed once and again when they change."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rag_engine.embed import hashes
from rag_engine.embed.hashes import remembered_hashes, sha256_of, stamps_file

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-4


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that were really hashed."""
    names: list[str] = []

    def counting(path: Path) -> str:
        names.append(path.name)
        return sha256_of(path)

    monkeypatch.setattr(hashes, "sha256_of", counting)
    return names


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with the content whose hash the standard gives."""
    path = tmp_path / "model.bin"
    path.write_bytes(b"abc")
    return path


def test_a_file_is_hashed_once(file: Path, hashed: list[str]) -> None:
    """Hashing the model takes 60 ms, which every search would pay."""
    assert remembered_hashes([file]) == {file: ABC}
    assert remembered_hashes([file]) == {file: ABC}
    assert hashed == ["model.bin"]


def test_a_link_to_a_hashed_file_is_not_hashed_again(file: Path, hashed: list[str]) -> None:
    """Hub caches are made of links."""
    link = file.with_name("link")
    link.symlink_to(file)
    remembered_hashes([file])
    assert remembered_hashes([link]) == {link: ABC}
    assert hashed == ["model.bin"]


def rewrite(path: Path) -> None:
    """Change the content, then put size and time of change back."""
    before = path.stat()
    path.write_bytes(b"abd")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path) -> None:
    """Put another file in its place."""
    other = path.with_name("other")
    other.write_bytes(b"abd")
    other.replace(path)


@pytest.mark.parametrize("change", [rewrite, replace])
def test_a_changed_file_is_hashed_again(
    file: Path, hashed: list[str], change: Callable[[Path], None]
) -> None:
    """Also where somebody restored its size and time."""
    remembered_hashes([file])
    # A later time stamp: changes within one tick of the file system's clock look like none.
    while file.with_name("clock").write_bytes(b"") or (
        file.with_name("clock").stat().st_ctime_ns == file.stat().st_ctime_ns
    ):
        pass
    change(file)
    assert remembered_hashes([file])[file] != ABC
    assert len(hashed) == 2


def test_the_stamps_are_private_and_forget_files_that_are_gone(file: Path) -> None:
    """They must not grow for ever, and say to nobody where somebody's files are."""
    old = os.umask(0)
    try:
        remembered_hashes([file])
        other = file.with_name("other.bin")
        other.write_bytes(b"other")
        file.unlink()
        remembered_hashes([other])
    finally:
        os.umask(old)
    stamps = stamps_file()
    assert stamps is not None
    assert stamps.parent.stat().st_mode & 0o777 == 0o700
    assert stamps.stat().st_mode & 0o777 == 0o600
    assert list(json.loads(stamps.read_text(encoding="utf-8"))["files"]) == [str(other.resolve())]
    assert [path.name for path in stamps.parent.iterdir()] == [stamps.name]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"format": 1, "files": {',
        b"[]",
        b'{"format": 2, "files": {}}',
        b'{"format": 1, "files": 7}',
        b"\xff",
        b'{"format": 1, "files": {"x": [1]}}',
    ],
)
def test_damaged_stamps_are_as_good_as_none(file: Path, hashed: list[str], content: bytes) -> None:
    """They only save time, and are then written anew."""
    stamps = stamps_file()
    assert stamps is not None
    stamps.parent.mkdir(parents=True)
    stamps.write_bytes(content)
    for _ in range(2):
        assert remembered_hashes([file]) == {file: ABC}
    assert hashed == ["model.bin"]


def test_a_cache_that_cannot_be_written_is_done_without(
    file: Path, home: Path, hashed: list[str]
) -> None:
    """A read-only home is no reason not to search; a file in the way stops root too."""
    (home / ".cache").write_bytes(b"")
    for _ in range(2):
        assert remembered_hashes([file]) == {file: ABC}
    assert hashed == ["model.bin", "model.bin"]


def test_no_home_at_all_is_done_without(
    file: Path, monkeypatch: pytest.MonkeyPatch, hashed: list[str]
) -> None:
    """Services run without HOME, for users that no password file knows."""
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda _: (_ for _ in ()).throw(KeyError("no such user")))
    assert stamps_file() is None
    for _ in range(2):
        assert remembered_hashes([file]) == {file: ABC}
    assert hashed == ["model.bin", "model.bin"]
