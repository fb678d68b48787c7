"""Maximum flow between demands and machines, and the cut that shows what is too much.

Ford and Fulkerson's theorem: what can not flow names a set of demands that the machines they may go to
can not take, which is Hall's condition with amounts.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

Arcs = Mapping[Hashable, Mapping[Hashable, int]]
SOURCE, SINK = "source", "sink"


def cut(arcs: Arcs) -> tuple[int, frozenset[Hashable]]:
    """The most that flows from SOURCE to SINK, and the source's side of a smallest cut."""
    rest: dict[Hashable, dict[Hashable, int]] = {a: dict(heads) for a, heads in arcs.items()}
    for tail, heads in arcs.items():
        for head in heads:
            rest.setdefault(head, {}).setdefault(tail, 0)
    total = 0
    while True:
        came = _reach(rest)
        if SINK not in came:
            return total, frozenset(came)
        total += _push(rest, came)


def _reach(rest: dict[Hashable, dict[Hashable, int]]) -> dict[Hashable, Hashable]:
    """Every node that more can flow to, and whence, nearest first."""
    came: dict[Hashable, Hashable] = {SOURCE: SOURCE}
    todo: list[Hashable] = [SOURCE]
    for node in todo:  # grows while it is read
        for head, left in rest.get(node, {}).items():
            if left > 0 and head not in came:
                came[head] = node
                if head == SINK:
                    return came
                todo.append(head)
    return came


def _push(rest: dict[Hashable, dict[Hashable, int]], came: dict[Hashable, Hashable]) -> int:
    way: list[tuple[Hashable, Hashable]] = []
    node: Hashable = SINK
    while node != SOURCE:
        way.append((came[node], node))
        node = came[node]
    least = min(rest[a][b] for a, b in way)
    for a, b in way:
        rest[a][b] -= least
        rest[b][a] += least
    return least
