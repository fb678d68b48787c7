"""Every kind of change that may let a workload in, as options for the search.

Each option turns the opening into another one. Fields and labels are Kueue's own; ranks order them by
whom they touch: the workload alone, its queue's quota, who else runs, policies, other queues.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from policycheck.model.amount import UNLIMITED, show
from policycheck.model.workload import PodSet
from policycheck.simulate.change import Change, Option, Turn
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.model import ClusterQueue, KueueWorkload, Quota
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.scheduler.shape import per_pod
from policycheck.systems.kueue.state import root_of
from policycheck.systems.kueue.taking import chain
from policycheck.systems.kueue.why.trial import PRIORITY_LABEL, Trial, amounts, queue_of, workload_of

Choice = Option[Opening]
WORKLOAD, QUOTA, OTHERS, POLICY, COHORT = range(5)
_GIB = 1 << 30
_MOST_SETS = 3
_MOST_HOLDERS = 12


class Place(NamedTuple):
    """The workload and its queue in the opening that is changed."""

    opening: Opening
    workload: KueueWorkload
    queue: ClusterQueue
    asked: Mapping[str, int]  # by the whole workload


def place(opening: Opening, name: str) -> Place | None:
    """Where the workload stands; None when no queue is to be found."""
    workload = workload_of(opening, name)
    queue = queue_of(opening.objects, workload)
    if queue is None:
        return None
    return Place(opening, workload, queue, total(opening, workload))


def total(opening: Opening, workload: KueueWorkload) -> dict[str, int]:
    """What the whole workload asks of quota."""
    found: dict[str, int] = {}
    for spec in workload.pod_sets:
        for resource, amount in per_pod(spec, opening.objects.configuration).items():
            found[resource] = found.get(resource, 0) + amount * spec.pods
    return found


def with_workload(opening: Opening, workload: KueueWorkload) -> Opening:
    """The opening with the workload as given."""
    objects = opening.objects
    workloads = {**objects.workloads, (workload.namespace, workload.name): workload}
    return opening._replace(objects=objects._replace(workloads=workloads))


def with_queue(opening: Opening, queue: ClusterQueue) -> Opening:
    """The opening with the ClusterQueue as given."""
    objects = opening.objects
    return opening._replace(
        objects=objects._replace(cluster_queues={**objects.cluster_queues, queue.name: queue})
    )


def about(workload: KueueWorkload) -> str:
    """The object that a person edits to change the workload."""
    if workload.source is not None:
        return f"{workload.source.kind} {workload.source.name}"
    return f"Workload {workload.name}"


def switch(kind: str, rank: int, made: Opening, *changes: Change) -> Choice:
    """An option with nothing to turn but on."""
    return Option(kind, rank, (1,), lambda _: made, lambda _: changes)


# -- the workload itself ------------------------------------------------------------------------


def fewer_pods(at: Place) -> Iterator[Choice]:
    """Fewer pods of one podset; those that ask most first."""
    sets = [(n, s) for n, s in enumerate(at.workload.pod_sets) if s.pods > 1]
    for number, spec in sorted(sets, key=lambda p: -_weight(p[1]))[:_MOST_SETS]:
        yield _fewer(at, number, spec)


def _weight(spec: PodSet) -> int:
    return sum(v * spec.pods for r, v in spec.requests.items() if is_accelerator(r)) or spec.pods


def _fewer(at: Place, number: int, spec: PodSet) -> Choice:
    def made(turn: Turn) -> Opening:
        return with_workload(
            at.opening, _with_set(at.workload, number, spec._replace(pods=spec.pods - turn[0]))
        )

    def words(turn: Turn) -> tuple[Change, ...]:
        after = spec.pods - turn[0]
        name = "pods" if len(at.workload.pod_sets) == 1 else f"pods of {spec.name}"
        asks = _leading(total(at.opening, workload_of(made(turn), at.workload.id)))
        share = 1000 * turn[0] // spec.pods
        return (
            Change(
                "pods", about(at.workload), name, str(spec.pods), f"{after}, {asks} in all", max(1, share)
            ),
        )

    return Option("fewer pods", WORKLOAD, (spec.pods - 1,), made, words)


def _leading(asked: Mapping[str, int]) -> str:
    """The amount that people think in: accelerators, else cpu, else the first."""
    names = sorted(asked, key=lambda r: (not is_accelerator(r), r != "cpu", r))
    return f"{show(names[0], asked[names[0]])} {names[0]}" if names else "nothing"


def _with_set(workload: KueueWorkload, number: int, spec: PodSet) -> KueueWorkload:
    sets = list(workload.pod_sets)
    least = spec.min_count
    sets[number] = spec._replace(min_count=None if least is not None and least > spec.pods else least)
    return workload._replace(pod_sets=tuple(sets))


def less_per_pod(at: Place, short: Sequence[str]) -> Iterator[Choice]:
    """Less of what is short in each pod of one podset."""
    for number, spec in enumerate(at.workload.pod_sets[:_MOST_SETS]):
        names = [r for r in short if spec.requests.get(r, 0) > 1]
        if names:
            yield _less(at, number, spec, names)


def _less(at: Place, number: int, spec: PodSet, names: list[str]) -> Choice:
    steps = [_step(r, spec.requests[r]) for r in names]

    def after(turn: Turn) -> dict[str, int]:
        cut = zip(names, steps, turn, strict=True)
        return {r: spec.requests[r] - s * t for r, s, t in cut}

    def made(turn: Turn) -> Opening:
        requests = {**spec.requests, **after(turn)}
        changed = spec._replace(requests=requests, containers=())
        return with_workload(at.opening, _with_set(at.workload, number, changed))

    def words(turn: Turn) -> tuple[Change, ...]:
        left = after(turn)
        return tuple(
            Change(
                "request",
                about(at.workload),
                f"{r} per pod" + ("" if len(at.workload.pod_sets) == 1 else f" of {spec.name}"),
                show(r, spec.requests[r]),
                show(r, left[r]),
                max(1, 1000 * (spec.requests[r] - left[r]) // spec.requests[r]),
            )
            for r in names
            if left[r] != spec.requests[r]
        )

    most = tuple((spec.requests[r] - 1) // s for r, s in zip(names, steps, strict=True))
    return Option("less per pod", WORKLOAD, most, made, words)


def _step(resource: str, *seen: int) -> int:
    """The unit in which people write such an amount, as far as those seen are whole in it."""
    for unit in _units(resource):
        if all(value % unit == 0 for value in seen):
            return unit
    return 1


def _units(resource: str) -> tuple[int, ...]:
    if resource == "cpu":
        return (1000, 100, 10)
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return (_GIB, 1 << 20, 1 << 10)
    return ()


def higher_priority(at: Place) -> Iterator[Choice]:
    """The WorkloadPriorityClasses above the present priority, lowest first."""
    classes = at.opening.objects.priority_classes.values()
    above = sorted((c.value, c.name) for c in classes if c.value > at.workload.priority)
    if not above:
        return

    def made(turn: Turn) -> Opening:
        value, name = above[turn[0] - 1] if turn[0] else (at.workload.priority, at.workload.priority_class)
        labels = {**at.workload.labels, PRIORITY_LABEL: name}
        changed = at.workload._replace(priority=value, priority_class=name, labels=labels)
        return with_workload(at.opening, changed)

    def words(turn: Turn) -> tuple[Change, ...]:
        value, name = above[turn[0] - 1]
        before = at.workload.priority_class or "no class"
        return (
            Change(
                "priority",
                about(at.workload),
                "priority class",
                f"{before} ({at.workload.priority})",
                f"{name} ({value})",
            ),
        )

    yield Option("priority class", WORKLOAD, (len(above),), made, words)


# -- quota ---------------------------------------------------------------------------------------


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
    steps = [_step(r, old[r], at.asked.get(r, 0)) for r in names]
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


# -- flavors that are not for these pods ----------------------------------------------------------


def open_flavor(at: Place, flavor: str) -> Iterator[Choice]:
    """What the pods would have to say so that a flavor is for them: tolerations, selector, topology."""
    found = at.opening.objects.flavors.get(flavor)
    if found is None:
        return
    from policycheck.systems.kueue.why.flavor import opened

    workload, changes = opened(at.workload, found, about(at.workload))
    if changes:
        yield switch("flavor", WORKLOAD, with_workload(at.opening, workload), *changes)


# -- who else runs --------------------------------------------------------------------------------


def endings(at: Place, trial: Trial, resources: Sequence[str]) -> list[Choice]:
    """The end of each workload that holds what is short, those that hold least first."""
    held = trial.session.holding()
    lead = resources[0] if resources else ""
    sizes = {n: amounts(g) for n, g in held.items() if n != trial.id}
    names = sorted((s[lead], n) for n, s in sizes.items() if s.get(lead))
    return [_ending(at, [name], lead, size) for size, name in names[:_MOST_HOLDERS]]


def withdrawals(at: Place, names: Sequence[str]) -> list[Choice]:
    """Each of the workloads that wait before it withdrawn."""
    return [
        switch(
            "others withdrawn",
            OTHERS,
            _without(at.opening, [name]),
            Change("end", name, "", "waits before it", "is withdrawn"),
        )
        for name in names[:_MOST_HOLDERS]
    ]


def all_endings(at: Place, trial: Trial, resources: Sequence[str]) -> Iterator[Choice]:
    """The end of as few workloads as it takes, those that hold most first."""
    lead = resources[0] if resources else ""
    sizes = {n: amounts(g).get(lead, 0) for n, g in trial.session.holding().items() if n != trial.id}
    names = sorted((n for n in sizes if sizes[n]), key=lambda n: (-sizes[n], n))
    if len(names) < 2:
        return

    def made(turn: Turn) -> Opening:
        return _without(at.opening, names[: turn[0]])

    def words(turn: Turn) -> tuple[Change, ...]:
        return tuple(_end(n, lead, sizes[n]) for n in names[: turn[0]])

    yield Option("waiting for others to end", OTHERS, (len(names),), made, words)


def _ending(at: Place, names: list[str], lead: str, size: int) -> Choice:
    changes = tuple(_end(name, lead, size) for name in names)
    return switch("waiting for others to end", OTHERS, _without(at.opening, names), *changes)


def _end(name: str, lead: str, size: int) -> Change:
    return Change("end", name, "", f"runs ({show(lead, size)} {lead})", "ends")


def _without(opening: Opening, names: Sequence[str]) -> Opening:
    gone = set(names)
    kept = {k: w for k, w in opening.objects.workloads.items() if w.id not in gone}
    return opening._replace(objects=opening.objects._replace(workloads=kept))


# -- policies -------------------------------------------------------------------------------------


def policies(at: Place) -> Iterator[Choice]:
    """Looser preemption policies of the workload's queue, one field at a time, strictest first."""
    policy = at.queue.preemption
    within = ("Never", "LowerPriority", "LowerOrNewerEqualPriority")
    reclaim = ("Never", "LowerPriority", "Any")
    yield from _looser(at, "withinClusterQueue", "within_cluster_queue", policy.within_cluster_queue, within)
    if not at.queue.cohort:
        return
    yield from _looser(
        at, "reclaimWithinCohort", "reclaim_within_cohort", policy.reclaim_within_cohort, reclaim
    )
    borrow = policy.borrow_within_cohort
    if borrow.policy == "Never" and policy.reclaim_within_cohort in reclaim[1:]:
        made = policy._replace(borrow_within_cohort=borrow._replace(policy="LowerPriority"))
        change = _policy(at, "borrowWithinCohort.policy", "Never", "LowerPriority")
        yield switch("policy", POLICY, with_queue(at.opening, at.queue._replace(preemption=made)), change)
    if at.queue.queueing_strategy == "StrictFIFO":
        made_queue = at.queue._replace(queueing_strategy="BestEffortFIFO")
        change = Change(
            "policy", f"ClusterQueue {at.queue.name}", "queueingStrategy", "StrictFIFO", "BestEffortFIFO"
        )
        yield switch("policy", POLICY, with_queue(at.opening, made_queue), change)


def _policy(at: Place, field: str, before: str, after: str) -> Change:
    return Change("policy", f"ClusterQueue {at.queue.name}", f"preemption.{field}", before, after)


def _looser(at: Place, field: str, name: str, now: str, values: tuple[str, ...]) -> Iterator[Choice]:
    further = values[values.index(now) + 1 :] if now in values else values[1:]
    if not further:
        return

    def made(turn: Turn) -> Opening:
        if not turn[0]:
            return at.opening
        changed: dict[str, Any] = {name: further[turn[0] - 1]}
        policy = at.queue.preemption._replace(**changed)
        return with_queue(at.opening, at.queue._replace(preemption=policy))

    def words(turn: Turn) -> tuple[Change, ...]:
        return (_policy(at, field, now or "not set", further[turn[0] - 1]),)

    yield Option("policy", POLICY, (len(further),), made, words)


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
