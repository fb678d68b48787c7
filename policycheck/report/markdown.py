"""A summary for a pull request or a job page."""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.lint.finding import SEVERITIES, Finding, LintResult
from policycheck.report import View
from policycheck.report.screen import clean
from policycheck.report.summary import FEW, Notice, count, headline, notices

ROWS = 200
# A job page takes 1 MiB of Markdown a step and shows nothing at all beyond it.
BYTES = 900_000
_MARKUP = {char: f"\\{char}" for char in "\\`*_[]|~#"}
_HTML = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_ESCAPED = str.maketrans(_MARKUP | _HTML)
_HTML_ONLY = str.maketrans(_HTML)


def render(result: LintResult, _view: View | None = None) -> str:
    """Figures, a table of the findings by severity, and what was not checked; cut before it is too long."""
    blocks = ["## policycheck", escape(headline(count(result)))]
    ordered = sorted(result.findings, key=lambda finding: SEVERITIES.index(finding.severity))
    if ordered:
        blocks.append(_table(ordered))
    blocks.extend(_notice(notice) for notice in notices(result))
    return "\n\n".join(blocks) + "\n"


def escape(text: str) -> str:
    """Text of others as text: no markup, no HTML, no mention, one line."""
    # A zero-width space behind "@" keeps a name in a manifest from notifying somebody.
    escaped = clean(text).translate(_ESCAPED).replace("@", "@\u200b")
    # At the start of a list item these would begin a list of their own.
    return f"\\{escaped}" if escaped[:1] in {"-", "+"} else escaped


def _table(findings: Sequence[Finding]) -> str:
    rows = ["| severity | rule | where | what |", "|---|---|---|---|"]
    size = 0
    for finding in findings[:ROWS]:
        row = _row(finding)
        size += len(row.encode("utf-8", "replace"))
        if size > BYTES:
            break
        rows.append(row)
    hidden = len(findings) - (len(rows) - 2)
    table = "\n".join(rows)
    return f"{table}\n\nand {hidden:,} more; the log has them all" if hidden else table


def _row(finding: Finding) -> str:
    span = finding.place.span
    where = escape(f"{finding.place.file}:{span.line}")
    what = escape(finding.message)
    if finding.help:
        what += f"<br>{escape(finding.help)}"
    return f"| {finding.severity} | {escape(finding.rule)} | {where} | {what} |"


def _notice(notice: Notice) -> str:
    if not notice.items:
        return escape(notice.title)
    shown = notice.items[: FEW * 4]
    rows = [f"- {escape(item)}" for item in shown]
    if len(shown) < len(notice.items):
        rows.append(f"- and {len(notice.items) - len(shown):,} more")
    body = "\n".join(rows)
    return f"<details><summary>{clean(notice.title).translate(_HTML_ONLY)}</summary>\n\n{body}\n\n</details>"
