"""On which nodes the pods of admitted workloads run: as the admitting system chose, else as the default
scheduler does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policycheck.model.inventory import Node
    from policycheck.simulate.placer import SetPlaced
    from policycheck.simulate.scheduler import Grant
    from policycheck.systems.kueue.model import KueueWorkload
    from policycheck.systems.kueue.scheduler.run import Run
    from policycheck.systems.kueue.scheduler.session import Session

_TIES = 0  # nodes that score alike: one picture shows one way, the same every time


def places(
    session: Session, run: Run, nodes: Iterable[Node], workloads: Mapping[str, KueueWorkload]
) -> Mapping[str, tuple[SetPlaced, ...]]:
    """By workload with quota, where its pods are and which have no node, podset by podset (one with several
    domains is several). They are placed in the order in which they were admitted.
    """
    from policycheck.simulate.job import Job
    from policycheck.systems.core.scheduler.placer import NodePlacer
    from policycheck.systems.gpu.device import devices_of
    from policycheck.systems.kueue.drive.field import Field

    field = Field(session)
    placer = NodePlacer(nodes, devices_of=devices_of, namespaces=session.world.namespaces)
    found = {}
    for name, grant in _in_order(session.holding(), run):
        workload = workloads.get(name)
        if workload is None:
            continue
        sets = field.sets(Job(name, "", 0, 0, workload.pod_sets), grant)
        made = placer.place(name, sets, _TIES).sets
        # What the admitting system put on a node is there, whatever else would have been found.
        found[name] = tuple(
            one._replace(where=given.fixed, waiting=0, why="") if given.fixed else one
            for given, one in zip(sets, made, strict=True)
        )
    return found


def _in_order(holding: Mapping[str, Grant], run: Run) -> list[tuple[str, Grant]]:
    """Those that held quota from the start, then the others as they got it."""
    rank: dict[str, int] = {}
    for log in run.cycles:
        for decision in log.reserved:
            rank[decision.workload] = len(rank)
    return sorted(holding.items(), key=lambda item: (rank.get(item[0], -1), item[0]))
