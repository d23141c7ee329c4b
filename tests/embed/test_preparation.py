"""What the model sees of a text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rag_engine.embed.preparation import TEXT_PREPARATION, prepare


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("LanceDB API", "lancedb api"),
        ("  one\r\n\ttwo\u3000three\u00a0 ", "one two three"),
        ("", ""),
        (" \n ", ""),
        ("中文 Vue 组件", "中文 vue 组件"),
        ("İ", "i\u0307"),
        ("cut\ud83d off", "cut\ufffd off"),
        ("🙂", "🙂"),
    ],
)
def test_text_is_lower_cased_and_its_white_space_folded(text: str, prepared: str) -> None:
    """The model's vocabulary has no capitals, and layout says nothing to it."""
    assert prepare(text) == prepared


def test_the_version_is_pinned() -> None:
    """Vectors of an index stay comparable only while it is unchanged: raise it knowingly."""
    assert TEXT_PREPARATION == 1


@given(st.text(st.characters(exclude_categories=())))
def test_preparing_twice_changes_nothing_and_the_result_is_utf_8(text: str) -> None:
    """Whoever prepares first, the vector is the same; tokenizers refuse what is no UTF-8."""
    once = prepare(text)
    assert prepare(once) == once
    once.encode()
