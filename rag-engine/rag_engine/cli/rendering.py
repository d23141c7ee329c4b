"""An answer for a person on a terminal."""

from __future__ import annotations

import re

from rag_engine.cli.output import visible
from rag_engine.search.answer import Answer, Result
from rag_engine.store.analysis import analyze

MAX_LINES = 12
_BOLD, _DIM, _CYAN, _MARK, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[36m", "\x1b[1;33m", "\x1b[0m"


def render_answer(answer: Answer, *, colour: bool) -> str:
    """Return the answer as text; matched terms are marked where colours are taken."""
    marker = _marker(answer.query) if colour else None
    blocks = [_render_result(n, result, marker) for n, result in enumerate(answer.results, start=1)]
    if not blocks:
        blocks = ["Nothing found."]
    blocks += [f"Note: {visible(warning)}" for warning in answer.warnings]
    count = len(answer.results)
    blocks.append(
        _dim(
            f"{count} result{'' if count == 1 else 's'}, mode {answer.mode}, preset "
            f"{answer.preset}, {answer.took_ms} ms",
            colour=colour,
        )
    )
    return "\n\n".join(blocks)


def _render_result(number: int, result: Result, marker: re.Pattern[str] | None) -> str:
    record = result.record
    colour = marker is not None
    place = visible(f"{result.source_file}:{record.line_start}-{record.line_end}")
    head = f"{_BOLD}{number}. {_CYAN}{place}{_RESET}" if colour else f"{number}. {place}"
    lines = [f"{head}  {_dim(f'{result.score:.3f}', colour=colour)}"]
    if record.heading_path:
        lines.append("   " + _dim(visible(" > ".join(record.heading_path)), colour=colour))
    text = record.text.split("\n")
    lines += ["   " + _mark(visible(line.rstrip("\r")), marker) for line in text[:MAX_LINES]]
    if len(text) > MAX_LINES:
        lines.append("   " + _dim(f"... {len(text) - MAX_LINES} more lines", colour=colour))
    return "\n".join(lines)


def _marker(query: str) -> re.Pattern[str]:
    terms = analyze(query)
    found = sorted({*terms.words, *terms.lone_chars}, key=len, reverse=True)
    # the empty pattern's stand-in matches nothing
    return re.compile("|".join(map(re.escape, found)) or r"(?!)", re.IGNORECASE)


def _mark(line: str, marker: re.Pattern[str] | None) -> str:
    return marker.sub(lambda match: f"{_MARK}{match[0]}{_RESET}", line) if marker else line


def _dim(text: str, *, colour: bool) -> str:
    return f"{_DIM}{text}{_RESET}" if colour else text
