"""Scopes by path, for files that set none."""

from __future__ import annotations

from collections.abc import Sequence

from rag_engine.corpus.ignore import compile_patterns
from rag_engine.index.request import ScopeRule


class ScopeRules:
    """The rules of the configuration; the first that matches a path gives the scope."""

    def __init__(self, rules: Sequence[ScopeRule]) -> None:
        self._rules = [(compile_patterns([rule.pattern]), rule.scope) for rule in rules]

    def scope_of(self, path: str) -> str:
        """Return the scope of a path relative to its root, or ""."""
        return next((scope for spec, scope in self._rules if spec.match_file(path)), "")
