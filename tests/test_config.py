"""Settings: flags over environment over config.toml over the first system's file over defaults."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path
from typing import Any

import pytest
from rag_engine.config import Settings, load_settings
from rag_engine.errors import UsageError
from rag_engine.index.request import DEFAULT_MAX_BYTES, ScopeRule
from rag_engine.search.fusion import FusionSettings
from rag_engine.search.request import SearchRequest, plan_search


@pytest.fixture
def config(home: Path) -> Path:
    """Return where config.toml is looked for."""
    path = home / ".config" / "knowledge-search" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def legacy(home: Path) -> Path:
    """Return where the first system's configuration is looked for."""
    path = home / ".ai-memory" / "config.json"
    path.parent.mkdir()
    return path


def load(**environment: str) -> Settings:
    """Load the settings with this environment alone."""
    return load_settings(environment)


def test_without_any_configuration_the_defaults_hold(home: Path) -> None:
    """Nobody has to configure anything."""
    assert load() == Settings(db_path=home / ".lancedb" / "knowledge")
    assert load().max_bytes == DEFAULT_MAX_BYTES
    assert load().fusion == FusionSettings()


def test_the_folder_of_the_index_is_settled_in_order(
    home: Path, config: Path, legacy: Path
) -> None:
    """Each source beats those below it; the flags beat them all."""
    assert load().db_path == home / ".lancedb" / "knowledge"
    legacy.write_text(json.dumps({"index": {"db_path": "/legacy"}}), encoding="utf-8")
    assert load().db_path == Path("/legacy")
    config.write_text('[index]\ndb_path = "~/配置"', encoding="utf-8")
    assert load().db_path == home / "配置"
    settings = load(KNOWLEDGE_DB_PATH="/environment")
    assert settings.db_path == Path("/environment")
    assert load(KNOWLEDGE_DB_PATH="").db_path == home / "配置", "empty is not said"
    assert settings.index_folder() == Path("/environment")
    assert settings.index_folder(db_path="~/flag") == home / "flag"
    assert settings.index_folder(kb="work") == home / ".lancedb" / "work"


def test_the_mode_is_settled_in_order(config: Path, legacy: Path) -> None:
    """Flag, config.toml, the first system's file, the built-in one."""

    def mode(**asked: Any) -> str:
        settings = load()
        request = SearchRequest(query="q", **asked)
        return plan_search(request, default_mode=settings.mode, default_top=settings.top).mode

    assert mode() == "hybrid"
    legacy.write_text(json.dumps({"search": {"default_mode": "vector"}}), encoding="utf-8")
    assert mode() == "vector"
    config.write_text('[search]\nmode = "fts"', encoding="utf-8")
    assert mode() == "fts"
    assert mode(preset="qa") == "hybrid"
    assert mode(mode="vector") == "vector"


def test_the_number_of_results_is_settled_in_order(config: Path, legacy: Path) -> None:
    """Likewise."""

    def top(**asked: Any) -> int:
        settings = load()
        request = SearchRequest(query="q", **asked)
        return plan_search(request, default_mode=settings.mode, default_top=settings.top).top

    assert top() == 5
    legacy.write_text(json.dumps({"search": {"top_k": 20}}), encoding="utf-8")
    assert top() == 20
    config.write_text("[search]\ntop = 7", encoding="utf-8")
    assert top() == 7
    assert top(preset="qa") == 10
    assert top(top=1) == 1


def test_every_key_of_config_toml_is_read(config: Path) -> None:
    """The documentation names these keys."""
    config.write_text(
        """
        [index]
        exclude = ["*.tmp", "'x'"]
        max_file_kib = 64
        [[scope]]
        path = "work/**"
        scope = "dev"
        [[scope]]
        path = "家/"
        scope = "home"
        [fusion]
        method = "plain"
        k = 30
        plain_k = 60.5
        floor = 0.1
        depth = 20
        weights = { vector = 2, words = 0 }
        """,
        encoding="utf-8",
    )
    settings = load()
    assert settings.exclude == ("*.tmp", "'x'")
    assert settings.max_bytes == 64 * 1024
    assert settings.scope_rules == (ScopeRule("work/**", "dev"), ScopeRule("家/", "home"))
    weights = {"vector": 2, "words": 0, "grams": 1.0}
    assert settings.fusion == FusionSettings("plain", 30, 60.5, 0.1, 20, weights)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[index]\ndb_path = 5", r"\[index\] db_path should be a text"),
        ("[index]\nmax_file_kib = '9'", r"\[index\] max_file_kib"),
        ("[index]\nmax_file_kib = 1.5", r"\[index\] max_file_kib"),
        ("[index]\nmax_file_kib = true", r"\[index\] max_file_kib"),
        ("[index]\nmax_file_kib = 0", r"\[index\] max_file_kib"),
        ("[index]\nmax_file_kib = -1", r"\[index\] max_file_kib"),
        ("[index]\nexclude = '*.tmp'", r"\[index\] exclude should be a list"),
        ("[index]\nexclude = ['a', 5]", r"\[index\] exclude should be a list"),
        ("index = 5", "index should be a table"),
        ("search = ['x']", "search should be a table"),
        ("[search]\nmode = 'bm25'", r"\[search\] mode should be one of vector, fts, hybrid"),
        ("[search]\nmode = ''", r"\[search\] mode"),
        ("[search]\nmode = 5", r"\[search\] mode"),
        ("[search]\ntop = 0", r"\[search\] top should be a number from 1 to 100"),
        ("[search]\ntop = 101", r"\[search\] top"),
        ("[search]\ntop = '5'", r"\[search\] top"),
        ("[search]\ntop = true", r"\[search\] top"),
        ("scope = 'dev'", r"\[\[scope\]\]"),
        ("scope = 5", r"\[\[scope\]\]"),
        ("[scope]\npath = 'x'\nscope = 'y'", r"\[\[scope\]\]"),
        ("[[scope]]\npath = 'x'", r"\[\[scope\]\]"),
        ("[[scope]]\npath = 'x'\nscope = 5", r"\[\[scope\]\]"),
        ("[fusion]\nmethod = 'borda'", r"\[fusion\] method should be scaled or plain"),
        ("[fusion]\nmethod = []", r"\[fusion\] method"),
        ("[fusion]\nkk = 5", r"\[fusion\] kk should be one of"),
        ("[fusion]\nk = 0", r"\[fusion\] k should be a number above 0"),
        ("[fusion]\nk = '5'", r"\[fusion\] k"),
        ("[fusion]\nk = true", r"\[fusion\] k"),
        ("[fusion]\nk = inf", r"\[fusion\] k"),
        ("[fusion]\nplain_k = nan", r"\[fusion\] plain_k"),
        ("[fusion]\nfloor = -0.1", r"\[fusion\] floor"),
        ("[fusion]\ndepth = 1.5", r"\[fusion\] depth should be a whole number"),
        ("[fusion]\nweights = 5", r"\[fusion\] weights"),
        ("[fusion]\nweights = { titles = 1 }", r"\[fusion\] weights"),
        ("[fusion]\nweights = { vector = -1 }", r"\[fusion\] weights"),
        ("[fusion]\nweights = { vector = true }", r"\[fusion\] weights"),
        ("[fusion]\nweights = { vector = inf }", r"\[fusion\] weights"),
        ("[fusion]\nweights = { vector = 0, words = 0, grams = 0 }", r"\[fusion\] weights"),
        ("[index", "not valid TOML"),
        ("[index]\na = 1\na = 2", "not valid TOML"),
    ],
)
def test_a_wrong_value_is_named_with_its_file_and_key(config: Path, text: str, named: str) -> None:
    """Taken silently for something else, it would be searched for hours."""
    config.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=named) as error:
        load()
    assert str(config) in error.value.message


def test_a_config_that_cannot_be_read_is_named(config: Path) -> None:
    """GBK, or a folder in its place."""
    config.write_bytes("# 配置".encode("gbk"))
    with pytest.raises(UsageError, match=r"config\.toml cannot be read"):
        load()
    config.unlink()
    config.mkdir()
    with pytest.raises(UsageError, match=r"config\.toml cannot be read"):
        load()


def test_a_wrong_value_is_named_even_where_the_first_system_has_a_right_one(
    config: Path, legacy: Path
) -> None:
    """What the user wrote for us must not be passed over for what he wrote years ago."""
    legacy.write_text('{"search": {"default_mode": "fts", "top_k": 9}}', encoding="utf-8")
    config.write_text("[search]\ntop = 0", encoding="utf-8")
    with pytest.raises(UsageError, match="top"):
        load()


def test_of_the_first_system_only_four_keys_are_read(legacy: Path, home: Path) -> None:
    """Its other settings mean nothing here."""
    legacy.write_text(
        json.dumps(
            {
                "index": {"db_path": "~/old", "exclude": ["x"], "max_file_kib": 1},
                "search": {"default_mode": "fts", "top_k": 9, "mode": "vector", "top": 2},
                "l3_paths": ["~/notes", "/work", "", 5],
                "fusion": {"k": 1},
            }
        ),
        encoding="utf-8",
    )
    assert load() == Settings(
        db_path=home / "old", mode="fts", top=9, roots=(home / "notes", Path("/work"))
    )


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"5", b"null", b"\xff\xfe",
        b'{"index": [], "search": 5, "l3_paths": "x"}',
        b'{"index": {"db_path": 5}, "search": {"default_mode": "x", "top_k": "9"}}',
        b'{"index": {"db_path": ""}, "search": {"default_mode": [], "top_k": true}}',
        b'{"search": {"top_k": 0}}', b'{"search": {"top_k": 101}}', b'{"search": {"top_k": 5.5}}',
    ],
)  # fmt: skip
def test_what_is_wrong_in_the_first_systems_file_is_passed_over(
    legacy: Path, home: Path, content: bytes
) -> None:
    """The file is not ours to complain about."""
    legacy.write_bytes(content)
    assert load() == Settings(db_path=home / ".lancedb" / "knowledge")


@pytest.mark.parametrize("name", ["work", "Work-2", "a", "x.y_z", "7", "a" * 64])
def test_a_name_of_an_index_is_a_folder_beside_the_default_one(home: Path, name: str) -> None:
    """--kb NAME is ~/.lancedb/NAME, wherever the default index lies."""
    assert load(KNOWLEDGE_DB_PATH="/x").index_folder(kb=name) == home / ".lancedb" / name


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "/etc", "-x", ".x", "a b", "a\n", "数据", "a" * 65, "a\x00"],
)
def test_what_is_no_name_is_refused(name: str) -> None:
    """It becomes a path: nothing in it may lead elsewhere."""
    with pytest.raises(UsageError, match="--kb"):
        load().index_folder(kb=name)


def test_two_folders_or_an_empty_one_are_refused() -> None:
    """Which one was meant cannot be known."""
    with pytest.raises(UsageError, match="exclude each other"):
        load().index_folder(db_path="/x", kb="y")
    with pytest.raises(UsageError, match="--db-path is empty"):
        load().index_folder(db_path="")


def test_relative_folders_are_made_absolute(folder_in: Path) -> None:
    """A process may change its folder later; links stay as the user named them."""
    (folder_in / "real").mkdir()
    (folder_in / "link").symlink_to("real")
    assert load().index_folder(db_path="link/kb") == folder_in / "link" / "kb"
    assert load(KNOWLEDGE_DB_PATH="./a/../b").db_path == folder_in / "b"


@pytest.fixture
def folder_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder."""
    monkeypatch.chdir(tmp_path)
    return Path(os.getcwd())


@pytest.mark.parametrize(
    ("value", "on"), [("true", True), ("TRUE", True), ("false", False), ("1", False), ("", False)]
)
def test_the_audit_log_is_switched_on_by_the_word_true(value: str, on: bool) -> None:
    """As the contract says, and by nothing else."""
    settings = load(AUDIT_LOG=value, AUDIT_AGENT="codex")
    assert (settings.audit_log, settings.audit_agent) == (on, "codex")
    assert load().audit_log is False


def test_the_environment_of_the_process_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default; tests and servers give another one."""
    monkeypatch.setenv("KNOWLEDGE_DB_PATH", "/process")
    assert load_settings().db_path == Path("/process")


def test_without_home_the_users_own_folder_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cron and containers run without HOME."""
    monkeypatch.delenv("HOME")
    expected = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert load(KNOWLEDGE_DB_PATH="~/x").db_path == expected / "x"


def test_without_home_and_user_nothing_breaks(
    monkeypatch: pytest.MonkeyPatch, folder_in: Path
) -> None:
    """A container may run as a user id that no file knows."""

    def unknown(_: int) -> None:
        raise KeyError("uid not found")

    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    settings = load(KNOWLEDGE_DB_PATH="/x")
    assert settings.db_path == Path("/x")
    assert load().db_path.is_absolute()
