"""What decides whether a pod may go to a node: labels, selectors, taints and tolerations.

Semantics: Kubernetes' documentation of label selectors, node affinity, and taints.
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.record import NamedTuple

Labels = Mapping[str, str]


class Requirement(NamedTuple):
    """One expression of a selector. Operators: In, NotIn, Exists, DoesNotExist, Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Whether ``labels`` satisfy this expression."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return _compares(self.operator, value, self.values)
        return False


def _compares(operator: str, value: str | None, values: tuple[str, ...]) -> bool:
    try:
        have, want = int(value or ""), int(values[0])
    except (ValueError, IndexError):
        return False
    return have > want if operator == "Gt" else have < want


class Selector(NamedTuple):
    """A label selector: every requirement holds. Empty matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Labels) -> bool:
        """Whether all requirements hold for ``labels``."""
        return all(r.matches(labels) for r in self.requirements)


class NodeTerm(NamedTuple):
    """One term of required node affinity: expressions on labels and on fields, all to hold.

    A term with neither matches no node (Kubernetes API reference, NodeSelectorTerm).
    """

    expressions: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()  # on metadata.name only

    def matches(self, labels: Labels, name: str) -> bool:
        """Whether a node with these labels and this name meets the term."""
        if not self.expressions and not self.fields:
            return False
        named = {"metadata.name": name}
        return all(r.matches(labels) for r in self.expressions) and all(r.matches(named) for r in self.fields)


class PreferredTerm(NamedTuple):
    """One weighted term of preferred node affinity."""

    weight: int
    term: NodeTerm


class PodTerm(NamedTuple):
    """Pods that a pod wants to be near to, or away from: those that ``selector`` finds (None finds none) in
    ``namespaces``, in those whose labels ``namespace_selector`` finds, or with neither in its own; near
    means the same value of the node label ``topology_key``.
    """

    topology_key: str
    selector: Selector | None
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector | None = None


class WeightedPodTerm(NamedTuple):
    """A term that is only preferred; away from these pods when ``weight`` is negative."""

    weight: int
    term: PodTerm


class PodAffinity(NamedTuple):
    """What a pod asks of the pods around it: all of ``near`` and none of ``away``; ``preferred`` adds to
    the score of a node.
    """

    near: tuple[PodTerm, ...] = ()
    away: tuple[PodTerm, ...] = ()
    preferred: tuple[WeightedPodTerm, ...] = ()


class Spread(NamedTuple):
    """One topology spread constraint: over the values of ``topology_key``, numbers of pods that
    ``selector`` finds in the pod's own namespace may differ by at most ``max_skew``.

    ``hard`` is whenUnsatisfiable DoNotSchedule. ``heeds_affinity``, ``heeds_taints``: nodes that the pod's
    selectors, or taints, keep it off do not count (nodeAffinityPolicy, nodeTaintsPolicy Honor).
    """

    topology_key: str
    max_skew: int
    hard: bool
    selector: Selector | None
    min_domains: int = 1
    heeds_affinity: bool = True
    heeds_taints: bool = False


class Taint(NamedTuple):
    """A taint; effects NoSchedule, PreferNoSchedule, NoExecute."""

    key: str
    value: str
    effect: str


class Toleration(NamedTuple):
    """A toleration; an empty key with Exists tolerates everything, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""

    def tolerates(self, taint: Taint) -> bool:
        """Whether ``taint`` is tolerated."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return bool(self.key) and self.value == taint.value


HARD_EFFECTS = frozenset({"NoSchedule", "NoExecute"})


def untolerated(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """The first taint that keeps a pod away (NoSchedule, NoExecute), or None."""
    for taint in taints:
        if taint.effect in HARD_EFFECTS and not any(t.tolerates(taint) for t in tolerations):
            return taint
    return None
