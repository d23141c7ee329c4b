"""Configuration files that somebody broke: told as usage errors, or passed over where not ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from rag_engine.config import load_settings
from rag_engine.errors import UsageError
from rag_engine.index.request import ScopeRule
from rag_engine.index.scopes import ScopeRules


@pytest.fixture
def config(home: Path) -> Path:
    """Return where config.toml is looked for."""
    path = home / ".config" / "knowledge-search" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.mark.parametrize(
    "text",
    [
        "[fusion]\ndepth = 1000000000000",
        "[fusion]\nk = 1e300",
        "[fusion]\nfloor = 1e300",
        "[fusion.weights]\nvector = 1.7e308\nwords = 1.7e308",
        "[index]\nmax_file_kib = 9999999999",
        "[index]\nmax_file_kib = 99999999999999999999",
        "a = " + "[" * 100_000,
    ],
)
def test_numbers_and_nesting_beyond_reason_are_usage_errors(config: Path, text: str) -> None:
    """Libraries below would run out of memory, or answer with NaN."""
    config.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"config\.toml"):
        load_settings({})


def test_a_byte_order_mark_is_no_mistake(config: Path) -> None:
    """Some editors write one."""
    config.write_text("[search]\ntop = 3\n", encoding="utf-8-sig")
    assert load_settings({}).top == 3


def test_the_first_systems_file_is_passed_over_however_deep_it_is(home: Path) -> None:
    """It is not ours to complain about, and not ours to die of."""
    path = home / ".ai-memory" / "config.json"
    path.parent.mkdir()
    path.write_text("[" * 100_000, encoding="utf-8")
    assert load_settings({}).db_path == home / ".lancedb" / "knowledge"


@pytest.mark.parametrize("path", ["\udcff", "a\0b", "\ud800"])
def test_a_place_that_is_no_text_is_refused(path: str) -> None:
    """From a flag, the environment or a file."""
    with pytest.raises(UsageError, match="UTF-8"):
        load_settings({}).index_folder(db_path=path)
    with pytest.raises(UsageError, match="UTF-8"):
        load_settings({"KNOWLEDGE_DB_PATH": path}).index_folder()


@pytest.mark.parametrize("pattern", ["!", "/", "", "[", "a[[:alpha:]", "\\"])
@pytest.mark.filterwarnings("error")
def test_a_scope_of_a_pattern_that_is_none_matches_nothing(pattern: str) -> None:
    """Like a line of a .gitignore that Git does not understand."""
    rules = ScopeRules([ScopeRule(pattern, "odd"), ScopeRule("*.md", "notes")])
    assert rules.scope_of("x.md") == "notes"
