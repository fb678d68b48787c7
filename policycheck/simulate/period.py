"""Stretches of time as people write them, in integer milliseconds."""

from __future__ import annotations

import re

UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
HOUR, DAY, WEEK = UNITS["h"], UNITS["d"], UNITS["w"]
LONGEST = 10_000 * DAY  # 27 years: beyond it a number is a slip, or in another unit
ALLOWED = "write a number with a unit of ms, s, m, h, d or w, as in 90s, 4h or 1h30m"
_PART = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)\s*(ms|[smhdw])\s*", re.ASCII)
_BARE = re.compile(r"\d{1,18}(?:\.\d{1,9})?\Z", re.ASCII)
_RATE = re.compile(r"\s*(\d{1,12}(?:\.\d{1,9})?)\s*/\s*(ms|[smhdw])\s*\Z", re.ASCII)


class PeriodError(ValueError):
    """The text is no stretch of time; the message says what is allowed."""


def parse(text: object) -> int:
    """``4h``, ``1h30m``, ``100ms`` in milliseconds; a bare number counts seconds. Raises PeriodError."""
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise PeriodError(f"{text!r} is no length of time; {ALLOWED}")
    written = str(text).strip()
    found = round(float(written) * UNITS["s"]) if _BARE.match(written) else _parts(written)
    if found > LONGEST:
        raise PeriodError(f"{written} is longer than {LONGEST // DAY:,} days; check the unit")
    return found


def _parts(written: str) -> int:
    at, total = 0, 0.0
    while at < len(written):
        match = _PART.match(written, at)
        if match is None:
            raise PeriodError(f"{written[:80]!r} is no length of time; {ALLOWED}")
        total += float(match[1]) * UNITS[match[2]]
        at = match.end()
    if not written:
        raise PeriodError(f"nothing is written where a length of time belongs; {ALLOWED}")
    return round(total)


def rate(text: object) -> float:
    """``30/h``: how many in one millisecond. Raises PeriodError."""
    match = _RATE.match(text) if isinstance(text, str) else None
    if match is None:
        raise PeriodError(f"{text!r} is no rate; write a number for each unit of time, as in 30/h or 2/s")
    return float(match[1]) / UNITS[match[2]]


def show(period: int) -> str:
    """``period`` in its two largest units: ``1h30m``, ``250ms``, ``12d``."""
    parts: list[str] = []
    rest = period
    for unit in ("d", "h", "m", "s", "ms"):
        whole, rest = divmod(rest, UNITS[unit])
        if whole:
            parts.append(f"{whole}{unit}")
        if len(parts) == 2 or (parts and not whole):
            break
    return "".join(parts) or "0s"
