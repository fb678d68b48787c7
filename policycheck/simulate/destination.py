"""Which queues the jobs of a class go to, with which weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from policycheck.simulate.mix import BY_GUARANTEE, Door
from policycheck.wording import some

_SPECIAL = frozenset("*?[")


class Destination(NamedTuple):
    """A queue, and the part of a class's jobs that go to it; the parts of one class add up to 1."""

    door: Door
    weight: float


class NoQueueError(ValueError):
    """A class names a queue that is not in sight."""


def destinations(
    wanted: Mapping[str, float], namespace: str, doors: Sequence[Door], spread: str
) -> tuple[Destination, ...]:
    """Every queue that one of the patterns ``namespace/queue``, ``queue`` or ``*`` names.

    A queue that several name goes by the first. Wildcards pass over queues without quota for the principal
    resource. The weight of a pattern is shared out among its queues,
    by what they are guaranteed or evenly. Raises NoQueueError for a pattern that names none.
    """
    known = [d for d in doors if not namespace or fnmatchcase(d.namespace, namespace)]
    if not known:
        what = f"in namespace {namespace} " if namespace else ""
        raise NoQueueError(f"no queue {what}is in sight; {_sight(doors)}")
    taken: set[tuple[str, str]] = set()
    weights: dict[Door, float] = {}
    for pattern, weight in wanted.items():
        fitting = [d for d in known if _fits(pattern, d)]
        if not fitting:
            raise NoQueueError(f"no queue {pattern!r} is in sight; {_sight(known)}")
        fresh = [d for d in fitting if (d.namespace, d.queue) not in taken]
        taken.update((d.namespace, d.queue) for d in fresh)
        weights.update(_shared(fresh, weight, spread))
    total = sum(weights.values())
    if total <= 0:
        raise NoQueueError("all weights of its queues are 0; give one of them more")
    return tuple(Destination(door, weight / total) for door, weight in weights.items() if weight > 0)


def _shared(doors: Sequence[Door], weight: float, spread: str) -> dict[Door, float]:
    promised = [d.guarantee if spread == BY_GUARANTEE else 1 for d in doors]
    if not any(promised):
        promised = [1] * len(doors)
    total = sum(promised)
    return {door: weight * part / total for door, part in zip(doors, promised, strict=True)}


def _fits(pattern: str, door: Door) -> bool:
    name = f"{door.namespace}/{door.queue}" if "/" in pattern else door.queue
    if _SPECIAL & set(pattern):
        return door.serves and fnmatchcase(name, pattern)
    return name == pattern


def _sight(doors: Sequence[Door]) -> str:
    if not doors:
        return "there is no queue at all: give manifests with queues, or a mix that brings its own"
    names = sorted({f"{d.namespace}/{d.queue}" for d in doors})
    return f"there are {some(names, 8)}"
