"""Decoding: right, or replaced and named; never mojibake as silent success."""

from __future__ import annotations

import codecs
import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rag_engine.corpus.decode import NotTextError, decode

CHINESE = "# 数据库\n向量检索与全文检索，说明文档。\n"
MIXED = "# 标题 title\r\n数据 data «é» ü\n"


@pytest.mark.parametrize("text", ["", "a", "é", CHINESE, MIXED, "𠀀👩\u200d💻\n", "\x1b[1m\x0c\t"])
def test_utf_8_is_taken_as_it_is(text: str) -> None:
    """Without a word, and with its line ends."""
    result = decode(text.encode())
    assert (result.text, result.encoding, result.warning) == (text, "utf-8", "")


@pytest.mark.parametrize(
    ("mark", "encoding", "name"),
    [
        (codecs.BOM_UTF8, "utf-8", "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16"),
        (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32-be", "utf-32"),
    ],
)
@pytest.mark.parametrize("text", ["", "a", CHINESE, MIXED])
def test_a_byte_order_mark_decides_and_is_no_text(
    mark: bytes, encoding: str, name: str, text: str
) -> None:
    """A mark in a chunk would hide the first word or heading from search."""
    result = decode(mark + text.encode(encoding))
    assert (result.text, result.encoding, result.warning) == (text, name, "")
    assert decode(mark + mark + b"" if name == "utf-8-sig" else mark).text == ""


def test_an_odd_byte_at_the_end_of_utf_16_is_named() -> None:
    """A cut file is read as far as it goes."""
    result = decode(codecs.BOM_UTF16_LE + CHINESE.encode("utf-16-le")[:-1])
    assert result.text.startswith("# 数据库\n向量检索")
    assert "1 byte not valid UTF-16-LE" in result.warning
    assert "line 2" in result.warning


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["hi", "a\nb\n", CHINESE, "数据 a\n向量 b\n", "Привет мир\n"])
def test_utf_16_without_a_mark_is_recognised_by_its_nuls(encoding: str, text: str) -> None:
    """And named, since it is a guess."""
    result = decode(text.encode(encoding))
    assert (result.text, result.encoding) == (text, encoding)
    assert "no byte order mark" in result.warning


@pytest.mark.parametrize("raw", [b"a\0bc", b"foo \0bar", b"# T\nbefore\0after heron\n\0\0"])
def test_nuls_in_other_text_are_replaced_and_named(raw: bytes) -> None:
    """A raw NUL breaks readers of JSON; both sides of it stay searchable."""
    result = decode(raw)
    assert result.text == raw.decode().replace("\0", "\ufffd")
    assert "NUL character" in result.warning
    assert f"line {1 + raw[: raw.index(0)].count(10)}" in result.warning


@pytest.mark.parametrize("encoding", ["gbk", "gb2312", "gb18030"])
@pytest.mark.parametrize("text", [CHINESE, "# 数据库\n", "联通", "你好", "a “引用” 文档 b\n"])
def test_chinese_in_gb18030_is_decoded_and_named(encoding: str, text: str) -> None:
    """Small files too, and those whose bytes happen to be UTF-8 in part."""
    result = decode(text.encode(encoding))
    assert (result.text, result.encoding) == (text, "gb18030")
    assert "read as GB18030" in result.warning


def test_characters_of_four_bytes_are_decoded() -> None:
    """They are what GB18030 has over GBK."""
    text = "# 数据库\n㐀𠀀 heron\n"
    assert decode(text.encode("gb18030")).text == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("big5", "# 資料庫\n向量檢索 heron\n"),
        ("big5", "這是繁體中文的文件，說明資料庫的檢索方法 heron\n"),
        ("latin-1", "café heron\n"),
        ("latin-1", "Voilà ÄÖÜ ÀÉ «où» ÉÉ naïve heron"),
        ("cp1252", "“Smart” – it’s €5 heron"),
        ("koi8-r", "Это русский текст о базах данных heron"),
        ("cp1251", "Это русский текст о базах данных heron"),
        ("cp866", "Это русский текст о базах данных heron"),
        ("iso8859-7", "Αυτό είναι ένα ελληνικό κείμενο heron"),
        ("cp1255", "זה טקסט בעברית heron"),
        ("cp1256", "هذا نص عربي عن البيانات heron"),
        ("cp874", "นี่คือข้อความภาษาไทย heron"),
        ("euc-kr", "한국어 문서입니다. 데이터베이스 검색 heron"),
        ("euc-jp", "これは日本語の文書です。データベースの全文検索 heron"),
        ("shift-jis", "これは日本語の文書です。データベースの全文検索 heron"),
    ],
)
def test_other_encodings_are_replaced_and_named_not_taken_for_chinese(
    encoding: str, text: str
) -> None:
    """What is ASCII stays searchable; each word of it alone must not pass either."""
    for part in (text, *(word + " heron" for word in text.split())):
        raw = part.encode(encoding)
        result = decode(raw)
        assert "heron" in result.text
        if not part.isascii():
            assert result.encoding == "utf-8"
            assert "not valid UTF-8 replaced" in result.warning


@pytest.mark.parametrize("cut", range(1, 12))
def test_utf_8_cut_inside_a_character_keeps_the_rest(cut: int) -> None:
    """Whether the rest is long or a single character."""
    raw = CHINESE.encode()[: len(CHINESE.encode()) - cut]
    result = decode(raw)
    assert result.text.rstrip("\ufffd") == CHINESE[: len(result.text.rstrip("\ufffd"))]
    assert result.encoding == "utf-8"
    assert bool(result.warning) == ("\ufffd" in result.text)
    assert "heron" in decode(b"heron \xe6\x95").text


def test_a_few_bad_bytes_do_not_turn_a_text_into_another_encoding() -> None:
    """The number of bytes and the first line are named."""
    raw = CHINESE.encode() + b"\xff\xfe bad \xc3\n" + CHINESE.encode()
    result = decode(raw)
    assert result.text == raw.decode("utf-8", "replace")
    assert "3 bytes not valid UTF-8" in result.warning
    assert "line 3" in result.warning


def test_a_surrogate_in_utf_8_is_replaced() -> None:
    """It could not be written out again."""
    result = decode(b"# T\nheron \xed\xa0\xbd tail\n")
    assert "heron" in result.text
    assert "tail" in result.text
    assert "\ufffd" in result.text
    assert "3 bytes" in result.warning
    result.text.encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"\x89PNG\r\n\x1a\n" + bytes(100),
        b"\xff\xd8\xff\xe0" + bytes(range(256)),
        b"PK\x03\x04" + bytes(range(256)),
        b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + bytes(range(256)),
        b"GIF89a\x01\0\x01\0",
        b"\x7fELF\x02\x01",
        b"SQLite format 3\0",
        bytes(1000),
        bytes(range(256)) * 8,
        random.Random(0).randbytes(5000),
        codecs.BOM_UTF16_LE + random.Random(1).randbytes(5000),
        codecs.BOM_UTF16_LE + bytes(100),
    ],
)
def test_binary_data_is_refused_with_a_reason(raw: bytes) -> None:
    """It is reported by name, not indexed as rubbish."""
    with pytest.raises(NotTextError) as caught:
        decode(raw)
    assert caught.value.reason


@pytest.mark.parametrize("text", ["%PDF-1.4 is a version", "GIF89a", "RIFF raff", "PK", "BZh"])
def test_a_text_that_begins_like_a_binary_is_text(text: str) -> None:
    """Notes on file formats exist."""
    assert decode(text.encode()).text == text


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_text_or_a_reason(raw: bytes) -> None:
    """And the text is what the named encoding gives, so that citations can be checked."""
    try:
        result = decode(raw)
    except NotTextError:
        return
    assert "\0" not in result.text
    result.text.encode()
    again = raw.decode(result.encoding, "replace").lstrip("\ufeff").replace("\0", "\ufffd")
    assert result.text == again
    assert result.warning or raw.decode(result.encoding).lstrip("\ufeff") == result.text


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")))
def test_any_text_in_utf_8_comes_back(text: str) -> None:
    """Unless it is mostly control characters."""
    try:
        assert decode(text.encode()).text == text
    except NotTextError:
        assert sum(character < " " for character in text) * 4 >= len(text)


def test_half_a_megabyte_of_bad_bytes_is_quick() -> None:
    """Every bad byte costs an exception in a naive loop."""
    raw = b"a\xff\n" * 170_000
    assert "170,000 bytes" in decode(raw).warning
    with pytest.raises(NotTextError):
        decode(os.urandom(500_000))
