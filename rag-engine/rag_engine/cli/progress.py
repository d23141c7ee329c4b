"""Progress of an indexing run: a bar for a person, a few plain lines for everything else."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from rag_engine.cli.output import print_text

SECONDS_BETWEEN_LINES = 30.0
_UNITS = {"reading": "file", "embedding": "chunk"}


class ProgressDisplay:
    """Shows the stages of a run on stderr.

    Args:
        terminal: A person watches; else lines are kept few, so that they do not flood an
            agent's transcript.
    """

    def __init__(self, *, terminal: bool) -> None:
        self._terminal = terminal
        self._bar: Any = None
        self._stage = ""
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._close()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that `done` of `total` are done in a stage."""
        if self._terminal:
            self._show_bar(stage, done, total)
        elif total and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            print_text(f"{stage} {_UNITS.get(stage, '')}s: {done:,} of {total:,}", error=True)

    def _show_bar(self, stage: str, done: int, total: int) -> None:
        if self._bar is None or self._stage != stage or done < self._bar.n:
            self._close()
            if not total:
                return
            from tqdm import tqdm

            self._stage = stage
            self._bar = tqdm(
                total=total, desc=stage, unit=_UNITS.get(stage, ""), leave=False, dynamic_ncols=True
            )
        self._bar.update(done - self._bar.n)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
