"""The one place that prints. Results go to stdout, everything else to stderr, always as UTF-8."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

_BLOCK = 64 * 1024
# what could move the cursor, recolour the screen or fake a line stays visible, and harmless
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f]")


def print_json(data: dict[str, Any], *, error: bool = False) -> None:
    """Print one JSON object on one line.

    Encoded here and not by Python's streams: a C locale or PYTHONIOENCODING must not decide.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    _write(text.encode("utf-8", "replace") + b"\n", error=error)


def print_text(text: str, *, error: bool = False) -> None:
    """Print text and a line end; what cannot be encoded is shown escaped."""
    _write(text.encode("utf-8", "backslashreplace") + b"\n", error=error)


def visible(line: str) -> str:
    """Return one line as it can be shown: names of files may hold any character."""
    return _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", line)


def is_terminal(*, error: bool = False) -> bool:
    """Tell whether a person reads the stream."""
    stream = sys.stderr if error else sys.stdout
    return stream is not None and stream.isatty()


def use_colour() -> bool:
    """Tell whether stdout takes colours (https://no-color.org)."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _write(data: bytes, *, error: bool) -> None:
    text_stream = sys.stderr if error else sys.stdout
    if text_stream is None:
        # closed by the caller (>&-): nobody is to be told
        return
    stream = text_stream.buffer
    for start in range(0, len(data), _BLOCK):
        stream.write(data[start : start + _BLOCK])
    stream.flush()
