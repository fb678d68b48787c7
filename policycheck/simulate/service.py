"""Services beside the batch work: replicas that come and go with their load."""

from __future__ import annotations

from collections.abc import Iterator

from policycheck.simulate.mix import Klass, Replicas

Up = tuple[int, int, int, int]  # replica, which time it is up, from when, for how long (0: for ever)


def mean_replicas(klass: Klass, resource: str, capacity: int) -> float:
    """Replicas that run in the mean, over all queues of the class."""
    asked = klass.replicas or Replicas(1, 1)
    if not asked.share:
        return asked.least + (asked.most - asked.least) * _mean_level(klass)
    size = klass.units(klass.shapes[0], resource)
    return asked.share * capacity / size if size else 0.0


def _mean_level(klass: Klass) -> float:
    """Where between least and most the curve is in the mean."""
    hours = klass.curve.hours
    if not hours:
        return 1.0
    low, high = min(hours), max(hours)
    return (1.0 - low) / (high - low) if high > low else 1.0


def replicas(klass: Klass, mean: float, part: float, end: int) -> Iterator[Up]:
    """When each replica of one queue is up. ``mean`` is how many run there in the mean, ``part`` the
    part of the class that this queue has.

    A load is rounded to whole replicas every ``period``; the last to come is the first to go.
    """
    asked = klass.replicas or Replicas(1, 1)
    started: list[int] = []
    turns: dict[int, int] = {}
    for time in range(0, end or 1, asked.period):
        wanted = _wanted(klass, asked, mean, part, time)
        while len(started) < wanted:
            started.append(time)
        while len(started) > wanted:
            begin = started.pop()
            yield _up(len(started), turns, begin, time - begin)
        if not klass.curve.hours:
            break
    for replica, begin in enumerate(started):
        yield _up(replica, turns, begin, 0)


def _up(replica: int, turns: dict[int, int], begin: int, length: int) -> Up:
    turn = turns.get(replica, 0)
    turns[replica] = turn + 1
    return replica, turn, begin, length


def _wanted(klass: Klass, asked: Replicas, mean: float, part: float, time: int) -> int:
    level = klass.curve.at(time)
    if asked.share:
        return int(mean * level + 0.5)
    hours = klass.curve.hours
    low, high = (min(hours), max(hours)) if hours else (0.0, 1.0)
    place = (level - low) / (high - low) if high > low else 1.0
    return int(part * (asked.least + (asked.most - asked.least) * place) + 0.5)
