"""A cluster as it is right now: objects come and go one at a time, and what is known of it stays linked.

Whoever watches (adapters.live) or reads files feeds it: ``replace_all`` after a list, ``put`` and ``drop`` for
every event after that, ``heard`` for bookmarks. Whoever judges takes ``cluster``, which is frozen.

Threads: every method may be called from any thread; each takes the lock for one object at a time, so that a
relist of 50,000 objects in a worker thread keeps nobody waiting. No clock: seconds (of any monotonic clock, the
same one always) are handed in as ``now``.

Memory: Facts are kept, not objects. What no rule looks at (managed fields, the last applied text, most of
status) is left out before reading, and texts that repeat are kept once.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from policycheck.app.hardware import Hardware
from policycheck.app.waiting import Place, Waiting
from policycheck.model.cluster import Cluster, Entry, GroupKind, link, replace
from policycheck.model.facts import Facts
from policycheck.model.inventory import Inventory, Node
from policycheck.model.origin import DocumentId, ObjectKey, Origin
from policycheck.model.workload import Workload
from policycheck.record import NamedTuple
from policycheck.systems import registry
from policycheck.systems.core.slices import DeviceSlice
from policycheck.systems.kueue.model import KueueWorkload

if TYPE_CHECKING:
    from policycheck.app.gather import Sources
    from policycheck.lint.settings import Settings, Target

# What the world wants to be told of; a kind that the cluster does not serve is marked so with ``absent``.
REQUIRED: tuple[GroupKind, ...] = (
    ("", "Node"),
    ("", "Namespace"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("kueue.x-k8s.io", "ClusterQueue"),
    ("kueue.x-k8s.io", "Cohort"),
    ("kueue.x-k8s.io", "LocalQueue"),
    ("kueue.x-k8s.io", "ResourceFlavor"),
    ("kueue.x-k8s.io", "Topology"),
    ("kueue.x-k8s.io", "AdmissionCheck"),
    ("kueue.x-k8s.io", "WorkloadPriorityClass"),
)
# Of help, and not waited for: what runs and waits, and what shapes it.
WELCOME: tuple[GroupKind, ...] = (
    ("", "Pod"),
    ("", "LimitRange"),
    ("", "ResourceQuota"),
    ("node.k8s.io", "RuntimeClass"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceSlice"),
    ("resource.k8s.io", "ResourceClaimTemplate"),
    ("apps", "DaemonSet"),
    ("kueue.x-k8s.io", "Workload"),
    ("kueue.x-k8s.io", "ProvisioningRequestConfig"),
    ("kueue.x-k8s.io", "MultiKueueConfig"),
    ("kueue.x-k8s.io", "MultiKueueCluster"),
    # The Configuration of the scheduler: the ConfigMaps of its own namespace are enough.
    ("", "ConfigMap"),
)
SETTLE = 5.0  # seconds by which what pods hold of nodes may lag behind
_ELSEWHERE = (Workload, KueueWorkload, Node, DeviceSlice)  # kept otherwise than as configuration
_MOST_EDITS = 64  # beyond so many at once all is linked anew, which is then cheaper
_NOTES = "kubectl.kubernetes.io/last-applied-configuration"


class NoWorldError(ValueError):
    """Files that do not tell how one cluster is; the message says why."""


class Heard(NamedTuple):
    """What is known of one watched kind. ``at`` is when its list, event or bookmark came last."""

    version: str = ""  # resource version
    at: float = 0.0
    synced: bool = False  # a whole list was taken in
    absent: bool = False  # the cluster does not serve it: synced, and empty


class Picture(NamedTuple):
    """The cluster at one moment, frozen. ``cluster`` holds the configuration and the hardware, no workloads.

    ``generation`` is another for another cluster.
    """

    cluster: Cluster
    generation: int


class World:
    """One cluster as it is. ``required`` are the kinds without which it is not ready."""

    def __init__(
        self,
        scope: str = "",
        *,
        required: Iterable[GroupKind] = REQUIRED,
        entries: Iterable[Entry] = (),
        hardware: Inventory | None = None,
    ) -> None:
        self.scope = scope
        self.required = tuple(required)
        self._lock = threading.RLock()
        self._hardware = Hardware(hardware)
        self._waiting = Waiting()
        self._entries: dict[DocumentId, Entry] = {}  # of the configuration
        self._keys: dict[DocumentId, ObjectKey] = {}  # as the API has them
        self._heard: dict[GroupKind, Heard] = {}
        self._edits: dict[DocumentId, Entry | None] = {}  # since ``_linked`` was made
        self._linked: Cluster | None = None
        self._generation = 0
        self._pictures = 0
        self._inventory: Inventory | None = None
        self._settled = 0.0  # when that was worked out
        self._has_clock = False  # somebody tells the time, and settles
        for entry in entries:
            self._set(entry.origin.id, entry, entry.facts.value)

    # -- what happens ---------------------------------------------------------------------------

    def put(self, value: Mapping[str, Any], *, now: float = 0.0) -> None:
        """An object as it is now, new or changed (ADDED, MODIFIED). The caller may go on using ``value``."""
        entry = self.entry(value)
        with self._lock:
            self._set(entry.origin.id, entry, value)
            self._note(_key(value), _version(value), now)

    def drop(
        self, api_version: str, kind: str, namespace: str, name: str, *, version: str = "", now: float = 0.0
    ) -> None:
        """An object is gone (DELETED); nothing happens when it was not known."""
        key = ObjectKey(api_version.rpartition("/")[0], kind, namespace, name)
        with self._lock:
            self._forget(self.identity(key), key)
            self._note(key, version, now)

    def replace_all(
        self, kind: GroupKind, values: Iterable[Mapping[str, Any]], *, version: str = "", now: float = 0.0
    ) -> int:
        """Exactly these objects of a kind exist (after a list, and after every relist); gives how many.

        ``values`` may be a generator that fetches page after page. What it raises is handed on, and nothing is
        dropped then: the state is as if those that came had been ``put``.
        """
        seen: set[DocumentId] = set()
        for value in values:
            entry = self.entry(value)
            seen.add(entry.origin.id)
            with self._lock:
                self._set(entry.origin.id, entry, value)
        with self._lock:
            for identity, key in self._known(kind).items():
                if identity not in seen:
                    self._forget(identity, key)
            self._heard[kind] = Heard(version, now, synced=True)
        return len(seen)

    def heard(self, kind: GroupKind, *, version: str = "", now: float) -> None:
        """The watch of a kind is alive (a bookmark, or a list that found nothing new)."""
        with self._lock:
            old = self._heard.get(kind, Heard())
            self._heard[kind] = old._replace(version=version or old.version, at=now)

    def absent(self, kind: GroupKind, *, now: float = 0.0) -> None:
        """The cluster serves no such kind: there is none, and nothing to wait for."""
        self.replace_all(kind, (), now=now)
        with self._lock:
            self._heard[kind] = self._heard[kind]._replace(absent=True)

    # -- what is known --------------------------------------------------------------------------

    def synced(self, kind: GroupKind) -> bool:
        """Whether a whole list of the kind was taken in."""
        return self._heard.get(kind, Heard()).synced

    @property
    def is_ready(self) -> bool:
        """Whether every required kind is in sight."""
        return not self.missing

    @property
    def missing(self) -> tuple[GroupKind, ...]:
        """Required kinds of which no whole list came yet."""
        return tuple(kind for kind in self.required if not self.synced(kind))

    def staleness(self, now: float) -> Mapping[GroupKind, float]:
        """Seconds since each synced kind was last heard of."""
        with self._lock:
            return {k: max(0.0, now - h.at) for k, h in self._heard.items() if h.synced and not h.absent}

    def versions(self) -> Mapping[GroupKind, str]:
        """The resource version from which to watch on, by kind."""
        with self._lock:
            return {kind: heard.version for kind, heard in self._heard.items()}

    @property
    def generation(self) -> int:
        """Goes up with every change: equal numbers, equal clusters."""
        return self._generation

    def __len__(self) -> int:
        return len(self._entries) + len(self._waiting)

    def picture(self) -> Picture:
        """The configuration linked on the hardware, less what pods outside any queue hold. Workloads in queues
        are not in it: see ``samples``. What did not change since the last call is shared with that.
        """
        with self._lock:
            if self._inventory is None or (self._hardware.changed and not self._has_clock):
                self._inventory = self._hardware.snapshot()()
            hardware, before = self._inventory, self._linked
            if self._linked is None or len(self._edits) > _MOST_EDITS:
                entries = self._entries.values()
                self._linked = link(self.scope, entries, registry.linkers(), hardware, is_named=True)
            elif self._edits:
                self._linked = replace(self._linked, self._edits, hardware)
            elif self._linked.inventory is not hardware:
                self._linked = self._linked.with_inventory(hardware)
            self._edits = {}
            self._pictures += self._linked is not before
            return Picture(self._linked, self._pictures)

    def settle(self, now: float) -> bool:
        """Takes up what happened to the hardware, at most every few seconds: pods come and go all the time, and
        working out what they leave takes a tenth of a second in a large cluster. Whether anything was taken up.
        For one thread, beside those that judge.
        """
        with self._lock:
            self._has_clock = True
            if not self._hardware.changed or (self._inventory is not None and now - self._settled < SETTLE):
                return False
            make = self._hardware.snapshot()
        made = make()
        with self._lock:
            self._inventory, self._settled = made, now
        return True

    def cluster(self) -> Cluster:
        """The cluster of ``picture``."""
        return self.picture().cluster

    def samples(self, places: Iterable[Place]) -> tuple[tuple[Entry, ...], int]:
        """A workload of every shape that waits in these LocalQueues (alike ones get the same answer), and how
        many shapes were left out because there are too many.
        """
        with self._lock:
            values, left = self._waiting.samples(places)
        return tuple(self.entry(value) for value in values), left

    # -- inside ---------------------------------------------------------------------------------

    def identity(self, key: ObjectKey) -> DocumentId:
        """The document that a live object counts as."""
        return DocumentId(f"{self.scope}/{'/'.join(part for part in key if part)}")

    def entry(self, value: Mapping[str, Any]) -> Entry:
        """An object of the API as what is kept of it. Pure. It is known by what it is itself: a ConfigMap that
        carries the scheduler's Configuration reads as that.
        """
        return Entry(read(value), Origin(self.identity(_key(value)), 1, _digest(value)))

    def _set(self, identity: DocumentId, entry: Entry, value: Mapping[str, Any]) -> None:
        """Takes an object to where it belongs: workloads, hardware or configuration."""
        facts = entry.facts
        if isinstance(facts.typed, (Workload, KueueWorkload)):
            self._waiting.put(facts.key, value, facts)
            if isinstance(facts.typed, KueueWorkload):
                space = facts.key.namespace
                owners = (ObjectKey("", kind, space, name) for kind, name in facts.typed.owners)
                self._hardware.queued(facts.key, owners)
        if self._hardware.put(identity, facts):
            self._generation += 1
        if isinstance(facts.typed, _ELSEWHERE) or not facts.system:
            self._remove(identity)  # it may have been something else before
            return
        self._keys[identity] = _key(value)
        old = self._entries.get(identity)
        if old is None or old.origin.digest != entry.origin.digest:
            self._entries[identity] = self._edits[identity] = entry
            self._generation += 1

    def _forget(self, identity: DocumentId, key: ObjectKey) -> None:
        self._waiting.drop(key)
        self._hardware.queued(key, ())
        if self._hardware.drop(identity, key):
            self._generation += 1
        self._remove(identity)

    def _remove(self, identity: DocumentId) -> None:
        self._keys.pop(identity, None)
        if self._entries.pop(identity, None) is not None:
            self._edits[identity] = None
            self._generation += 1

    def _known(self, kind: GroupKind) -> dict[DocumentId, ObjectKey]:
        """Everything that is kept of a kind."""
        found = {i: key for i, key in self._keys.items() if key[:2] == kind}
        found.update({self.identity(key): key for key in self._waiting.keys(*kind)})
        held = self._hardware.keys(*kind)
        found.update({i if i is not None else self.identity(key): key for i, key in held})
        return found

    def _note(self, key: ObjectKey, version: str, now: float) -> None:
        kind = (key.group, key.kind)
        old = self._heard.get(kind, Heard())
        self._heard[kind] = old._replace(version=version or old.version, at=max(old.at, now))


def out_of(sources: Sources, settings: Settings) -> tuple[World, Mapping[str, Target]]:
    """A world out of files, which is ready at once, and the versions that are assumed. Raises NoWorldError
    when something can not be read, or when they are several clusters.
    """
    from policycheck.app.gather import gather
    from policycheck.app.target import targets_of

    scopes = gather(sources, settings)
    failed = [f"{file.file}: {file.why}" for scope in scopes for file in scope.files if file.failed]
    if failed:
        raise NoWorldError(failed[0])
    if len(scopes) != 1:
        names = ", ".join(scope.name or "files" for scope in scopes)
        raise NoWorldError(f"one cluster is served, and these are {len(scopes)}: {names}")
    (scope,) = scopes
    world = World(scope.name, required=(), entries=scope.entries, hardware=scope.hardware)
    return world, targets_of(scope, (*scope.targets, *sources.targets))


def read(value: Mapping[str, Any]) -> Facts:
    """Facts of an object of the API, without what no rule looks at."""
    return registry.read(slim(value))


def slim(value: Mapping[str, Any]) -> dict[str, Any]:
    """The object without what servers and clients note in it for themselves."""
    made = dict(value)
    meta = made.get("metadata")
    if isinstance(meta, Mapping):
        kept = {sys.intern(k): held for k, held in meta.items() if k not in ("managedFields", "selfLink")}
        notes = kept.get("annotations")
        if isinstance(notes, Mapping) and _NOTES in notes:
            kept["annotations"] = {k: held for k, held in notes.items() if k != _NOTES}
        made["metadata"] = kept
    return made


def _key(value: Mapping[str, Any]) -> ObjectKey:
    """What an object of the API is known by."""
    group = str(value.get("apiVersion", "")).rpartition("/")[0]
    meta = value.get("metadata")
    meta = meta if isinstance(meta, Mapping) else {}
    space, name = (str(meta.get(field) or "") for field in ("namespace", "name"))
    return ObjectKey(group, str(value.get("kind", "")), space, name)


def _version(value: Mapping[str, Any]) -> str:
    meta = value.get("metadata")
    found = meta.get("resourceVersion") if isinstance(meta, Mapping) else None
    return found if isinstance(found, str) else ""


def _digest(value: Mapping[str, Any]) -> str:
    """Equal for equal objects of one key: the server's own version where it gives one."""
    meta = value.get("metadata")
    if isinstance(meta, Mapping) and meta.get("uid") and meta.get("resourceVersion"):
        return f"{meta['uid']}/{meta['resourceVersion']}"
    from policycheck.source.yamldoc import digest

    return digest(slim(value))
