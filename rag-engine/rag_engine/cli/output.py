"""The one place that prints. Results go to stdout, everything else to stderr, always as UTF-8."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, BinaryIO

_BLOCK = 64 * 1024


def print_json(data: dict[str, Any], *, error: bool = False) -> None:
    """Print one JSON object on one line.

    Encoded here and not by Python's streams: a C locale or PYTHONIOENCODING must not decide.
    """
    stream = sys.stderr.buffer if error else sys.stdout.buffer
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    _write(stream, text.encode("utf-8", "replace") + b"\n")


def print_text(text: str, *, error: bool = False) -> None:
    """Print text and a line end; what cannot be encoded is shown escaped."""
    stream = sys.stderr.buffer if error else sys.stdout.buffer
    _write(stream, text.encode("utf-8", "backslashreplace") + b"\n")


def is_terminal(*, error: bool = False) -> bool:
    """Tell whether a person reads the stream."""
    stream = sys.stderr if error else sys.stdout
    return stream is not None and stream.isatty()


def use_colour() -> bool:
    """Tell whether stdout takes colours (https://no-color.org)."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _write(stream: BinaryIO, data: bytes) -> None:
    for start in range(0, len(data), _BLOCK):
        stream.write(data[start : start + _BLOCK])
    stream.flush()
