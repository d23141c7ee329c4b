"""Scanning a root: what is found, what is passed over, and what is reported."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from rag_engine.corpus import walk
from rag_engine.corpus.walk import RootUnavailableError, scan
from rag_engine.errors import EXIT_OK, FaultsFoundError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty root."""
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


def write(root: Path, *paths: str, text: str = "# note\n") -> None:
    """Write the same note to many places."""
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def found(root: Path, **options: object) -> list[str]:
    """List the paths that a scan finds."""
    return [entry.path for entry in scan(root, **options).files]  # type: ignore[arg-type]


def reasons(root: Path, **options: object) -> dict[str, str]:
    """List what a scan skips, and why."""
    return {entry.path: entry.reason for entry in scan(root, **options).skipped}  # type: ignore[arg-type]


def test_notes_are_found_by_ending_in_any_case_and_sorted_by_path(root: Path) -> None:
    """Other files, backups and swap files are no notes."""
    notes = ["B.MD", "a.md", "z/c.markdown", "z/d.mdown", "z/e.mkd", "z/f.Mdx", "数据/库 一.md"]
    write(root, *notes, "g.txt", "h.md~", "i.md.bak", "md", "4913")
    assert found(root) == notes


def test_an_entry_carries_what_change_detection_needs(root: Path) -> None:
    """Size, times and inode are those of the file."""
    write(root, "a.md", text="数")
    entry = scan(root).files[0]
    state = (root / "a.md").stat()
    assert (entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode) == (
        3,
        state.st_mtime_ns,
        state.st_ctime_ns,
        state.st_ino,
    )


def test_an_empty_root_is_an_empty_scan(root: Path) -> None:
    """Nothing there is not an error; what it means is the caller's to say."""
    assert scan(root) == walk.Scan((), (), (), 0)


def test_hidden_and_tool_folders_are_passed_over_silently_and_counted(root: Path) -> None:
    """They are never notes, and naming thousands of them would bury the rest."""
    passed = [".git", ".obsidian", "node_modules", "__pycache__", "a/venv", "Build", "dist"]
    write(root, *(f"{folder}/x.md" for folder in passed), ".hidden.md", "keep.md", "builder/k.md")
    result = scan(root)
    assert [entry.path for entry in result.files] == ["builder/k.md", "keep.md"]
    assert (result.skipped, result.ignored) == ((), len(passed) + 1)


def test_a_folder_that_is_named_like_a_tool_can_be_brought_back(root: Path) -> None:
    """By the user's own patterns; a whitelist in a .gitignore must not bring back everything."""
    write(root, "build/x.md", "node_modules/y.md", "n.md")
    assert found(root, exclude=["!build/"]) == ["build/x.md", "n.md"]
    (root / ".knowledgeignore").write_text("!build\n")
    assert found(root) == ["build/x.md", "n.md"]
    (root / ".knowledgeignore").unlink()
    (root / ".gitignore").write_text("*\n!*/\n!*.md\n")
    assert found(root) == ["n.md"]


@pytest.mark.parametrize(
    ("patterns", "kept"),
    [
        ("drafts/", ["a.md", "sub/b.md"]),
        ("/a.md", ["drafts/d.md", "sub/b.md"]),
        ("*.md\n!a.md", ["a.md"]),
        ("sub/*\n!sub/b.md", ["a.md", "drafts/d.md", "sub/b.md"]),
        ("drafts\n!drafts/d.md", ["a.md", "sub/b.md"]),
        ("**/b.md\n# a.md\n\n  \n!\n[", ["a.md", "drafts/d.md"]),
        ("[[:alpha:]].md", []),
        ("\ufeffa.md\r\nsub/\r\n", ["drafts/d.md"]),
    ],
)
def test_ignore_files_mean_what_they_mean_to_git(
    root: Path, patterns: str, kept: list[str]
) -> None:
    """Negation, anchors, folders that hide all below them, and lines that are no pattern."""
    write(root, "a.md", "sub/b.md", "drafts/d.md")
    (root / ".gitignore").write_bytes(patterns.encode())
    assert found(root) == kept


def test_of_many_ignore_files_the_deepest_decides(root: Path) -> None:
    """And in one folder .knowledgeignore comes after .gitignore; exclude beats both."""
    write(root, "a.md", "sub/a.md", "sub/deep/a.md", "sub/deep/b.md")
    (root / ".gitignore").write_text("a.md\n")
    (root / "sub/.gitignore").write_text("!a.md\n/deep/b.md\n")
    assert found(root) == ["sub/a.md", "sub/deep/a.md"]
    (root / "sub/.knowledgeignore").write_text("!/deep/b.md\n")
    assert found(root) == ["sub/a.md", "sub/deep/a.md", "sub/deep/b.md"]
    assert found(root, exclude=["/sub/deep/"]) == ["sub/a.md"]
    assert found(root, exclude=["!a.md"]) == [
        "a.md",
        "sub/a.md",
        "sub/deep/a.md",
        "sub/deep/b.md",
    ]


def test_ignore_files_above_the_root_do_not_count(root: Path) -> None:
    """A scan depends on nothing but the root."""
    (root.parent / ".gitignore").write_text("*\n")
    write(root, "a.md")
    assert found(root) == ["a.md"]


def test_an_ignore_file_that_cannot_be_read_is_named(root: Path) -> None:
    """A link, as to Git, is not followed; that its patterns do not count must be known."""
    write(root, "a.md")
    (root.parent / "patterns").write_text("*.md\n")
    (root / ".gitignore").symlink_to(root.parent / "patterns")
    assert found(root) == ["a.md"]
    assert list(reasons(root)) == [".gitignore"]
    assert "do not count" in reasons(root)[".gitignore"]


def test_links_are_named_by_where_they_lead_and_never_followed(root: Path) -> None:
    """Loops end, and nothing from outside is ever listed."""
    outside = root.parent / "outside"
    write(outside, "secret.md")
    write(root, "sub/real.md", "dir.md/x.md", "plain.txt")
    links = {
        "self": ".",
        "up": "..",
        "sub/upup": "../..",
        "out": "../outside",
        "leak.md": "../outside/secret.md",
        "dangling.md": "/nonexistent/x.md",
        "alias.md": "sub/real.md",
        "loop.md": "loop.md",
        "text.md": "plain.txt",
        "plain-link.txt": "plain.txt",
        "dangling.txt": "nowhere",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    assert found(root) == ["dir.md/x.md", "sub/real.md"]
    why = reasons(root)
    assert {p for p, r in why.items() if "leaves the root" in r} == {
        "up",
        "sub/upup",
        "out",
        "leak.md",
    }
    assert {p for p, r in why.items() if "inside the root" in r} == {"self", "alias.md"}
    assert {p for p, r in why.items() if "nowhere" in r} == {"dangling.md", "loop.md"}
    assert "not named like a note" in why["text.md"]
    assert len(why) == 9


def test_the_root_itself_may_be_a_link(root: Path) -> None:
    """Notes are often kept elsewhere; links inside are still judged by the real place."""
    write(root, "a.md")
    (root / "b.md").symlink_to("a.md")
    link = root.parent / "link"
    link.symlink_to(root)
    assert found(link) == ["a.md"]
    assert "inside the root" in reasons(link)["b.md"]


def test_what_is_no_regular_file_is_named_and_not_opened(root: Path) -> None:
    """Opening a pipe would block for ever."""
    os.mkfifo(root / "pipe.md")
    os.mkfifo(root / "pipe.txt")
    assert reasons(root) == {"pipe.md": "not a regular file"}


def test_a_file_over_the_limit_is_named_with_both_sizes(root: Path) -> None:
    """One of exactly the limit is read."""
    write(root, "fits.md", text="x" * 1000)
    write(root, "large.md", text="x" * 1001)
    assert found(root, max_bytes=1000) == ["fits.md"]
    assert reasons(root, max_bytes=1000) == {"large.md": "larger than 1,000 bytes (1,001)"}


def test_a_name_that_is_not_utf_8_is_shown_escaped(root: Path) -> None:
    """JSON could not carry it; a folder so named is not entered."""
    raw = os.fsencode(root)
    for name in (b"caf\xe9.md", b"ok.md", b"caf\xe9.txt"):
        with open(os.path.join(raw, name), "wb") as file:
            file.write(b"x")
    os.mkdir(os.path.join(raw, b"\xb1"))
    assert found(root) == ["ok.md"]
    assert sorted(reasons(root)) == ["\\xb1", "caf\\xe9.md"]


def test_names_with_odd_characters_are_names(root: Path) -> None:
    """Blanks, quotes, line breaks, brackets and a backslash are data."""
    names = ["a b.md", "'q\".md", "new\nline.md", "[x]{y}.md", "back\\slash.md", "#1.md", "-x.md"]
    write(root, *names)
    assert found(root) == sorted(names)


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_a_root_that_is_not_there_is_an_error(root: Path, kind: str) -> None:
    """Never an empty scan: that would delete what is indexed."""
    target = root / "gone"
    if kind == "file":
        target.write_text("x")
    with pytest.raises(RootUnavailableError) as caught:
        scan(target)
    assert isinstance(caught.value, FaultsFoundError)
    assert caught.value.exit_code != EXIT_OK
    assert str(target) in caught.value.message


def refuse(monkeypatch: pytest.MonkeyPatch, folder: Path, error: OSError) -> None:
    """Make one folder fail to list; as root, permissions would not."""
    real = os.scandir

    def guarded(path: bytes) -> Iterator[os.DirEntry[bytes]]:
        if path == os.fsencode(folder):
            raise error
        return real(path)

    monkeypatch.setattr(os, "scandir", guarded)


@pytest.mark.parametrize("error", [PermissionError(13, "no"), OSError(5, "I/O"), OSError(116, "")])
def test_a_folder_that_cannot_be_listed_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    """What is indexed from below it must not be taken for deleted."""
    write(root, "open/a.md", "locked/b.md", "locked/deep/c.md")
    refuse(monkeypatch, root / "locked", error)
    result = scan(root)
    assert [entry.path for entry in result.files] == ["open/a.md"]
    assert result.unreadable == ("locked",)


def test_a_root_that_cannot_be_listed_is_an_error(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not an unreadable folder named ""."""
    write(root, "a.md")
    refuse(monkeypatch, root, PermissionError(13, "Permission denied"))
    with pytest.raises(RootUnavailableError, match="Permission denied"):
        scan(root)


def test_a_folder_that_vanishes_meanwhile_is_gone(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was deleted, which is not the same as unreadable."""
    write(root, "a.md", "gone/b.md")
    refuse(monkeypatch, root / "gone", FileNotFoundError(2, "gone"))
    result = scan(root)
    assert [entry.path for entry in result.files] == ["a.md"]
    assert result.unreadable == ()


def test_a_root_that_vanishes_meanwhile_is_an_error(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folders would all look deleted."""
    write(root, "a.md", "sub/b.md")
    real = os.scandir
    seen: list[bytes] = []

    def moving(path: bytes) -> Iterator[os.DirEntry[bytes]]:
        seen.append(path)
        if path.endswith(b"/sub"):
            root.rename(root.parent / "elsewhere")
        return real(path)

    monkeypatch.setattr(os, "scandir", moving)
    with pytest.raises(RootUnavailableError):
        scan(root)
    assert len(seen) > 1


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_that_can_be_listed_but_not_entered_is_unreadable(root: Path) -> None:
    """Its names are known, its notes are not."""
    write(root, "half/a.md", "b.md")
    (root / "half").chmod(0o444)
    try:
        result = scan(root)
    finally:
        (root / "half").chmod(0o755)
    assert [entry.path for entry in result.files] == ["b.md"]
    assert result.unreadable == ("half",)
    assert [entry.path for entry in result.skipped] == ["half/a.md"]


def test_a_deep_tree_needs_no_recursion(root: Path) -> None:
    """The depth is bounded by the system's longest path only."""
    folder = root
    for _ in range(800):
        folder = folder / "d"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("x")
    assert found(root) == ["d/" * 800 + "a.md"]
