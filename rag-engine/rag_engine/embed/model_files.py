"""Where a model's files are: embedded in this project, in a folder, or on a model hub."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rag_engine.errors import ModelUnavailableError, UsageError

DEFAULT_MODEL = "bge-small-zh-v1.5"
_EMBEDDED_NAMES = (DEFAULT_MODEL, f"BAAI/{DEFAULT_MODEL}")
_LONGEST_NAME = 1024  # longer ones raise OSError when looked at
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model that was found on this machine.

    Attributes:
        name: What finds it again from any working directory: a short name, a hub name or an
            absolute folder.
        folder: Absolute folder of its files.
    """

    name: str
    folder: Path


def find_model(
    name_or_folder: str | None = None,
    *,
    graph: bool = True,
    download: bool = True,
) -> ModelFiles:
    """Return where a model's files are.

    Looked for in this order: the embedded model by its names, a folder, a hub name.

    Args:
        name_or_folder: What the user gave; None is the embedded default.
        graph: Whether a hub model is of use only with its ONNX graph.
        download: Whether a hub name may be downloaded.

    Raises:
        ModelUnavailableError: The model is nowhere; the error names the places tried.
        DependencyMissingError: A hub name needs the package huggingface_hub.
        UsageError: The name is empty, or no name at all.
    """
    if name_or_folder is None or name_or_folder in _EMBEDDED_NAMES:
        return ModelFiles(DEFAULT_MODEL, _embedded_folder())
    if not name_or_folder.strip() or "\0" in name_or_folder or len(name_or_folder) > _LONGEST_NAME:
        raise UsageError(
            f"This cannot name a model: {name_or_folder[:80]!r}.", "Give a name or a folder."
        )
    folder = _resolved(name_or_folder)
    if folder.is_dir():
        if folder in (place.resolve() for place in _embedded_places()):
            return ModelFiles(DEFAULT_MODEL, folder)
        return ModelFiles(str(folder), folder)
    if not _HUB_NAME.fullmatch(name_or_folder) or folder.exists():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise ModelUnavailableError(
            f"The model folder {folder} {what}.",
            f"Give the folder that holds the model's config.json, a hub name, or {DEFAULT_MODEL}.",
        )
    from rag_engine.embed.hub import hub_folder

    tried = [f"folder {folder}"]
    found = hub_folder(name_or_folder, graph=graph, download=download, tried=tried)
    return ModelFiles(name_or_folder, found)


def _resolved(name: str) -> Path:
    path = Path(name)
    try:
        return path.expanduser().resolve()
    except RuntimeError:  # no home to expand "~" to, or a loop of links
        return path.absolute()


def _embedded_places() -> tuple[Path, ...]:
    """Return where the embedded model may lie: beside the package (a clone), or inside it."""
    package = Path(__file__).resolve().parent.parent
    return tuple(place / "models" / DEFAULT_MODEL for place in (package.parent, package))


def _embedded_folder() -> Path:
    places = _embedded_places()
    for place in places:
        if place.is_dir():
            return place
    raise ModelUnavailableError(
        f"The embedded model {DEFAULT_MODEL} was not found. "
        f"Tried: {'; '.join(f'folder {place}' for place in places)}.",
        "Clone the project again, or reinstall it.",
    )
