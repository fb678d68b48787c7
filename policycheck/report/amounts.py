"""Figures of runs as people read them, by their unit."""

from __future__ import annotations

from policycheck.report.simulation_words import span
from policycheck.simulate.contrast import HOURS, JOBS, SECONDS


def written(unit: str, number: float, *, signed: bool = False, percent: bool = True) -> str:
    """A number in its unit. ``signed`` shows a plus; what is shown as nothing has no sign. Shares that are not
    all are never rounded up to it, nor down to nothing.
    """
    text = _size(unit, abs(number), percent=percent)
    nothing = not any(digit in text for digit in "123456789")
    sign = "" if nothing else "-" if number < 0 else "+" if signed else ""
    return f"{sign}{text}"


def _size(unit: str, number: float, *, percent: bool) -> str:
    if unit == SECONDS:
        return span(number * 1000)
    if unit == HOURS:
        return f"{number:,.{1 if number < 100 else 0}f}" + " h" * percent
    if unit == JOBS:
        return f"{number:,.{1 if 0 < number < 10 and number != round(number) else 0}f}"
    if not percent:
        return f"{100 * number:.1f}"
    text = f"{100 * number:.1f}"
    if number < 1 and text == "100.0":
        text = "99.9"
    if number > 0 and text == "0.0":
        return "<0.1%"
    return f"{text.removesuffix('.0')}%"
