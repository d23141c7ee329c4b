"""Searching the full text: what is found, in which order, with which scores."""

from __future__ import annotations

import random
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rag_engine.store.analysis import analyze
from rag_engine.store.filters import Filters
from rag_engine.store.fulltext import GRAMS, WORDS, FullTextReader
from store.samples import chunk_id, find, record, scores, write_fulltext

DOC = """fish days: see https://wiki.example.invalid/a_b?x=1

waldo said "hello" (twice) and 36" wide

ADR-016 decides retry; userStore.ts calls getUserById and parse_json_file

C:\\temp\\new

run git commit --amend -m msg with v1.0.21 of the .NET and C++ parts"""
DECOY = "ADR 999 decides nothing; retry banana, and not again"

PLAIN_QUERIES = [
    "ADR-016", "adr-016", "--amend", 'wide 36"', "fish days:", "body:fish", "C:\\temp\\new",
    "https://wiki.example.invalid/a_b?x=1", "wiki.example.invalid", 'who is "waldo"?', "(twice)",
    "v1.0.21", "1.0.21", "userStore", "userstore.ts", "get_user_by_id user", "parse_json_file",
    "json", ".NET", "C++", "fish\nwaldo", "fish\x00waldo", "fish~", "+fish", "fish^2", "{fish}",
    "ｆｉｓｈ", "FISH", "fish OR", "temp", "nosuchfield:fish", "/fish/", "[fish TO waldo]",
]  # fmt: skip

EMPTY_QUERIES = ['"', "(", "*", "?", ">>>", "\\", "。，！", "\u3000", "^", "\x00", "😀"]

CJK = {
    1: "我家的猫喜欢晒太阳。",
    2: "邻居的狗喜欢跑步。",
    3: "重跑gen-itgc后50条悬空引用清零，使用Node.js与K8s部署",
    4: "东边有海，西京很远",
    5: "东京都的人口",
    6: "型号ＡＢＣ１２３已停产，电压㎏单位",
    7: "ﾃﾞｰﾀﾍﾞｰｽとデータ",
    8: "오늘 끝말잇기 게임을 했다",
    9: "𠮷野家与㐀字",
    10: "本季營收成長，資料庫升級",
}
FIRST = [
    ("猫", 1), ("狗", 2), ("gen", 3), ("itgc", 3), ("gen-itgc", 3), ("Node.js", 3), ("nodejs", 3),
    ("k8s", 3), ("悬空", 3), ("空引", 3), ("东京", 5), ("ABC123", 6), ("ａｂｃ１２３", 6),
    ("kg", 6), ("データベース", 7), ("ﾃﾞｰﾀ", 7), ("끝말잇기", 8), ("𠮷", 9), ("㐀", 9), ("營收", 10),
]  # fmt: skip


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> FullTextReader:
    """Return a note full of signs (1), and one that differs in what the signs say (2)."""
    return write_fulltext(tmp_path_factory.mktemp("english"), [record(1, DOC), record(2, DECOY)])


@pytest.fixture(scope="module")
def chinese(tmp_path_factory: pytest.TempPathFactory) -> FullTextReader:
    """Return short notes in Chinese, Japanese and Korean."""
    records = [record(number, text) for number, text in CJK.items()]
    return write_fulltext(tmp_path_factory.mktemp("chinese"), records)


@pytest.mark.parametrize("query", PLAIN_QUERIES)
def test_queries_are_text_whatever_signs_they_hold(english: FullTextReader, query: str) -> None:
    """An agent pastes flags, paths and code; the note that holds them comes first."""
    assert find(english, query)[0] == 1


@pytest.mark.parametrize("query", ["-retry", "NOT retry", "retry AND banana", "retry -banana"])
def test_nothing_in_a_query_excludes(english: FullTextReader, query: str) -> None:
    """`-retry` and `NOT retry` ask about retry; they take no note away that has it."""
    assert set(find(english, query)) == {1, 2}


def test_words_like_and_are_looked_for(english: FullTextReader) -> None:
    """A note can be about AND and OR; they are no operators."""
    assert set(find(english, "AND")) == {1, 2}
    assert find(english, "OR") == []
    assert find(english, "not") == [2]


@pytest.mark.parametrize("query", EMPTY_QUERIES)
def test_queries_without_words_find_nothing(english: FullTextReader, query: str) -> None:
    """No error, and no arbitrary notes either."""
    assert find(english, query) == []


@pytest.mark.parametrize(
    "query", ["x" * 5000, "fish " * 3000, " ".join(f"w{n}" for n in range(3000)) + " fish"]
)
def test_long_queries_are_answered(english: FullTextReader, query: str) -> None:
    """A pasted log has thousands of words; only so many distinct ones are searched by."""
    assert find(english, query) in ([], [1])


def test_lone_characters_of_a_long_query_are_bounded(chinese: FullTextReader) -> None:
    """A table of single characters must not become ten thousand clauses without end."""
    assert 1 in find(chinese, "猫 " + " ".join(map(chr, range(0x4E00, 0x4E00 + 8000))))


@pytest.mark.parametrize(("query", "number"), FIRST)
def test_cjk_and_what_is_mixed_into_it_is_found(
    chinese: FullTextReader, query: str, number: int
) -> None:
    """Without help of the vectors: full text has to be able to do it alone."""
    assert find(chinese, query)[0] == number


@pytest.mark.parametrize(("query", "number"), FIRST)
def test_cjk_is_found_by_pairs_alone(chinese: FullTextReader, query: str, number: int) -> None:
    """In mode hybrid pairs are a list of their own; they must not need the dictionary."""
    assert find(chinese, query, kinds=(GRAMS,))[0] == number


def test_a_lone_character_finds_only_documents_that_have_it(chinese: FullTextReader) -> None:
    """猫 must not bring notes about dogs that share other characters."""
    assert find(chinese, "猫") == [1]
    assert set(find(chinese, "猫 狗")) == {1, 2}
    assert set(find(chinese, "京")) == {4, 5}


def test_a_frequent_character_is_no_error_and_orders(chinese: FullTextReader) -> None:
    """的 stands in several notes; scores of notes of different length differ."""
    assert {1, 2, 5} == set(find(chinese, "的"))
    assert len(set(scores(chinese, "的"))) > 1


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("deploying the service", "deployment"),
        ("it deploys", "deployed"),
        ("three retries", "retry"),
        ("index files", "indexing a file"),
    ],
)
def test_english_words_are_found_by_their_stem(folder: Path, text: str, query: str) -> None:
    """People ask with another form of the word than the note uses."""
    reader = write_fulltext(folder, [record(1, text), record(2, "something else")])
    assert find(reader, query, kinds=(WORDS,)) == [1]


def test_the_exact_form_counts_more_than_its_stem(folder: Path) -> None:
    """Words are stemmed and pairs are not; together the exact form wins."""
    reader = write_fulltext(folder, [record(1, "deploy it"), record(2, "deployed it")])
    assert find(reader, "deployed") == [2, 1]


@pytest.mark.parametrize(
    "place", [{"title": "quokka"}, {"heading_path": ("# quokka",)}, {"tags": ("quokka",)}]
)
def test_matches_in_title_and_headings_add_to_the_score(
    folder: Path, place: dict[str, object]
) -> None:
    """A section that is about the word beats one that mentions it."""
    marked = record(9, "quokka and other animals of the coast", **place)
    plain = record(1, "quokka and other animals of the coast")
    assert find(write_fulltext(folder, [plain, marked]), "quokka") == [9, 1]


@pytest.mark.parametrize(
    "place",
    [{"title": "quokka"}, {"heading_path": ("# A", "## quokka")}, {"path": "animals/quokka.md"}],
)
def test_what_stands_outside_the_body_is_found(folder: Path, place: dict[str, object]) -> None:
    """A note is often named after what it never says again in its text."""
    assert find(write_fulltext(folder, [record(1, "text", **place), record(2)]), "quokka") == [1]


def test_scores_are_shares_that_never_rise(english: FullTextReader) -> None:
    """1 would be every term in its densest; what the index lacks keeps it away from 1."""
    found = scores(english, "retry ADR decides banana")
    assert found == sorted(found, reverse=True)
    assert all(0 < score < 1 for score in found)
    assert scores(english, "banana zzyzx")[0] < scores(english, "banana")[0]


def test_only_as_many_as_wanted_are_returned(folder: Path) -> None:
    """Ties at the end are cut by id, so that two runs show the same ones."""
    shuffled = random.Random(5).sample(range(60), 60)
    reader = write_fulltext(folder, [record(n, "same") for n in shuffled])
    assert find(reader, "same", limit=7) == [0, 1, 2, 3, 4, 5, 6]
    assert find(reader, "same", limit=1) == [0]


WORD_LIST = ["deploy", "retry", "数据库", "部署", "猫", "node.js", "fish", "Deploys"]
documents = st.lists(
    st.lists(st.sampled_from(WORD_LIST), min_size=1, max_size=6), min_size=1, max_size=14
)


@given(documents, st.lists(st.sampled_from(WORD_LIST), min_size=1, max_size=4), st.randoms())
@settings(deadline=None, max_examples=25)
def test_answers_do_not_depend_on_how_the_index_grew(
    texts: list[list[str]], words: list[str], rng: random.Random
) -> None:
    """The same notes, added in any order over several updates, answer as after --full."""
    records = [record(number, " ".join(text)) for number, text in enumerate(texts)]
    shuffled = rng.sample(records, len(records))
    cut = rng.randint(0, len(records))
    batches = [batch for batch in (shuffled[:cut], shuffled[cut:]) if batch]
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:
        built = write_fulltext(Path(name, "built"), records)
        grown = write_fulltext(Path(name, "grown"), *batches)
        query = analyze(" ".join(words))
        for kinds in ((WORDS, GRAMS), (WORDS,), (GRAMS,)):
            for limit in (1, 3, 100):
                expected = built.search(query, kinds, limit, Filters())
                assert grown.search(query, kinds, limit, Filters()) == expected
                assert expected == sorted(
                    expected, key=lambda hit: (-hit.score, hit.record.chunk_id)
                )
                assert all(0 <= hit.score <= 1 for hit in expected)


def test_every_word_of_the_body_finds_its_chunk(folder: Path) -> None:
    """Nothing of a text is unsearchable, down to its last word."""
    text = " ".join(f"word{number}x" for number in range(3000))
    reader = write_fulltext(folder, [record(1, text), record(2)])
    for number in (0, 1500, 2999):
        assert find(reader, f"word{number}x") == [1]


def test_records_come_back_whole(folder: Path) -> None:
    """The answer is made of what this index stores, byte for byte."""
    stored = record(
        1, "a\x00b\r\n'\"猫\u2028", title="T\t", heading_path=("# A", "## 'B'"), tags=("x", "y"),
        authors=("李",), date="2024-02-29", scope="dev", line_start=7, line_end=9,
    )  # fmt: skip
    reader = write_fulltext(folder, [stored, record(2)])
    assert reader.get([chunk_id(1), chunk_id(5), "' OR 1"]) == {chunk_id(1): stored}
    assert reader.search(analyze("猫"), (WORDS,), 1, Filters())[0].record == stored


def test_ids_and_counts_are_complete(folder: Path) -> None:
    """They are compared with the manifest and with the vectors."""
    reader = write_fulltext(folder, [record(2), record(1)], [record(3)])
    assert (reader.chunks, reader.chunk_ids()) == (3, [chunk_id(n) for n in (1, 2, 3)])
    empty = write_fulltext(folder / "empty", [])
    assert (empty.chunks, empty.chunk_ids(), find(empty, "猫 fish")) == (0, [], [])
