"""How load rises and falls over the day and the week."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from policycheck.simulate.period import HOUR

HOURS = 24 * 7


class Curve(NamedTuple):
    """Multipliers of a mean rate for each hour of a week, mean 1; virtual time 0 is in hour ``first``.

    Hour 0 is Monday from midnight on. () is flat.
    """

    hours: tuple[float, ...] = ()
    first: int = 0

    def at(self, time: int) -> float:
        """The multiplier at ``time``, with straight lines between the middles of hours."""
        if not self.hours:
            return 1.0
        place = time / HOUR - 0.5
        hour = int(place // 1)
        part = place - hour
        before = self.hours[(hour + self.first) % HOURS]
        return before + part * (self.hours[(hour + 1 + self.first) % HOURS] - before)

    def bend(self, even: Iterable[float]) -> Iterator[float]:
        """Rising times of an even flow of the mean rate, as times of a flow that follows the curve.

        Within an hour the rate is the multiplier of that hour.
        """
        if not self.hours:
            yield from even
            return
        hour, passed = 0, 0.0  # whole hours gone by, and how much of the even flow's time they took
        rate = self.hours[self.first % HOURS]
        for time in even:
            while time >= passed + rate * HOUR:
                passed += rate * HOUR
                hour += 1
                rate = self.hours[(hour + self.first) % HOURS]
            yield hour * HOUR + (time - passed) / rate


FLAT = Curve()


def curve(daily: Sequence[float] = (), weekly: Sequence[float] = (), first: int = 0) -> Curve:
    """The curve of 24 multipliers by hour and 7 by day (either may be left out), scaled to a mean of 1.

    Raises ValueError for other numbers of them, negative ones, or none above 0.
    """
    if not daily and not weekly:
        return FLAT
    days, times = tuple(weekly) or (1.0,) * 7, tuple(daily) or (1.0,) * 24
    if len(times) != 24 or len(days) != 7:
        raise ValueError(f"a day has 24 hours and a week 7 days; found {len(times)} and {len(days)}")
    hours = [day * hour for day in days for hour in times]
    total = sum(hours)
    if min(hours) < 0 or total <= 0:
        raise ValueError("multipliers are 0 or more, and one of them above 0")
    return Curve(tuple(hour * HOURS / total for hour in hours), first % HOURS)
