"""Filters and scores that hang on which pods run where: spread, affinity, anti-affinity.

Sources: Kubernetes documentation, "Pod Topology Spread Constraints" (skew, minDomains, node inclusion
policies) and "Inter-pod affinity and anti-affinity". Differences to a real cluster: the default spread
constraints of a cluster and pods that ran before the simulation are not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from policycheck.model.placement import PodTerm, Spread
from policycheck.simulate.placement import Ground
from policycheck.systems.core.scheduler.crowd import Crowd, Kind, Tally
from policycheck.systems.core.scheduler.reach import Reach
from policycheck.systems.core.scheduler.shape import Shape

SPREAD = "node(s) didn't match pod topology spread constraints"
SPREAD_LABEL = f"{SPREAD} (missing required label)"
NEAR = "node(s) didn't match pod affinity rules"
AWAY = "node(s) didn't match pod anti-affinity rules"
KEPT_AWAY = "node(s) didn't satisfy existing pods anti-affinity rules"


class Barrier(NamedTuple):
    """A filter: whether node n passes, and the words for a node that does not."""

    passes: Callable[[int], bool]
    why: str


def barriers(ground: Ground, crowd: Crowd, shape: Shape) -> list[Barrier]:
    """The filters that hold for one more pod of ``shape`` now, in the order of the default profile."""
    kind = shape.kind
    found: list[Barrier] = []
    hard = tuple(c for c in shape.spread if c.hard)
    for constraint in hard:
        found += _spread(ground, crowd, shape, constraint, hard)
    mine = kind.neighbours
    if mine.near:
        found.append(Barrier(_near(crowd, mine.near, kind), NEAR))
    for term in mine.away:
        tally = crowd.selected((term,), term.topology_key, kind.namespace)
        if tally.found:
            found.append(Barrier(_empty(tally), AWAY))
    for other in _keepers(crowd, kind):
        found.append(Barrier(_empty(other), KEPT_AWAY))
    return found


def _empty(tally: Tally) -> Callable[[int], bool]:
    values, there = tally.values, tally.found
    return lambda n: values[n] not in there


def _keepers(crowd: Crowd, kind: Kind) -> list[Tally]:
    """Where pods run that keep ``kind`` away."""
    found: dict[tuple[PodTerm, str], Tally] = {}
    for other in crowd.social:
        for term in other.neighbours.away:
            place = (term, other.namespace)
            if place not in found and crowd.means(term, other.namespace, kind):
                found[place] = crowd.holders(term, other.namespace)
    return list(found.values())


def _near(crowd: Crowd, terms: tuple[PodTerm, ...], kind: Kind) -> Callable[[int], bool]:
    """A pod that meets all terms must be in the domain of each. When there is none anywhere and the pod
    itself is one, it may go wherever the labels are: else no first pod could ever start.
    """
    tallies = [crowd.selected(terms, term.topology_key, kind.namespace) for term in terms]
    if not any(t.found for t in tallies) and all(crowd.means(t, kind.namespace, kind) for t in terms):
        return lambda n: all(t.values[n] is not None for t in tallies)
    return lambda n: all(t.values[n] in t.found for t in tallies)


# Spread


def _eligible(
    ground: Ground, reach: Reach, constraint: Spread, keys: Sequence[list[str | None]]
) -> list[bool]:
    """Nodes whose pods and domains count: those with all labels that the pod's selectors allow."""
    return [
        (not constraint.heeds_affinity or reach.affine[n])
        and (not constraint.heeds_taints or reach.tolerated[n])
        and ground.is_present(n)
        and all(values[n] is not None for values in keys)
        for n in range(len(ground.nodes))
    ]


def _counted(
    ground: Ground, crowd: Crowd, shape: Shape, constraint: Spread, among: Sequence[Spread]
) -> tuple[Tally, set[str]]:
    """The pods that a constraint counts, and the domains that there are."""
    keys = tuple(sorted({c.topology_key for c in among}))
    identity = (id(shape.reach), constraint, keys, ground.present)
    eligible = crowd.eligible(
        (*identity, "nodes"),
        lambda: _eligible(ground, shape.reach, constraint, [crowd.values(k) for k in keys]),
        shape.reach,
    )
    tally = crowd.spread(
        constraint.topology_key, constraint.selector, shape.kind.namespace, eligible, identity
    )
    values = crowd.values(constraint.topology_key)
    domains = crowd.domains(
        (*identity, "domains"), lambda: {v for n, v in enumerate(values) if v is not None and eligible[n]}
    )
    return tally, domains


def _self(shape: Shape, constraint: Spread) -> int:
    """1 when the pod is one of those that the constraint counts."""
    found = constraint.selector
    return int(found is not None and found.matches(dict(shape.kind.labels)))


def _spread(
    ground: Ground, crowd: Crowd, shape: Shape, constraint: Spread, hard: Sequence[Spread]
) -> list[Barrier]:
    """One DoNotSchedule constraint: the label must be there, and the skew stay within its limit."""
    tally, domains = _counted(ground, crowd, shape, constraint, hard)
    there = tally.found
    least = min((there.get(d, 0) for d in domains), default=0)
    if len(domains) < constraint.min_domains:
        least = 0
    most = constraint.max_skew + least - _self(shape, constraint)
    values = tally.values
    return [
        Barrier(lambda n: values[n] is not None, SPREAD_LABEL),
        Barrier(lambda n: there.get(values[n] or "", 0) <= most, SPREAD),
    ]


# Scores


def spread_scores(ground: Ground, crowd: Crowd, shape: Shape, nodes: Sequence[int]) -> list[int]:
    """0 to 100 for each of ``nodes``: the fewer pods of the ScheduleAnyway constraints there, the more.

    A domain counts by the logarithm of how many there are; a node without the label gets 0.
    """
    soft = tuple(c for c in shape.spread if not c.hard)
    if not soft:
        return [0] * len(nodes)
    raw = [0.0] * len(nodes)
    without: set[int] = set()
    for constraint in soft:
        tally, _ = _counted(ground, crowd, shape, constraint, soft)
        values, there = tally.values, tally.found
        weight = math.log(len({values[n] for n in nodes} - {None}) + 2)
        for i, n in enumerate(nodes):
            value = values[n]
            if value is None:
                without.add(i)
            else:
                raw[i] += there.get(value, 0) * weight + constraint.max_skew - 1
    whole = [round(score) for score in raw]
    known = [score for i, score in enumerate(whole) if i not in without]
    low, high = min(known, default=0), max(known, default=0)
    return [
        0 if i in without else 100 if not high else 100 * (high + low - score) // high
        for i, score in enumerate(whole)
    ]


def neighbour_scores(crowd: Crowd, shape: Shape, nodes: Sequence[int]) -> list[int]:
    """0 to 100 for each of ``nodes``: how much the pod wishes to be there, and those there wish it."""
    kind = shape.kind
    parts: list[tuple[int, Tally]] = [
        (p.weight, crowd.selected((p.term,), p.term.topology_key, kind.namespace))
        for p in kind.neighbours.preferred
    ]
    seen: set[tuple[PodTerm, str]] = set()
    for other in crowd.social:
        for term in (*(p.term for p in other.neighbours.preferred), *other.neighbours.near):
            place = (term, other.namespace)
            if place not in seen and crowd.means(term, other.namespace, kind):
                seen.add(place)
                parts.append((1, crowd.wishers(term, other.namespace)))
    parts = [(weight, tally) for weight, tally in parts if tally.found]
    if not parts:
        return [0] * len(nodes)
    raw = [sum(weight * tally.at(n) for weight, tally in parts) for n in nodes]
    low, high = min(raw), max(raw)
    return [0 if high == low else 100 * (score - low) // (high - low) for score in raw]


def has_wishes(crowd: Crowd, shape: Shape) -> bool:
    """Whether any score hangs on who runs where."""
    if any(not c.hard for c in shape.spread) or shape.kind.neighbours.preferred:
        return True
    return any(k.neighbours.preferred or k.neighbours.near for k in crowd.social)
