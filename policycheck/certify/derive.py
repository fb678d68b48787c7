"""Promises that nobody wrote, read off the configuration and marked as derived.

A promise read off the quota can not notice that somebody halved the quota; what it can notice is that the
quota is not worth what it says.
"""

from __future__ import annotations

from policycheck.certify.arena import Arena
from policycheck.certify.promise import Promises, Protection, TeamPromise

DERIVED = ("guarantee", "shapes")


def derive(arena: Arena) -> Promises:
    """A team for each queue with accelerators of its own; the highest class is protected, the lowest is
    for experiments, when there are several.
    """
    teams = []
    for queue in arena.queues():
        held: dict[str, int] = {}
        for (_, resource), nominal in arena.nominal(queue).items():
            if resource in arena.accelerators and nominal > 0:
                held[resource] = held.get(resource, 0) + nominal
        if held:
            teams.append(TeamPromise(queue, (queue,), held, derived=DERIVED))
    return Promises(tuple(teams), protection=protection(arena), derived=("teams", "protection"))


def protection(arena: Arena) -> Protection:
    """The highest class of several is protected, the lowest is for experiments."""
    values = sorted(set(arena.classes.values()))
    if len(values) < 2:
        return Protection(derived=("protected", "experiments"))
    return Protection(
        protected=tuple(name for name, value in sorted(arena.classes.items()) if value == values[-1]),
        experiments=tuple(name for name, value in sorted(arena.classes.items()) if value == values[0]),
        derived=("protected", "experiments"),
    )
