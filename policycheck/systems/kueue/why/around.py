"""Changes around the workload: others that end or withdraw, and the policies of its queue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from policycheck.model.amount import show
from policycheck.simulate.change import Change, Option, Turn
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.why.options import (
    OTHERS,
    POLICY,
    Choice,
    Place,
    switch,
    with_queue,
)
from policycheck.systems.kueue.why.trial import Trial, amounts

_MOST_HOLDERS = 12  # workloads of which one may end


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
