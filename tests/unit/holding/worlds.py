"""Small random problems, and the answer by trying everything, pod by pod and machine by machine."""

from policycheck.simulate.draw import Draw
from policycheck.simulate.hold import ALONE, ANYWHERE, Demand, Machines, Part

GPU, CPU, PODS = "nvidia.com/gpu", "cpu", "pods"


def world(draw: Draw):
    """At most six machines and ten pods."""
    levels = draw.below(3)
    classes = []
    for c in range(1 + draw.below(3)):
        free = {GPU: 1 + draw.below(8)}
        if draw.below(8):
            free[CPU] = 2 + draw.below(6)
        if draw.below(4) == 0:
            free[PODS] = 1 + draw.below(4)
        path = tuple(f"{level}{draw.below(2)}" for level in "br"[:levels])
        classes.append(Machines(f"c{c}", free, (1, 1, 2, 2, 3, 0)[draw.below(6)], path))
    demands = []
    pods = 0
    for d in range(1 + draw.below(4)):
        parts = tuple(
            Part(amounts(draw), 1 + draw.below(4 if levels else 3)) for _ in range(1 if draw.below(4) else 2)
        )
        gangs = 1 + draw.below(3)
        pods += gangs * sum(p.pods for p in parts)
        if pods > 9:
            break
        demands.append(Demand(f"d{d}", parts, gangs, allowed(draw, len(classes)), level(draw, levels)))
        if draw.below(4) == 0:
            size, at = 1 + draw.below(3), level(draw, levels)
            demands[-1] = demands[-1]._replace(slice_pods=size, slice_level=at)
    return classes, demands


def amounts(draw):
    each = {GPU: (1, 1, 2, 2, 3, 0, 4, 5)[draw.below(8)]}
    if draw.below(3) == 0:
        each[CPU] = 1 + draw.below(3)
    return each


def allowed(draw, size):
    return tuple(tuple(c for c in range(size) if draw.below(4)) for _ in range(1 + draw.below(2)))


def level(draw, levels):
    return (ANYWHERE, ANYWHERE, ALONE, *range(1, levels + 1))[draw.below(3 + levels)]


def brute(classes, demands):
    """Whether all can be held, by trying every machine for every pod."""
    machines = [(c, dict(one.free), one.path) for c, one in enumerate(classes) for _ in range(one.machines)]
    has_slots = [PODS in one.free for one in classes]
    pods = []  # (demand, gang, slice, each)
    for d, demand in enumerate(demands):
        for gang in range(demand.gangs):
            for p, part in enumerate(demand.parts):
                size = demand.slice_pods or part.pods
                pods += [(d, gang, (p, n // size if size else 0), part.each) for n in range(part.pods)]
    where = {}

    def domain(machine, level):
        _, _, path = machines[machine]
        if level == ALONE:
            return ("alone", machine)
        if level == ANYWHERE:
            return ()
        return path[:level] if len(path) >= level else None

    def options(n):
        d, gang, piece, each = pods[n]
        demand = demands[d]
        before = [m for k, m in where.items() if pods[k][:2] == (d, gang)]
        same = [m for k, m in where.items() if pods[k][:3] == (d, gang, piece)]
        for m, (c, free, _) in enumerate(machines):
            here = domain(m, demand.level)
            if here is None or any(domain(o, demand.level) != here for o in before):
                continue
            if not any(c in some and all(machines[o][0] in some for o in before) for some in demand.allowed):
                continue
            if demand.slice_pods:
                inner = domain(m, demand.slice_level)
                if inner is None or any(domain(o, demand.slice_level) != inner for o in same):
                    continue
            wants = {r: a for r, a in each.items() if a}
            if has_slots[c]:
                wants[PODS] = wants.get(PODS, 0) + 1
            if all(free.get(r, 0) >= a for r, a in wants.items()):
                yield m, wants

    def place(n):
        if n == len(pods):
            return True
        seen = set()
        for m, wants in options(n):
            c, free, _ = machines[m]
            # untouched alike machines are tried once
            key = (c, tuple(sorted(free.items())), m in where.values())
            if not key[2] and key in seen:
                continue
            seen.add(key)
            for r, a in wants.items():
                free[r] -= a
            where[n] = m
            if place(n + 1):
                return True
            del where[n]
            for r, a in wants.items():
                free[r] += a
        return False

    return place(0)
