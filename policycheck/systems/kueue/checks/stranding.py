"""Shapes of which a node takes few, since cpu or memory end: its other GPUs are left to nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from policycheck.lint.hit import Hit
from policycheck.model import capacity
from policycheck.model.amount import show
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.systems.kueue.checks import holding
from policycheck.systems.kueue.checks.ask import Ask, request_place
from policycheck.systems.kueue.checks.common import Found, Params
from policycheck.systems.kueue.checks.filled import said
from policycheck.systems.kueue.checks.unplaceable import is_told


def strands_accelerators(cluster: Cluster, params: Params) -> Found:
    """A shape whose cpu or memory ends long before the GPUs of every node that it may go to."""
    least = float(str(params.get("share", 0.25)))
    for gang in holding.gangs(cluster):
        for ask in gang.placed:
            nodes = holding.open_nodes(cluster, ask)
            if not nodes:
                continue
            resource, each = next(iter(holding.accelerators(ask).items()))
            found = [_stranding(ask, resource, each, some) for some in nodes.values() if some]
            if not found or any(s is None for s in found):
                continue
            best = min((s for s in found if s is not None), key=lambda s: s.share)
            if not best.pods or best.share <= 1000 * least or ask.least * ask.copies <= best.pods:
                continue
            # Asked last: these are the dearest to tell.
            if is_told(cluster, gang) or ask.queue.name in said(cluster):
                continue
            values = {
                "workload": ask.workload,
                "each": f"{show(best.by, ask.pods.requests[best.by])} {best.by}",
                "devices": f"{show(resource, each)} {resource}",
                "node": f"{show(best.by, best.has)} {best.by}",
                "gpus": show(resource, best.gpus),
                "resource": resource,
                "pods": best.pods,
                "left": show(resource, best.gpus - best.pods * each),
                "ratio": show(best.by, best.has * each // best.gpus),
                "by": best.by,
            }
            yield Hit(ask.id, request_place(cluster, ask, best.by), values)


class _Stranding(NamedTuple):
    """A node full of such pods: how many, what ended, what it has of that and of GPUs, thousandths left."""

    pods: int
    by: str
    has: int
    gpus: int
    share: int


def _stranding(ask: Ask, resource: str, each: int, nodes: Sequence[Node]) -> _Stranding | None:
    """The node of a flavor that strands least; None where nothing is stranded or amounts are not known."""
    best: _Stranding | None = None
    for node in nodes:
        gpus = capacity.free(node, resource)
        if not gpus.low or not node.most:
            continue
        room = {r: capacity.free(node, r) for r in ("cpu", "memory") if ask.pods.requests.get(r)}
        if not gpus.is_exact or any(not f.is_exact for f in room.values()) or not room:
            return None
        by = min(room, key=lambda r: (room[r].low // ask.pods.requests[r], r))
        pods = room[by].low // ask.pods.requests[by]
        if pods * each >= gpus.low:
            return None
        left = 1000 * (gpus.low - pods * each) // gpus.low
        if best is None or left < best.share:
            best = _Stranding(pods, by, room[by].low, gpus.low, left)
    return best
