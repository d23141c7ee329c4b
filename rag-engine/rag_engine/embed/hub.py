"""Models by hub name: from huggingface_hub's cache, else downloaded (package `huggingface_hub`)."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from rag_engine.embed.fingerprint import graph_of, has_weights
from rag_engine.errors import DependencyMissingError, ModelUnavailableError

OFFICIAL_HUB = "https://huggingface.co"

TIMEOUT_S = 10

_WANTED = ("*.json", "*.txt", "*.model", "model*.safetensors")
_WANTED_GRAPH = ("model.onnx*", "onnx/model.onnx*")
_WANTED_OLD = "pytorch_model*.bin"
_COPY_FOLDER = "or copy the model's folder to this machine and give its path."


def hub_folder(name: str, *, graph: bool, download: bool, tried: list[str]) -> Path:
    """Return the local folder of a hub model, downloading it if need be.

    The cache comes first and is enough if complete, so that an index keeps the revision of the
    model that it was built with and a search needs no network.

    Args:
        name: Hub name, "owner/model" or "model".
        graph: Whether the caller needs the model's ONNX graph.
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
            f"The model {name!r} is not on this machine ({'; '.join(tried)}), and the Python "
            "package huggingface_hub, which would fetch it, is not installed.",
            f"Install it: pip install huggingface_hub, {_COPY_FOLDER}",
        ) from error

    wanted = [*_WANTED, *(_WANTED_GRAPH if graph else ())]
    folder, lacks = _cached(name, wanted)
    if folder is not None and not lacks and has_weights(folder):
        if graph_of(folder) is not None or not graph:
            return folder
        lacks = "it has no ONNX graph"
    tried = [*tried, f"cache {constants.HF_HUB_CACHE} ({lacks or 'not there'})"]
    if constants.HF_HUB_OFFLINE or not download:
        why = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else "a search never downloads"
        raise _nowhere(name, tried, f"Nothing was downloaded, as {why}.")
    endpoint = constants.ENDPOINT.rstrip("/")
    tried.append(f"hub {endpoint}{' (HF_ENDPOINT)' if os.environ.get('HF_ENDPOINT') else ''}")
    try:
        return _download(name, endpoint, wanted)
    except Exception as error:  # its errors and those of its HTTP client have no common base
        raise _nowhere(name, tried, f"The hub's answer: {_first_line(error)}") from error


def _cached(name: str, wanted: list[str]) -> tuple[Path | None, str]:
    """Return the cached folder, and what is known to lack of it after a broken download."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import IncompleteSnapshotError

    try:
        return Path(snapshot_download(name, local_files_only=True, allow_patterns=wanted)), ""
    except IncompleteSnapshotError:
        return None, "only a part of it"
    except (OSError, ValueError):  # not there, or no name that the hub allows
        return None, ""


def _download(name: str, endpoint: str, wanted: list[str]) -> Path:
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.utils.tqdm import disable_progress_bars

    # Its advice on stderr (get a token, install this) is not about anything the user asked,
    # and its bars would flood an agent's transcript.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    if not sys.stderr.isatty():
        disable_progress_bars()
    # A mirror is somebody else's machine: it never sees the user's token.
    token = None if endpoint == OFFICIAL_HUB else False
    # Asked by the one call that gives up at once: the others retry for 20 seconds.
    files = HfApi(endpoint=endpoint, token=token).model_info(name, timeout=TIMEOUT_S).siblings
    # The older format of the same weights only where there is no newer one.
    if not any(file.rfilename.endswith(".safetensors") for file in files or ()):
        wanted = [*wanted, _WANTED_OLD]
    return Path(snapshot_download(name, endpoint=endpoint, token=token, allow_patterns=wanted))


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:300]


def _nowhere(name: str, tried: list[str], why: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"The model {name!r} was not found. Tried: {'; '.join(tried)}. {why}",
        "Check the name; behind a firewall set HF_ENDPOINT to a mirror that you trust; "
        f"{_COPY_FOLDER}",
    )
