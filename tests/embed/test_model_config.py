"""What a model's JSON files say of its window and pooling."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rag_engine.embed.model_config import DEFAULT_WINDOW, pooling_of, window_of
from rag_engine.errors import ModelUnavailableError

MakeFolder = Callable[[dict[str, bytes | str]], Path]


@pytest.mark.parametrize(
    ("files", "window"),
    [
        ({"sentence_bert_config.json": {"max_seq_length": 256}, "config.json": {}}, 256),
        (
            {
                "config.json": {"max_position_embeddings": 512},
                "tokenizer_config.json": {"model_max_length": 128},
            },
            128,
        ),
        (
            {
                "config.json": {
                    "model_type": "xlm-roberta",
                    "max_position_embeddings": 514,
                    "pad_token_id": 1,
                }
            },
            512,
        ),
        ({"tokenizer_config.json": {"model_max_length": 10**30}}, DEFAULT_WINDOW),
        ({"sentence_bert_config.json": {"max_seq_length": None}}, DEFAULT_WINDOW),
    ],
)
def test_the_window_is_the_least_that_the_files_say(
    small_folder: MakeFolder, files: dict[str, object], window: int
) -> None:
    """A text longer than the least of them would be cut by somebody."""
    folder = small_folder({name: json.dumps(content) for name, content in files.items()})
    assert window_of(folder) == window


@pytest.mark.parametrize(
    ("config", "mode"),
    [
        ({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "cls"),
        ({"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}, "mean"),
        ({"pooling_mode": "cls"}, "cls"),
        ({"embedding_dimension": 512, "pooling_mode": "mean"}, "mean"),
    ],
)
def test_pooling_is_read_in_its_old_and_its_new_spelling(
    small_folder: MakeFolder, config: dict[str, object], mode: str
) -> None:
    """sentence-transformers has written both."""
    assert pooling_of(small_folder({"1_Pooling/config.json": json.dumps(config)})) == mode


def test_pooling_is_mean_where_nothing_is_said(small_folder: MakeFolder) -> None:
    """As sentence-transformers does, so that both engines give the same vectors."""
    assert pooling_of(small_folder({"config.json": "{}"})) == "mean"


@pytest.mark.parametrize(
    "files",
    [
        {"1_Pooling/config.json": '{"pooling_mode_max_tokens": true}'},
        {"1_Pooling/config.json": '{"pooling_mode": "lasttoken"}'},
        {"modules.json": '[{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]'},
    ],
)
def test_what_the_onnx_engine_cannot_do_is_refused(
    small_folder: MakeFolder, files: dict[str, bytes | str]
) -> None:
    """Otherwise its vectors would be wrong without a word."""
    with pytest.raises(ModelUnavailableError, match="--embedder sentence-transformers"):
        pooling_of(small_folder(files))


def test_a_damaged_json_file_is_named(small_folder: MakeFolder) -> None:
    """Taking it for absent would change the vectors."""
    folder = small_folder({"1_Pooling/config.json": '{"pooling'})
    with pytest.raises(ModelUnavailableError, match=r"1_Pooling/config\.json cannot be read"):
        pooling_of(folder)
