"""What a kubelet does with a pod that the scheduler has bound: it may refuse it for want of alignment.

The scheduler counts units of a node and knows nothing of its NUMA nodes. Under the policies "restricted"
and "single-numa-node" the kubelet fails a pod whose devices it can not take as near to each other as
it was told to (TopologyAffinityError); the controller makes another one, which the scheduler binds again.

Source: the Kubernetes page "Control Topology Management Policies on a node": a resource has hints, sets of
NUMA nodes that have enough of it free; a hint is preferred when no smaller set could hold the request
even on an empty node; hints of several resources are intersected. Only devices give hints here: which CPUs
and which memory are free on which NUMA node no manifest says, so that a pod that is admitted here may
still be refused for those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple

from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.simulate.card import WHOLE, Card, answers, card_units, has_room
from policycheck.simulate.device import DeviceAsk, Devices, Taken, fits_at, take_at
from policycheck.systems.gpu.facts import Kubelet

NONE, BEST_EFFORT, RESTRICTED, SINGLE = "none", "best-effort", "restricted", "single-numa-node"
SCOPES = ("container", "pod")
POLICIES = (NONE, BEST_EFFORT, RESTRICTED, SINGLE)
UNALIGNED = "TopologyAffinityError"
UNEXPECTED = "UnexpectedAdmissionError"
# Labels by which people tell of a node what no Kubernetes object does.
POLICY, SCOPE = "policycheck.dev/topology-manager-policy", "policycheck.dev/topology-manager-scope"
NUMA_NODES = "policycheck.dev/numa-nodes"
_FEATURES, _NUMA_FEATURE = "feature.node.kubernetes.io/cpu-", "feature.node.kubernetes.io/memory-numa"
_MOST_NUMA = 8  # the kubelet does not start with more, unless max-allowable-numa-nodes says so


class Alignment(NamedTuple):
    """The Topology Manager of a kubelet: policy, scope ("container" or "pod"), and why it is taken to be so
    when that is not sure.
    """

    policy: str = NONE
    scope: str = "container"
    why: str = ""


def alignment(cluster: Cluster) -> Alignment:
    """What the KubeletConfigurations in sight say. They name no nodes: one that is alone counts for all nodes,
    of several that differ none does, and a policy that no kubelet knows counts as none.
    """
    keys = cluster.index.kinds.get(("kubelet.config.k8s.io", "KubeletConfiguration"), {})
    entries = [cluster.entries[identity].facts.typed for ids in keys.values() for identity in ids]
    told = {(e.topology_policy, e.topology_scope) for e in entries if isinstance(e, Kubelet)}
    if not told:
        return Alignment()
    if len(told) > 1:
        return Alignment(
            why=f"{len(told)} KubeletConfigurations differ and name no nodes: none is taken to hold"
        )
    policy, scope = told.pop()
    if policy not in POLICIES:
        known = ", ".join(POLICIES)
        return Alignment(why=f"topologyManagerPolicy {policy} is none of {known}: taken as none")
    assumed = "assumed: the KubeletConfiguration in sight is that of all nodes" if policy != NONE else ""
    return Alignment(policy, scope if scope == "pod" else "container", assumed)


def of_node(node: Node, told: Alignment) -> tuple[Alignment, int]:
    """What holds on one node, and over how many NUMA nodes its devices are spread (0: not known).

    Labels of the node say more than ``told``: POLICY and SCOPE, and NUMA_NODES, which people set. Where node
    feature discovery has labelled a machine, one without ``memory-numa`` has a single NUMA node; with it two
    are assumed, as in most machines of eight GPUs.
    """
    policy, scope = node.labels.get(POLICY, told.policy), node.labels.get(SCOPE, told.scope)
    reasons = [told.why] if told.why and POLICY not in node.labels else []
    if policy not in POLICIES:
        reasons.append(f"label {POLICY} is {policy}, none of {', '.join(POLICIES)}: taken as none")
        policy = NONE
    if scope not in SCOPES:
        reasons.append(f"label {SCOPE} is {scope}, none of {', '.join(SCOPES)}: taken as container")
        scope = "container"
    sockets = 0
    number = node.labels.get(NUMA_NODES, "")
    if number.isascii() and number.isdigit() and 0 < int(number[:3]) <= 64:
        sockets = int(number[:3])
    elif number:
        reasons.append(f"label {NUMA_NODES} is {number}, no number from 1 to 64: not taken")
    elif any(key.startswith(_FEATURES) for key in node.labels):
        sockets = 2 if node.labels.get(_NUMA_FEATURE) == "true" else 1
    return Alignment(policy, scope, "; ".join(reasons)), sockets


class Admission(NamedTuple):
    """What the kubelet made of a pod: the devices after it and what it took; or the reason, and then the devices
    are as they were.
    """

    devices: Devices
    taken: Taken = ()
    refused: str = ""


def admit(
    devices: Devices,
    containers: Sequence[DeviceAsk],
    told: Alignment,
    pick: str = "best",
    draw: int = 0,
) -> Admission:
    """Give every container of a pod its devices, in order, or refuse the pod.

    Under the scope "pod" the pod's sum is aligned, under "container" each container by itself. Where the NUMA
    nodes of the devices are not known, nothing is refused for alignment.
    """
    state, taken = devices, list[Taken]()
    near: tuple[int, ...] | None = None
    is_pod = told.scope == "pod" and told.policy != NONE
    if is_pod:
        near, refused = _near(devices, _sum(containers), told.policy)
        if refused:
            return Admission(devices, refused=refused)
    for ask in containers:
        beyond = _beyond(devices, ask)
        if beyond:
            return Admission(devices, refused=beyond)
        if not is_pod and told.policy != NONE:
            near, refused = _near(state, ask, told.policy)
            if refused:
                return Admission(devices, refused=refused)
        positions = _open(state, ask, near)
        if positions is None:
            return Admission(devices, refused=f"{UNEXPECTED}: the node has not the devices that are free")
        state, more = take_at(state, positions, ask, pick, draw)
        taken.append(more)
    return Admission(state, tuple(piece for more in taken for piece in more))


def _beyond(devices: Devices, ask: DeviceAsk) -> str:
    """Why the device plugin refuses a container that asks for more shares than one may have; "" if it does not."""
    for resource, number in ask.units.items():
        limits = [card.kind.limit for card in devices if card.kind.share == resource and card.kind.limit]
        if limits and number > max(limits):
            return (
                f"{UNEXPECTED}: {number} {resource} are shares, of which a container may have {max(limits)}"
            )
    return ""


def _sum(containers: Sequence[DeviceAsk]) -> DeviceAsk:
    units: dict[str, int] = {}
    for ask in containers:
        for resource, number in ask.units.items():
            units[resource] = units.get(resource, 0) + number
    milli = min((ask.milli for ask in containers), default=WHOLE)
    models = next((ask.models for ask in containers if ask.models), ())
    return DeviceAsk(units, milli, models)


def _open(devices: Devices, ask: DeviceAsk, near: tuple[int, ...] | None) -> list[int] | None:
    """Positions to take the ask from: those on the NUMA nodes of ``near`` when it fits there, else all."""
    units = [(r, n) for r, n in ask.units.items() if n > 0]
    every = [i for i, card in enumerate(devices) if not ask.models or card.kind.model in ask.models]
    close = [i for i in every if near is None or devices[i].numa in near]
    for positions in (close, every):
        if fits_at(devices, positions, units, ask.milli):
            return positions
    return None


def _near(devices: Devices, ask: DeviceAsk, policy: str) -> tuple[tuple[int, ...] | None, str]:
    """The NUMA nodes from which the ask is taken, or None for any; and why it is refused, or ""."""
    wanted = [(r, n) for r, n in ask.units.items() if n > 0 and "/" in r]
    numas = sorted({card.numa for card in devices if any(_capacity(card, r) for r, _ in wanted)})
    if not wanted or not numas or numas[0] < 0:
        return None, ""
    if len(numas) > _MOST_NUMA:
        return None, f"{UNALIGNED}: {len(numas)} NUMA nodes, and the kubelet allows {_MOST_NUMA}"
    hints = [set(_hints(devices, r, n, ask, numas)) for r, n in wanted]
    if policy != BEST_EFFORT:  # what is merged has to be preferred, and so has all that it is merged from
        hints = [{hint for hint in of if hint[1] and (policy != SINGLE or len(hint[0]) == 1)} for of in hints]
    merged = hints[0]
    for more in hints[1:]:
        merged = {one for pair in product(merged, more) if (one := _merged(*pair))}
    best = min(merged, key=lambda hint: (not hint[1], len(hint[0]), hint[0]), default=None)
    if best is not None or policy == BEST_EFFORT:
        return best and best[0], ""
    what = " and ".join(f"{n} {r}" for r, n in wanted)
    nearest = "on one NUMA node" if policy == SINGLE else "on as few NUMA nodes as could hold them"
    return None, f"{UNALIGNED}: {what} can not be taken {nearest}"


_Hint = tuple[tuple[int, ...], bool]


def _hints(
    devices: Devices, resource: str, number: int, ask: DeviceAsk, numas: Sequence[int]
) -> Iterator[_Hint]:
    """Sets of NUMA nodes that have enough free, and whether each is as small as an empty node would allow."""
    cards = [c for c in devices if not ask.models or c.kind.model in ask.models]
    whole = dict.fromkeys(numas, 0)
    free = dict.fromkeys(numas, 0)
    for card in cards:
        if card.numa in whole:
            whole[card.numa] += _capacity(card, resource)
            free[card.numa] += (
                card_units(card, resource) if ask.milli == WHOLE else int(has_room(card, resource, ask.milli))
            )
    least = 0
    for width in range(1, len(numas) + 1):
        for mask in combinations(numas, width):
            if not least and sum(whole[i] for i in mask) >= number:
                least = width
            if sum(free[i] for i in mask) >= number:
                yield mask, width == least


def _merged(one: _Hint, other: _Hint) -> _Hint | None:
    """Two hints intersected; None when they have no NUMA node in common."""
    common = set(one[0]) & set(other[0])
    return (tuple(sorted(common)), one[1] and other[1]) if common else None


def _capacity(card: Card, resource: str) -> int:
    """Units of ``resource`` that the card has, used or not."""
    kind = card.kind
    if kind.whole == resource:
        return 1
    if kind.share == resource:
        return kind.shares
    fitting = {p.name for p in kind.partitions if answers(p, resource)}
    return sum(name in fitting for name, _, _ in card.made)
