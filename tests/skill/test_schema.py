"""The published schema accepts what the contract allows, and nothing that breaks it."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from answers import check_answer, check_error, load_schema, parse_strictly

RESULT: dict[str, Any] = {
    "chunk_id": "3fa1b2c4d5e6",
    "text": 'Zeile "1"\n数据库 🐘 \u0001',
    "score": 0.912345,
    "source_file": "db/pool.md",
    "heading_path": ["# 数据库", "### Pool #1", "##"],
    "line_range": "L45-L78",
    "metadata": {"title": "T", "scope": "dev", "tags": "a,b", "author": "", "date": "2026-03-02"},
}
ANSWER: dict[str, Any] = {
    "schema_version": "1.0",
    "query": "q",
    "mode": "hybrid",
    "preset": "default",
    "total_results": 2,
    "results": [RESULT, {**RESULT, "chunk_id": "000000000000", "score": 0}],
}
OPTIONAL = {
    "warnings": ["The model is missing."],
    "kb": "knowledge",
    "took_ms": 12.5,
    "index": {"generation": 7, "age_s": 3.5, "files_changed": 0},
    "relevance": "high",
    "omitted": 3,
}
OPTIONAL_IN_RESULT = {
    "stale": True,
    "source_path": "/home/u/db/pool.md",
    "also_in": ["copy.md"],
    "signals": {"cosine": 0.5},
}


def changed(where: str, value: Any) -> str:
    """Return the answer with one value replaced, or left out where `value` is Ellipsis."""
    answer = copy.deepcopy(ANSWER)
    *path, last = where.split(".")
    target: Any = answer
    for step in path:
        target = target[int(step)] if step.isdigit() else target[step]
    key = int(last) if last.isdigit() else last
    if value is ...:
        del target[key]
    else:
        target[key] = value
    return json.dumps(answer, ensure_ascii=False)


def test_a_plain_answer_and_a_full_one_pass() -> None:
    """Optional and unknown fields are allowed at every level."""
    assert check_answer(json.dumps(ANSWER)) == ANSWER
    assert check_answer(json.dumps({**ANSWER, "results": [], "total_results": 0}))
    full = copy.deepcopy({**ANSWER, **OPTIONAL, "new_field": {"a": None}})
    full["results"][0].update(OPTIONAL_IN_RESULT, other=1)
    full["results"][0]["metadata"]["lang"] = "zh"
    full["index"]["path"] = "/x"
    assert check_answer(json.dumps(full, ensure_ascii=False)) == full


@pytest.mark.parametrize("field", [*ANSWER, *(f"results.0.{field}" for field in RESULT)])
def test_no_required_field_may_be_missing(field: str) -> None:
    """Each field of the contract is there in every answer."""
    with pytest.raises(AssertionError, match=field.rsplit(".", 1)[-1]):
        check_answer(changed(field, ...))


@pytest.mark.parametrize("field", RESULT["metadata"])
def test_metadata_is_always_complete(field: str) -> None:
    """What a document does not say is an empty string."""
    with pytest.raises(AssertionError):
        check_answer(changed(f"results.0.metadata.{field}", ...))
    with pytest.raises(AssertionError):
        check_answer(changed(f"results.0.metadata.{field}", None))
    check_answer(changed(f"results.0.metadata.{field}", ""))


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("schema_version", "1.1"),
        ("schema_version", 1.0),
        ("query", ""),
        ("mode", "Hybrid"),
        ("preset", "none"),
        ("total_results", -1),
        ("total_results", 1),
        ("results", {}),
        ("results", None),
        ("results.0.chunk_id", "3FA1B2C4D5E6"),
        ("results.0.chunk_id", "3fa1b2c4d5e"),
        ("results.0.chunk_id", "3fa1b2c4d5e6\n"),
        ("results.0.chunk_id", "000000000000"),
        ("results.0.text", ""),
        ("results.0.score", 1.000001),
        ("results.1.score", -0.1),
        ("results.1.score", 0.95),
        ("results.0.score", 0.9123456),
        ("results.0.score", "0.9"),
        ("results.0.source_file", ""),
        ("results.0.heading_path", "# A > ## B"),
        ("results.0.heading_path", ["Title"]),
        ("results.0.heading_path", ["#Title"]),
        ("results.0.heading_path", ["####### Seven"]),
        ("results.0.heading_path", [""]),
        ("results.0.line_range", "45-78"),
        ("results.0.line_range", "L0-L3"),
        ("results.0.line_range", "L5-L4"),
        ("results.0.line_range", "L5"),
        ("results.0.metadata.tags", ["a", "b"]),
        ("results.0.metadata.date", "02.03.2026"),
        ("warnings", "text"),
        ("warnings", [""]),
        ("took_ms", -1),
        ("index", {"age_s": -1}),
        ("results.0.stale", "yes"),
    ],
)
def test_what_breaks_the_contract_is_refused(where: str, value: Any) -> None:
    """One wrong value at a time."""
    with pytest.raises(AssertionError):
        check_answer(changed(where, value))


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("results.0.heading_path", []),
        ("results.0.heading_path", ["#", "###### deep"]),
        ("results.0.score", 1),
        ("results.0.line_range", "L7-L7"),
        ("results.0.metadata.date", "2026-03-02T10:00:00+08:00"),
        ("total_results", 40),
        ("mode", "vector"),
        ("preset", "fast"),
    ],
)
def test_borders_of_the_contract_pass(where: str, value: Any) -> None:
    """The last values that are allowed."""
    check_answer(changed(where, value))


def test_errors_are_recognised() -> None:
    """With the query where the engine was reached, without it from the wrapper."""
    assert check_error('{"schema_version": "1.0", "error": "what", "query": "", "new": 1}')
    for wrong in (
        '{"error": "what"}',
        '{"schema_version": "1.0"}',
        '{"schema_version": "1.0", "error": ""}',
        '{"schema_version": "1.0", "error": {"message": "what"}}',
        '["what"]',
        json.dumps({**ANSWER, "error": "what"}),
    ):
        with pytest.raises(AssertionError):
            check_error(wrong)
    with pytest.raises(AssertionError):
        check_answer('{"schema_version": "1.0", "error": "what"}')


@pytest.mark.parametrize(
    "text",
    [
        '{"took_ms": NaN}',
        '{"took_ms": -Infinity}',
        '{"mode": "fts", "mode": "fts"}',
        '{"results": [{"a": 1, "a": 2}]}',
        '{"text": "\\ud83d"}',
        '{"a": 1} {"b": 2}',
        "{'a': 1}",
        '{"a": "\n"}',
        "",
    ],
)
def test_loose_json_is_not_json(text: str) -> None:
    """Other languages' parsers stop at these."""
    with pytest.raises(ValueError, match=r".+"):
        parse_strictly(text)


def test_every_field_of_the_contract_is_described() -> None:
    """The schema is the reference that other programs are written from."""
    definitions = load_schema()["$defs"]
    for fields in (definitions["answer"], definitions["result"], definitions["error"]):
        for name, rule in fields["properties"].items():
            assert "description" in rule or name == "schema_version", name
    assert set(definitions["answer"]["properties"]) == {*ANSWER, *OPTIONAL}
    assert set(definitions["result"]["properties"]) == {*RESULT, *OPTIONAL_IN_RESULT}
