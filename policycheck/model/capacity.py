"""What nodes can give: selections, totals with their arithmetic, domains of the network.

Every number is a Range. ``high`` is what may be there at most, so an error may fire only when even
``high`` is short; ``low`` is what is there for certain. Totals are net of what is committed to
daemons and to pods outside any queue, and leave out nodes that are not ready or cordoned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from policycheck.model import amount
from policycheck.model.inventory import NONE, Accelerators, Inventory, Node, Range
from policycheck.model.placement import Labels, Toleration, untolerated
from policycheck.record import NamedTuple

# What every node has some of: absent from a list of amounts means not said, never none.
CORE = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})
HOSTNAME = "kubernetes.io/hostname"
_REASONS = 4  # that one range names; a thousand pools may have a thousand


def select(inventory: Inventory | Iterable[Node], labels: Labels) -> tuple[Node, ...]:
    """The nodes that carry every one of ``labels``; no label selects all nodes."""
    nodes = inventory.nodes if isinstance(inventory, Inventory) else inventory
    wanted = labels.items()
    return tuple(n for n in nodes if all(n.labels.get(key) == value for key, value in wanted))


def knows_labels(inventory: Inventory | Iterable[Node]) -> bool:
    """Whether the source tells labels at all. A table and device slices may not: then that a label
    matches no node means nothing.
    """
    nodes = inventory.nodes if isinstance(inventory, Inventory) else tuple(inventory)
    return all(n.labels or n.source not in ("table", "slices") for n in nodes)


def tolerable(nodes: Iterable[Node], tolerations: tuple[Toleration, ...]) -> tuple[Node, ...]:
    """The nodes whose hard taints are all tolerated."""
    return tuple(n for n in nodes if untolerated(n.taints, tolerations) is None)


def machines(nodes: Iterable[Node]) -> Range:
    """How many machines the records stand for; elastic pools make it a range."""
    return together(Range(node.machines, node.most, _elastic(node)) for node in nodes)


def together(parts: Iterable[Range]) -> Range:
    """The range of a sum. Each reason is named once, the first few of many."""
    low, high = 0, 0
    is_bounded = True
    reasons: dict[str, None] = {}
    for part in parts:
        low += part.low
        if part.high is None:
            is_bounded = False
        else:
            high += part.high
        if part.why:
            reasons[part.why] = None
    named = list(reasons)[:_REASONS]
    more = [f"and {len(reasons) - _REASONS} reasons more"] if len(reasons) > _REASONS else []
    return Range(low, high if is_bounded else None, "; ".join(named + more))


def _elastic(node: Node) -> str:
    if node.most == node.machines:
        return ""
    most = "any number" if node.most is None else str(node.most)
    return f"{node.name} is elastic ({node.machines} to {most} machines)"


def free(node: Node, resource: str) -> Range:
    """What queues can have of ``resource`` on one machine of this record, cordoned or not.

    A resource that a node's list of amounts leaves out is 0, except those that every node has
    (cpu, memory, pods, ephemeral-storage): of these the amount is unknown.
    """
    held = node.committed.get(resource, 0)
    if node.allocatable is not None:
        if resource in node.allocatable:
            left = max(0, node.allocatable[resource] - held)
            return Range(left, left, _assumption(node, resource))
        return Range(0, None, f"no source says the {resource} of the nodes") if resource in CORE else NONE
    if node.capacity is not None and (resource in node.capacity or resource not in CORE):
        high = max(0, node.capacity.get(resource, 0) - held)
        return Range(0, high, "allocatable is missing; capacity is an upper bound") if high else NONE
    return _told_by_labels(node.accelerators, resource, held)


def _assumption(node: Node, resource: str) -> str:
    found = node.accelerators
    return found.schedulable.why if found and found.resource == resource and node.source == "elastic" else ""


def _told_by_labels(found: Accelerators | None, resource: str, held: int) -> Range:
    """Bounds without any amounts: measured cards times shares, when that is what labels say."""
    unknown = Range(0, None, f"nodes without status: their {resource} is not known")
    if found is None or found.resource != resource or found.physical.high is None:
        return unknown
    is_measured = not found.physical.why and not found.model_source
    if not is_measured or not found.replicas or found.sharing in ("mig-single", "mig-mixed", "vgpu"):
        return unknown
    high = max(0, found.physical.high * found.replicas - held)
    return Range(0, high, "nodes without status: labels bound what they offer")


def times(one: Range, node: Node) -> Range:
    """``one`` machine's range over all machines that the record stands for."""
    high = None
    if one.high == 0:
        high = 0
    elif one.high is not None and node.most is not None:
        high = one.high * node.most
    reasons = [r for r in (one.why, _elastic(node) if one.high != 0 else "") if r]
    return Range(one.low * node.machines, high, "; ".join(reasons))


def usable(nodes: Iterable[Node]) -> tuple[Node, ...]:
    """The nodes that take new pods at all."""
    return tuple(n for n in nodes if n.usable)


def total(nodes: Iterable[Node], resource: str) -> Range:
    """What queues can have of ``resource`` on all ``nodes`` together."""
    return together(times(free(node, resource), node) for node in nodes if node.usable)


def devices(nodes: Iterable[Node], device_class: str) -> Range:
    """Whole devices of a device class that drivers publish on ``nodes``; partitions are not among them."""
    return together(
        times(node.accelerators.schedulable, node)
        for node in nodes
        if node.usable and node.accelerators is not None and node.accelerators.resource == device_class
    )


def arithmetic(nodes: Iterable[Node], resource: str) -> str:
    """How the total comes about: ``8 nodes x 8``, ``8 nodes x 8 + 2 nodes x 4``, ``no node``.

    Amounts per node are net, as people write them; elastic pools show as ``0..10 nodes``, nodes that do
    not say as ``1 node unknown``.
    """
    groups: dict[tuple[int, int | None], tuple[int, int | None]] = {}
    for node in nodes:
        one = free(node, resource)
        if not node.usable or one.high == 0:
            continue
        low, high = groups.get((one.low, one.high), (0, 0))
        most = None if high is None or node.most is None else high + node.most
        groups[one.low, one.high] = (low + node.machines, most)
    if not groups:
        return "no node"
    terms = [
        (
            each[0] != each[1],
            each[1] is None,
            -(_INFINITE if most is None else most),
            -each[0],
            _term(low, most, each, resource),
        )
        for each, (low, most) in groups.items()
    ]
    return " + ".join(term[-1] for term in sorted(terms))


_INFINITE = 2**62


def _term(low: int, most: int | None, each: tuple[int, int | None], resource: str) -> str:
    if low == most:
        text = f"{low} node{'' if low == 1 else 's'}"
    else:
        text = f"{low}..{'' if most is None else most} nodes"
    if each[1] is None:
        return f"{text} unknown"
    shown = amount.show(resource, each[1])
    return f"{text} x {shown}" if each[0] == each[1] else f"{text} x at most {shown}"


def largest_node(nodes: Iterable[Node], resource: str) -> Range:
    """The most of ``resource`` that one machine can give; (0, 0) without a usable node."""
    low, high, why = 0, 0, ""
    for node in nodes:
        if not node.usable or node.most == 0:
            continue
        one = free(node, resource)
        low = max(low, one.low)
        if one.high is None:
            return Range(max([low, *(free(n, resource).low for n in nodes if n.usable)]), None, one.why)
        if one.high > high:
            high, why = one.high, one.why
    return Range(low, high, why if low != high else "")


def lacking(nodes: Iterable[Node], label: str) -> tuple[Node, ...]:
    """The nodes that do not carry the label; topology-aware placement does not see them."""
    return tuple(n for n in nodes if label not in n.labels)


class Domain(NamedTuple):
    """One domain of a topology level: the values of all levels down to it, and what it holds."""

    values: tuple[str, ...]
    machines: Range
    free: Range


def domains(nodes: Sequence[Node], levels: Sequence[str], resource: str) -> tuple[tuple[Domain, ...], ...]:
    """For every level, widest first, its domains in the order of their values.

    Only usable nodes that carry every level count, as for placement. A record of many alike machines
    has a domain of its own for each machine at the hostname level.
    """
    seen = [n for node in usable(nodes) for n in _each_machine(node, levels)]
    seen = [n for n in seen if all(level in n.labels for level in levels)]
    result = []
    for depth in range(1, len(levels) + 1):
        found: dict[tuple[str, ...], list[Node]] = {}
        for node in seen:
            found.setdefault(tuple(node.labels[level] for level in levels[:depth]), []).append(node)
        result.append(
            tuple(
                Domain(values, machines(found[values]), total(found[values], resource))
                for values in sorted(found)
            )
        )
    return tuple(result)


def _each_machine(node: Node, levels: Sequence[str]) -> tuple[Node, ...]:
    return expand(node) if HOSTNAME in levels else (node,)


def expand(node: Node) -> tuple[Node, ...]:
    """One record for each machine that is certain, with an ordinal in name and hostname label.

    The uncertain rest of an elastic pool stays one record of ``machines`` 0.
    """
    if node.machines == 1 and node.most == 1:
        return (node,)
    width = len(str(node.machines))
    made = [
        node._replace(
            name=f"{node.name}-{i:0{width}d}",
            labels={**node.labels, HOSTNAME: f"{node.name}-{i:0{width}d}"},
            machines=1,
            most=1,
        )
        for i in range(1, node.machines + 1)
    ]
    if node.most is None or node.most > node.machines:
        rest = None if node.most is None else node.most - node.machines
        made.append(node._replace(machines=0, most=rest))
    return tuple(made)


def unnested(nodes: Iterable[Node], levels: Sequence[str]) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
    """Values of a level that occur under several parents: (level, value, parents).

    Such a value names several domains; under a topology of these levels they are told apart by the
    path from the widest level, by people they are not.
    """
    parents: dict[tuple[int, str], set[str]] = {}
    for node in nodes:
        for depth in range(1, len(levels)):
            child, parent = node.labels.get(levels[depth]), node.labels.get(levels[depth - 1])
            if child is not None and parent is not None:
                parents.setdefault((depth, child), set()).add(parent)
    return tuple(
        (levels[depth], value, tuple(sorted(found)))
        for (depth, value), found in sorted(parents.items())
        if len(found) > 1
    )


class Gpus(NamedTuple):
    """Accelerators of one model: cards, what is whole and can be handed out, slices, shares.

    ``slices`` and ``shares`` are totals by resource name over nodes that can be used.
    """

    model: str
    resource: str
    machines: Range
    physical: Range
    schedulable: Range
    slices: Mapping[str, int]
    shares: Mapping[str, int]


def by_model(nodes: Iterable[Node]) -> tuple[Gpus, ...]:
    """All accelerators, most cards first. Nodes that are out of use count as physical only."""
    groups: dict[tuple[str, str], list[tuple[Node, Accelerators]]] = {}
    for node in nodes:
        if node.accelerators is not None:
            key = (node.accelerators.model, node.accelerators.resource)
            groups.setdefault(key, []).append((node, node.accelerators))
    found = [_gpus(key, members) for key, members in groups.items()]
    return tuple(sorted(found, key=lambda g: (-g.physical.low, -(g.physical.high or 0), g.model)))


def _gpus(key: tuple[str, str], members: Sequence[tuple[Node, Accelerators]]) -> Gpus:
    slices: dict[str, int] = {}
    shares: dict[str, int] = {}
    for node, one in members:
        in_use = node.machines if node.usable else 0
        _add(slices, _slice_names(one), in_use)
        _add(shares, one.shares, in_use)
    return Gpus(
        *key,
        machines=together(Range(node.machines, node.most) for node, _ in members),
        physical=together(times(one.physical, node) for node, one in members),
        schedulable=together(times(one.schedulable, node) for node, one in members),
        slices=slices,
        shares=shares,
    )


def _slice_names(one: Accelerators) -> Mapping[str, int]:
    """A unit of the plain resource under the single strategy is told apart by its profile."""
    if not one.profile:
        return one.slices
    return {f"{resource} ({one.profile})": n for resource, n in one.slices.items()}


def _add(into: dict[str, int], more: Mapping[str, int], factor: int) -> None:
    for key, number in more.items():
        if number * factor:
            into[key] = into.get(key, 0) + number * factor


def physical(nodes: Iterable[Node]) -> Range:
    """Cards on all nodes, in use or not."""
    return together(
        times(node.accelerators.physical, node) for node in nodes if node.accelerators is not None
    )


def schedulable(nodes: Iterable[Node]) -> Range:
    """Whole GPUs that can be handed out now; slices and shares are not among them."""
    return together(
        times(node.accelerators.schedulable, node)
        for node in nodes
        if node.usable and node.accelerators is not None
    )
