"""Which files and folders a scan passes over: ignore files, exclusions, names never looked into."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".knowledgeignore")
"""Read in every folder; what the later one says wins over the earlier one."""

TOOL_FOLDERS = frozenset(
    (
        *("__pycache__", "__pypackages__", "env", "site-packages", "venv", "virtualenv"),
        *("bower_components", "jspm_packages", "node_modules", "pods", "vendor"),
        *("build", "cvs", "deriveddata", "dist", "htmlcov", "out-tsc", "target"),
    )
)
"""Folders of dependencies and build results; hidden ones (.git, .venv) are skipped anyway."""

# Git knows POSIX's names for sets of characters, pathspec does not.
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": " \t",
    "digit": "0-9",
    "lower": "a-z",
    "space": " \t\n\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_NAMED_CLASS = re.compile(rf"\[:({'|'.join(_CLASSES)}):\]")


class Rules:
    """The patterns of one folder, linked to those of the folders above it.

    Args:
        base: The folder relative to the root, "" or ending in "/".
        lines: Patterns in gitignore's syntax, relative to that folder.
        parent: Rules of the nearest folder above that has any.
        trusted: Whether a negation here may bring back a folder of `TOOL_FOLDERS`. One in a
            .gitignore may not: whitelists such as `*`, `!*/`, `!*.md` would bring back all.
    """

    def __init__(
        self, base: str, lines: Sequence[str], parent: Rules | None = None, *, trusted: bool = True
    ) -> None:
        self._base = base
        self._spec = compile_patterns(lines)
        self._parent = parent
        self._trusted = trusted

    def verdict(self, path: str) -> tuple[bool | None, bool]:
        """Say what the deepest folder that mentions a path decides about it.

        Args:
            path: Relative to the root; ends in "/" for a folder.

        Returns:
            True for ignored, False for explicitly kept, None for not mentioned; and whether
            that decision was taken by trusted rules.
        """
        rules: Rules | None = self
        while rules is not None:
            included = rules._spec.check_file(path[len(rules._base) :]).include
            if included is not None:
                return included, rules._trusted
            rules = rules._parent
        return None, False


def compile_patterns(lines: Sequence[str]) -> GitIgnoreSpec:
    """Compile gitignore patterns; a line that is none is left out, as Git does."""
    from pathspec import GitIgnoreSpec

    lines = [_NAMED_CLASS.sub(lambda found: _CLASSES[found.group(1)], line) for line in lines]
    with warnings.catch_warnings():
        # Of a bracket inside brackets: the regular expression means what Git means.
        warnings.simplefilter("ignore", FutureWarning)
        try:
            return GitIgnoreSpec.from_lines(lines)
        except ValueError:
            pass
        good = []
        for line in lines:
            try:
                GitIgnoreSpec.from_lines([line])
            except ValueError:
                continue
            good.append(line)
        return GitIgnoreSpec.from_lines(good)


def is_ignored(path: str, name: str, *, folder: bool, exclude: Rules, rules: Rules | None) -> bool:
    """Decide whether an entry is passed over.

    Args:
        path: Relative to the root, without a final "/".
        name: Its last part.
        folder: Whether it is a real folder; a link to one is a file to Git, and here.
        exclude: The caller's own patterns; they win over every ignore file.
        rules: Rules of the folder that holds the entry, with those above it.
    """
    if name.startswith("."):
        return True
    seen = path + "/" if folder else path
    decision, trusted = exclude.verdict(seen)
    if decision is None and rules is not None:
        decision, trusted = rules.verdict(seen)
    if decision:
        return True
    if folder and name.lower() in TOOL_FOLDERS:
        return not (decision is False and trusted)
    return False
