"""The audit log: one JSON line for each search, where AUDIT_LOG=true asks for it."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime

from rag_engine.cli.output import print_text
from rag_engine.config import Settings, home
from rag_engine.search.answer import Answer
from rag_engine.search.request import SearchPlan


def write_audit_line(settings: Settings, plan: SearchPlan, answer: Answer) -> None:
    """Append a line to ~/.ai-skills/.logs/search-audit.jsonl; failing to is told, not fatal."""
    if not settings.audit_log:
        return
    line = {
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "action": "search",
        "agent": settings.audit_agent,
        "query": answer.query,
        "preset": answer.preset,
        "mode": answer.mode,
        "scope": plan.filters.scope or plan.preferred_scope or "",
        "results_count": len(answer.results),
    }
    path = home() / ".ai-skills" / ".logs" / "search-audit.jsonl"
    data = json.dumps(line, ensure_ascii=False).encode() + b"\n"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            # one write: lines of searches that run at once do not mix
            os.write(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        print_text(f"The audit log {path} cannot be written: {error.strerror}.", error=True)
