"""Nodes as classes of alike machines, at the upper or the lower end of what is known of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence

from policycheck.model import capacity
from policycheck.model.inventory import Node
from policycheck.record import NamedTuple
from policycheck.simulate.hold.problem import ENDLESS
from policycheck.simulate.hold.shape import PODS, Machines

_Key = tuple[tuple[int, ...], tuple[str, ...], Hashable]
UNBOUNDED = 1 << 40  # machines of a pool that may grow for ever: more than anybody asks for
NOT_TOLD = ENDLESS // 2  # of what a node has enough, since nothing says how much


class Kinds(NamedTuple):
    """Classes of machines, and for each what its nodes were marked with."""

    classes: tuple[Machines, ...]
    marks: tuple[Hashable, ...]

    def marked(self, wanted: object) -> tuple[int, ...]:
        """The classes whose mark, a set, holds ``wanted``."""
        return tuple(n for n, m in enumerate(self.marks) if isinstance(m, frozenset) and wanted in m)


def kinds(
    nodes: Iterable[Node],
    resources: Sequence[str],
    marks: Mapping[str, Hashable],
    levels: Sequence[str] = (),
    *,
    most: bool = True,
) -> Kinds:
    """The usable ones of ``nodes`` by what is free on them, by domain, and by their mark (by name).

    With ``most`` every range counts with its upper end and pools as grown as they may be, else with its
    lower end and as small. Levels are label keys, widest first; a node is in domains as far down as it
    carries them. One whose mark is missing is left out.
    """
    found: dict[_Key, tuple[Node, int]] = {}
    for node in nodes:
        machines = node.machines if not most else UNBOUNDED if node.most is None else node.most
        if not node.usable or not machines or node.name not in marks:
            continue
        free = tuple(_free(node, r, most=most) for r in resources)
        key = (free, path(node, levels), marks[node.name])
        first, number = found.get(key, (node, 0))
        found[key] = first, number + machines
    made = []
    for (free, where, _), (first, number) in found.items():
        told = {r: a for r, a in zip(resources, free, strict=True) if r != PODS or a < NOT_TOLD}
        made.append(Machines(first.name, told, number, where))
    return Kinds(tuple(made), tuple(mark for _, _, mark in found))


def _free(node: Node, resource: str, *, most: bool) -> int:
    told = capacity.free(node, resource)
    if not most:
        return told.low
    return NOT_TOLD if told.high is None else told.high


def path(node: Node, levels: Sequence[str]) -> tuple[str, ...]:
    """The domains of a node, widest first, as far down as it carries the labels."""
    found = []
    for level in levels:
        if level not in node.labels:
            break
        found.append(node.labels[level])
    return tuple(found)
