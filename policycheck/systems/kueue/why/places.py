"""What becomes of the pods of a workload with quota, where Kueue does not choose their nodes.

Without a topology, or with one that does not go down to the hostname, the default scheduler puts the
pods on nodes one by one, after those that had quota before. Quota knows nothing of that: some pods may
run while the others wait, and all of them are charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from policycheck.simulate.scheduler import Grant
from policycheck.simulate.why import Unplaced
from policycheck.systems.kueue.scheduler.domains import HOSTNAME
from policycheck.systems.kueue.why.trial import Trial

if TYPE_CHECKING:
    from policycheck.simulate.placer import Set, SetPlaced
    from policycheck.systems.core.scheduler.placer import NodePlacer, Tie

_MOST_PODS = 20_000  # of all workloads together; more take too long to place
_DRAWS = 3  # ways of breaking ties that are tried beside the first and the last of equal nodes


class Places(NamedTuple):
    """What the default scheduler makes of a workload."""

    pods: int
    sets: tuple[Unplaced, ...]  # those of which pods wait

    @property
    def running(self) -> str:
        """How many pods run: ``8``, or ``6 to 8`` where equal nodes are chosen by lot."""
        most = self.pods - sum(one.least for one in self.sets)
        least = self.pods - sum(one.most for one in self.sets)
        return str(most) if least == most else f"{least} to {most}"


def places(trial: Trial) -> Places | None:
    """The places of the workload's pods; None when nothing is left to the default scheduler, or nobody
    can tell, since nodes or what they have are not known.
    """
    nodes, holding = trial.opening.nodes, trial.session.holding()
    if nodes is None or any(n.allocatable is None for n in nodes) or not _is_left(holding[trial.id]):
        return None
    from policycheck.systems.core.scheduler.placer import NodePlacer
    from policycheck.systems.gpu.device import devices_of

    jobs = _jobs(trial)
    if sum(one.pods for _, sets in jobs for one in sets) > _MOST_PODS:
        return None
    empty = NodePlacer(nodes, devices_of=devices_of, namespaces=trial.opening.namespaces)
    found = [_place(empty.fork(), jobs, trial.id, tie) for tie in _ties()]
    sets = []
    for n, given in enumerate(jobs[-1][1]):
        waiting = [result[n].waiting for result in found]
        if any(waiting):
            worst = max((result[n] for result in found), key=lambda s: s.waiting)
            sets.append(Unplaced(worst.name, given.pods, min(waiting), max(waiting), worst.why))
    return Places(sum(one.pods for one in jobs[-1][1]), tuple(sets))


def _is_left(grant: Grant) -> bool:
    """Whether some pods go where Kueue did not say."""
    return any(s.placement is None or s.placement[0][-1] != HOSTNAME for s in grant.sets)


def _jobs(trial: Trial) -> list[tuple[str, list[Set]]]:
    """Everything with quota that was there before, in the order in which it got it, then the workload."""
    from policycheck.simulate.job import Job
    from policycheck.systems.kueue.drive.field import Field

    field, items = Field(trial.session), trial.session.items
    mine = items[trial.id].reserved_at
    order = sorted(
        (items[name].reserved_at, name)
        for name in trial.session.holding()
        if name != trial.id and items[name].reserved_at <= mine
    )
    made = []
    for name in [*(name for _, name in order), trial.id]:
        workload, grant = items[name].workload, trial.session.holding()[name]
        job = Job(name, workload.queue, 0, 0, workload.pod_sets, workload.priority)
        made.append((name, field.sets(job, grant)))
    return made


def _ties() -> list[Tie]:
    from policycheck.simulate.draw import stream

    drawn: list[Tie] = [stream(n, "places").below for n in range(_DRAWS)]
    return [lambda _: 0, lambda among: among - 1, *drawn]


def _place(
    placer: NodePlacer, jobs: Sequence[tuple[str, Sequence[Set]]], name: str, tie: Tie
) -> Sequence[SetPlaced]:
    found: Sequence[SetPlaced] = ()
    for job, sets in jobs:
        placed = placer.place(job, sets, 0, tie=tie)
        if job == name:
            found = placed.sets
    return found
