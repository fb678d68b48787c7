"""The question as integers: one order of resources, vectors, and the domains that each gang may go to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policycheck.record import NamedTuple
from policycheck.simulate.hold.shape import ALONE, ANYWHERE, PODS, Demand, Machines, Part

Vector = tuple[int, ...]
Home = tuple[int, ...]  # classes of machines, in order
ENDLESS = 1 << 62


class Problem(NamedTuple):
    """``free`` and ``machines`` by class; ``each`` by demand and part; ``homes`` by demand: a gang goes to
    one of them. ``demands`` are plain.
    """

    order: tuple[str, ...]
    free: tuple[Vector, ...]
    machines: tuple[int, ...]
    paths: tuple[tuple[str, ...], ...]
    demands: tuple[Demand, ...]
    each: tuple[tuple[Vector, ...], ...]
    homes: tuple[tuple[Home, ...], ...]


def plain(demand: Demand) -> Demand:
    """The same demand with pod slots written out, and with pods that share one machine as one large pod."""
    parts = tuple(p._replace(each=_with_slot(p.each)) for p in demand.parts)
    if demand.level == ALONE:
        total: dict[str, int] = {}
        for part in parts:
            for resource, amount in part.each.items():
                total[resource] = total.get(resource, 0) + amount * part.pods
        names = " and ".join(p.name for p in parts if p.name)
        return demand._replace(parts=(Part(total, 1, names),), level=ANYWHERE, slice_pods=0)
    if demand.slice_pods > 1 and demand.slice_level == ALONE:
        slices = tuple(s for part in parts for s in _slices(part, demand.slice_pods))
        return demand._replace(parts=slices, slice_pods=0)
    is_cut = demand.slice_pods > 1 and demand.slice_level > max(demand.level, ANYWHERE)
    return demand._replace(parts=parts, slice_pods=demand.slice_pods if is_cut else 0)


def _with_slot(each: Mapping[str, int]) -> dict[str, int]:
    amounts = {r: a for r, a in each.items() if a > 0}
    amounts[PODS] = amounts.get(PODS, 0) + 1
    return amounts


def _slices(part: Part, size: int) -> list[Part]:
    """Whole slices as one kind of large pod, and the rest as another."""
    made = []
    for pods, times in ((size, part.pods // size), (part.pods % size, 1)):
        if pods and times:
            made.append(Part({r: a * pods for r, a in part.each.items()}, times, part.name))
    return made


def build(classes: Sequence[Machines], demands: Sequence[Demand]) -> Problem:
    """The problem. Raises ValueError for numbers that are none: negative, or classes that are not there."""
    for demand in demands:
        if demand.gangs < 0 or any(p.pods < 0 or min(p.each.values(), default=0) < 0 for p in demand.parts):
            raise ValueError(f"{demand.name}: gangs, pods and what they take are at least 0")
        if any(not 0 <= c < len(classes) for some in demand.allowed for c in some):
            raise ValueError(f"{demand.name}: allowed names a class of machines that is not there")
    made = tuple(plain(d) for d in demands)
    order = tuple(dict.fromkeys(r for d in made for p in d.parts for r in p.each))
    if not any(PODS in c.free for c in classes):  # then they tell nothing apart
        order = tuple(r for r in order if r != PODS) or order
    return Problem(
        order,
        tuple(tuple(_free(c, r) for r in order) for c in classes),
        tuple(max(0, c.machines) for c in classes),
        tuple(c.path for c in classes),
        made,
        tuple(tuple(tuple(p.each.get(r, 0) for r in order) for p in d.parts) for d in made),
        tuple(homes(d, classes) for d in made),
    )


def _free(machines: Machines, resource: str) -> int:
    return max(0, machines.free.get(resource, ENDLESS if resource == PODS else 0))


def homes(demand: Demand, classes: Sequence[Machines]) -> tuple[Home, ...]:
    """The sets of classes of which one gang takes one, each once."""
    found: dict[Home, None] = {}
    for some in demand.allowed:
        for home in split(sorted(set(some)), [c.path for c in classes], demand.level):
            found[home] = None
    return tuple(found)


def split(some: Sequence[int], paths: Sequence[tuple[str, ...]], level: int) -> list[Home]:
    """``some`` classes by domain of ``level``; those whose path does not reach so far are in none."""
    if level <= ANYWHERE:
        return [tuple(some)] if some else []
    domains: dict[tuple[str, ...], list[int]] = {}
    for c in some:
        if len(paths[c]) >= level:
            domains.setdefault(paths[c][:level], []).append(c)
    return [tuple(domains[path]) for path in sorted(domains)]


def most(free: Vector, each: Vector) -> int:
    """How many pods that take ``each`` one machine with ``free`` has room for."""
    return min((f // e for f, e in zip(free, each, strict=True) if e), default=ENDLESS)


def ends_with(problem: Problem, free: Vector, each: Vector) -> int | None:
    """The resource (by position) that leaves no more room, the scarcest first; None when pods take nothing."""
    wanted = [n for n, e in enumerate(each) if e]
    return min(wanted, key=lambda n: (free[n] // each[n], problem.order[n] == PODS, n), default=None)
