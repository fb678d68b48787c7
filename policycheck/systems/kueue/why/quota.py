"""Changes of quota: of the workload's queue, of the cohorts above it, of the queues that lend to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from policycheck.model.amount import UNLIMITED, show
from policycheck.simulate.change import Change, Option, Turn
from policycheck.systems.kueue.model import ClusterQueue, Quota
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.state import root_of
from policycheck.systems.kueue.taking import chain
from policycheck.systems.kueue.why.options import (
    COHORT,
    QUOTA,
    Choice,
    Place,
    step,
    switch,
    with_queue,
)


def more_nominal(at: Place, flavor: str, resources: Sequence[str]) -> Iterator[Choice]:
    """A higher nominalQuota of the workload's queue in one flavor."""
    found = _quotas(at.queue, flavor)
    names = [r for r in resources if r in found]
    if names:
        yield _raised(at, at.queue, flavor, {r: found[r] for r in names}, "nominalQuota", QUOTA)


def more_borrowing(at: Place, flavor: str, resources: Sequence[str]) -> Iterator[Choice]:
    """A higher borrowingLimit of the workload's queue in one flavor, where it has one."""
    found = _quotas(at.queue, flavor)
    names = [r for r in resources if r in found and found[r].borrowing_limit is not None]
    if names and at.queue.cohort:
        yield _raised(at, at.queue, flavor, {r: found[r] for r in names}, "borrowingLimit", QUOTA)


def more_lending(at: Place, flavor: str, resources: Sequence[str]) -> Iterator[Choice]:
    """A higher lendingLimit of each other queue of the tree."""
    for other in at.opening.objects.cluster_queues.values():
        found = _quotas(other, flavor)
        names = [r for r in resources if r in found and found[r].lending_limit is not None]
        if other.name != at.queue.name and names and _same_tree(at, other):
            yield _raised(at, other, flavor, {r: found[r] for r in names}, "lendingLimit", COHORT)


def _same_tree(at: Place, other: ClusterQueue) -> bool:
    cohorts = at.opening.objects.cohorts
    if not at.queue.cohort or not other.cohort:
        return False
    return root_of(at.queue.cohort, cohorts)[0] == root_of(other.cohort, cohorts)[0]


_FIELD: Mapping[str, str] = {
    "nominalQuota": "nominal",
    "borrowingLimit": "borrowing_limit",
    "lendingLimit": "lending_limit",
}


def _quotas(queue: ClusterQueue, flavor: str) -> dict[str, Quota]:
    given = (f for group in queue.groups for f in group.flavors if f.name == flavor)
    return {r: q for one in given for r, q in one.resources.items()}


def _raised(
    at: Place, queue: ClusterQueue, flavor: str, quotas: Mapping[str, Quota], field: str, rank: int
) -> Choice:
    """One field of several resources raised, up to all that is asked for in the tree."""
    names = list(quotas)
    old = {r: int(getattr(quotas[r], _FIELD[field]) or 0) for r in names}
    steps = [step(r, old[r], at.asked.get(r, 0)) for r in names]
    wanted = {r: at.asked.get(r, 0) + sum(_asks(at.opening, r)) for r in names}

    def after(turn: Turn) -> dict[str, int]:
        raised = zip(names, steps, turn, strict=True)
        return {r: min(old[r] + s * t, UNLIMITED - 1) if t else old[r] for r, s, t in raised}

    def made(turn: Turn) -> Opening:
        values = {r: {_FIELD[field]: v} for r, v in after(turn).items() if v != old[r]}
        return with_queue(at.opening, _with_quotas(queue, flavor, values))

    def words(turn: Turn) -> tuple[Change, ...]:
        new = after(turn)
        return tuple(
            Change(
                field,
                f"ClusterQueue {queue.name}",
                f"{field} of {r} in {flavor}",
                show(r, old[r]),
                show(r, new[r]),
                max(1, 1000 * (new[r] - old[r]) // max(1, at.asked.get(r, 0))),
            )
            for r in names
            if new[r] != old[r]
        )

    most = tuple(-(-wanted[r] // s) for r, s in zip(names, steps, strict=True))
    return Option(field, rank, most, made, words)


def _asks(opening: Opening, resource: str) -> Iterator[int]:
    for workload in opening.objects.workloads.values():
        for spec in workload.pod_sets:
            yield spec.requests.get(resource, 0) * spec.pods


def _with_quotas(queue: ClusterQueue, flavor: str, values: Mapping[str, Mapping[str, int]]) -> ClusterQueue:
    groups = []
    for group in queue.groups:
        flavors = [
            given._replace(resources={r: q._replace(**values.get(r, {})) for r, q in given.resources.items()})
            if given.name == flavor
            else given
            for given in group.flavors
        ]
        groups.append(group._replace(flavors=tuple(flavors)))
    return queue._replace(groups=tuple(groups))


def cohort_limits(at: Place, flavor: str, resources: Sequence[str]) -> Iterator[Choice]:
    """No borrowingLimit at a cohort above the queue, where it has one."""
    objects = at.opening.objects
    for name in chain(at.queue, objects.cohorts):
        cohort = objects.cohorts.get(name)
        if cohort is None:
            continue
        limited = [
            (r, q.borrowing_limit)
            for g in cohort.groups
            for f in g.flavors
            if f.name == flavor
            for r, q in f.resources.items()
            if r in resources and q.borrowing_limit is not None
        ]
        if not limited:
            continue
        groups = tuple(
            g._replace(
                flavors=tuple(
                    f._replace(
                        resources={r: q._replace(borrowing_limit=None) for r, q in f.resources.items()}
                    )
                    if f.name == flavor
                    else f
                    for f in g.flavors
                )
            )
            for g in cohort.groups
        )
        cohorts = {**objects.cohorts, name: cohort._replace(groups=groups)}
        changes = tuple(
            Change(
                "cohort", f"Cohort {name}", f"borrowingLimit of {r} in {flavor}", show(r, old or 0), "none"
            )
            for r, old in limited
        )
        made = at.opening._replace(objects=objects._replace(cohorts=cohorts))
        yield switch("limit of a cohort", COHORT, made, *changes)
