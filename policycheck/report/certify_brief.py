"""Verdicts in a few lines: what fails, and one story."""

from __future__ import annotations

from policycheck.certify.verdict import FAILS, Verdict
from policycheck.report.certify import Certified, overall, tally
from policycheck.report.screen import Style, clean, hang, wrap


def render_brief(one: Certified, style: Style) -> str:
    """The outcome, what fails with the reason, and the story with the fewest workloads."""
    outcome = overall([one])
    role = "help" if outcome == "CERTIFIED" else "error" if outcome == "REFUSED" else "warning"
    rows = [style.paint(role, row) for row in wrap(f"{outcome}: {tally([one])}", style.width)]
    failed = [v for v in one.verdicts if v.outcome == FAILS]
    for verdict in failed:
        rows.append(f"  {style.paint('error', _clean(_name(verdict), style))}")
        rows += [f"    {row}" for row in wrap(_clean(verdict.headline, style), style.width - 4)]
    rows += _story(failed, style)
    return "\n".join(rows) + "\n"


def _story(failed: list[Verdict], style: Style) -> list[str]:
    """Of those that need others at all: one that shows who takes what from whom."""
    told = [(v.counterexample.workloads, n, v) for n, v in enumerate(failed) if v.counterexample is not None]
    several = [one for one in told if one[0] > 1] or told
    if not several:
        return []
    _, _, verdict = min(several, key=lambda one: one[:2])
    assert verdict.counterexample is not None  # noqa: S101 - those alone were kept
    rows = [f"How {_clean(_name(verdict), style)} breaks:"]
    for line in verdict.counterexample.timeline:
        rows += hang("  | ", wrap(_clean(line, style), style.width - 4))
    return rows


def _name(verdict: Verdict) -> str:
    return f"{verdict.claim}: {verdict.subject}" if verdict.subject else verdict.claim


def _clean(text: str, style: Style) -> str:
    return clean(text, ascii_only=style.ascii)
