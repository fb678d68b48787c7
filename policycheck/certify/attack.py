"""Scenarios that try to break a promise: directed ones first, then drawn ones.

A fill brings the others to a state in which they hold as much as they can; then somebody asks. Fills are
made for every mix of priorities, with workloads large and small, in several orders, with nodes lost and
with queues held and opened again. What is drawn derives from (seed, subject, number) alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from policycheck.certify.arena import RESUME, STOP, SUBMIT, Arena, Ask, Move, Scenario
from policycheck.certify.promise import Shape
from policycheck.model.workload import PodSet
from policycheck.simulate.draw import Draw, stream

MOST_ASKS = 48  # of one fill; more of them say nothing new and cost time
MADE = "made for the attack"  # source of a shape that no team has
_LARGE = 1 << 40  # stands for no limit
_CHUNKS = 3  # workloads that one queue borrows with


class Rival(NamedTuple):
    """A queue that may stand in the way, with what it can ask for: shapes of its own and plain ones."""

    queue: str
    shapes: tuple[Shape, ...]


class Mix(NamedTuple):
    """One way of filling: by which shape (of those a rival has), with which priorities, in which order."""

    name: str
    shape: int  # of a rival's shapes, modulo their number
    priorities: tuple[tuple[str, int], ...]  # (class, value), in turn
    turned: bool = False  # the last rival first
    halved: bool = False  # every other rival stays idle


def plain(resource: str, units: int, companions: Mapping[str, int], name: str) -> Shape:
    """A job of single pods of ``units`` each; its podset is multiplied as needed."""
    return Shape(name, (PodSet("main", 1, {resource: units, **companions}),), source=MADE)


def priorities_of(arena: Arena) -> list[tuple[str, int]]:
    """All priority classes, highest first, and no class (0)."""
    known = sorted(arena.classes.items(), key=lambda c: (-c[1], c[0]))
    return known if any(value == 0 for _, value in known) else [*known, ("", 0)]


def rivals(arena: Arena, queues: Iterable[str], shapes: Mapping[str, Sequence[Shape]]) -> list[Rival]:
    """Everybody who can hold what ``queues`` lend: their peers, with declared shapes and plain ones."""
    mine = set(queues)
    names = sorted({peer for queue in mine for peer in arena.peers(queue)} - mine)
    found = []
    for name in names:
        if arena.inapplicable(name):
            continue
        promised = list(shapes.get(name, ()))
        # What a team is known to run bounds what it attacks with; of the others anything may come.
        own = promised or [*_plains(arena, name), *arena.shapes(name)]
        found.append(Rival(name, tuple(_distinct(own))))
    return found


def _distinct(shapes: Iterable[Shape]) -> list[Shape]:
    return list({repr(shape.pod_sets): shape for shape in shapes}.values())


def _plains(arena: Arena, queue: str) -> Iterator[Shape]:
    """Single pods of one unit, and of as many as the largest node has, asking for nothing beside; and pods
    that ask for the companions alone, an eighth of what there is.
    """
    pairs = arena.rights.resources(queue)
    resources = list(dict.fromkeys(r for _, r in pairs))
    units = [r for r in resources if r in arena.accelerators] or resources[:1]
    for resource in units[:2]:
        yield plain(resource, 1, {}, f"one {resource}")
        largest = max(
            ((node.allocatable or {}).get(resource, 0) for node in arena.inventory.nodes if node.usable),
            default=0,
        )
        if largest > 1:
            yield plain(resource, largest, {}, f"a node of {resource}")
    for resource in resources:
        if resource not in units:
            most = max(
                min(arena.rights.potential(queue, *pair), _LARGE) for pair in pairs if pair[1] == resource
            )
            yield plain(resource, max(1, most // 8), {}, f"{resource} alone")


def main_resource(shape: Shape, accelerators: Sequence[str]) -> str:
    """The resource that a shape is about: an accelerator if it asks for any, else its first."""
    asked = [r for spec in shape.pod_sets for r in spec.requests]
    return next((r for r in accelerators if r in asked), next(iter(asked), ""))


def size(shape: Shape, resource: str) -> int:
    """What all pods of a shape ask of ``resource``."""
    return sum(spec.pods * spec.requests.get(resource, 0) for spec in shape.pod_sets)


def grown(shape: Shape, times: int) -> Shape:
    """A shape of one podset with ``times`` as many pods; a shape of several as it is."""
    if len(shape.pod_sets) != 1 or times <= 1 or shape.pod_sets[0].topology is not None:
        return shape
    (spec,) = shape.pod_sets
    return shape._replace(pod_sets=(spec._replace(pods=spec.pods * times),))


def repeated(shape: Shape, times: int) -> list[Shape]:
    """One workload that is ``times`` as large; so many of them where the shape can not be made larger."""
    made = grown(shape, times)
    return [made] if made is not shape else [shape] * max(1, times)


def fill(arena: Arena, who: Sequence[Rival], mix: Mix) -> list[Ask]:
    """Workloads by which the rivals take all they can get: their own quota, then what they can borrow, in
    ever smaller ones, so that the last of it goes too.
    """
    asks: list[Ask] = []
    order = list(reversed(who)) if mix.turned else list(who)
    for place, rival in enumerate(order):
        if (mix.halved and place % 2) or not rival.shapes:
            continue
        shape = rival.shapes[mix.shape % len(rival.shapes)]
        resource = main_resource(shape, arena.accelerators)
        each = size(shape, resource)
        if not each:
            continue
        number = 0
        for turn, times in enumerate(_portions(arena, rival.queue, resource, each)):
            name, value = mix.priorities[(place + turn) % len(mix.priorities)]
            for one in repeated(shape, times):
                number += 1
                made = f"{rival.queue}-{number}"
                asks.append(Ask(made, rival.queue, one, value, name, age=len(asks) + 1))
                if len(asks) >= MOST_ASKS:
                    return asks
    return asks


def _portions(arena: Arena, queue: str, resource: str, each: int) -> list[int]:
    """How many times the shape each workload is: the queue's own quota of each flavor first, since a podset
    has one flavor, then what it can borrow there in ever smaller parts.
    """
    own: list[int] = []
    more: list[int] = []
    nominal = arena.nominal(queue)
    for pair in arena.rights.resources(queue):
        if pair[1] != resource:
            continue
        mine = min(nominal.get(pair, 0), _LARGE) // each
        most = min(arena.rights.potential(queue, *pair), _LARGE) // each
        if most >= _LARGE // each:
            most = 2 * mine
        own.append(mine)
        left = most - mine
        for turn in range(_CHUNKS):
            part = left if turn == _CHUNKS - 1 else -(-left // 2)
            more.append(part)
            left -= part
    return [times for times in (*own, *more) if times > 0]


def mixes(arena: Arena, who: Sequence[Rival]) -> Iterator[Mix]:
    """All directed fills: every shape, every priority alone, and priorities in turn."""
    known = priorities_of(arena)
    most = max((len(rival.shapes) for rival in who), default=0)
    ways: list[tuple[str, tuple[tuple[str, int], ...]]] = [
        (f"priority {value}", ((name, value),)) for name, value in known
    ]
    if len(known) > 1:
        ways.append(("priorities in turn", tuple(known)))
        ways.append(("priorities in turn, lowest first", tuple(reversed(known))))
    # Every priority with the plainest shape first, then the other shapes with all priorities in turn.
    for label, chosen in ways:
        yield Mix(f"shape 1, {label}", 0, chosen)
    for shape, (label, chosen) in product(range(1, most), (ways[0], ways[-1])):
        yield Mix(f"shape {shape + 1}, {label}", shape, chosen)
    for turned, halved in ((True, False), (False, True), (True, True)):
        yield Mix(f"turned {turned}, halved {halved}", 0, ways[0][1], turned, halved)


def settled(asks: Sequence[Ask]) -> int:
    """The cycle by which a fill has come to rest: a queue looks at one workload a cycle."""
    longest: dict[str, int] = {}
    for ask in asks:
        longest[ask.queue] = longest.get(ask.queue, 0) + 1
    return 2 * max(longest.values(), default=0) + 2


def attack(asks: Sequence[Ask], mine: Sequence[Ask], *, lost: tuple[str, ...] = ()) -> Scenario:
    """The fill, and after it has come to rest the asks of the one whose promise is tested."""
    at = settled(asks) if asks else 1
    late = tuple(ask._replace(age=1000 + n) for n, ask in enumerate(mine))
    moves = ([Move(1, SUBMIT, tuple(asks))] if asks else []) + [Move(at, SUBMIT, late)]
    return Scenario(tuple(moves), lost, at + 6 * len(mine) + 2 * len(asks) + 10)


def with_restart(scenario: Scenario, queues: Sequence[str]) -> Scenario:
    """The same, after ``queues`` were held, drained and opened again while the fill stood."""
    first, last = scenario.moves[0], scenario.moves[-1]
    at = last.cycle
    moves = (first, Move(at, STOP, names=tuple(queues)), Move(at + 2, RESUME, names=tuple(queues)))
    return scenario._replace(
        moves=(*moves, last._replace(cycle=at + 4 + len(first.asks))),
        cycles=scenario.cycles + 12 + len(first.asks),
    )


def sets_within(
    shapes: Sequence[Shape], guarantee: Mapping[str, int], queue: str, draw: Draw | None = None
) -> list[Ask]:
    """Asks of the team that together stay within its guarantee: the first shape as often as it fits, then
    the next into what is left. With ``draw`` in a drawn order and number.
    """
    order = list(shapes)
    if draw is not None:
        draw.shuffle(order)
    left = dict(guarantee)
    asks: list[Ask] = []
    for shape in order:
        needs = {r: size(shape, r) for r in guarantee if size(shape, r)}
        if not needs:
            continue
        times = min(left[r] // needs[r] for r in needs)
        if draw is not None and times > 1:
            times = 1 + draw.below(times)
        for _ in range(min(times, 16)):
            asks.append(Ask(f"mine-{len(asks) + 1}", queue, shape, shape.priority, shape.priority_class))
            for r, need in needs.items():
                left[r] -= need
    return asks


def drawn(
    arena: Arena, who: Sequence[Rival], mine: Sequence[Ask], seed: int, subject: str, number: int
) -> Scenario:
    """The ``number``-th random attack on ``subject``."""
    draw = stream(seed, "attack", subject, number)
    known = priorities_of(arena)
    asks: list[Ask] = []
    order = list(who)
    draw.shuffle(order)
    for rival in order:
        if not rival.shapes or draw.below(8) == 0:
            continue
        shape = rival.shapes[draw.below(len(rival.shapes))]
        resource = main_resource(shape, arena.accelerators)
        each = size(shape, resource)
        portions = _portions(arena, rival.queue, resource, each) if each else []
        for _ in range(1 + draw.below(_CHUNKS + 1)):
            if not portions or len(asks) >= MOST_ASKS:
                break
            times = 1 + draw.below(max(portions))
            name, value = known[draw.below(len(known))]
            for one in repeated(shape, times)[: MOST_ASKS - len(asks)]:
                made = f"{rival.queue}-{sum(a.queue == rival.queue for a in asks) + 1}"
                asks.append(Ask(made, rival.queue, one, value, name, age=draw.below(900)))
    late = list(mine)
    draw.shuffle(late)
    # Some of what the team asks may be there before the others come.
    early = late[: draw.below(len(late) + 1)] if draw.below(3) == 0 else []
    scenario = attack(asks, late[len(early) :] or late)
    if early and len(early) < len(late):
        first = Move(1, SUBMIT, tuple(ask._replace(age=n) for n, ask in enumerate(early)))
        scenario = scenario._replace(moves=(first, *scenario.moves))
    if draw.below(6) == 0 and who:
        scenario = with_restart(scenario, [who[draw.below(len(who))].queue]) if asks else scenario
    return scenario
