"""Suppressions that end soon: what they cover comes back, and somebody should know before it does."""

from __future__ import annotations

from collections.abc import Iterable

from policycheck.lint import day
from policycheck.lint.finding import Suppressed
from policycheck.lint.settings import Acceptance

_SHOWN = 5  # suppressions that a note lists


def ending(suppressed: Iterable[Suppressed], asked: Acceptance, today: str) -> tuple[Suppressed, ...]:
    """Of what is ignored the part that comes back within ``remind_days``, first things first."""
    if not today:
        return ()
    last = day.later(today, asked.remind_days)
    near = [one for one in suppressed if one.until and one.until <= last]
    return tuple(sorted(near, key=lambda one: (one.until, one.place, one.finding.order)))


def reminder(near: tuple[Suppressed, ...], today: str) -> tuple[str, ...]:
    """The same in words, a suppression once: a note, or none."""
    places: dict[tuple[str, int, str, str], list[str]] = {}
    for one in near:
        key = (one.place.file, one.place.span.line, one.until, one.owner)
        places.setdefault(key, []).append(one.finding.rule)
    if not places:
        return ()
    items = []
    for (file, line, until, owner), rules in list(places.items())[:_SHOWN]:
        days = day.between(today, until)
        when = "after today" if days == 0 else f"in {days} day" + ("s" if days > 1 else "")
        who = f", owner {owner}" if owner else ""
        items.append(f"{file}:{line} {when} ({', '.join(dict.fromkeys(rules))}, until {until}{who})")
    if len(places) > _SHOWN:
        items.append(f"{len(places) - _SHOWN} more")
    what = "a suppression ends" if len(places) == 1 else f"{len(places)} suppressions end"
    return (f"{what} soon: {'; '.join(items)}",)
