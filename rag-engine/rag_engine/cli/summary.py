"""What the indexer tells at its end, and what `--status` tells."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rag_engine.cli.output import visible
from rag_engine.index.request import IndexReport
from rag_engine.store.status import Status

MAX_NAMED = 20


def render_summary(report: IndexReport, folder: Path) -> str:
    """Return the summary of a run; files are named up to a bound."""
    changes = {
        "added": report.added,
        "changed": report.changed,
        "renamed": report.renamed,
        "removed": report.removed,
        "unchanged": report.unchanged,
        "empty": report.empty,
    }
    told = ", ".join(f"{count:,} {name}" for name, count in changes.items() if count)
    lines = [
        f"Index {folder}, generation {report.generation}",
        f"  files:    {report.files:,} ({told or 'no change'})",
        f"  chunks:   {report.chunks:,} ({report.embedded:,} embedded, {report.reused:,} reused)",
    ]
    reasons = Counter(skip.reason for skip in report.skipped)
    lines += [f"  skipped:  {count:,} - {reason}" for reason, count in sorted(reasons.items())]
    lines += _named([f"{skip.path}: {skip.reason}" for skip in report.skipped])
    if report.ignored:
        lines.append(
            f"  ignored:  {report.ignored:,} by ignore files, exclusions and built-in names"
        )
    if report.warnings:
        lines.append(f"  warnings: {len(report.warnings):,}")
        lines += _named(report.warnings)
    lines += [f"  PROBLEM:  {problem}" for problem in report.problems]
    if not report.files and not report.empty:
        lines.append("  There is no Markdown file with text in these folders.")
    lines.append(f"  seconds:  {report.seconds:.1f}")
    return "\n".join(map(visible, lines))


def render_status(status: Status) -> str:
    """Return the status of an index as text."""
    lines = [
        f"Index {status.folder}, generation {status.generation}, updated {status.updated}",
        f"  files:  {status.documents:,}",
        f"  chunks: {status.chunks:,}",
        f"  model:  {status.model} ({status.dimension} dimensions, run by {status.engine})",
        f"  size:   {status.bytes / 1e6:,.1f} MB",
    ]
    for root in status.roots:
        options = "".join(
            [
                f", scope {root['scope']}" if root["scope"] else "",
                f", without {', '.join(root['exclude'])}" if root["exclude"] else "",
                "" if root["present"] else " - MISSING",
            ]
        )
        lines.append(
            f"  root:   {root['label']}: {root['path']} ({root['files']:,} files{options})"
        )
    if status.scopes:
        scopes = (f"{name or '(none)'} {count:,}" for name, count in sorted(status.scopes.items()))
        lines.append(f"  scopes: {', '.join(scopes)} chunks")
    if status.other_tables:
        lines.append(f"  tables of other programs, left alone: {', '.join(status.other_tables)}")
    return "\n".join(map(visible, lines))


def _named(entries: list[str]) -> list[str]:
    lines = [f"    {entry}" for entry in sorted(entries)[:MAX_NAMED]]
    if len(entries) > MAX_NAMED:
        lines.append(f"    ... and {len(entries) - MAX_NAMED:,} more")
    return lines
