"""Free nodes that lie far apart: the state in which a gang that only prefers to be close is spread widest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from policycheck.certify.arena import FINISH, SUBMIT, Arena, Ask, Move, Scenario
from policycheck.certify.attack import MOST_ASKS, Rival, main_resource, settled, size
from policycheck.certify.needed import HOSTNAME
from policycheck.certify.promise import Shape
from policycheck.simulate.scheduler import Grant


def nodes_of(arena: Arena, shape: Shape) -> int:
    """How many nodes it needs at least."""
    resource = main_resource(shape, arena.accelerators)
    most = max(((n.allocatable or {}).get(resource, 0) for n in arena.inventory.nodes if n.usable), default=0)
    return -(-size(shape, resource) // most) if most else 1


def fragments(arena: Arena, who: Sequence[Rival], ask: Ask, level: str, nodes: int) -> Iterator[Scenario]:
    """Others have filled the nodes with jobs of one node each; then some end, each in another domain of ``level``,
    and leave as many nodes as the gang ``ask`` needs. Nothing where it does not come to that.
    """
    fill = tuple(_of_one_node(arena, who, main_resource(ask.shape, arena.accelerators)))
    at = settled(fill)
    story = arena.play(Scenario((Move(1, SUBMIT, fill),), cycles=2 * len(fill) + 10))
    stood = tuple(one for one in fill if one.name in story.holding and one.name not in story.unplaced)
    ends = _holes(arena, {one.name: story.holding[one.name] for one in stood}, level, nodes)
    if ends:
        late = ask._replace(age=1000)
        moves = (Move(1, SUBMIT, stood), Move(at, FINISH, names=ends), Move(at + 1, SUBMIT, (late,)))
        yield Scenario(moves, cycles=at + 2 * len(stood) + 16)


def _of_one_node(arena: Arena, who: Sequence[Rival], resource: str) -> Iterator[Ask]:
    """Jobs of the others, the largest that each has for one node, in turn; enough to fill all nodes."""
    nodes = sum(n.machines for n in arena.inventory.nodes if n.usable and (n.allocatable or {}).get(resource))
    chosen: list[tuple[str, Shape]] = []
    for rival in who:
        small = [s for s in rival.shapes if size(s, resource) and nodes_of(arena, s) == 1]
        if small:
            chosen.append((rival.queue, max(small, key=lambda s: size(s, resource))))
    for number in range(min(2 * nodes, MOST_ASKS) if chosen else 0):
        queue, shape = chosen[number % len(chosen)]
        yield Ask(f"{queue}-{number + 1}", queue, shape, shape.priority, shape.priority_class, number)


def _holes(arena: Arena, held: Mapping[str, Grant], level: str, nodes: int) -> tuple[str, ...]:
    """Workloads of one node each to end, so that so many nodes get free: in as many domains as there are."""
    domains = {n.labels.get(HOSTNAME, n.name): n.labels.get(level, "") for n in arena.inventory.nodes}
    where: dict[str, list[str]] = {}
    for name, grant in sorted(held.items()):
        hosts = {v[-1] for s in grant.sets if s.placement is not None for v, _ in s.placement[1]}
        if len(hosts) == 1:
            where.setdefault(domains.get(hosts.pop(), ""), []).append(name)
    chosen: list[str] = []
    while len(chosen) < nodes and any(where.values()):
        chosen += [names.pop() for _, names in sorted(where.items()) if names][: nodes - len(chosen)]
    return tuple(chosen) if len(chosen) == nodes else ()
