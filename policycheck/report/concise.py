"""A line a finding, as editors and grep like it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from policycheck.lint.finding import Finding, LintResult
from policycheck.report import View
from policycheck.report.screen import Style, clean


def render(result: LintResult, view: View) -> str:
    """``file:line:col: error[KQ101] message``, and nothing else."""
    if view.statistics:
        return statistics(result.findings, view.style)
    return "".join(_line(finding, view.style) + "\n" for finding in result.findings)


def statistics(findings: Sequence[Finding], style: Style) -> str:
    """A line a rule, the most frequent first."""
    tally = Counter((finding.rule, finding.name, finding.severity) for finding in findings)
    ordered = sorted(tally.items(), key=lambda entry: (-entry[1], entry[0]))
    digits = max((len(str(amount)) for _, amount in ordered), default=1)
    return "".join(
        f"{amount:>{digits}} {style.paint(severity, f'{severity}[{rule}]')} {clean(name, ascii_only=style.ascii)}\n"
        for (rule, name, severity), amount in ordered
    )


def _line(finding: Finding, style: Style) -> str:
    span = finding.place.span
    where = f"{clean(finding.place.file, ascii_only=style.ascii)}:{span.line}:{span.column}:"
    lead = style.paint(finding.severity, f"{finding.severity}[{finding.rule}]")
    return f"{where} {lead} {clean(finding.message, ascii_only=style.ascii)}"
