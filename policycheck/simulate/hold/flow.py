"""Maximum flow between demands and machines, and the cut that shows what is too much.

What can not flow names a set of demands that the machines they may go to can not take, which is Hall's
condition with amounts (Ford and Fulkerson's theorem). The flow is found as Dinic does: by shortest ways,
all of one length at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import pairwise

Arcs = Mapping[Hashable, Mapping[Hashable, int]]
_Rest = dict[Hashable, dict[Hashable, int]]
SOURCE, SINK = "source", "sink"


def cut(arcs: Arcs) -> tuple[int, frozenset[Hashable]]:
    """The most that flows from SOURCE to SINK, and the source's side of a smallest cut."""
    rest: _Rest = {a: dict(heads) for a, heads in arcs.items()}
    for tail, heads in arcs.items():
        for head in heads:
            rest.setdefault(head, {}).setdefault(tail, 0)
    total = 0
    while True:
        far = _far(rest)
        if SINK not in far:
            return total, frozenset(far)
        total += _block(rest, far)


def _far(rest: _Rest) -> dict[Hashable, int]:
    """How many arcs away everything is that more can flow to."""
    far: dict[Hashable, int] = {SOURCE: 0}
    todo: list[Hashable] = [SOURCE]
    for node in todo:  # grows while it is read
        for head, left in rest.get(node, {}).items():
            if left > 0 and head not in far:
                far[head] = far[node] + 1
                todo.append(head)
    return far


def _block(rest: _Rest, far: Mapping[Hashable, int]) -> int:
    """Send all that goes along shortest ways, and how much that is."""
    heads = {n: [h for h in rest.get(n, ()) if far.get(h) == at + 1] for n, at in far.items()}
    total = 0
    way: list[Hashable] = [SOURCE]
    while way:
        if way[-1] == SINK:
            total += _send(rest, way)
            continue
        open_ = heads[way[-1]]
        while open_ and rest[way[-1]][open_[-1]] <= 0:
            open_.pop()
        if open_:
            way.append(open_[-1])
            continue
        way.pop()  # a dead end, for whoever came here
        if way:
            heads[way[-1]].pop()
    return total


def _send(rest: _Rest, way: list[Hashable]) -> int:
    """Send what goes along one way, and go back to where it is full."""
    least = min(rest[a][b] for a, b in pairwise(way))
    full = len(way)
    for n, (a, b) in enumerate(pairwise(way)):
        rest[a][b] -= least
        rest[b][a] += least
        if not rest[a][b]:
            full = min(full, n)
    del way[full + 1 :]
    return least
