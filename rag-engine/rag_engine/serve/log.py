"""The server's log: one line a search, without the query unless the user asks for it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from logging.handlers import RotatingFileHandler

from rag_engine.config import Settings
from rag_engine.search.answer import Answer
from rag_engine.serve.endpoint import cache_folder

LOG_FILE = "server.log"
MAX_LOG_BYTES = 1024 * 1024

SearchLog = Callable[[Answer], None]


def open_log(settings: Settings) -> SearchLog:
    """Return what writes a line about an answer; one older log of 1 MiB is kept."""
    handler = RotatingFileHandler(
        cache_folder() / LOG_FILE, maxBytes=MAX_LOG_BYTES, backupCount=1, encoding="utf-8"
    )
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger = logging.getLogger("knowledge-search")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)

    def write(answer: Answer) -> None:
        query = f" query={answer.query!r}" if settings.log_queries else ""
        logger.info(
            "search kb=%s preset=%s mode=%s results=%d ms=%d%s",
            answer.manifest.name,
            answer.preset,
            answer.mode,
            len(answer.results),
            answer.took_ms,
            query,
        )

    return write
