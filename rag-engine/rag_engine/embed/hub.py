"""Models by hub name: from huggingface_hub's cache, else downloaded (package `huggingface_hub`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from rag_engine.errors import DependencyMissingError, ModelUnavailableError

OFFICIAL_HUB = "https://huggingface.co"

_WANTED = (
    "*.json",
    "*.txt",
    "*.model",
    "model*.safetensors",
    "model.onnx*",
    "onnx/model.onnx*",
)
_WANTED_OLD = "pytorch_model*.bin"
_COPY_FOLDER = "or copy the model's folder to this machine and give its path."


def hub_folder(
    name: str, is_complete: Callable[[Path], bool], *, download: bool, tried: list[str]
) -> Path:
    """Return the local folder of a hub model, downloading it if need be.

    The cache comes first and is enough if complete, so that an index keeps the revision of the
    model that it was built with and a search needs no network.

    Args:
        name: Hub name, "owner/model" or "model".
        is_complete: Whether a folder holds all that the caller needs.
        download: Whether the network may be used.
        tried: Places that were looked at before, for the error.

    Raises:
        ModelUnavailableError: It is nowhere; the error names every place tried.
        DependencyMissingError: The package huggingface_hub is not installed.
    """
    try:
        from huggingface_hub import constants
    except ImportError as error:
        raise DependencyMissingError(
            f"The model {name!r} is no local folder ({'; '.join(tried)}), and the Python package "
            "huggingface_hub, which would fetch it, is not installed.",
            f"Install it: pip install 'huggingface_hub>=0.34', {_COPY_FOLDER}",
        ) from error

    tried = [*tried, f"cache {constants.HF_HUB_CACHE}"]
    folder = _cached(name)
    if folder is not None and is_complete(folder):
        return folder
    if constants.HF_HUB_OFFLINE or not download:
        why = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else "searching never downloads"
        # A cached folder that lacks something is handed on: the engine knows to say what.
        if folder is not None:
            return folder
        raise _nowhere(name, tried, f"Nothing was downloaded, as {why}.")
    endpoint = constants.ENDPOINT.rstrip("/")
    tried.append(_described(endpoint))
    try:
        return _download(name, endpoint)
    except (OSError, ValueError) as error:  # all of the package's errors are one of these
        if folder is not None:
            return folder
        raise _nowhere(name, tried, f"The hub's answer: {_short(error)}.") from error


def _cached(name: str) -> Path | None:
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        return None
    return Path(found).parent if isinstance(found, str) else None


def _download(name: str, endpoint: str) -> Path:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.utils import disable_progress_bars, logging

    logging.set_verbosity_error()  # no advice about tokens between the lines of a transcript
    if not sys.stderr.isatty():
        disable_progress_bars()
    # A mirror is somebody else's machine: it never sees the user's token.
    token = None if endpoint == OFFICIAL_HUB else False
    files = HfApi(endpoint=endpoint, token=token).list_repo_files(name)
    # The older format of the same weights only where there is no newer one.
    old = not any(file.endswith(".safetensors") and "/" not in file for file in files)
    patterns = [*_WANTED, *([_WANTED_OLD] if old else [])]
    return Path(snapshot_download(name, endpoint=endpoint, token=token, allow_patterns=patterns))


def _described(endpoint: str) -> str:
    if os.environ.get("HF_ENDPOINT"):
        return f"hub {endpoint} (from HF_ENDPOINT)"
    return f"hub {endpoint}"


def _short(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:300].rstrip(".")


def _nowhere(name: str, tried: list[str], why: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The model {name!r} was not found. Tried: {'; '.join(tried)}. {why}",
        "Check the name; behind a firewall set HF_ENDPOINT to a mirror that you trust, "
        f"fetch it once with knowledge_index.py where there is a network, {_COPY_FOLDER}",
    )
