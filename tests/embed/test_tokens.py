"""The tokenizer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rag_engine.embed import tokens
from rag_engine.embed.tokens import Tokenizer
from rag_engine.errors import DependencyMissingError, ModelUnavailableError


def test_tokens_are_counted_without_special_ones(model_folder: Path) -> None:
    """The chunker adds up parts of a text, which have no special tokens of their own."""
    assert Tokenizer(model_folder).count(["", "你好，世界", "Hello  World", "\ud800"]) == [
        0,
        5,
        2,
        0,
    ]


def test_counting_does_not_depend_on_blocks(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Texts are tokenized a block at a time to bound memory."""
    texts = ["字" * n for n in range(10)]
    monkeypatch.setattr(tokens, "_BLOCK", 3)
    assert Tokenizer(model_folder).count(texts) == list(range(10))


def test_cutting_keeps_the_special_tokens_at_both_ends(model_folder: Path) -> None:
    """A query without its last special token is none that the model was trained on."""
    tokenizer = Tokenizer(model_folder)
    whole = tokenizer.encode(["一二三四五六"])[0].tolist()
    assert tokenizer.encode_cut("一二三四五六", 5).tolist() == [*whole[:4], whole[-1]]
    assert tokenizer.encode_cut("一二三四五六", 8).tolist() == whole


def test_cutting_and_padding_of_the_tokenizer_file_are_switched_off(
    copy_model: Callable[..., Path],
) -> None:
    """Many published tokenizers cut at 128 tokens, and pad to that."""
    import tokenizers

    folder = copy_model("model.safetensors")
    path = str(folder / "tokenizer.json")
    cutting = tokenizers.Tokenizer.from_file(path)
    cutting.enable_truncation(4)
    cutting.enable_padding(length=4)
    cutting.save(path)
    assert [len(ids) for ids in Tokenizer(folder).encode(["一", "一二三四五六"])] == [3, 8]


def test_a_missing_or_damaged_tokenizer_is_named(copy_model: Callable[..., Path]) -> None:
    """The user must know which file to get again."""
    folder = copy_model("model.safetensors", "SHA256SUMS")
    (folder / "tokenizer.json").write_text('{"version": "1.0", ', encoding="utf-8")
    with pytest.raises(ModelUnavailableError, match=r"tokenizer\.json cannot be read"):
        Tokenizer(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelUnavailableError, match=r"no tokenizer\.json"):
        Tokenizer(folder)


def test_a_missing_package_is_told_with_the_way_to_install_it(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback of imports helps nobody."""
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(DependencyMissingError, match="pip install 'tokenizers"):
        Tokenizer(model_folder)
