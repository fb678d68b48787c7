"""A bound as people would say it: what is asked, what nodes take each, and the sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policycheck.model.amount import show
from policycheck.simulate.hold.problem import ENDLESS, Problem
from policycheck.simulate.hold.shape import PODS, Bound, Room
from policycheck.wording import plural

_TERMS = 3


def amounts(each: Mapping[str, int]) -> str:
    """``8 nvidia.com/gpu``, ``1 nvidia.com/gpu and 40 cpu``; what has a vendor's name comes first."""
    names = sorted((r for r, a in each.items() if a and r != PODS), key=lambda r: ("/" not in r, r))
    found = [f"{show(r, each[r])} {r}" for r in names]
    return (
        found[0] if len(found) == 1 else " and ".join((", ".join(found[:-1]), *found[-1:])) if found else ""
    )


def explain(problem: Problem, bound: Bound) -> str:
    """Why ``bound`` shows that its demands can not be held."""
    match bound.kind:
        case "pod":
            return _pod(problem, bound)
        case "pods":
            return f"{_pods(problem, bound)}, and {rooms(bound.rooms)}: {bound.room}"
        case "gang":
            return _gang(problem, bound)
        case "slices":
            size = plural(problem.demands[bound.demands[0]].slice_pods, "pod")
            return f"{_pods(problem, bound)} in slices of {size}, and the domains take {bound.room} so"
        case "domains":
            n = plural(bound.need, "gang")
            return f"{n} need a domain each that holds one, and the domains hold {bound.room}"
        case "amount":
            return _amount(bound)
        case "share":
            return _nodes_worth(problem, bound)
    return "every way to place them was tried, and none holds them all"


def _each(problem: Problem, bound: Bound) -> Mapping[str, int]:
    part = problem.demands[bound.demands[0]].parts[bound.part]
    return {r: part.each[r] for r in problem.order if r in part.each}


def _pods(problem: Problem, bound: Bound) -> str:
    """``9 pods of 5 nvidia.com/gpu``, with what else ends the room."""
    each = _each(problem, bound)
    by = {room.by for room in bound.rooms if room.takes or room.by}
    told = {r: a for r, a in each.items() if "/" in r or r in by} or each
    return f"{plural(bound.need, 'pod')} of {amounts(told) or 'nothing'}"


def _pod(problem: Problem, bound: Bound) -> str:
    if bound.resource:
        r = bound.resource
        return f"a pod takes {show(r, bound.need)} {r}, and the largest node has {show(r, bound.room)}"
    return f"a pod takes {amounts(_each(problem, bound))}, and no node has all of it at once"


def _gang(problem: Problem, bound: Bound) -> str:
    if bound.resource:
        r = bound.resource
        return f"one gang takes {show(r, bound.need)} {r}, and pods like these can use {show(r, bound.room)}"
    return f"{_pods(problem, bound)}, and {rooms(bound.rooms)}: {bound.room}"


def _amount(bound: Bound) -> str:
    r = bound.resource
    need, room = show(r, bound.need), show(r, bound.room)
    told = f": {rooms(bound.rooms, amounts=True)}" if bound.rooms else ""
    return f"together they take {need} {r}, and such pods can use {room} of the nodes open to them{told}"


def _nodes_worth(problem: Problem, bound: Bound) -> str:
    """Pods that leave nothing useful of a node count as all of it."""
    n = problem.order.index(bound.resource)
    homes = (problem.homes[d] for d in bound.demands)
    most = max(problem.free[c][n] for some in homes for home in some for c in home if problem.machines[c])
    need = f"{-(-10 * bound.need // most) / 10:g}"
    return (
        f"the large pods leave too little {bound.resource} on a node for any other of these: together they take "
        f"{need} nodes of {show(bound.resource, most)}, and there are {bound.room / most:g}"
    )


def rooms(found: Sequence[Room], *, amounts: bool = False) -> str:
    """``8 nodes of 8 nvidia.com/gpu take 1 each, 2 nodes of 184 cpu take 4 each``: pods, or ``amounts``."""
    some = [room for room in found if room.machines]
    if not some:
        return "no node is open to them"
    terms = [_room(room, amounts=amounts) for room in some[:_TERMS]]
    rest = some[_TERMS:]
    if rest:
        most = _takes(max(rest, key=lambda room: room.takes), amounts=amounts)
        number = sum(room.machines for room in rest)
        terms.append(f"{plural(number, 'more node')} take {f'at most {most} each' if most else 'none'}")
    return ", ".join(terms)


def _room(room: Room, *, amounts: bool) -> str:
    nodes = plural(room.machines, "node")
    of = f" of {show(room.by, room.has)} {room.by}" if room.has < ENDLESS // 2 else ""
    verb = "takes" if room.machines == 1 else "take"
    takes = _takes(room, amounts=amounts)
    if not takes:
        return f"{nodes}{of} {verb} none"
    return f"{nodes}{of} {verb} {takes}{'' if room.machines == 1 else ' each'}"


def _takes(room: Room, *, amounts: bool) -> str:
    """What one of the machines takes; "" for nothing."""
    if not room.takes:
        return ""
    return show(room.by, room.takes) if amounts else f"{room.takes:,}"
