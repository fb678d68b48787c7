"""The kept-up ranking against looking at every node anew, with code that shares nothing with it."""

from __future__ import annotations

import math

import pytest

from policycheck.model.placement import (
    NodeTerm,
    PodAffinity,
    PodTerm,
    PreferredTerm,
    Requirement,
    Selector,
    Spread,
    Taint,
    Toleration,
    WeightedPodTerm,
)
from policycheck.simulate.draw import stream

GPU, ZONE, HOST = "nvidia.com/gpu", "zone", "kubernetes.io/hostname"
APPS = ("x", "y", "z")


def app(name):
    return Selector((Requirement("app", "In", (name,)),))


def draw_nodes(draw, node):
    nodes = []
    for n in range(9):
        taints = [Taint("hard", "", "NoSchedule")] if draw.below(5) == 0 else []
        taints += [Taint("soft", "", "PreferNoSchedule")] if draw.below(3) == 0 else []
        labels = {"disk": ("fast", "slow")[draw.below(2)]}
        if draw.below(5):
            labels[ZONE] = "abc"[draw.below(3)]
        size = 1 + draw.below(3)
        nodes.append(node(f"n{n}", 8 * size, 32 * size, 4 * draw.below(3), labels=labels, taints=taints))
    return nodes


def draw_pod(draw, pods):
    more = {"labels": {"app": APPS[draw.below(3)]}}
    key = (ZONE, HOST)[draw.below(2)]
    other = app(APPS[draw.below(3)])
    what = draw.below(8)
    if what == 0:
        wanted = NodeTerm((Requirement("disk", "In", ("fast",)),))
        more["preferred"] = (PreferredTerm(1 + draw.below(9), wanted),)
    elif what == 1:
        more["neighbours"] = PodAffinity(away=(PodTerm(key, other),))
    elif what == 2:
        more["neighbours"] = PodAffinity(near=(PodTerm(key, other),))
    elif what == 3:
        more["neighbours"] = PodAffinity(
            preferred=(WeightedPodTerm(draw.below(50) - 25, PodTerm(key, other)),)
        )
    elif what == 4:
        more["spread"] = (Spread(key, 1 + draw.below(2), draw.below(2) == 0, other),)
    if draw.below(4) == 0:
        more["tolerations"] = (Toleration("", "Exists"),)
    return pods(1, 1 + draw.below(3), 1 + draw.below(9), draw.below(3), **more)


class Naive:
    """Nodes and pods as plain lists."""

    def __init__(self, nodes):
        self.nodes = nodes
        self.pods = {}  # name: (node number, set)

    def on(self, n):
        return [one for m, one in self.pods.values() if m == n]

    def in_domain(self, n, key):
        value = self.nodes[n].labels.get(key)
        if value is None:
            return []
        same = [m for m, other in enumerate(self.nodes) if other.labels.get(key) == value]
        return [one for m in same for one in self.on(m)]

    def used(self, n, resource):
        return sum(one.spec.requests.get(resource, 0) for one in self.on(n))

    def admits(self, n, one):
        node, spec = self.nodes[n], one.spec
        hard = [t for t in node.taints if t.effect == "NoSchedule"]
        if hard and not spec.tolerations:
            return False
        asks = {r: spec.requests.get(r, 0) for r in ("cpu", "memory", GPU)}
        return all(self.used(n, r) + ask <= node.allocatable.get(r, 0) for r, ask in asks.items() if ask)

    def passes(self, n, one):
        return self.admits(n, one) and self.spreads(n, one) and self.near(n, one) and self.apart(n, one)

    def spreads(self, n, one):
        for rule in one.spec.spread:
            if not rule.hard:
                continue
            key, values = rule.topology_key, set()
            for node in self.nodes:
                values.add(node.labels.get(key))
            values.discard(None)
            found = dict.fromkeys(values, 0)
            for m, other in self.pods.values():
                if self.nodes[m].labels.get(key) in found and rule.selector.matches(other.spec.labels):
                    found[self.nodes[m].labels[key]] += 1
            value = self.nodes[n].labels.get(key)
            if value is None:
                return False
            own = rule.selector.matches(one.spec.labels)
            if found[value] + own - min(found.values()) > rule.max_skew:
                return False
        return True

    def near(self, n, one):
        for term in one.spec.neighbours.near if one.spec.neighbours else ():
            if self.nodes[n].labels.get(term.topology_key) is None:
                return False
            everywhere = [
                other
                for m, other in self.pods.values()
                if self.nodes[m].labels.get(term.topology_key) and term.selector.matches(other.spec.labels)
            ]
            if not everywhere and term.selector.matches(one.spec.labels):
                continue
            there = self.in_domain(n, term.topology_key)
            if not any(term.selector.matches(other.spec.labels) for other in there):
                return False
        return True

    def apart(self, n, one):
        def keeps_away(keeper, other, where):
            return any(
                term.selector.matches(other.spec.labels) and where(term.topology_key)
                for term in (keeper.spec.neighbours.away if keeper.spec.neighbours else ())
            )

        for m, other in self.pods.values():

            def same(key, m=m):
                here = self.nodes[n].labels.get(key)
                return here is not None and here == self.nodes[m].labels.get(key)

            if keeps_away(one, other, same) or keeps_away(other, one, same):
                return False
        return True

    def candidates(self, one):
        fit = [n for n in range(len(self.nodes)) if self.passes(n, one)]
        if not fit:
            return []
        totals = dict.fromkeys(fit, 0)
        for weight, scores in (
            (1, [self.free(n, one) + self.balance(n, one) for n in fit]),
            (2, self.wanted(fit, one)),
            (3, self.untainted(fit, one)),
            (2, self.evenness(fit, one)),
            (2, self.company(fit, one)),
        ):
            for n, score in zip(fit, scores, strict=True):
                totals[n] += weight * score
        return [n for n in fit if totals[n] == max(totals.values())]

    def shares(self, n, one):
        node = self.nodes[n]
        return [
            (self.used(n, r) + one.spec.requests.get(r, 0), node.allocatable[r]) for r in ("cpu", "memory")
        ]

    def free(self, n, one):
        return sum((have - asked) * 100 // have for asked, have in self.shares(n, one)) // 2

    def balance(self, n, one):
        (a, b), (c, d) = self.shares(n, one)
        return int((1 - abs(a / b - c / d) / 2) * 100)

    def wanted(self, fit, one):
        raw = [
            sum(p.weight for p in one.spec.preferred if self.nodes[n].labels["disk"] == "fast") for n in fit
        ]
        return [100 * r // max(raw) if max(raw) else 0 for r in raw]

    def untainted(self, fit, one):
        raw = [0 if one.spec.tolerations else sum(t.key == "soft" for t in self.nodes[n].taints) for n in fit]
        return [100 - (100 * r // max(raw) if max(raw) else 0) for r in raw]

    def evenness(self, fit, one):
        soft = [rule for rule in one.spec.spread if not rule.hard]
        if not soft:
            return [0] * len(fit)
        (rule,) = soft
        labels = [self.nodes[n].labels.get(rule.topology_key) for n in fit]
        weight = math.log(len(set(labels) - {None}) + 2)
        raw = [
            None
            if label is None
            else round(
                sum(rule.selector.matches(o.spec.labels) for o in self.in_domain(n, rule.topology_key))
                * weight
                + rule.max_skew
                - 1
            )
            for n, label in zip(fit, labels, strict=True)
        ]
        known = [r for r in raw if r is not None]
        if not known:
            return [0] * len(fit)
        low, high = min(known), max(known)
        return [0 if r is None else 100 if not high else 100 * (high + low - r) // high for r in raw]

    def company(self, fit, one):
        def wishes(holder, other, key_of):
            mine = holder.spec.neighbours or PodAffinity()
            terms = [(p.weight, p.term) for p in mine.preferred] + [
                (1, t) for t in mine.near if holder is not one
            ]
            return sum(
                w for w, t in terms if t.selector.matches(other.spec.labels) and key_of(t.topology_key)
            )

        raw = []
        for n in fit:
            total = 0
            for m, other in self.pods.values():

                def same(key, m=m, n=n):
                    here = self.nodes[n].labels.get(key)
                    return here is not None and here == self.nodes[m].labels.get(key)

                total += wishes(one, other, same) + wishes(other, one, same)
            raw.append(total)
        low, high = min(raw), max(raw)
        return [0 if low == high else 100 * (r - low) // (high - low) for r in raw]


@pytest.mark.parametrize("seed", range(12))
def test_the_candidates_are_those_of_looking_at_every_node(seed, placer, node, pods):
    draw = stream(seed, "naive")
    nodes = draw_nodes(draw, node)
    one, naive = placer(*nodes), Naive(nodes)
    decided = 0
    for n in range(60):
        if naive.pods and draw.below(3) == 0:
            gone = sorted(naive.pods)[draw.below(len(naive.pods))]
            one.free(gone)
            del naive.pods[gone]
        pod = draw_pod(draw, pods)
        among = list(one.choose.candidates(one.shapes.of(pod.spec, "t")))
        assert among == naive.candidates(pod), (n, pod.spec)
        placed = one.place(f"t/{n}", [pod], n)
        if not placed.whole:
            one.free(f"t/{n}")
            continue
        decided += len(among) < len(nodes)
        naive.pods[f"t/{n}"] = one.ground.where[placed.sets[0].where[0][0]], pod
    assert decided > 10


def test_pods_are_refused_too_in_these_draws(placer, node, pods):
    draw = stream(0, "naive")
    one = placer(*draw_nodes(draw, node))
    told = {one.place(f"t/{n}", [draw_pod(draw, pods)], n).sets[0].why for n in range(200)}
    assert len(told) > 5
