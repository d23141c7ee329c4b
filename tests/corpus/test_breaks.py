"""Where a long line may be cut."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rag_engine.corpus import breaks

FAMILY = "👩\u200d👩\u200d👧\u200d👦"


def parts(text: str, borders: list[int]) -> list[str]:
    """Cut a text at borders."""
    return [text[start:end] for start, end in breaks.spans(borders, 0)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("一句。二句！三句？四", ["一句。", "二句！", "三句？", "四"]),
        ("他说：“好。”然后走了。", ["他说：“好。”", "然后走了。"]),
        ("One. Two! Three? 4", ["One. ", "Two! ", "Three? ", "4"]),
        ("v1.2.3 of e.g.this", ["v1.2.3 of e.g.this"]),
        ('He said "go." Then.', ['He said "go." ', "Then."]),
        ("a；b; c", ["a；", "b; ", "c"]),
        ("没有句号", ["没有句号"]),
    ],
)
def test_sentences_end_at_full_stops_of_both_kinds(text: str, expected: list[str]) -> None:
    """Closing quotes belong to them; a stop inside a word ends nothing."""
    assert parts(text, breaks.sentences(text)) == expected


@pytest.mark.parametrize("cluster", [FAMILY, "e\u0301\u0323", "👍🏽", "🇨🇳", "❤\ufe0f", "각", "นี่"])
@pytest.mark.parametrize("cut", [breaks.words, breaks.halves])
def test_no_character_that_a_reader_sees_is_torn(
    cluster: str, cut: Callable[[str], list[int]]
) -> None:
    """Joined emoji, combining marks, skin tones and flags."""
    for unit, times in ((cluster, 600), (cluster * 26 + "x", 25)):
        for border in cut(unit * times)[1:-1]:
            assert border % len(unit) % len(cluster) == 0


def test_a_run_without_any_border_is_cut_all_the_same() -> None:
    """A text of combining marks only must not become one chunk of any size."""
    borders = breaks.words("e" + "\u0301" * 10_000)
    assert max(end - start for start, end in breaks.spans(borders, 0)) <= 1024


@settings(max_examples=200, deadline=None)
@given(st.text("ab 。.!?数据\u0301\u200d👩🇨🇳\r\n\t\u3000", max_size=200))
@pytest.mark.parametrize("cut", [breaks.sentences, breaks.words, breaks.halves])
def test_borders_rise_from_0_to_the_end(cut: Callable[[str], list[int]], text: str) -> None:
    """So that the parts are the text."""
    borders = cut(text)
    assert borders[0] == 0
    assert borders[-1] == len(text)
    assert len(set(borders)) == len(borders)
    assert borders == sorted(borders)


@pytest.mark.parametrize("text", ["." * 300_000, '."' * 100_000, "。" * 100_000, "!? " * 100_000])
def test_long_runs_of_stops_are_cut_in_linear_time(text: str) -> None:
    """A regular expression that looks ahead from every stop would take minutes."""
    assert breaks.sentences(text)[-1] == len(text)
