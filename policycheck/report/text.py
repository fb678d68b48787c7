"""Findings for people: message, excerpt, what to do, and an account of everything else."""

from __future__ import annotations

from policycheck.lint.finding import Finding, LintResult
from policycheck.report import Lines, View
from policycheck.report.concise import statistics
from policycheck.report.excerpt import excerpt
from policycheck.report.fixes import fixable, is_fixable
from policycheck.report.screen import Style, clean, hang, paragraphs, wrap
from policycheck.report.summary import FEW, Notice, count, headline, notices

_SERIOUS = {"ruleError": "error", "unread": "error"}


def render(result: LintResult, view: View) -> str:
    """The whole report; with ``quiet`` the findings alone."""
    style = view.style
    if view.statistics:
        table = statistics(result.findings, style)
        return table if style.quiet else "\n".join(part for part in (table, summary(result, view)) if part)
    blocks = [_finding(finding, result, view.lines, style) for finding in result.findings]
    if not style.quiet:
        blocks.append(_summary(result, view))
    return "\n\n".join("\n".join(block) for block in blocks) + "\n" if blocks else ""


def summary(result: LintResult, view: View) -> str:
    """The account alone: figures, what was not checked or assumed, what to do next."""
    return "\n".join(_summary(result, view)) + "\n"


def serious(result: LintResult, view: View) -> str:
    """Only what failed, for those who asked to hear nothing else; "" when nothing did."""
    rows = [
        row for notice in notices(result) if notice.kind in _SERIOUS for row in _notice(notice, view.style)
    ]
    return "".join(f"{row}\n" for row in rows)


def _finding(finding: Finding, result: LintResult, lines: Lines, style: Style) -> list[str]:
    lead = f"{finding.severity}[{finding.rule}]" + (" [*]" if is_fixable(finding) else "")
    message = wrap(clean(finding.message, ascii_only=style.ascii), style.width - len(lead) - 2)
    rows = hang(f"{lead}: ", message)
    rows[0] = f"{style.paint(finding.severity, lead)}: {style.paint('strong', message[0])}"
    rows[1:] = [style.paint("strong", row) for row in rows[1:]]
    shown = finding.related if style.verbose else finding.related[:FEW]
    rows.extend(excerpt(finding.place, shown, finding.severity, lines, style))
    for role, label, text in _footers(finding, result, len(finding.related) - len(shown)):
        lead = f"  = {label}: "
        body = hang(lead, paragraphs(text, style.width - len(lead), ascii_only=style.ascii))
        body[0] = f"  {style.paint('gutter', '=')} {style.paint(role, label)}: {body[0][len(lead) :]}"
        rows.extend(body)
    return rows


def _footers(finding: Finding, result: LintResult, hidden: int) -> list[tuple[str, str, str]]:
    found: list[tuple[str, str, str]] = []
    if hidden > 0:
        found.append(("strong", "note", f"and {hidden:,} more places (--verbose shows them)"))
    if finding.object is not None:
        where = f"{finding.object}, {finding.path}" if finding.path else str(finding.object)
        if len(result.scopes) > 1 and finding.scope:
            where += f" (scope {finding.scope})"
        found.append(("strong", "at", where))
    if finding.confidence != "high":
        found.append(("strong", "confidence", finding.confidence))
    if finding.help:
        found.append(("help", "help", finding.help))
    return found


def _summary(result: LintResult, view: View) -> list[str]:
    style = view.style
    rows = [style.paint("strong", row) for row in wrap(headline(count(result), style.dot), style.width)]
    for notice in notices(result):
        rows.extend(_notice(notice, style))
    for step in view.next_steps:
        rows.extend(hang("next: ", wrap(clean(step, ascii_only=style.ascii), style.width - 6)))
    offer = fixable(result.findings)
    if offer:
        rows.extend(hang("[*] ", wrap(offer, style.width - 4)))
    return rows


def _notice(notice: Notice, style: Style) -> list[str]:
    lead = {"note": "note: ", "target": "target: "}.get(notice.kind, "")
    title = hang(lead, wrap(clean(notice.title, ascii_only=style.ascii), style.width - len(lead) - 1))
    if notice.items:
        title[-1] += ":"
    if notice.kind in _SERIOUS:
        title = [style.paint(_SERIOUS[notice.kind], row) for row in title]
    # What failed is never cut: each of these is a reason for the exit code.
    everything = style.verbose or notice.kind in _SERIOUS
    shown = notice.items if everything else notice.items[:FEW]
    rows = [*title]
    for item in shown:
        rows.extend(hang("  ", wrap(clean(item, ascii_only=style.ascii), style.width - 2)))
    if len(shown) < len(notice.items):
        rows.append(f"  and {len(notice.items) - len(shown):,} more (--verbose lists them)")
    return rows
