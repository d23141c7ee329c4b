"""Fusion of ranked lists: a pure function with properties."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rag_engine.search.fusion import Fused, FusionSettings, Ranked, fuse

SCALED = FusionSettings()
PLAIN = FusionSettings(method="plain")
NAMES = ("vector", "words", "grams")
Lists = dict[str, list[Ranked]]


def ranked(**scores: float) -> list[Ranked]:
    """Return hits by falling score, ties by id."""
    hits = [Ranked(name, score) for name, score in scores.items()]
    return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))


def score_of(fused: list[Fused], chunk_id: str) -> float:
    """Return the fused score of a chunk, 0 where it is not found."""
    return next((hit.score for hit in fused if hit.chunk_id == chunk_id), 0.0)


one_list = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 1), max_size=8).map(
    lambda scores: ranked(**scores)
)
all_lists = st.fixed_dictionaries(dict.fromkeys(NAMES, one_list))
any_settings = st.builds(
    FusionSettings,
    method=st.sampled_from(["scaled", "plain"]),
    k=st.floats(0.5, 100),
    plain_k=st.floats(0.5, 100),
    floor=st.floats(0.01, 2),
    depth=st.integers(1, 60),
    weights=st.fixed_dictionaries(dict.fromkeys(NAMES, st.floats(0, 3))),
)


@given(all_lists, any_settings)
@settings(deadline=None, max_examples=200)
def test_everything_found_is_fused_once_with_a_score_between_0_and_1(
    lists: Lists, chosen: FusionSettings
) -> None:
    """Whatever the constants: no hit is lost, doubled, or out of the promised range."""
    fused = fuse(lists, chosen)
    assert sorted(hit.chunk_id for hit in fused) == sorted(
        {hit.chunk_id for hits in lists.values() for hit in hits}
    )
    assert all(0 <= hit.score <= 1 for hit in fused)
    assert fused == sorted(fused, key=lambda hit: (-hit.score, hit.chunk_id))
    for hit in fused:
        for name, rank in hit.ranks.items():
            assert lists[name][rank - 1].chunk_id == hit.chunk_id


@given(all_lists, any_settings, st.permutations(NAMES))
@settings(deadline=None, max_examples=100)
def test_the_order_of_the_lists_does_not_matter(
    lists: Lists, chosen: FusionSettings, order: list[str]
) -> None:
    """Which retriever answered first is chance."""
    expected = {hit.chunk_id: hit for hit in fuse(lists, chosen)}
    for hit in fuse({name: lists[name] for name in order}, chosen):
        assert hit.score == pytest.approx(expected[hit.chunk_id].score)
        assert hit.ranks == expected[hit.chunk_id].ranks


@given(all_lists, any_settings, st.sampled_from(NAMES), st.data())
@settings(deadline=None, max_examples=200)
def test_a_better_score_in_a_list_never_scores_lower(
    lists: Lists, chosen: FusionSettings, name: str, data: st.DataObject
) -> None:
    """And with it a better rank: a retriever that likes a hit more cannot harm it."""
    chosen = replace(chosen, depth=60)
    before = {hit.chunk_id: hit.score for hit in lists[name]}
    chunk_id = data.draw(st.sampled_from("abcdefgh"))
    raised = data.draw(st.floats(before.get(chunk_id, -1), 1))
    better = {**lists, name: ranked(**{**before, chunk_id: raised})}
    assert (
        score_of(fuse(better, chosen), chunk_id) >= score_of(fuse(lists, chosen), chunk_id) - 1e-9
    )


@given(all_lists, st.sampled_from([SCALED, PLAIN]))
@settings(deadline=None, max_examples=100)
def test_only_the_first_of_every_list_scores_1(lists: Lists, chosen: FusionSettings) -> None:
    """1 means that all retrievers agree on the best; a missing list keeps it away."""
    for hit in fuse(lists, chosen):
        everywhere = hit.ranks == dict.fromkeys(NAMES, 1)
        assert (hit.score == pytest.approx(1.0)) == everywhere


def test_the_formula_is_the_one_that_was_measured() -> None:
    """Weight x (n + floor) / (k + rank), over the sum of the greatest: by hand."""
    lists = {
        "vector": ranked(a=0.9, b=0.8, c=0.4),
        "words": ranked(b=0.5, a=0.1),
        "grams": ranked(a=0.3),
    }
    greatest = (1.5 + 1 + 1) * 1.2 / 21
    expected = {
        "a": (1.5 * 1.2 / 21 + 0.2 / 22 + 1.2 / 21) / greatest,
        "b": (1.5 * (0.8 + 0.2) / 22 + 1.2 / 21) / greatest,
        "c": (1.5 * 0.2 / 23) / greatest,
    }
    found = {hit.chunk_id: hit.score for hit in fuse(lists, SCALED)}
    assert found == pytest.approx(expected)


def test_plain_rrf_knows_ranks_alone() -> None:
    """It is there to compare with: scores, however far apart, do not count."""
    near = {"vector": ranked(a=0.9, b=0.899), "words": ranked(b=0.9, a=0.1), "grams": []}
    far = {"vector": ranked(a=0.9, b=0.1), "words": ranked(b=0.9, a=0.8), "grams": []}
    assert fuse(near, PLAIN) == fuse(far, PLAIN)
    greatest = (1.5 + 1 + 1) / 11
    assert score_of(fuse(near, PLAIN), "a") == pytest.approx((1.5 / 11 + 1 / 12) / greatest)


def test_a_lead_by_a_mile_counts_more_than_one_by_a_hair() -> None:
    """That is what scaled fusion is for, and plain RRF cannot see."""
    lists = {"vector": ranked(a=0.9, b=0.1), "words": ranked(b=0.51, a=0.5, c=0.0), "grams": []}
    equal = replace(SCALED, weights={})
    assert [hit.chunk_id for hit in fuse(lists, equal)] == ["a", "b", "c"]


def test_scores_are_scaled_within_the_depth() -> None:
    """What lies deeper has no scaled part, and is not below the floor either."""
    lists = {"vector": ranked(a=1.0, b=0.5, c=0.25, d=0.0)}
    fused = fuse(lists, replace(SCALED, depth=2, floor=0.2))
    assert score_of(fused, "b") == pytest.approx(0.2 / 22 / (1.2 / 21))
    assert score_of(fused, "c") == pytest.approx(0.2 / 23 / (1.2 / 21))


def test_equal_scores_all_count_full() -> None:
    """A list of one, or of equals, must not be worth less than a spread one."""
    assert score_of(fuse({"words": ranked(a=0.3)}, SCALED), "a") == pytest.approx(1.0)
    fused = fuse({"words": ranked(a=0.3, b=0.3)}, SCALED)
    assert score_of(fused, "b") == pytest.approx(21 / 22)


def test_ties_are_broken_by_id() -> None:
    """Two runs give the same order."""
    lists = {"words": ranked(b=0.5, a=0.1), "grams": ranked(a=0.5, b=0.1)}
    fused = fuse(lists, SCALED)
    assert fused[0].score == fused[1].score
    assert [hit.chunk_id for hit in fused] == ["a", "b"]


@pytest.mark.parametrize("chosen", [SCALED, PLAIN])
def test_empty_lists_fuse_to_nothing(chosen: FusionSettings) -> None:
    """A query without words has no text hits; the vectors then stand alone."""
    assert fuse({}, chosen) == []
    assert fuse({"vector": [], "words": []}, chosen) == []
    alone = fuse({"vector": ranked(a=0.9, b=0.1), "words": [], "grams": []}, chosen)
    assert [hit.chunk_id for hit in alone] == ["a", "b"]


def test_lists_of_no_weight_are_no_division_by_zero() -> None:
    """A configuration may switch a list off, even the only one that found something."""
    fused = fuse({"words": ranked(a=0.9)}, replace(SCALED, weights={"words": 0.0}))
    assert fused == [Fused("a", 0.0, {"words": 1})]
