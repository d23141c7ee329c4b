"""Text analysis: what becomes a term, and that nothing can break it."""

from __future__ import annotations

import string
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rag_engine.store.analysis import MAX_TERM_BYTES, analyze, exact_term

HAN = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF), min_size=2, max_size=12)
# "\ud800" is half a character: file names and broken JSON bring such strings into Python.
MESSY = st.text(
    st.sampled_from("aZ9猫数ｶﾞ한é\u0301𠮷😀\ud800 \u3000\t\n\x00_-./\\:@~+#&\"'()<>|=^*?%$!,;，。")
    | st.characters(),
    max_size=60,
)

IDENTIFIERS = [
    ("userStore", ["userstore", "user", "store"]),
    ("UserStore", ["userstore", "user", "store"]),
    ("HTTPServer", ["httpserver", "http", "server"]),
    ("parseHTTP2Response", ["parsehttp2response", "parse", "http2", "response"]),
    ("user_store", ["user_store", "userstore", "user", "store"]),
    ("MAX_RETRY_COUNT", ["max_retry_count", "maxretrycount", "max", "retry", "count"]),
    ("kebab-case-name", ["kebab-case-name", "kebabcasename", "kebab", "case", "name"]),
    ("C++", ["c++"]),
    ("C#", ["c#"]),
    ("F#", ["f#"]),
    (".NET", [".net", "net"]),
    ("Node.js", ["node.js", "nodejs", "node", "js"]),
    ("nodejs", ["nodejs"]),
    ("K8s", ["k8s"]),
    ("v1.0.21", ["v1.0.21", "1.0.21"]),
    ("1.0.21", ["1.0.21"]),
    ("--amend", ["--amend", "amend"]),
    ("-retry", ["-retry", "retry"]),
    ("ADR-016", ["adr-016", "adr", "016"]),
    ("src/userStore.ts", ["src/userstore.ts", "src", "userstore.ts", "userstore", "user", "ts"]),
    ("C:\\temp\\new", ["c:\\temp\\new", "temp", "new"]),
    ("https://wiki.example.invalid/a_b?x=1", ["wiki.example.invalid", "wiki", "a_b", "x"]),
    ("std::vector", ["std::vector", "std", "vector"]),
    ("li@example.com", ["li@example.com", "li", "example.com"]),
    ('36"', ["36"]),
    ("(twice)", ["twice"]),
    ("it's", ["it", "s"]),
    ("café", ["cafe"]),
    ("İstanbul", ["istanbul"]),
    ("Москва", ["москва"]),
]


@pytest.mark.parametrize(("text", "expected"), IDENTIFIERS, ids=[text for text, _ in IDENTIFIERS])
def test_identifiers_give_themselves_whole_and_their_parts(text: str, expected: list[str]) -> None:
    """People remember a part (`store`) or the exact name, and either has to find it."""
    terms = analyze(text)
    assert set(expected) <= set(terms.words)
    assert terms.grams == terms.words, "a Latin identifier is the same in both kinds"


def test_names_that_differ_by_their_signs_stay_apart() -> None:
    """Asking for C++ must not be the same as asking for C, nor C# the same as C++."""
    names = [frozenset(analyze(name).words) for name in ("C", "C++", "C#", "F#")]
    assert len(set(names)) == len(names)


def test_an_identifier_inside_chinese_is_found_as_it_is_alone() -> None:
    """Chinese text puts no blanks around names: 重跑gen-itgc后50条."""
    words = analyze("重跑gen-itgc后50条悬空引用，使用Node.js与K8s部署").words
    assert {"gen-itgc", "gen", "itgc", "node.js", "nodejs", "k8s", "50"} <= set(words)


def test_chinese_gives_words_pairs_and_characters() -> None:
    """Words rank, pairs catch what the dictionary cuts otherwise, characters find lone ones."""
    terms = analyze("东京都的人口")
    assert "人口" in terms.words
    assert terms.grams == ("东京", "京都", "都的", "的人", "人口")
    assert terms.chars == tuple("东京都的人口")
    assert terms.lone_chars == ()


@pytest.mark.parametrize(
    ("text", "grams"),
    [
        ("データベース", ("デー", "ータ", "タベ", "ベー", "ース")),
        ("끝말잇기", ("끝말", "말잇", "잇기")),
        ("𠮷野家", ("𠮷野", "野家")),
        ("㐀字", ("㐀字",)),
        ("食べ物", ("食べ", "べ物")),
    ],
)
def test_kana_hangul_and_rare_characters_give_pairs(text: str, grams: tuple[str, ...]) -> None:
    """Japanese, Korean and characters beyond the BMP are searched like Chinese."""
    assert analyze(text).grams == grams


@pytest.mark.parametrize("text", ["猫", "猫 狗", "看 猫。", "a猫b"])
def test_a_character_without_neighbours_is_known_as_lone(text: str) -> None:
    """Only then does a query look for single characters, which else would match everything."""
    terms = analyze(text)
    assert "猫" in terms.lone_chars
    assert "猫" in terms.chars


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ＡＢＣ１２３", "abc123"),
        ("ﾃﾞｰﾀﾍﾞｰｽ", "データベース"),
        ("㎏", "kg"),
        ("ﬁsh", "fish"),
        ("cafe\u0301", "CAFÉ"),
        ("１．０．２１", "1.0.21"),
        ("한글", unicodedata.normalize("NFD", "한글")),
        ("ＨＴＴＰＳｅｒｖｅｒ", "HTTPServer"),
    ],
)
def test_width_case_accents_and_composition_do_not_matter(one: str, other: str) -> None:
    """Input methods, copied PDFs and macOS file names write the same word differently."""
    assert analyze(one) == analyze(other)


@pytest.mark.parametrize(
    "text", ["", " ", "\u3000", "。，！", '"', "*", "?", "(", "\\", "^", "\x00"]
)
def test_text_without_words_gives_no_terms(text: str) -> None:
    """Such queries have an empty answer, and must not match at random."""
    terms = analyze(text)
    assert (terms.words, terms.grams, terms.chars) == ((), (), ())


def test_words_of_query_languages_are_ordinary_words() -> None:
    """A query is data: AND, NOT and a field's name are looked for like any word."""
    assert analyze("AND").words == ("and",)
    assert analyze("NOT retry").words == ("not", "retry")
    assert "fish" in analyze("body:fish").words
    assert analyze("fish\x00waldo").words == ("fish", "waldo")


@given(MESSY)
@settings(deadline=None, max_examples=300)
def test_any_text_gives_clean_bounded_terms(text: str) -> None:
    """Tantivy splits our terms at ASCII white space and drops long ones without a word."""
    terms = analyze(text)
    for term in (*terms.words, *terms.grams, *terms.chars):
        assert term
        assert not set(term) & set(string.whitespace)
        assert len(term.encode()) <= MAX_TERM_BYTES
    assert set(terms.lone_chars) <= set(terms.chars)
    assert analyze(text) == terms


@given(st.lists(MESSY, max_size=6), st.data())
@settings(deadline=None, max_examples=200)
def test_whole_words_of_a_document_find_it(words: list[str], data: st.DataObject) -> None:
    """Documents and queries go through one analysis: what is copied out of a note matches it."""
    words = [word for text in words for word in text.split()]
    start = data.draw(st.integers(0, len(words)))
    end = data.draw(st.integers(start, len(words)))
    document, query = analyze(" ".join(words)), analyze(" ".join(words[start:end]))
    assert set(query.words) <= set(document.words)
    assert set(query.grams) <= set(document.grams)
    assert set(query.lone_chars) <= set(document.chars)


@given(HAN, HAN, HAN)
@settings(deadline=None, max_examples=100)
def test_any_piece_of_chinese_text_is_found_by_its_pairs(
    before: str, piece: str, after: str
) -> None:
    """How the dictionary cuts a word depends on its neighbours; pairs do not."""
    assert set(analyze(piece).grams) <= set(analyze(before + piece + after).grams)


@pytest.mark.parametrize(
    "text", ["A" * 300, "é" * 300, "字" * 300 + "a" * 300, "/".join("a" * 200)]
)
def test_long_runs_are_bounded_and_stay_different(text: str) -> None:
    """A base64 line or a long URL keeps its exact match, under a term of bounded length."""
    terms = analyze(text).words
    assert terms
    assert all(len(term.encode()) <= MAX_TERM_BYTES for term in terms)
    assert set(terms) != set(analyze(text + "b").words)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300), st.data())
@settings(deadline=None, max_examples=150)
def test_filter_values_keep_their_differences(value: str, data: st.DataObject) -> None:
    """A filter is exact: no folding of case, width or accents, and no two values in one term."""
    other = data.draw(st.sampled_from([value + "x", value.upper(), value.lower(), f" {value}"]))
    assert (exact_term(value) == exact_term(other)) == (value == other)
    assert len(exact_term(value).encode()) <= MAX_TERM_BYTES
