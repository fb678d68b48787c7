"""RFC 3339 times as integers, so that comparing is cheap and the zero time comes first."""

from __future__ import annotations

import re

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9})\d*)?(?:[Zz]|([+-])(\d\d):(\d\d))\Z",
    re.ASCII,
)
NANOS = 1_000_000_000


def moment(text: str) -> int:
    """Nanoseconds since the zero time (year 1); text that is no time is the zero time."""
    match = _TIME.match(text)
    if not match:
        return 0
    year, month, day, hour, minute, second = (int(g) for g in match.groups()[:6])
    early = year - (month < 3)  # March-based years make every month but the last of one length pattern
    days = early * 365 + early // 4 - early // 100 + early // 400
    days += (153 * ((month - 3) % 12) + 2) // 5 + day - 307
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second
    if match.group(8):
        offset = (int(match.group(9)) * 60 + int(match.group(10))) * 60
        seconds -= offset if match.group(8) == "+" else -offset
    return seconds * NANOS + int((match.group(7) or "").ljust(9, "0"))


def is_time(text: str) -> bool:
    """Whether :func:`moment` can read it."""
    return _TIME.match(text) is not None
