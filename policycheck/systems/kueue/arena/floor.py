"""Whether workloads with quota find nodes: those that Kueue does not place itself go through the default
scheduler, those that it places take their nodes from the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from policycheck.certify.arena import Ask
from policycheck.model.inventory import Node
from policycheck.model.workload import PodSet
from policycheck.simulate.placer import Set
from policycheck.simulate.scheduler import Grant, SetGrant
from policycheck.systems.core.scheduler.placer import NodePlacer
from policycheck.systems.gpu.device import devices_of
from policycheck.systems.kueue.arena.alike import Alike, is_plain
from policycheck.systems.kueue.arena.provision import Brought, is_brought
from policycheck.systems.kueue.model import KueueObjects

NOTHING: Brought = {}
_HOSTNAME = "kubernetes.io/hostname"
_MOST_STATES = 100_000  # of nodes, that are kept from story to story
_MOST_STARTED = 20_000


class Floor:
    """The nodes of a scope with nothing of an attack on them. Asking leaves it as it is."""

    def __init__(self, nodes: Sequence[Node], objects: KueueObjects, brought: Brought = NOTHING) -> None:
        """``brought``: of which queues nodes of which flavors come when they are asked for; nothing is said of them."""
        self._nodes, self._objects, self._brought = nodes, objects, brought
        self._placer: NodePlacer | None = None
        self.alike = Alike(self._fresh())
        # A podset with what its flavors add; the first is kept, since it is known by its identity.
        self._started: dict[tuple[int, tuple[str, ...]], tuple[PodSet, PodSet]] = {}

    def _fresh(self) -> NodePlacer:
        return NodePlacer(self._nodes, devices_of=devices_of)

    def unplaced(self, held: Iterable[tuple[Ask, Grant]]) -> Mapping[str, str]:
        """Why pods of a workload wait, for every workload of which some do."""
        asked = [(ask.name, list(self._sets(ask, grant))) for ask, grant in held]
        if all(one.fixed for _, sets in asked for one in sets):
            return {}  # it was decided with a place for each
        if self.alike.states > _MOST_STATES:
            self.alike = Alike(self._fresh())
        shaped = [(job, [(self.alike.shape(s.spec, job), s.pods) for s in sets]) for job, sets in asked]
        if not any(s.fixed for _, sets in asked for s in sets) and all(
            is_plain(shape) for _, batches in shaped for shape, _ in batches
        ):
            return Told(self.alike.refused(shaped))
        return self._one_by_one(asked)

    def _one_by_one(self, asked: Iterable[tuple[str, Sequence[Set]]]) -> dict[str, str]:
        """The same pod by pod: where some have their nodes already, or it matters to some who runs where."""
        if self._placer is None:
            self._placer = self._fresh()
        placer = self._placer.fork()
        found = {}
        for job, sets in asked:
            placed = placer.place(job, sets, 0)
            waiting = [s for s in placed.sets if s.waiting]
            if waiting:
                pods = sum(s.waiting for s in waiting)
                found[job] = f"{pods} of {sum(s.pods for s in sets)} pods wait: {waiting[0].why}"
        return found

    def _sets(self, ask: Ask, grant: Grant) -> Iterable[Set]:
        given = {one.name: one for one in grant.sets}
        for spec in ask.shape.pod_sets:
            one = given.get(spec.name or "main") or (grant.sets[0] if len(grant.sets) == 1 else None)
            if one is not None and not is_brought(self._brought, grant.queue, one):
                yield self._set(spec, one)

    def _set(self, spec: PodSet, given: SetGrant) -> Set:
        """The podset as Kueue starts it: with the labels and tolerations of its flavors."""
        flavors = tuple(dict.fromkeys(given.flavors.values()))
        known = self._started.get((id(spec), flavors))
        if known is None:
            if len(self._started) > _MOST_STARTED:
                self._started.clear()
            known = self._started[id(spec), flavors] = spec, self._start(spec, flavors)
        fixed: tuple[tuple[str, int], ...] = ()
        if given.placement is not None and given.placement[0][-1:] == (_HOSTNAME,):
            fixed = tuple((values[-1], pods) for values, pods in given.placement[1])
        return Set(known[1], given.pods, fixed=fixed)

    def _start(self, spec: PodSet, flavors: Iterable[str]) -> PodSet:
        selector, tolerations = dict(spec.node_selector), spec.tolerations
        for name in flavors:
            flavor = self._objects.flavors.get(name)
            if flavor is not None:
                selector.update(flavor.node_labels)
                tolerations = (*tolerations, *flavor.tolerations)
        return spec._replace(node_selector=selector, tolerations=tolerations)


class Told(Mapping[str, str]):
    """Words that are only found when somebody asks for them; whether there are any is known."""

    def __init__(self, words: Mapping[str, Callable[[], str]]) -> None:
        self._words = words

    def __getitem__(self, name: str) -> str:
        return self._words[name]()

    def __contains__(self, name: object) -> bool:
        return name in self._words

    def __iter__(self) -> Iterator[str]:
        return iter(self._words)

    def __len__(self) -> int:
        return len(self._words)


class Later(Mapping[str, str]):
    """What is only found out when somebody asks: placing thousands of pods costs more than all the rest of a
    story, and most claims never look.
    """

    def __init__(self, find: Callable[[], Mapping[str, str]]) -> None:
        self._find = find
        self._found: Mapping[str, str] | None = None

    def _all(self) -> Mapping[str, str]:
        if self._found is None:
            self._found = self._find()
        return self._found

    def __getitem__(self, name: str) -> str:
        return self._all()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._all()

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return repr(self._all())


def floor(nodes: Sequence[Node] | None, objects: KueueObjects, brought: Brought = NOTHING) -> Floor | None:
    """The nodes as a floor; None when they are not all known, or one does not say what it has."""
    if nodes is None or any(node.allocatable is None for node in nodes):
        return None
    return Floor(nodes, objects, brought)
