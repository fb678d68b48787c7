"""Axes and scales that charts have in common."""

from __future__ import annotations

from typing import Any

from policycheck.report.page.clock import Clock
from policycheck.report.page.engine import altair

Chart = Any  # of the charting library, which loads when it is used
_TICKS: dict[str, Any] = {"grid": False, "labelFlush": True}
_LOG_TICKS = (0, 1, 10, 60, 600, 3_600, 36_000, 86_400, 864_000, 8_640_000)  # seconds
_LOG_NAMES = ("0", "1s", "10s", "1m", "10m", "1h", "10h", "1d", "10d", "100d")


def time_axis(clock: Clock, *, titled: bool = True, binned: bool = False) -> Any:
    """Time from the start to the end of the scenario; ``binned``: in stretches whose ends are given."""
    alt = altair()
    return alt.X(
        "t:Q",
        bin="binned" if binned else alt.Undefined,
        title=clock.title if titled else None,
        scale=alt.Scale(domain=[0, clock.last], nice=False),
        axis=_turns(clock) if clock.is_turns else alt.Axis(**_TICKS, tickCount=6, format="~r"),
    )


def _turns(clock: Clock) -> Any:
    """Ticks at whole turns alone."""
    step = -(-int(clock.last) // 8) or 1
    return altair().Axis(**_TICKS, values=list(range(0, int(clock.last) + 1, step)), format="d")


def long_axis(field: str, most: float, title: str) -> Any:
    """Seconds from none to very many: even steps for each factor of ten, and 0 has a place."""
    alt = altair()
    ticks = [tick for tick in _LOG_TICKS if tick <= most * 3] or [0]
    names = dict(zip(_LOG_TICKS, _LOG_NAMES, strict=True))
    words = "".join(f"datum.value == {tick} ? '{names[tick]}' : " for tick in ticks)
    return alt.X(
        f"{field}:Q",
        title=title,
        scale=alt.Scale(type="symlog", constant=1, domain=[0, max(most * 1.15, 1)], nice=False),
        axis=alt.Axis(values=ticks, labelExpr=f"{words}''", grid=True, labelFlush=True),
    )


def rows(values: list[dict[str, Any]]) -> Any:
    """Rows as data that the chart carries."""
    return altair().Data(values=values)


def spec_of(chart: Chart) -> dict[str, Any]:
    """The chart for a page: without the look that pictures have, which is the page's own."""
    made: dict[str, Any] = chart.to_dict(validate=False)
    made.pop("config", None)
    made.pop("$schema", None)
    return made
