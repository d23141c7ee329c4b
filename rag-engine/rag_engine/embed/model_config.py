"""What a model's own JSON files say: the length of its window, how its vectors are pooled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rag_engine.embed.pooling import PoolingMode
from rag_engine.errors import ModelUnavailableError

DEFAULT_WINDOW = 512
_LARGEST_WINDOW = 1_000_000  # tokenizer files write 10**30 for "no limit"
_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet")
_PLAIN_MODULES = ("Transformer", "Pooling", "Normalize")
_USE_SENTENCE_TRANSFORMERS = "Run it with --embedder sentence-transformers."


def window_of(folder: Path) -> int:
    """Return how many tokens the model takes at once, special tokens included.

    The least of what the folder's files say, as sentence-transformers takes it;
    `DEFAULT_WINDOW` where they say nothing.
    """
    config = _read(folder / "config.json")
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and config.get("model_type") in _OFFSET_POSITIONS:
        # These count positions from pad_token_id + 1, and the table holds that offset too.
        positions -= int(config.get("pad_token_id") or 0) + 1
    said = (
        _read(folder / "sentence_bert_config.json").get("max_seq_length"),
        _read(folder / "tokenizer_config.json").get("model_max_length"),
        positions,
    )
    windows = [n for n in said if isinstance(n, int) and 0 < n < _LARGEST_WINDOW]
    return min(windows, default=DEFAULT_WINDOW)


def pooling_of(folder: Path) -> PoolingMode:
    """Return how the folder's model is pooled; "mean", as sentence-transformers, if unsaid.

    Raises:
        ModelUnavailableError: The model does more than pool and normalise, or pools in a way
            that only sentence-transformers knows.
    """
    modules = _read_modules(folder / "modules.json")
    for kind, _ in modules:
        if kind not in _PLAIN_MODULES:
            raise ModelUnavailableError(
                f"The model {folder} ends with a layer {kind}, which the onnx engine lacks.",
                _USE_SENTENCE_TRANSFORMERS,
            )
    place = next((path for kind, path in modules if kind == "Pooling"), "1_Pooling")
    config = _read(folder / place / "config.json")
    modes = {
        key.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for key, on in config.items()
        if key.startswith("pooling_mode_") and on is True
    }
    named = config.get("pooling_mode")
    modes.update([named] if isinstance(named, str) else named or [])
    if modes == {"cls"}:
        return "cls"
    if modes <= {"mean"}:
        return "mean"
    raise ModelUnavailableError(
        f"The model {folder} is pooled by {' + '.join(sorted(modes))}; "
        "the onnx engine knows cls and mean.",
        _USE_SENTENCE_TRANSFORMERS,
    )


def _read(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file, empty where there is no file."""
    content = _parse(path)
    return content if isinstance(content, dict) else {}


def _read_modules(path: Path) -> list[tuple[str, str]]:
    """Return kind and folder of each layer of a sentence-transformers folder."""
    content = _parse(path)
    modules = content if isinstance(content, list) else []
    return [
        (str(module.get("type", "")).rpartition(".")[2], str(module.get("path", "")))
        for module in modules
        if isinstance(module, dict)
    ]


def _parse(path: Path) -> object:
    try:
        content: object = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ModelUnavailableError(
            f"The model file {path} cannot be read: {error}.", "Get the model's files again."
        ) from error
    return content
