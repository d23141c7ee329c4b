"""The manifest: the one file that says what is published."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from rag_engine.embed.embedder import ModelIdentity
from rag_engine.errors import IndexDamagedError, IndexFormatError
from rag_engine.store.manifest import (
    FILE_NAME,
    FORMAT,
    Manifest,
    Root,
    read_manifest,
    write_manifest,
)

MANIFEST = Manifest(
    name="knowledge",
    generation=7,
    created="2024-05-01T10:00:00.000+00:00",
    table_version=12,
    fulltext="fulltext/000007",
    files="files/000007.json",
    model=ModelIdentity("bge", "ab" * 32, 512, 1),
    engine="onnx",
    analysis=1,
    chunking=1,
    roots=(Root("/home/me/笔记 'x'\n", "笔记", "dev", ("*.tmp", "!x"), 3, 4), Root("/b", "b")),
    documents=3,
    chunks=9,
    scopes={"dev": 4, "": 5, '"': 0},
)


def write_raw(folder: Path, **changes: Any) -> None:
    """Write a manifest with fields changed or, where they are `...`, left out."""
    data = {**json.loads(json.dumps(asdict(MANIFEST))), **changes}
    data = {key: value for key, value in data.items() if value is not ...}
    (folder / FILE_NAME).write_text(json.dumps(data), encoding="utf-8")


def test_a_manifest_is_read_as_it_was_written(folder: Path) -> None:
    """Every field of a generation survives, odd characters in paths too."""
    write_manifest(folder, MANIFEST)
    assert read_manifest(folder) == MANIFEST
    assert os.listdir(folder) == [FILE_NAME]


def test_no_manifest_is_no_index(folder: Path) -> None:
    """A folder without one, no folder, and a file in its place are all "not yet"."""
    assert read_manifest(folder) is None
    assert read_manifest(folder / "none") is None
    (folder / "file").write_bytes(b"")
    assert read_manifest(folder / "file") is None


def test_a_failed_write_leaves_the_published_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk must not unpublish the index, nor leave rests behind."""
    write_manifest(folder, MANIFEST)

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(os, "fsync", fail)
        write_manifest(folder, replace(MANIFEST, generation=8))
    assert read_manifest(folder) == MANIFEST
    assert os.listdir(folder) == [FILE_NAME]


def test_a_newer_format_is_refused_and_not_called_damaged(folder: Path) -> None:
    """An old program must not advise to rebuild what a newer one can read; fields may differ."""
    (folder / FILE_NAME).write_text(json.dumps({"format": FORMAT + 1}), encoding="utf-8")
    with pytest.raises(IndexFormatError, match=f"format {FORMAT + 1}"):
        read_manifest(folder)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"5", b"null", b'"x"', b"\xff\xfe\x00", b"{}"]
)
def test_a_truncated_or_foreign_file_is_damage(folder: Path, content: bytes) -> None:
    """The message names the file; the hint says how to go on."""
    (folder / FILE_NAME).write_bytes(content)
    with pytest.raises(IndexDamagedError, match=r"manifest\.json.*--full"):
        read_manifest(folder)


def test_any_cut_of_a_manifest_is_damage(folder: Path) -> None:
    """However much of it a broken copy holds, it is never taken for a whole one."""
    write_manifest(folder, MANIFEST)
    data = (folder / FILE_NAME).read_bytes()
    for length in range(0, len(data) - 1, 40):
        (folder / FILE_NAME).write_bytes(data[:length])
        with pytest.raises(IndexDamagedError):
            read_manifest(folder)


@pytest.mark.parametrize(
    "changes",
    [{name: ...} for name in ("generation", "model", "fulltext", "roots")]
    + [{name: "x"} for name in ("generation", "table_version", "chunks", "documents", "analysis")]
    + [
        {name: None}
        for name in ("roots", "model", "fulltext", "files", "scopes", "created", "name")
    ]
    + [
        {"generation": 1.5},
        {"generation": True},
        {"table_version": -1},
        {"roots": "x"},
        {"roots": [5]},
        {"roots": [{"path": 5, "label": "x"}]},
        {"roots": [{"path": "/x"}]},
        {"model": {"name": "x"}},
        {"model": {"name": "x", "weights": "y", "dimension": "512", "text_preparation": 1}},
        {"scopes": ["dev"]},
        {"created": "yesterday"},
        {"created": "2024-05-01T10:00:00"},
        {"format": "1"},
    ],
    ids=repr,
)
def test_wrong_types_are_damage(folder: Path, changes: dict[str, Any]) -> None:
    """Found here, they are told as damage; found later, they would be a traceback."""
    write_raw(folder, **changes)
    with pytest.raises(IndexDamagedError):
        read_manifest(folder)


@pytest.mark.parametrize("name", ["fulltext", "files"])
@pytest.mark.parametrize("path", ["/etc", "../other", "fulltext/../../x"])
def test_paths_that_lead_out_are_damage(folder: Path, name: str, path: str) -> None:
    """An index folder from elsewhere must not make us read, or clean up, outside of it."""
    write_raw(folder, **{name: path})
    with pytest.raises(IndexDamagedError, match="out of the index"):
        read_manifest(folder)


def test_files_are_named_with_their_root_once_there_are_several() -> None:
    """One root gives short names; two could hold files of one name."""
    assert MANIFEST.source_file("笔记", "a/b.md") == "笔记/a/b.md"
    assert replace(MANIFEST, roots=MANIFEST.roots[:1]).source_file("笔记", "a/b.md") == "a/b.md"
    assert MANIFEST.root("b") == Root("/b", "b")
    assert MANIFEST.root("c") is None
