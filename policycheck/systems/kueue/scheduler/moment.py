"""RFC 3339 times as integers, so that comparing is cheap and the zero time comes first."""

from __future__ import annotations

import re
from functools import lru_cache

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:[Zz]|([+-])(\d\d):(\d\d))\Z",
    re.ASCII,
)
NANOS = 1_000_000_000


@lru_cache(maxsize=8)
def moment(text: str) -> int:
    """Nanoseconds since the zero time (year 1); text that is no time is the zero time."""
    match = _TIME.match(text)
    if not match:
        return 0
    hour, minute, second, fraction, sign, hours, minutes = match.groups()[1:]
    seconds = ((_days(match.group(1)) * 24 + int(hour)) * 60 + int(minute)) * 60 + int(second)
    if sign:
        offset = (int(hours) * 60 + int(minutes)) * 60
        seconds -= offset if sign == "+" else -offset
    return seconds * NANOS + (int(fraction.ljust(9, "0")) if fraction else 0)


@lru_cache(maxsize=64)
def _days(date: str) -> int:
    """Days since the zero time; workloads come in the order of days."""
    year, month, day = int(date[:4]), int(date[5:7]), int(date[8:])
    early = year - (month < 3)  # March-based years make every month but the last of one length pattern
    days = early * 365 + early // 4 - early // 100 + early // 400
    return days + (153 * ((month - 3) % 12) + 2) // 5 + day - 307


def is_time(text: str) -> bool:
    """Whether :func:`moment` can read it."""
    return _TIME.match(text) is not None
