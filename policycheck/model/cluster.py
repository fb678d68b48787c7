"""The linked cluster of one scope: every document of every key, and what systems make of them.

``link`` and ``replace`` agree: replacing documents one after another gives the same Cluster as
linking the result at once (a property test holds that), whatever the order of the documents.
The systems' linkers are handed in; the model knows none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Protocol

from policycheck.model.facts import Facts
from policycheck.model.inventory import Inventory
from policycheck.model.origin import DocumentId, ObjectKey, Origin
from policycheck.model.queueing import View
from policycheck.record import NamedTuple

GroupKind = tuple[str, str]


class Entry(NamedTuple):
    """One document, read, and where it came from."""

    facts: Facts
    origin: Origin


class Index(NamedTuple):
    """What linkers see: documents by identity, and their identities by kind and key.

    The documents of a key are sorted by identity, so nothing depends on the order of reading.
    """

    entries: Mapping[DocumentId, Entry]
    kinds: Mapping[GroupKind, Mapping[ObjectKey, tuple[DocumentId, ...]]]

    def ids(self, key: ObjectKey) -> tuple[DocumentId, ...]:
        """All documents that define ``key``."""
        return self.kinds.get((key.group, key.kind), {}).get(key, ())

    def first(self, key: ObjectKey) -> Entry | None:
        """The first document that defines ``key``."""
        found = self.ids(key)
        return self.entries[found[0]] if found else None

    def of_kind(self, group: str, kind: str) -> list[tuple[ObjectKey, Entry]]:
        """Every key of a kind with its first document, sorted by key."""
        keys = self.kinds.get((group, kind), {})
        return [(key, self.entries[keys[key][0]]) for key in sorted(keys)]

    def is_ambiguous(self, key: ObjectKey) -> bool:
        """Whether several documents define ``key`` with different contents."""
        return len({self.entries[i].origin.digest for i in self.ids(key)}) > 1


class Linker(Protocol):
    """What a system does with documents once all are in sight."""

    name: str

    def link(self, index: Index, systems: Mapping[str, object]) -> object:
        """The system's state. ``systems`` holds the states of those linked before it."""

    def relink(
        self, state: object, index: Index, systems: Mapping[str, object], changed: frozenset[ObjectKey]
    ) -> object:
        """The same state that ``link`` would give, rebuilding only what ``changed`` affects."""

    def view(self, state: object, index: Index) -> View:
        """The system's part of the neutral view."""

    def claims(self, state: object) -> frozenset[ObjectKey]:
        """Workloads whose hardware this system's queues account for."""

    def inventory(self, state: object, claimed: frozenset[ObjectKey]) -> Inventory | None:
        """The hardware in sight, from the one system that knows nodes; None from the others.

        Pods that are in no queue (not ``claimed``) hold theirs and are taken off.
        """


class Cluster:
    """One scope, linked. Frozen: ``replace`` gives a new one that shares what did not change.

    ``is_named``: somebody said that these documents are one cluster, or they are rendered together;
    then one object that is defined in two ways is an error and no doubt about the scope.

    ``unseen`` are objects, by kind and name, of which there is a text that could not be read (a
    template that is not rendered); the name is "" when it can not be told. They may be what a
    reference means.
    """

    __slots__ = ("__dict__", "index", "inventory", "is_named", "linkers", "scope", "systems", "unseen")

    def __init__(
        self,
        scope: str,
        index: Index,
        linkers: tuple[Linker, ...],
        systems: Mapping[str, object],
        inventory: Inventory,
        *,
        is_named: bool = False,
        unseen: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        self.scope = scope
        self.is_named = is_named
        self.unseen = unseen
        self.index = index
        self.linkers = linkers
        self.systems = systems
        self.inventory = inventory

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Cluster):
            return NotImplemented
        mine = (self.scope, self.is_named, self.unseen, self.index, self.systems, self.inventory)
        return mine == (
            other.scope,
            other.is_named,
            other.unseen,
            other.index,
            other.systems,
            other.inventory,
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def entries(self) -> Mapping[DocumentId, Entry]:
        """Every document by identity."""
        return self.index.entries

    def with_inventory(self, inventory: Inventory) -> Cluster:
        """The same cluster on other hardware."""
        return self._with(self.index, self.systems, inventory)

    def seen(self, index: Index, systems: Mapping[str, object] | None = None) -> Cluster:
        """The same cluster for whoever is to go through a part of it: other documents in sight, or other states."""
        return self._with(index, self.systems if systems is None else systems, self.inventory)

    def _with(self, index: Index, systems: Mapping[str, object], inventory: Inventory) -> Cluster:
        return Cluster(
            self.scope,
            index,
            self.linkers,
            systems,
            inventory,
            is_named=self.is_named,
            unseen=self.unseen,
        )

    def may_be_unseen(self, kind: str, name: str) -> bool:
        """Whether an object that is not among the entries may stand in a text that could not be read."""
        return (kind, name) in self.unseen or (kind, "") in self.unseen

    @cached_property
    def ambiguous(self) -> frozenset[ObjectKey]:
        """Keys that several documents define with different contents."""
        several = (k for keys in self.index.kinds.values() for k, ids in keys.items() if len(ids) > 1)
        return frozenset(k for k in several if self.index.is_ambiguous(k))

    @cached_property
    def reading(self) -> frozenset[str]:
        """The systems that read any of the documents."""
        return frozenset(entry.facts.system for entry in self.entries.values()) - {""}

    @cached_property
    def view(self) -> View:
        """Queues, cohorts, flavors and queued workloads of all systems."""
        parts = [linker.view(self.systems[linker.name], self.index) for linker in self.linkers]
        return View(
            tuple(x for part in parts for x in part.queues),
            tuple(x for part in parts for x in part.cohorts),
            tuple(x for part in parts for x in part.flavors),
            tuple(x for part in parts for x in part.workloads),
        )

    @property
    def objects(self) -> Iterable[tuple[ObjectKey, tuple[DocumentId, ...]]]:
        """Every key with all its documents, kinds and keys in order."""
        for group_kind in sorted(self.index.kinds):
            keys = self.index.kinds[group_kind]
            for key in sorted(keys):
                yield key, keys[key]


def _index(entries: Iterable[Entry]) -> Index:
    by_id = {entry.origin.id: entry for entry in entries}
    kinds: dict[GroupKind, dict[ObjectKey, list[DocumentId]]] = {}
    for identity in sorted(by_id):
        key = by_id[identity].facts.key
        kinds.setdefault((key.group, key.kind), {}).setdefault(key, []).append(identity)
    return Index(by_id, {gk: {k: tuple(ids) for k, ids in keys.items()} for gk, keys in kinds.items()})


def link(
    scope: str,
    entries: Iterable[Entry],
    linkers: tuple[Linker, ...],
    inventory: Inventory | None = None,
    *,
    is_named: bool = False,
    unseen: frozenset[tuple[str, str]] = frozenset(),
) -> Cluster:
    """A Cluster of all ``entries``; ``inventory`` replaces the hardware in sight when given."""
    index = _index(entries)
    systems: dict[str, object] = {}
    for linker in linkers:
        systems[linker.name] = linker.link(index, systems)
    hardware = _hardware(linkers, systems, inventory)
    return Cluster(scope, index, linkers, systems, hardware, is_named=is_named, unseen=unseen)


def _hardware(
    linkers: tuple[Linker, ...], systems: Mapping[str, object], given: Inventory | None
) -> Inventory:
    if given is not None:
        return given
    claimed = frozenset(key for linker in linkers for key in linker.claims(systems[linker.name]))
    for linker in linkers:
        found = linker.inventory(systems[linker.name], claimed)
        if found is not None:
            return found
    return Inventory()


def replace(
    cluster: Cluster, changes: Mapping[DocumentId, Entry | None], inventory: Inventory | None = None
) -> Cluster:
    """``cluster`` with documents added, exchanged, or (None) removed.

    Equal to linking the resulting documents at once; states that ``changes`` do not touch are
    shared. ``inventory`` must be handed on when ``link`` was given one.
    """
    entries = dict(cluster.index.entries)
    kinds = dict(cluster.index.kinds)
    changed: set[ObjectKey] = set()
    for identity, entry in changes.items():
        before = entries.pop(identity, None)
        if before is not None:
            changed.add(before.facts.key)
            _move(kinds, before.facts.key, identity, present=False)
        if entry is not None:
            entries[identity] = entry
            changed.add(entry.facts.key)
            _move(kinds, entry.facts.key, identity, present=True)
    index = Index(entries, kinds)
    systems: dict[str, object] = {}
    for linker in cluster.linkers:
        state = cluster.systems[linker.name]
        systems[linker.name] = linker.relink(state, index, systems, frozenset(changed))
    hardware = _hardware(cluster.linkers, systems, inventory)
    return Cluster(
        cluster.scope,
        index,
        cluster.linkers,
        systems,
        hardware,
        is_named=cluster.is_named,
        unseen=cluster.unseen,
    )


def _move(
    kinds: dict[GroupKind, Mapping[ObjectKey, tuple[DocumentId, ...]]],
    key: ObjectKey,
    identity: DocumentId,
    *,
    present: bool,
) -> None:
    """Add or take one document of a key, copying only the map of its kind."""
    group_kind = (key.group, key.kind)
    keys = dict(kinds.get(group_kind, {}))
    ids = {i for i in keys.get(key, ()) if i != identity}
    if present:
        ids.add(identity)
    if ids:
        keys[key] = tuple(sorted(ids))
    else:
        keys.pop(key, None)
    if keys:
        kinds[group_kind] = keys
    else:
        kinds.pop(group_kind, None)
