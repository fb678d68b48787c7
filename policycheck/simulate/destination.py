"""Which queues the jobs of a class go to, with which weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from policycheck.simulate.mix import BY_GUARANTEE, Entry

_SPECIAL = frozenset("*?[")


class Destination(NamedTuple):
    """A queue, and the part of a class's jobs that go to it; the parts of one class add up to 1."""

    entry: Entry
    weight: float


class NoQueueError(ValueError):
    """A class names a queue that is not in sight."""


def destinations(
    wanted: Mapping[str, float], namespace: str, entries: Sequence[Entry], spread: str
) -> tuple[Destination, ...]:
    """Every queue that one of the patterns ``namespace/queue``, ``queue`` or ``*`` names.

    A queue that several name goes by the first. Wildcards pass over queues without quota for the principal
    resource. The weight of a pattern is shared out among its queues,
    by what they are guaranteed or evenly. Raises NoQueueError for a pattern that names none.
    """
    known = [e for e in entries if not namespace or fnmatchcase(e.namespace, namespace)]
    if not known:
        what = f"in namespace {namespace} " if namespace else ""
        raise NoQueueError(f"no queue {what}is in sight; {_sight(entries)}")
    taken: set[tuple[str, str]] = set()
    weights: dict[Entry, float] = {}
    for pattern, weight in wanted.items():
        fitting = [e for e in known if _fits(pattern, e)]
        if not fitting:
            raise NoQueueError(f"no queue {pattern!r} is in sight; {_sight(known)}")
        fresh = [e for e in fitting if (e.namespace, e.queue) not in taken]
        taken.update((e.namespace, e.queue) for e in fresh)
        weights.update(_shared(fresh, weight, spread))
    total = sum(weights.values())
    if total <= 0:
        raise NoQueueError("all weights of its queues are 0; give one of them more")
    return tuple(Destination(entry, weight / total) for entry, weight in weights.items() if weight > 0)


def _shared(entries: Sequence[Entry], weight: float, spread: str) -> dict[Entry, float]:
    promised = [e.guarantee if spread == BY_GUARANTEE else 1 for e in entries]
    if not any(promised):
        promised = [1] * len(entries)
    total = sum(promised)
    return {entry: weight * part / total for entry, part in zip(entries, promised, strict=True)}


def _fits(pattern: str, entry: Entry) -> bool:
    name = f"{entry.namespace}/{entry.queue}" if "/" in pattern else entry.queue
    if _SPECIAL & set(pattern):
        return entry.serves and fnmatchcase(name, pattern)
    return name == pattern


def _sight(entries: Sequence[Entry]) -> str:
    if not entries:
        return "there is no queue at all: give manifests with queues, or a mix that brings its own"
    names = sorted({f"{e.namespace}/{e.queue}" for e in entries})
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"there are {', '.join(names[:8])}{more}"
