"""Nodes as they are, and what is taken from them before any queue hands out the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from policycheck.model.capacity import HOSTNAME
from policycheck.model.facts import Facts
from policycheck.model.inventory import Inventory, Node
from policycheck.model.origin import DocumentId, ObjectKey
from policycheck.model.workload import PodSet, Workload
from policycheck.record import NamedTuple
from policycheck.systems.core.compact import own_values
from policycheck.systems.core.inventory import assemble, merge
from policycheck.systems.core.slices import DeviceSlice

K = TypeVar("K")
V = TypeVar("V")
# Labels of pods that queues account for: their quota is what counts.
_QUEUED = tuple(f"kueue.x-k8s.io/{name}" for name in ("queue-name", "podset", "managed", "pod-group-name"))
_DONE = ("Succeeded", "Failed")
_FEW = 8  # of so many nodes a label may differ on all by chance


class _Bound(NamedTuple):
    """A pod that holds a part of a node outside any queue."""

    node: str
    owner: ObjectKey | None
    pods: tuple[PodSet, ...]  # the very same tuple for pods that ask for the same


class Hardware:
    """What physically exists, kept up with. Not for several threads at once: whoever owns it locks."""

    def __init__(self, given: Inventory | None = None) -> None:
        self._given = given  # beside the nodes in sight, as inventory files are
        self._nodes: dict[DocumentId, Node] = {}
        self._slices: dict[DocumentId, DeviceSlice] = {}
        self._daemons: dict[ObjectKey, Workload] = {}
        self._bound: dict[ObjectKey, _Bound] = {}
        self._owners: dict[ObjectKey, tuple[ObjectKey, ...]] = {}  # of queued workloads, by workload
        self._asked: dict[object, tuple[PodSet, ...]] = {}
        self.changed = True  # since the last snapshot

    def put(self, identity: DocumentId, facts: Facts) -> bool:
        """Takes the object in if it is hardware, or holds some; whether anything changed."""
        match facts.typed:
            case Node() as node:
                return self._keep(self._nodes, identity, node)
            case DeviceSlice() as part:
                return self._keep(self._slices, identity, part)
            case Workload() as work if work.nature == "daemon":
                return self._keep(self._daemons, facts.key, work)
            case Workload() as work if work.nature == "pod":
                return self._keep(self._bound, facts.key, self._held(work))
        return False

    def drop(self, identity: DocumentId, key: ObjectKey) -> bool:
        """Forgets it; whether it was known."""
        gone = [
            self._nodes.pop(identity, None),
            self._slices.pop(identity, None),
            self._daemons.pop(key, None),
            self._bound.pop(key, None),
        ]
        changed = any(one is not None for one in gone)
        if changed:
            self.changed = True
        return changed

    def queued(self, workload: ObjectKey, owners: Iterable[ObjectKey]) -> None:
        """What a queue accounts for: pods of these owners are not taken off."""
        found = tuple(owners)
        if self._owners.get(workload, ()) != found:
            self.changed = True
            if found:
                self._owners[workload] = found
            else:
                self._owners.pop(workload, None)

    def keys(self, group: str, kind: str) -> list[tuple[DocumentId | None, ObjectKey]]:
        """Everything of a kind that is kept here."""
        if (group, kind) == ("", "Node"):
            return [(i, ObjectKey("", "Node", "", node.name)) for i, node in self._nodes.items()]
        if kind == "ResourceSlice":
            return [(i, ObjectKey(group, kind, "", "")) for i in self._slices]
        held: tuple[Mapping[ObjectKey, object], ...] = (self._daemons, self._bound)
        return [(None, key) for keys in held for key in keys if (key.group, key.kind) == (group, kind)]

    def snapshot(self) -> Callable[[], Inventory]:
        """What works out the inventory as it is at this moment: the nodes less what DaemonSets and pods outside
        any queue hold. It may be called without a lock, and may take a while.
        """
        self.changed = False
        nodes = {node.name: (identity, node) for identity, node in self._nodes.items()}
        slices = [self._slices[i] for i in sorted(self._slices)]
        daemons, bound, owners = dict(self._daemons), dict(self._bound), dict(self._owners)
        given = self._given

        def assembled() -> Inventory:
            claimed = frozenset(owner for some in owners.values() for owner in some)
            works = daemons
            for key, held in bound.items():
                works[key] = Workload(key, "pod", held.pods, owner=held.owner, node=held.node)
            found = Inventory()
            if nodes or slices:
                found = assemble(dict(sorted(nodes.items())), slices, works, claimed)
            return found if given is None or not given.known else merge((found, given))

        return assembled

    def _held(self, pod: Workload) -> _Bound | None:
        queued = any(label in pod.labels for label in _QUEUED)
        if not pod.node or pod.phase in _DONE or queued:
            return None
        key = tuple(tuple(sorted(p.requests.items())) for p in pod.pod_sets)
        plain = tuple(PodSet(p.name, p.pods, p.requests) for p in pod.pod_sets)
        return _Bound(pod.node, _plain_owner(pod.owner), self._asked.setdefault(key, plain))

    def _keep(self, into: dict[K, V], key: K, thing: V | None) -> bool:
        if into.get(key) == thing:
            return False
        if thing is None:
            into.pop(key, None)
        else:
            into[key] = thing
        self.changed = True
        return True


def _plain_owner(owner: ObjectKey | None) -> ObjectKey | None:
    """An owner by kind and name, as queued workloads name theirs; DaemonSets are told by their whole key."""
    return owner if owner is None or owner.kind == "DaemonSet" else owner._replace(group="")


class Classes(NamedTuple):
    """An inventory with alike nodes as one record, and the labels by which they were still told apart."""

    inventory: Inventory
    dropped: frozenset[str]


def classes(inventory: Inventory, kept: frozenset[str]) -> Classes:
    """Alike nodes together: what asks about nodes is answered once a class. Labels that tell every node from
    all others are dropped, the hostname first, unless they are among ``kept``.

    The first node of a class speaks for it, its name and hostname too.
    """
    # The hostname is one of a kind by its meaning.
    dropped = (own_values(inventory.nodes, _FEW + 1) | {HOSTNAME}) - kept
    found: dict[object, list[Node]] = {}
    for node in inventory.nodes:
        labels = tuple(sorted((k, v) for k, v in node.labels.items() if k not in dropped))
        amounts = tuple(
            tuple(sorted(held.items()))
            for held in (node.allocatable or {}, node.capacity or {}, node.committed)
        )
        rest = (node.taints, node.ready, node.unschedulable, repr(node.accelerators), node.oddities)
        bounds = (node.source, node.machines == 1 and node.most == 1, node.allocatable is None)
        found.setdefault((labels, amounts, rest, bounds), []).append(node)
    made: list[Node] = []
    for alike in found.values():
        first = alike[0]
        if len(alike) == 1 or not (first.machines == 1 and first.most == 1):
            made.extend(alike)
        else:
            made.append(first._replace(machines=len(alike), most=len(alike)))
    return Classes(inventory._replace(nodes=tuple(made)), dropped)
