"""Days written as text (``2027-01-31``), counted without a clock or a calendar library.

Proleptic Gregorian, as ISO 8601 has it. The count is that of days since 0000-03-01, so that the day
that is sometimes missing is the last of its year.
"""

from __future__ import annotations

_YEARS_DAYS = 146_097  # in 400 years, after which the calendar repeats


def number(day: str) -> int:
    """The day as a count that grows by one a day. ``day`` is a date: ``source.suppress.is_date``."""
    year, month, of_month = (int(part) for part in day.split("-"))
    year -= month <= 2
    era, of_era = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + of_month - 1
    return era * _YEARS_DAYS + of_era * 365 + of_era // 4 - of_era // 100 + of_year


def written(count: int) -> str:
    """The day with this count, as a date; the inverse of ``number``."""
    era, of_era = divmod(count, _YEARS_DAYS)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    of_month = of_year - (153 * month + 2) // 5 + 1
    is_next = month >= 10
    return f"{year + 400 * era + is_next:04}-{month - 9 if is_next else month + 3:02}-{of_month:02}"


def later(day: str, days: int) -> str:
    """The day that comes ``days`` after ``day``."""
    return written(number(day) + days)


def between(day: str, other: str) -> int:
    """How many days after ``day`` the ``other`` comes; negative when it comes before."""
    return number(other) - number(day)
