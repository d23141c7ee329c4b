"""--update: only what changed is read, embedded and written; the result is that of --full."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rag_engine.errors import NoIndexError, UsageError

from .conftest import Base


def _age(*paths: Path) -> None:
    """Give files old times, so that the index trusts their stat."""
    for path in paths:
        os.utime(path, (1_700_000_000, 1_700_000_000))


def test_an_added_file_is_found_and_nothing_else_is_embedded(base: Base) -> None:
    """Work must be in proportion to the change."""
    base.write("a.md", "# A\n\nheronword one\n")
    base.full()
    base.embedder.embedded.clear()
    base.write("sub/b.md", "# B\n\nostrichword two\n")
    report = base.update()
    assert (report.added, report.changed, report.removed, report.unchanged) == (1, 0, 0, 1)
    assert len(base.embedder.embedded) == 1
    assert base.find("ostrichword") == ["sub/b.md"]


def test_a_changed_file_loses_its_old_text_in_both_stores(base: Base) -> None:
    """An old passage that stays findable is a wrong citation."""
    base.write("a.md", "# A\n\noldword\n\n## Keep\n\nkept text\n")
    base.full()
    base.write("a.md", "# A\n\nnewword\n\n## Keep\n\nkept text\n")
    report = base.update()
    assert report.changed == 1
    assert base.find("oldword") == []
    assert base.find("newword") == ["a.md"]
    assert not any("oldword" in str(row) for row in base.rows())


def test_a_change_is_seen_though_size_and_modification_time_are_the_same(base: Base) -> None:
    """Some programs set the time back; the change time still moves."""
    path = base.write("a.md", "# a\n\noldword1\n")
    _age(path)
    base.full()
    base.write("a.md", "# a\n\nnewword1\n")
    _age(path)
    base.update()
    assert base.find("newword1") == ["a.md"]
    assert base.find("oldword1") == []


def test_an_emptied_file_leaves_both_stores_and_nothing_is_embedded(base: Base) -> None:
    """The model must never be called with an empty list."""
    base.write("a.md", "# a\n\naword\n")
    path = base.write("b.md", "# b\n\nbword\n")
    base.full()
    base.embedder.embedded.clear()
    path.write_text("", encoding="utf-8")
    report = base.update()
    assert base.embedder.embedded == []
    assert report.empty == 1
    assert base.find("bword") == []
    assert not any("bword" in str(row) for row in base.rows())


def test_fewer_sections_leave_no_orphans(base: Base) -> None:
    """Chunks of sections that went must go."""
    base.write("c.md", "".join(f"## s{i}\n\ncsection{i}\n\n" for i in range(1, 6)))
    base.full()
    base.write("c.md", "## s1\n\ncsection1\n")
    base.update()
    assert base.find("csection1") == ["c.md"]
    assert [base.find(f"csection{i}") for i in range(2, 6)] == [[], [], [], []]
    assert len(base.rows()) == 1


def test_an_atomic_save_is_a_change_and_not_a_loss(base: Base) -> None:
    """Editors write a temporary file and rename it over the note."""
    path = base.write("d.md", "# d\n\ndword\n")
    base.full()
    temporary = base.notes / ".d.tmp"
    temporary.write_text("# d\n\ndword2\n", encoding="utf-8")
    temporary.rename(path)
    base.update()
    assert base.find("dword2") == ["d.md"]
    assert base.find("dword") == []


@pytest.fixture
def fine_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trust the times of files at once, so that a test need not wait until they settle."""
    monkeypatch.setattr("rag_engine.index.diff.CLOCK_GRANULARITY_NS", 0)


@pytest.mark.usefixtures("fine_clock")
def test_a_touched_file_is_not_embedded_again_and_then_trusted(base: Base) -> None:
    """Only the times moved: the hash says so, and the new times are remembered."""
    path = base.write("e.md", "# e\n\neword\n")
    base.full()
    base.embedder.embedded.clear()
    _age(path)
    first = base.update()
    second = base.update()
    assert base.embedder.embedded == []
    assert (first.changed, first.unchanged, second.unchanged) == (0, 1, 1)
    assert second.generation == first.generation


def test_a_renamed_file_is_found_once_under_its_new_name_without_embedding(base: Base) -> None:
    """The text is the same, so its vector is."""
    path = base.write("e.md", "# e\n\neword\n")
    base.full()
    base.embedder.embedded.clear()
    path.rename(base.notes / "e2.md")
    report = base.update()
    assert (report.renamed, report.added, report.removed) == (1, 0, 0)
    assert base.find("eword") == ["e2.md"]
    assert base.embedder.embedded == []


def test_a_case_only_rename_is_followed(base: Base) -> None:
    """On a case-sensitive file system it is a rename like any other."""
    path = base.write("note.md", "# e\n\neword\n")
    base.full()
    path.rename(base.notes / "Note.md")
    base.update()
    assert base.find("eword") == ["Note.md"]


def test_a_file_that_arrives_with_an_old_time_is_found(base: Base) -> None:
    """An update must not go by times newer than its last run."""
    base.write("a.md", "# a\n\naword\n")
    base.full()
    _age(base.write("o.md", "# old\n\narrivedword\n"))
    base.update()
    assert base.find("arrivedword") == ["o.md"]


def test_a_deleted_file_goes_and_its_twin_stays(base: Base) -> None:
    """Two equal files are two documents."""
    base.write("copy1.md", "# Same\n\nidentical kiwi text\n")
    path = base.write("copy2.md", "# Same\n\nidentical kiwi text\n")
    base.full()
    assert sorted(base.find("kiwi")) == ["copy1.md", "copy2.md"]
    path.unlink()
    report = base.update()
    assert report.removed == 1
    assert base.find("kiwi") == ["copy1.md"]


def test_deleting_the_only_file_empties_the_index(base: Base) -> None:
    """A root that is still the same folder has really lost its notes."""
    path = base.write("a.md", "# a\n\naword\n")
    base.full()
    path.unlink()
    report = base.update()
    assert (report.removed, report.files, report.problems) == (1, 0, [])
    assert base.find("aword") == []


def test_an_empty_folder_in_place_of_the_root_is_not_taken_for_deleted_notes(base: Base) -> None:
    """That is what an unmounted disk looks like."""
    base.write("a.md", "# a\n\naword\n")
    base.full()
    base.notes.rename(base.notes.with_name("elsewhere"))
    base.notes.mkdir()
    report = base.update()
    assert len(report.problems) == 1
    assert base.find("aword") == ["a.md"]


def test_a_missing_root_is_reported_and_keeps_its_notes(base: Base, tmp_path: Path) -> None:
    """The other roots are brought up to date all the same."""
    base.write("a.md", "# a\n\naword\n")
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.md").write_text("# b\n\nbword\n", encoding="utf-8")
    base.full(base.notes, other)
    base.notes.rename(base.notes.with_name("elsewhere"))
    (other / "c.md").write_text("# c\n\ncword\n", encoding="utf-8")
    report = base.update()
    assert len(report.problems) == 1
    assert base.find("aword") == ["notes/a.md"]
    assert base.find("cword") == ["other/c.md"]


def test_an_unreadable_folder_and_file_keep_their_chunks(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What cannot be read has not been deleted, and the report names it."""
    base.write("locked/l.md", "# l\n\nlockedword\n")
    base.write("open/o.md", "# o\n\nopenword\n")
    single = base.write("open/single.md", "# s\n\nsingleword\n")
    base.full()
    base.write("open/o.md", "# o\n\nfreshword\n")
    os.utime(single)
    real_scandir, real_open = os.scandir, os.open

    def scandir(path: str | bytes | int) -> object:
        if not isinstance(path, int) and os.fsencode(path).endswith(b"locked"):
            raise PermissionError(13, "Permission denied")
        return real_scandir(path)

    def open_(path: str | bytes, *args: int, **options: int) -> int:
        if os.fsencode(path).endswith(b"single.md"):
            raise PermissionError(13, "Permission denied")
        return real_open(path, *args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(os, "open", open_)
    report = base.update()
    monkeypatch.undo()
    assert len(report.problems) == 1
    assert [skip.path for skip in report.skipped] == ["notes/open/single.md"]
    assert base.find("lockedword") == ["locked/l.md"]
    assert base.find("singleword") == ["open/single.md"]
    assert base.find("freshword") == ["open/o.md"]


@pytest.mark.usefixtures("fine_clock")
def test_a_file_that_cannot_be_used_is_named_at_every_run_but_read_once(base: Base) -> None:
    """Skipping is never silent, and never costs a reading twice."""
    (base.notes / "image.md").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    base.write("a.md", "# a\n\naword\n")
    _age(base.notes / "image.md", base.notes / "a.md")
    first = base.full()
    second = base.update()
    assert [skip.path for skip in first.skipped] == ["notes/image.md"]
    assert first.skipped == second.skipped
    assert second.generation == first.generation


def test_exclusions_are_remembered_and_what_they_touch_is_looked_at_again(base: Base) -> None:
    """Options belong to the root, not to one run."""
    base.write("keep.md", "# k\n\nkeepword\n")
    base.write("drafts/d.md", "# d\n\ndraftword\n")
    base.full(exclude=("drafts/",))
    assert base.find("draftword") == []
    base.update()
    assert base.find("draftword") == []
    base.update(exclude=())
    assert base.find("draftword") == ["drafts/d.md"]
    base.write(".gitignore", "keep.md\n")
    base.update()
    assert base.find("keepword") == []


def test_a_changed_default_scope_reaches_files_without_one_and_embeds_nothing(base: Base) -> None:
    """A scope is no part of the embedded text."""
    base.write("a.md", "# a\n\naword\n")
    base.write("b.md", "---\nscope: ops\n---\n# b\n\nbword\n")
    base.full(scope="dev")
    assert base.snapshot().manifest.scopes == {"dev": 1, "ops": 1}
    base.embedder.embedded.clear()
    base.update(scope="research")
    assert base.snapshot().manifest.scopes == {"research": 1, "ops": 1}
    assert base.embedder.embedded == []
    base.update()
    assert base.snapshot().manifest.scopes == {"research": 1, "ops": 1}


def test_ids_and_vectors_stay_while_lines_move(base: Base) -> None:
    """Text put in above changes where a passage stands, not what it is."""
    base.write("a.md", "# A\n\n## One\n\nfirst text\n\n## Two\n\nsecond text\n")
    base.full()
    before = {record.chunk_id: record for record in base.snapshot().vectors.records()}
    base.embedder.embedded.clear()
    base.write(
        "a.md", "# A\n\n## Zero\n\nnew text\n\n## One\n\nfirst text\n\n## Two\n\nsecond text\n"
    )
    base.update()
    after = {record.chunk_id: record for record in base.snapshot().vectors.records()}
    two = next(record for record in before.values() if "second" in record.text)
    assert after[two.chunk_id].line_start == two.line_start + 4
    assert not any("second text" in text for text in base.embedder.embedded)


def test_full_embeds_nothing_that_is_known(base: Base) -> None:
    """--full builds from scratch, and still reuses vectors by hash."""
    base.write("a.md", "# A\n\nheronword\n")
    base.full()
    rows = base.rows()
    base.embedder.embedded.clear()
    report = base.full()
    assert base.embedder.embedded == []
    assert (report.embedded, report.reused) == (0, 1)
    assert (report.added, report.changed, report.unchanged) == (0, 0, 1)
    assert base.rows() == rows


def test_update_without_an_index_or_a_folder_says_there_is_none(base: Base) -> None:
    """Exit 3, and no folder is made for nothing."""
    with pytest.raises(NoIndexError):
        base.update()
    assert not base.folder.exists()


def test_a_folder_that_does_not_exist_is_a_usage_error(base: Base) -> None:
    """A typing error must not look like a folder without notes."""
    with pytest.raises(UsageError, match="does not exist"):
        base.full(base.notes / "nothing")


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["write", "append", "delete", "rename", "touch", "front", "empty", "swap"]),
        st.integers(0, 5),
        st.integers(0, 5),
        st.sampled_from(["red", "green", "蓝色的鸟", "数据库连接池", "x" * 300]),
    ),
    min_size=1,
    max_size=8,
)


def _edit(notes: Path, edit: tuple[str, int, int, str]) -> None:
    kind, first, second, word = edit
    names = ["a.md", "b.md", "sub/c.md", "sub/d.md", "e.markdown", "sub/deep/f.md"]
    path, other = notes / names[first], notes / names[second]
    path.parent.mkdir(parents=True, exist_ok=True)
    other.parent.mkdir(parents=True, exist_ok=True)
    if kind == "write" or not path.exists():
        path.write_text(f"# T{second}\n\n{word}\n\n## Same\n\nequal text\n", encoding="utf-8")
    elif kind == "append":
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n## More\n\n{word} again\n")
    elif kind == "delete":
        path.unlink()
    elif kind == "rename":
        path.rename(other)
    elif kind == "touch":
        os.utime(path)
    elif kind == "front":
        body = path.read_text(encoding="utf-8").split("+++\n")[-1]
        path.write_text(f'+++\nscope = "s{second}"\n+++\n{body}', encoding="utf-8")
    elif kind == "empty":
        path.write_text("", encoding="utf-8")
    elif kind == "swap":
        path.unlink()
        path.mkdir()
        (path / "inside.md").write_text(f"# In\n\n{word}\n", encoding="utf-8")
        (path / "inside.md").rename(notes / "moved.md")
        path.rmdir()


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(runs=st.lists(EDITS, min_size=1, max_size=3))
def test_any_edits_end_in_the_state_that_full_would_make(
    runs: list[list[tuple[str, int, int, str]]],
    tmp_path_factory: pytest.TempPathFactory,
    make_base: Callable[[str, Path], Base],
) -> None:
    """Rows and hit sets of every mode equal those of an index built from nothing."""
    root = tmp_path_factory.mktemp("edits")
    notes = root / "notes"
    notes.mkdir()
    updated = make_base(str(root / "updated"), notes)
    fresh = make_base(str(root / "fresh"), notes)
    updated.full()
    for edits in runs:
        for edit in edits:
            _edit(notes, edit)
        updated.update()
    fresh.full()
    assert updated.rows() == fresh.rows()
    for mode in ("fts", "vector", "hybrid"):
        for query in ("red", "蓝色的鸟", "equal text", "again"):
            assert set(updated.find(query, mode)) == set(fresh.find(query, mode))
