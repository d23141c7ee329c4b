"""Checks of what a search prints: strict JSON, of the published schema, that agrees with itself."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

SCHEMA = (
    Path(__file__).resolve().parent.parent / "skills/knowledge-search/references/schema-1.0.json"
)


@cache
def load_schema() -> dict[str, Any]:
    """Return the published schema, checked against its own meta-schema."""
    schema: dict[str, Any] = parse_strictly(SCHEMA.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return schema


def check_answer(text: str) -> dict[str, Any]:
    """Return the answer in `text`; fail if it is not one that keeps the contract.

    Beyond the schema: ids are unique, scores have at most 6 decimals and never rise, a line range
    does not run backwards, and there are not more results than the total.
    """
    answer = _check(text, "answer")
    results = answer["results"]
    ids = [result["chunk_id"] for result in results]
    assert len(set(ids)) == len(ids), f"a chunk_id appears twice: {ids}"
    scores = [result["score"] for result in results]
    assert scores == sorted(scores, reverse=True), f"scores rise down the list: {scores}"
    assert scores == [round(score, 6) for score in scores], f"more than 6 decimals: {scores}"
    for result in results:
        first, last = (int(line[1:]) for line in result["line_range"].split("-"))
        assert first <= last, f"the line range runs backwards: {result['line_range']}"
    assert answer["total_results"] >= len(results), "more results than total_results says"
    return answer


def check_error(text: str) -> dict[str, Any]:
    """Return the error object in `text`; fail if it is not one that keeps the contract."""
    return _check(text, "error")


def parse_strictly(text: str) -> Any:
    """Parse JSON strictly: no NaN or Infinity, no key twice in an object, no half characters."""
    value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_duplicates)
    json.dumps(value, ensure_ascii=False).encode("utf-8")  # a lone surrogate raises here
    return value


def _check(text: str, definition: str) -> dict[str, Any]:
    value = parse_strictly(text)
    # One definition says what is wrong; the schema's oneOf only that neither of both fits.
    schema = {"$ref": f"#/$defs/{definition}", "$defs": load_schema()["$defs"]}
    faults = [
        f"{error.json_path}: {error.message}"
        for error in Draft202012Validator(schema).iter_errors(value)
    ]
    assert not faults, "\n".join(faults)
    assert Draft202012Validator(load_schema()).is_valid(value), "an answer and an error in one"
    checked: dict[str, Any] = value
    return checked


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError(f"a key appears twice: {[key for key, _ in pairs]}")
    return found
