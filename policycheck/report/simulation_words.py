"""Numbers of a simulation as people read them, and rows with a label."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from policycheck.model.amount import show
from policycheck.report.screen import Style, clean, wrap
from policycheck.simulate.metrics import Metrics
from policycheck.simulate.quantile import MOST, P50, P90, P99, Number, Ratio, Spread
from policycheck.wording import some

_LABEL = 10  # cells of the labels on the left
_NAMES = 3  # that are listed before it says how many more there are
_SECOND, _MINUTE, _HOUR, _DAY = 1000, 60_000, 3_600_000, 86_400_000


def span(ms: Number) -> str:
    """A stretch of time in its two largest units: ``250ms``, ``1.5s``, ``12m30s``, ``5h12m``, ``3d4h``."""
    ms = round(ms)
    if ms < _SECOND:
        return f"{ms}ms" if ms else "0s"
    if ms < 10 * _SECOND:
        return f"{ms / _SECOND:.1f}".removesuffix(".0") + "s"
    if ms < _MINUTE:
        return f"{ms // _SECOND}s"
    for unit, small, name, minor in (
        (_DAY, _HOUR, "d", "h"),
        (_HOUR, _MINUTE, "h", "m"),
        (_MINUTE, _SECOND, "m", "s"),
    ):
        if ms >= unit:
            rest = ms % unit // small
            return f"{ms // unit}{name}" + (f"{rest}{minor}" if rest else "")
    raise AssertionError(ms)


def percent(ratio: Ratio) -> str:
    """``97.5%``; a dash without a whole. What is not all is never rounded up to it, nor down to nothing."""
    if ratio.value is None:
        return "-"
    tenths = round(1000 * ratio.value)
    if ratio.part < ratio.whole:
        tenths = min(tenths, 999)
    if not tenths:
        return "<0.1%" if ratio.part else "0%"
    return f"{tenths / 10:.1f}".removesuffix(".0") + "%"


def unit(found: Metrics) -> str:
    """What the principal resource is counted in, as people say it."""
    if any(word in found.resource for word in ("gpu", "GPU")):
        return "GPUs"
    return {"cpu": "cores"}.get(found.resource, found.resource)


def unit_hours(found: Metrics) -> str:
    """What its time is counted in: ``GPU hours``."""
    return f"{ {'GPUs': 'GPU', 'cores': 'core'}.get(unit(found), unit(found)) } hours"


def amount(found: Metrics, units: int) -> str:
    """So many of the principal resource."""
    text = show(found.resource, units)
    return f"{int(text):,}" if text.isdigit() else text


def labelled(label: str, text: str, style: Style, role: str = "") -> list[str]:
    """A label on the left and the text beside it."""
    lead = f"{label:<{_LABEL}} "
    body = wrap(clean(text, ascii_only=style.ascii), style.width - len(lead))
    painted = [style.paint(role, row) if role else row for row in body]
    return [
        (style.paint("strong", lead) if n == 0 else " " * len(lead)) + row for n, row in enumerate(painted)
    ]


def bounded(found: Spread, name: str, style: Style, write: Callable[[Number], str] = span) -> str:
    """One percentile; one that may in truth be larger is marked."""
    value = {P50: found.p50, P90: found.p90, P99: found.p99, MOST: found.most}[name]
    if value is None:
        return "-"
    return f"{at_least(style)}{write(value)}" if found.is_bound(name) else write(value)


def at_least(style: Style) -> str:
    """The mark of a lower bound."""
    return ">=" if style.ascii else "≥"


def hours(found: Metrics, unit_ms: int) -> str:
    """Units times milliseconds in hours."""
    value = unit_ms / (_HOUR * (1000 if found.resource == "cpu" else 1))
    digits = 0 if value >= 10 else 1 if value >= 1 else 2
    return f"{value:,.{digits}f}"


def listed(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    return some(names, _NAMES)
