"""Which nodes a pod may go to at all, by what does not change: taints, selectors, required affinity.

Refusals are in the words of kube-scheduler, so that a summary reads like the event of a real pod. A node
that several filters refuse is counted under the first of them, in the order of the default profile:
unschedulable, taints, selectors and affinity. Newer schedulers say "untolerated taint(s)" and not which.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from policycheck.model.inventory import Node
from policycheck.model.placement import NodeTerm, PreferredTerm, Taint, Toleration, untolerated
from policycheck.simulate.placement import Ground

CORDONED = "node(s) were unschedulable"
NAME = "node(s) didn't match the requested node name"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
_UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")


def tainted(taint: Taint) -> str:
    """The words for a taint that is not tolerated."""
    return f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"


NOT_READY = tainted(Taint("node.kubernetes.io/not-ready", "", "NoSchedule"))
LOST = tainted(Taint("node.kubernetes.io/unreachable", "", "NoSchedule"))


class Wants(NamedTuple):
    """What a pod says about nodes. ``models``: accelerators that it may run on, () any."""

    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[NodeTerm, ...] = ()
    has_affinity: bool = False
    preferred: tuple[PreferredTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    models: tuple[str, ...] = ()
    name: str = ""  # spec.nodeName, or a node that was chosen already


class Reach:
    """The verdict of the static filters on every node.

    ``grade[n]`` is an index into ``grades`` (weight of the preferences that the node meets, soft taints
    that are not tolerated), or, below 0, -1 less an index into ``reasons``.
    """

    __slots__ = ("affine", "grade", "grades", "reasons", "tolerated")

    def __init__(self, ground: Ground, wants: Wants) -> None:
        self.grades: list[tuple[int, int]] = []
        self.reasons: list[str] = []
        self.grade: list[int] = []
        self.affine: list[bool] = []  # selectors and affinity alone
        self.tolerated: list[bool] = []  # taints alone
        keys = _keys(wants)
        known: dict[object, tuple[int, bool, bool]] = {}
        for node in ground.nodes:
            seen = (
                tuple([node.labels.get(key) for key in keys]),
                node.taints,
                node.unschedulable,
                node.accelerators.model if wants.models and node.accelerators else "",
                node.name if _names(wants) else "",
            )
            found = known.get(seen)
            if found is None:
                found = known[seen] = self._judge(node, wants)
            self.grade.append(found[0])
            self.affine.append(found[1])
            self.tolerated.append(found[2])

    def _judge(self, node: Node, wants: Wants) -> tuple[int, bool, bool]:
        affine = _matches(node, wants)
        cordoned = node.unschedulable and not any(t.tolerates(_UNSCHEDULABLE) for t in wants.tolerations)
        taint = untolerated(node.taints, wants.tolerations)
        tolerated = not cordoned and taint is None
        for refused, why in (
            (cordoned, CORDONED),
            (bool(wants.name) and wants.name != node.name, NAME),
            (taint is not None, tainted(taint) if taint is not None else ""),
            (not affine, AFFINITY),
        ):
            if refused:
                if why not in self.reasons:
                    self.reasons.append(why)
                return -1 - self.reasons.index(why), affine, tolerated
        grade = (_preference(node, wants.preferred), _soft(node, wants.tolerations))
        if grade not in self.grades:
            self.grades.append(grade)
        return self.grades.index(grade), affine, tolerated


def _terms(wants: Wants) -> Iterable[NodeTerm]:
    yield from wants.affinity
    yield from (p.term for p in wants.preferred)


def _keys(wants: Wants) -> tuple[str, ...]:
    """Every label key that the verdict may hang on."""
    keys = {key for key, _ in wants.selector}
    keys.update(r.key for term in _terms(wants) for r in term.expressions)
    return tuple(sorted(keys))


def _names(wants: Wants) -> bool:
    """Whether the verdict may hang on the node's name."""
    return bool(wants.name) or any(term.fields for term in _terms(wants))


def _matches(node: Node, wants: Wants) -> bool:
    if any(node.labels.get(key) != value for key, value in wants.selector):
        return False
    if wants.models and (node.accelerators is None or node.accelerators.model not in wants.models):
        return False
    if not wants.affinity:
        return not wants.has_affinity
    return any(term.matches(node.labels, node.name) for term in wants.affinity)


def _preference(node: Node, preferred: tuple[PreferredTerm, ...]) -> int:
    """Sum of the weights of the terms that hold; an empty preference holds everywhere."""
    return sum(
        p.weight
        for p in preferred
        if p.term.matches(node.labels, node.name) or not (p.term.expressions or p.term.fields)
    )


def _soft(node: Node, tolerations: tuple[Toleration, ...]) -> int:
    """PreferNoSchedule taints that are not tolerated."""
    return sum(
        t.effect == "PreferNoSchedule" and not any(o.tolerates(t) for o in tolerations) for t in node.taints
    )
