"""What is embedded in front of a chunk."""

from __future__ import annotations

from fakes import count_tokens
from rag_engine.corpus.prefix import Prefixes


def prefixes(title: str, limit: int = 127) -> Prefixes:
    """Make prefixes with the real tokenizer."""
    return Prefixes(title, limit, count_tokens)


def test_a_prefix_is_title_and_headings_without_their_marks() -> None:
    """One line each; the marks would cost a token each and say nothing."""
    assert prefixes("标题").of(("# One", "### Two")).text == "标题\nOne\nTwo"


def test_a_title_that_a_heading_repeats_is_said_once() -> None:
    """Mostly the title is the first heading."""
    made = prefixes("Guide")
    assert made.of(("# guide", "## Two")).text == "guide\nTwo"
    assert made.of((), own=("# Guide",)).text == ""
    assert made.of((), own=("# Other",)).text == "Guide"


def test_empty_headings_leave_no_empty_lines() -> None:
    """They have nothing to say."""
    assert prefixes("T").of(("#", "## Two")).text == "T\nTwo"


def test_a_long_prefix_keeps_the_titles_beginning_and_the_nearest_headings() -> None:
    """It never takes more than its share."""
    headings = tuple(f"{'#' * n} " + f"level{n} word " * 30 for n in range(1, 7))
    made = prefixes("开头标题" * 50).of(headings)
    lines = made.text.split("\n")
    assert lines[0].startswith("开头标题")
    assert lines[-1].startswith("level6 word")
    assert count_tokens([made.text])[0] == made.tokens <= 127
    assert "level1" not in made.text


def test_a_heading_of_one_endless_word_is_cut_by_characters() -> None:
    """It is one unknown token to the model."""
    assert len(prefixes("t").of(("# " + "x" * 5000,)).text) < 500


def test_a_tiny_limit_leaves_nothing() -> None:
    """Rather than text that does not fit."""
    assert prefixes("标题标题", limit=0).of(("# 标题",)).text == ""
