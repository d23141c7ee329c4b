"""The fingerprint of a model's weights, and whether its files are whole."""

from __future__ import annotations

import hashlib
import json
import mmap
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from rag_engine.embed.hashes import remembered_hashes
from rag_engine.errors import ModelUnavailableError

SUMS_FILE = "SHA256SUMS"
GRAPHS = ("model.onnx", "onnx/model.onnx")
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_SUM_LINE = re.compile(r"([0-9a-f]{64}) [ *](\S.*)")

# How an ONNX graph names a file beside it: the protobuf entry key "location" (field 1), then its
# value (field 2) after one byte of length. Read by hand, as the package onnx is not needed else.
_EXTERNAL_LOCATION = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])", re.DOTALL)


def weights_fingerprint(folder: Path) -> str:
    """Return the SHA-256 of the model's weights, the same whichever engine runs them.

    Of model.safetensors, else pytorch_model.bin, else the ONNX graph. Where the weights are
    several files (shards, external data), of the sorted lines "SHA-256, two spaces, name".

    Raises:
        ModelUnavailableError: The folder has no weights, or they cannot be read.
    """
    files = _weight_files(folder)
    if not files:
        raise ModelUnavailableError(
            f"The model folder {folder} holds no weights: no {', no '.join(_WEIGHTS + GRAPHS)}.",
            _how_to_restore(folder, _WEIGHTS[0]),
        )
    hashes = _hashes(folder, files)
    if len(files) == 1:
        return hashes[files[0]]
    lines = sorted(f"{digest}  {name}" for name, digest in hashes.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def verify(folder: Path) -> None:
    """Check every file that the folder's SHA256SUMS lists; without that file, nothing.

    Raises:
        ModelUnavailableError: A file is missing or damaged; it is named.
    """
    expected = _expected_sums(folder)
    actual = _hashes(folder, expected)
    for name, digest in expected.items():
        if actual[name] != digest:
            raise ModelUnavailableError(
                f"The model file {folder / name} is damaged: its SHA-256 is {actual[name]}, "
                f"it should be {digest}.",
                _how_to_restore(folder, name),
            )


def has_weights(folder: Path) -> bool:
    """Return whether the folder holds what `weights_fingerprint` hashes."""
    return bool(_weight_files(folder))


def graph_of(folder: Path) -> Path | None:
    """Return the folder's ONNX graph, None where it has none."""
    return next((folder / name for name in GRAPHS if (folder / name).is_file()), None)


def _hashes(folder: Path, names: Iterable[str]) -> dict[str, str]:
    paths = {folder / name: name for name in names}
    for path, name in paths.items():
        if not path.is_file():
            raise ModelUnavailableError(
                f"The model file {path} is missing.", _how_to_restore(folder, name)
            )
    try:
        return {paths[path]: digest for path, digest in remembered_hashes(paths).items()}
    except OSError as error:
        raise ModelUnavailableError(
            f"The model files in {folder} cannot be read: {error}.",
            "Check their permissions and the disk.",
        ) from error


def _weight_files(folder: Path) -> list[str]:
    for name in _WEIGHTS:
        if (folder / name).is_file():
            return [name]
        index = folder / f"{name}.index.json"
        if index.is_file():
            return _shards(index)
    graph = graph_of(folder)
    if graph is None:
        return []
    beside = graph.parent.relative_to(folder)
    external = sorted({(beside / name).as_posix() for name in _external_files(graph)})
    return [graph.relative_to(folder).as_posix(), *external]


def _shards(index: Path) -> list[str]:
    try:
        places = json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()
        return sorted({str(name) for name in places})
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise ModelUnavailableError(
            f"The model file {index} cannot be read: {error!r}.",
            _how_to_restore(index.parent, index.name),
        ) from error


def _external_files(graph: Path) -> Iterator[str]:
    if graph.stat().st_size == 0:
        return
    with graph.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        for found in _EXTERNAL_LOCATION.finditer(content):
            end = found.end() + found.group(1)[0]
            yield content[found.end() : end].decode("utf-8", "replace")


def _expected_sums(folder: Path) -> dict[str, str]:
    path = folder / SUMS_FILE
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelUnavailableError(
            f"The model file {path} cannot be read: {error}.", _how_to_restore(folder, SUMS_FILE)
        ) from error
    sums = {}
    for line in filter(str.strip, lines):
        match = _SUM_LINE.fullmatch(line)
        if match is None:
            raise ModelUnavailableError(
                f"The model file {path} is damaged at the line {line[:80]!r}.",
                _how_to_restore(folder, SUMS_FILE),
            )
        sums[match[2]] = match[1]
    return sums


def _how_to_restore(folder: Path, name: str) -> str:
    # The embedded model in a clone lies three folders deep. An installed one may lie in a
    # virtual environment in some other clone, which git does not know.
    if any((parent / ".git").exists() for parent in folder.parents[2:3]):
        return f"Get it again: git -C {shlex.quote(str(folder))} checkout -- {shlex.quote(name)}"
    return "Get it again: copy the model's folder from where it came, or reinstall."
