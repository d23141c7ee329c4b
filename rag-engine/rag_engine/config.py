"""Settings: flags over environment over config.toml over the first system's file over defaults.

The environment and the two files are read here and nowhere else.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast

from rag_engine.errors import UsageError
from rag_engine.index.request import DEFAULT_MAX_BYTES, ScopeRule
from rag_engine.search.fusion import FusionSettings
from rag_engine.search.request import MAX_TOP, MODES

DEFAULT_KB = "knowledge"
DEFAULT_IDLE_SECONDS = 15 * 60.0
MAX_FILE_KIB = 1024 * 1024
MAX_FUSION = 10_000
_KB_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a person configured, before any flag.

    Attributes:
        db_path: Folder of the default index.
        mode: Mode of searches without a preset; None means the built-in one.
        top: Number of results of the same; None means the built-in one.
        roots: Folders of notes for a first `--full` that names none.
        scope_rules: Scopes by path.
        exclude: Patterns to leave out of every root.
        max_bytes: Larger files are skipped.
        fusion: Constants of the fusion.
        audit_log: Whether each search leaves a line in the audit log.
        audit_agent: Who asks, for that line.
        idle_seconds: The server leaves after so long without a search.
        log_queries: Whether the server's log holds the queries.
    """

    db_path: Path
    mode: str | None = None
    top: int | None = None
    roots: tuple[Path, ...] = ()
    scope_rules: tuple[ScopeRule, ...] = ()
    exclude: tuple[str, ...] = ()
    max_bytes: int = DEFAULT_MAX_BYTES
    fusion: FusionSettings = field(default_factory=FusionSettings)
    audit_log: bool = False
    audit_agent: str = ""
    idle_seconds: float = DEFAULT_IDLE_SECONDS
    log_queries: bool = False

    def index_folder(self, *, db_path: str | None = None, kb: str | None = None) -> Path:
        """Return the folder of the index that the flags name, else of the default one.

        Raises:
            UsageError: Both are given, the name is not one, or the path is not valid UTF-8.
        """
        folder = self._index_folder(db_path, kb)
        # lancedb takes text alone, and no system a NUL
        if "\0" in str(folder) or not _is_utf_8(str(folder)):
            raise UsageError(
                f"The path of the index, {str(folder)!a}, is not valid UTF-8 text.",
                "Name another folder with --db-path.",
            )
        return folder

    def _index_folder(self, db_path: str | None, kb: str | None) -> Path:
        if db_path is not None and kb is not None:
            raise UsageError("--db-path and --kb exclude each other.", "Give one of them.")
        if db_path is not None:
            if not db_path:
                raise UsageError("--db-path is empty.", "Name the folder of the index.")
            return _absolute(db_path)
        if kb is not None:
            if not _KB_NAME.fullmatch(kb):
                raise UsageError(
                    f"--kb {kb!r} is not a name.",
                    "Use letters, digits, dots, dashes and underscores, at most 64.",
                )
            return home() / ".lancedb" / kb
        return self.db_path


def home() -> Path:
    """Return the home folder, also where HOME is not set."""
    return Path(os.path.expanduser("~"))  # noqa: PTH111 - Path.home() raises where there is none


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read environment and files.

    Args:
        environment: Stands in for the process's environment.

    Raises:
        UsageError: config.toml cannot be read or holds something else than it should.
    """
    values = os.environ if environment is None else environment
    legacy = _legacy()
    config = _config(home() / ".config" / "knowledge-search" / "config.toml")
    db_path = (
        values.get("KNOWLEDGE_DB_PATH")
        or config.get("index", "db_path", str)
        or legacy.get("db_path")
        or str(home() / ".lancedb" / DEFAULT_KB)
    )
    mode = config.get("search", "mode", str)
    if mode is not None and mode not in MODES:
        raise config.wrong("search", "mode", f"one of {', '.join(MODES)}")
    top = config.get("search", "top", int)
    if top is not None and not 1 <= top <= MAX_TOP:
        raise config.wrong("search", "top", f"a number from 1 to {MAX_TOP}")
    max_kib = config.get("index", "max_file_kib", int)
    if max_kib is not None and not 1 <= max_kib <= MAX_FILE_KIB:
        raise config.wrong("index", "max_file_kib", f"a number from 1 to {MAX_FILE_KIB}")
    idle = config.get("server", "idle_minutes", int)
    if idle is not None and idle < 1:
        raise config.wrong("server", "idle_minutes", "a number above 0")
    return Settings(
        db_path=_absolute(db_path),
        mode=legacy.get("mode") if mode is None else mode,
        top=legacy.get("top") if top is None else top,
        roots=tuple(map(_absolute, legacy.get("roots", ()))),
        scope_rules=config.scope_rules(),
        exclude=config.strings("index", "exclude"),
        max_bytes=max_kib * 1024 if max_kib else DEFAULT_MAX_BYTES,
        fusion=config.fusion(),
        audit_log=values.get("AUDIT_LOG", "").lower() == "true",
        audit_agent=os.fsencode(values.get("AUDIT_AGENT", "")).decode("utf-8", "replace"),
        idle_seconds=60.0 * idle if idle else DEFAULT_IDLE_SECONDS,
        log_queries=bool(config.get("server", "log_queries", bool)),
    )


class _Config:
    """config.toml, with each value's type checked as it is taken out."""

    def __init__(self, path: Path, data: dict[str, Any]) -> None:
        self._path = path
        self._data = data

    def wrong(self, table: str, key: str, wanted: str) -> UsageError:
        return UsageError(f"{self._path}: [{table}] {key} should be {wanted}.", "Correct the file.")

    def table(self, name: str) -> dict[str, Any]:
        value = self._data.get(name, {})
        if not isinstance(value, dict):
            raise UsageError(f"{self._path}: {name} should be a table.", "Correct the file.")
        return value

    def get(self, table: str, key: str, kind: type) -> Any:
        value = self.table(table).get(key)
        # a bool is an int to Python
        if value is None or (isinstance(value, kind) and isinstance(value, bool) == (kind is bool)):
            return value
        wanted = {str: "a text", int: "a whole number", bool: "true or false"}[kind]
        raise self.wrong(table, key, wanted)

    def strings(self, table: str, key: str) -> tuple[str, ...]:
        value = self.table(table).get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.wrong(table, key, "a list of texts")
        return tuple(value)

    def scope_rules(self) -> tuple[ScopeRule, ...]:
        rules = self._data.get("scope", [])
        try:
            pairs = [(rule["path"], rule["scope"]) for rule in rules]
        except (KeyError, TypeError):
            pairs = [(None, None)]
        if not all(isinstance(text, str) for pair in pairs for text in pair):
            raise UsageError(
                f"{self._path}: each [[scope]] needs path and scope, both texts.",
                "Correct the file.",
            )
        return tuple(ScopeRule(path, scope) for path, scope in pairs)

    def fusion(self) -> FusionSettings:
        table = self.table("fusion")
        known = {field.name for field in fields(FusionSettings)}
        if unknown := set(table) - known:
            raise self.wrong("fusion", unknown.pop(), f"one of {', '.join(sorted(known))}")
        if table.get("method", "scaled") not in ("scaled", "plain"):
            raise self.wrong("fusion", "method", "scaled or plain")
        for key in ("k", "plain_k", "floor", "depth"):
            if key in table and not (_is_number(table[key]) and 0 < table[key] <= MAX_FUSION):
                raise self.wrong("fusion", key, f"a number above 0, at most {MAX_FUSION:,}")
        if "depth" in table and not isinstance(table["depth"], int):
            raise self.wrong("fusion", "depth", "a whole number")
        defaults = dict(FusionSettings().weights)
        weights = table.get("weights", {})
        if not isinstance(weights, dict) or not set(weights) <= set(defaults):
            raise self.wrong("fusion", "weights", f"numbers for {', '.join(defaults)}")
        if not all(_is_number(weight) and 0 <= weight <= MAX_FUSION for weight in weights.values()):
            raise self.wrong("fusion", "weights", f"numbers from 0 to {MAX_FUSION:,}")
        if not any((weights := {**defaults, **weights}).values()):
            raise self.wrong("fusion", "weights", "above 0 for one list at least")
        return FusionSettings(**{**table, "weights": weights})


def _is_utf_8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _config(path: Path) -> _Config:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return _Config(path, {})
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({error}).", "Correct or remove it.") from error
    import tomllib

    try:
        return _Config(path, tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not valid TOML ({error}).", "Correct the file.") from error


def _legacy() -> dict[str, Any]:
    """Read what the first system's configuration has that still means something.

    A value of another type than it should be is passed over: the file is not ours to complain
    about.
    """
    path = home() / ".ai-memory" / "config.json"
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(data, dict):
        return {}

    def table(name: str) -> dict[str, Any]:
        value = data.get(name)
        return cast(dict[str, Any], value) if isinstance(value, dict) else {}

    found: dict[str, Any] = {}
    if isinstance(db_path := table("index").get("db_path"), str) and db_path:
        found["db_path"] = db_path
    if (mode := table("search").get("default_mode")) in MODES:
        found["mode"] = mode
    top = table("search").get("top_k")
    if isinstance(top, int) and not isinstance(top, bool) and 1 <= top <= MAX_TOP:
        found["top"] = top
    paths = data.get("l3_paths")
    if isinstance(paths, list):
        found["roots"] = [path for path in paths if isinstance(path, str) and path]
    return found


def _absolute(path: str) -> Path:
    expanded = os.path.expanduser(path)  # noqa: PTH111 - tolerates a missing home
    return Path(os.path.abspath(expanded))  # noqa: PTH100 - keeps links as the user named them
