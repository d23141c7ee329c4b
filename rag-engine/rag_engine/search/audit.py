"""The audit log: one JSON line for each search, where AUDIT_LOG=true asks for it.

The line is written by the caller's side, also when a server answered.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

from rag_engine.search.answer import Answer
from rag_engine.search.request import SearchPlan


def audit_line(agent: str, plan: SearchPlan, answer: Answer) -> str:
    """Return the line of one search, without its line end.

    Args:
        agent: Who asked.
        plan: What was asked.
        answer: What was answered.
    """
    line = {
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "action": "search",
        "agent": agent,
        "query": answer.query,
        "preset": answer.preset,
        "mode": answer.mode,
        "scope": plan.filters.scope or plan.preferred_scope or "",
        "results_count": len(answer.results),
    }
    return json.dumps(line, ensure_ascii=False)


def append_audit_line(home: Path, line: str) -> None:
    """Append a line to .ai-skills/.logs/search-audit.jsonl in the home folder.

    Raises:
        OSError: It cannot be written.
    """
    path = home / ".ai-skills" / ".logs" / "search-audit.jsonl"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        # one write: lines of searches that run at once do not mix
        os.write(descriptor, line.encode() + b"\n")
    finally:
        os.close(descriptor)
