"""Time in charts: one unit for the whole page, so that all axes read alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from policycheck.report.simulation_words import span

_DIGITS = 5
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000


class Clock(NamedTuple):
    """``unit`` ms are one ``name``; ``end`` is that of the scenario. ``is_turns``: what is counted are turns, such
    as cycles of a scheduler, and no time.
    """

    unit: int
    name: str
    end: int
    is_turns: bool = False

    def at(self, ms: int) -> float:
        """A moment on the axis, fine enough for any screen."""
        return round(ms / self.unit, _DIGITS)

    def apart(self, times: Sequence[int]) -> list[float]:
        """Moments that increase, on the axis: each after the one before, be it by the least step, since areas
        that are stacked at one place would be stacked upon each other.
        """
        made: list[float] = []
        for ms in times:
            at = self.at(ms)
            if made and at <= made[-1]:
                at = round(made[-1] + 10**-_DIGITS, _DIGITS)
            made.append(at)
        return made

    @property
    def last(self) -> float:
        """The end on the axis."""
        return max(self.at(self.end), 0.0001)

    @property
    def title(self) -> str:
        """What the axis is called."""
        return self.name if self.is_turns else f"{self.name} from the start"

    def moment(self, ms: int) -> str:
        """A moment in words."""
        return f"{self.name} {-(-ms // self.unit)}" if self.is_turns else span(ms)

    def length(self, ms: int) -> str:
        """A stretch in words."""
        if not self.is_turns:
            return span(ms)
        many = max(1, round(ms / self.unit))
        return f"{many} {self.name}{'s' * (many != 1)}"


def clock(end: int) -> Clock:
    """The unit in which a scenario of ``end`` ms reads well."""
    for unit, name, least in ((_DAY, "days", 3), (_HOUR, "hours", 3), (_MINUTE, "minutes", 3)):
        if end >= unit * least:
            return Clock(unit, name, end)
    return Clock(_SECOND, "seconds", end)
