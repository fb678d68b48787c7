"""Devices of nodes as their kubelets hand them out: under single-numa-node all of a pod's on one NUMA node.

The default scheduler knows nothing of it: it binds a pod to a node that has the devices, and the kubelet
refuses it with TopologyAffinityError, again and again. Here such a pod has no room on the node.
Source: Kubernetes documentation "Control Topology Management Policies on a node"; facts 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from policycheck.model.inventory import Node
from policycheck.simulate.device import Devices
from policycheck.systems.core.kubelet import Alignment, of_node
from policycheck.systems.gpu.device import devices_of
from policycheck.wording import some

SINGLE = "single-numa-node"
_TOLD = (
    "kubelets of {0} hand out devices of one NUMA node alone (single-numa-node): a pod that would need more has no "
    "room there; the scheduler binds it all the same, and it fails with TopologyAffinityError"
)


def under(told: Alignment) -> Callable[[Node], Devices]:
    """``devices_of`` with NUMA nodes on cards where they decide; everywhere else cards have none."""

    def devices(node: Node) -> Devices:
        found, sockets = of_node(node, told)
        if found.policy == SINGLE and sockets > 1:
            return devices_of(node, sockets)
        return devices_of(node)

    return devices


def notes(told: Alignment, nodes: Iterable[Node]) -> tuple[str, ...]:
    """What people have to know of it; () when no node is under it."""
    names = []
    for node in nodes:
        found, sockets = of_node(node, told)
        if found.policy == SINGLE and sockets > 1 and node.accelerators is not None:
            names.append(node.name)
    if not names:
        return ()
    return (_TOLD.format(some(names, 3)), *((told.why,) if told.why else ()))
