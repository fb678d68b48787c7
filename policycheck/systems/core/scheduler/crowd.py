"""Who runs where, as far as other pods care: affinity, anti-affinity and spread by number of pods.

Sources: Kubernetes documentation, "Inter-pod affinity and anti-affinity" and "Pod Topology Spread
Constraints". Anti-affinity is symmetric: a pod does not go where a pod runs that keeps it away.
Only pods placed in the simulation are known; labels of pods that were there before are not.

A *tally* counts pods that something selects, by the value of a topology label. It is made when it is first
asked for and kept up as pods come and go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from policycheck.model.inventory import Node
from policycheck.model.placement import PodAffinity, PodTerm, Selector

_NONE = PodAffinity()


class Kind(NamedTuple):
    """Pods that are alike to other pods."""

    namespace: str
    labels: tuple[tuple[str, str], ...]
    neighbours: PodAffinity = _NONE


class Tally:
    """Pods by value of one topology label; each pod of a kind counts ``weight(kind)``."""

    __slots__ = ("_eligible", "_weight", "_weights", "found", "total", "values")

    def __init__(
        self,
        values: list[str | None],
        weight: Callable[[Kind], int],
        eligible: list[bool] | None = None,
    ) -> None:
        self.values = values  # of the label, by node
        self._weight, self._weights = weight, dict[Kind, int]()
        self._eligible = eligible
        self.found: dict[str, int] = {}
        self.total = 0

    def count(self, kind: Kind, n: int, pods: int) -> None:
        """``pods`` more (or less) of a kind on node ``n``."""
        weight = self._weights.get(kind)
        if weight is None:
            weight = self._weights[kind] = self._weight(kind)
        value = self.values[n]
        if not weight or value is None or (self._eligible is not None and not self._eligible[n]):
            return
        self.total += weight * pods
        left = self.found.get(value, 0) + weight * pods
        if left:
            self.found[value] = left
        else:
            del self.found[value]

    def at(self, n: int) -> int:
        """What is counted where node ``n`` is; 0 where it has no such label."""
        value = self.values[n]
        return 0 if value is None else self.found.get(value, 0)

    def copy(self) -> Tally:
        """An independent copy."""
        made = Tally(self.values, self._weight, self._eligible)
        made.found, made.total = dict(self.found), self.total
        return made


def selects(term: PodTerm, owner: str, kind: Kind, namespaces: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a term of a pod in namespace ``owner`` means pods of ``kind``.

    A namespace selector with requirements needs the labels of namespaces; one without any means all.
    """
    if term.selector is None or not term.selector.matches(dict(kind.labels)):
        return False
    if kind.namespace in term.namespaces:
        return True
    if term.namespace_selector is not None:
        return term.namespace_selector.matches(namespaces.get(kind.namespace, {}))
    return not term.namespaces and kind.namespace == owner


class Crowd:
    """The pods on the nodes of a ground, by kind."""

    __slots__ = ("_lists", "_namespaces", "_nodes", "_sets", "_tallies", "_values", "kinds", "social")

    def __init__(
        self, nodes: Iterable[Node], namespaces: Mapping[str, Mapping[str, str]] | None = None
    ) -> None:
        self._nodes = tuple(nodes)
        self._namespaces = namespaces or {}
        self._values: dict[str, list[str | None]] = {}
        self._tallies: dict[object, Tally] = {}
        self._lists: dict[object, tuple[list[bool], object]] = {}
        self._sets: dict[object, set[str]] = {}
        self.kinds: dict[Kind, dict[int, int]] = {}
        self.social: dict[Kind, None] = {}  # kinds here that have terms about others

    def count(self, kind: Kind, n: int, pods: int) -> None:
        """``pods`` more of a kind on node ``n``, or less when negative."""
        there = self.kinds.setdefault(kind, {})
        left = there.get(n, 0) + pods
        if left:
            there[n] = left
        else:
            del there[n]
        if kind.neighbours is not _NONE and kind.neighbours != _NONE:
            self.social[kind] = None
        if not there:
            del self.kinds[kind]
            self.social.pop(kind, None)
        for tally in self._tallies.values():
            tally.count(kind, n, pods)

    def values(self, key: str) -> list[str | None]:
        """The value of a label by node."""
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = [node.labels.get(key) for node in self._nodes]
        return found

    def tally(
        self,
        identity: object,
        key: str,
        weight: Callable[[Kind], int],
        eligible: list[bool] | None = None,
    ) -> Tally:
        """The tally of that identity; ``weight`` must be a function of the identity alone."""
        found = self._tallies.get(identity)
        if found is None:
            found = self._tallies[identity] = Tally(self.values(key), weight, eligible)
            for kind, there in self.kinds.items():
                for n, pods in there.items():
                    found.count(kind, n, pods)
        return found

    def selected(self, terms: tuple[PodTerm, ...], key: str, owner: str) -> Tally:
        """Pods that every one of ``terms`` of a pod in namespace ``owner`` means, by the label ``key``."""
        spaces = self._namespaces
        return self.tally(
            ("selected", terms, key, owner),
            key,
            lambda kind: int(all(selects(term, owner, kind, spaces) for term in terms)),
        )

    def means(self, term: PodTerm, owner: str, kind: Kind) -> bool:
        """Whether the term means pods of ``kind``."""
        return selects(term, owner, kind, self._namespaces)

    def holders(self, term: PodTerm, owner: str) -> Tally:
        """Pods in namespace ``owner`` that the term keeps others away from."""
        return self.tally(
            ("holders", term, owner),
            term.topology_key,
            lambda kind: kind.neighbours.away.count(term) if kind.namespace == owner else 0,
        )

    def wishers(self, term: PodTerm, owner: str) -> Tally:
        """Pods in namespace ``owner`` that prefer the term's pods near, by weight; a required one counts 1
        (hardPodAffinityWeight of the default profile).
        """

        def weight(kind: Kind) -> int:
            if kind.namespace != owner:
                return 0
            mine = kind.neighbours
            return sum(p.weight for p in mine.preferred if p.term == term) + mine.near.count(term)

        return self.tally(("wishers", term, owner), term.topology_key, weight)

    def spread(
        self, key: str, selector: Selector | None, owner: str, eligible: list[bool], identity: object
    ) -> Tally:
        """Pods of a namespace that a spread constraint counts, on nodes that count for it."""

        def found(kind: Kind) -> int:
            return int(
                kind.namespace == owner and selector is not None and selector.matches(dict(kind.labels))
            )

        return self.tally(("spread", key, selector, owner, identity), key, found, eligible)

    def eligible(self, identity: object, make: Callable[[], list[bool]], keep: object) -> list[bool]:
        """A list that is made once for an identity; ``keep`` is kept, since its id is part of that."""
        found = self._lists.get(identity)
        if found is None:
            found = self._lists[identity] = (make(), keep)
        return found[0]

    def domains(self, identity: object, make: Callable[[], set[str]]) -> set[str]:
        """The same for a set of label values."""
        found = self._sets.get(identity)
        if found is None:
            found = self._sets[identity] = make()
        return found

    def fork(self) -> Crowd:
        """An independent copy."""
        made = Crowd(self._nodes, self._namespaces)
        made.kinds = {kind: dict(there) for kind, there in self.kinds.items()}
        made.social = dict(self.social)
        for identity, tally in self._tallies.items():
            made.adopt(identity, tally.copy())
        return made

    def adopt(self, identity: object, tally: Tally) -> None:
        """Take over a tally that counts exactly the pods that are here."""
        self._tallies[identity] = tally
