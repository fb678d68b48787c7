"""Records of an inventory as single machines, and what a ground counts of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from policycheck.model.capacity import CORE, HOSTNAME, expand
from policycheck.model.inventory import Node
from policycheck.simulate.device import CardKind

_MOST_EXTRA = 20_000  # machines that elastic pools may add


def machines(nodes: Iterable[Node]) -> tuple[tuple[Node, ...], int, tuple[str, ...]]:
    """One record a machine; how many at the end are those that elastic pools may add; what is left out."""
    certain: list[Node] = []
    extra: list[Node] = []
    notes = []
    for node in nodes:
        made = expand(node)
        certain += [n for n in made if n.machines]
        rest = 0 if node.most is None else node.most - node.machines
        if node.most is None or len(extra) + rest > _MOST_EXTRA:
            notes.append(f"{node.name} may grow beyond {node.machines} machines, which is left out")
            continue
        width = len(str(node.machines))
        names = (f"{node.name}-{i:0{width}d}" for i in range(node.machines + 1, node.most + 1))
        extra += [
            node._replace(name=name, labels={**node.labels, HOSTNAME: name}, machines=1, most=1)
            for name in (names if rest else ())
        ]
    return (*certain, *extra), len(extra), tuple(notes)


def columns(nodes: Sequence[Node], shadows: Mapping[str, str]) -> tuple[dict[str, int], dict[str, str]]:
    """Positions of the counted resources, shadows last; and what each column counts."""
    names = {r for node in nodes for r in (node.allocatable or node.capacity or {})} | CORE
    plain = {**{name: name for name in sorted(names)}, **shadows}
    return {name: n for n, name in enumerate(plain)}, plain


def offers(kind: CardKind) -> Iterator[str]:
    """Every resource that a card of this kind may serve; "class/profile" answers to "class" too."""
    yield from filter(None, (kind.whole, kind.share))
    for partition in kind.partitions:
        yield partition.resource
        parts = partition.resource.split("/")
        yield from ("/".join(parts[:n]) for n in range(1, len(parts)))


def unknown(nodes: Sequence[Node]) -> tuple[str, ...]:
    """What is taken for granted because no source says it."""
    notes = []
    silent = sum(n.allocatable is None for n in nodes)
    if silent:
        notes.append(f"{silent} nodes do not say what is allocatable; their capacity is taken for it")
    for resource in ("cpu", "memory"):
        bare = sum(resource not in (n.allocatable or n.capacity or {}) for n in nodes)
        if bare:
            notes.append(f"no source says the {resource} of {bare} nodes; it never is what is short")
    return tuple(notes)
