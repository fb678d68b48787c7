"""Two states of one scope: what differs between them, and which objects that can matter to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from policycheck.app.bench import state_of
from policycheck.app.reach import MANY, focused, in_sight, is_work
from policycheck.model.cluster import Cluster, Entry, GroupKind, Index, replace
from policycheck.model.facts import Facts
from policycheck.model.origin import DocumentId, ObjectKey
from policycheck.model.workload import Workload
from policycheck.record import NamedTuple
from policycheck.systems.kueue import GROUP, focus
from policycheck.systems.kueue.checks.common import core as core_of
from policycheck.systems.kueue.jobs import DEFAULT_QUEUE, queue_of
from policycheck.systems.kueue.model import KueueWorkload
from policycheck.systems.kueue.state import KueueState

MOST = 64  # objects: after more than so many everything is asked again
Part = Literal["again", "stays", "shared"]


class Difference(NamedTuple):
    """What differs between two states. An object that stands elsewhere in its file, and is the same, has moved."""

    gone: Mapping[DocumentId, Entry]  # objects that changed or are not there any more, as they were
    come: Mapping[DocumentId, Entry]  # objects that changed or were not there
    moved: Mapping[DocumentId, DocumentId]
    files: frozenset[str]  # whose text is another

    @property
    def pairs(self) -> Iterator[tuple[Facts | None, Facts | None]]:
        """Each object as it was and as it is."""
        was = {entry.facts.key: entry.facts for entry in self.gone.values()}
        now = {entry.facts.key: entry.facts for entry in self.come.values()}
        for key in sorted({*was, *now}):
            yield was.get(key), now.get(key)


def difference(
    before: Mapping[DocumentId, Entry], now: Mapping[DocumentId, Entry], files: frozenset[str]
) -> Difference:
    """What differs in ``files``, of which these are the objects before and now."""
    gone = {i: e for i, e in before.items() if i not in now or not _is_same(e, now[i])}
    come = {i: e for i, e in now.items() if i not in before or not _is_same(before[i], e)}
    was, are = _once(gone), _once(come)
    moved = {was[mark]: are[mark] for mark in was.keys() & are.keys()}
    for old, new in moved.items():
        del gone[old], come[new]
    return Difference(gone, come, moved, files)


def _is_same(old: Entry, new: Entry) -> bool:
    return old.origin._replace(line=0) == new.origin._replace(line=0) and old.facts.key == new.facts.key


def _once(entries: Mapping[DocumentId, Entry]) -> dict[tuple[object, ...], DocumentId]:
    """Objects by what they are, where that tells them apart. In another file, other settings may hold for them."""
    marks = {i: (i.file, e.facts.key, e.origin.digest, e.origin.reported) for i, e in entries.items()}
    counted = Counter(marks.values())
    return {mark: i for i, mark in marks.items() if counted[mark] == 1}


class Touched(NamedTuple):
    """What a difference can matter to. ``narrow`` is the cluster with that in focus."""

    cluster: Cluster
    narrow: Cluster
    changed: Cluster  # with nothing but what changed or is new in focus
    scene: focus.Scene
    spaces: frozenset[str]  # of what changed: all work in these
    queues: frozenset[focus.LocalKey]  # LocalQueues that lead, or led, to a tree of the scene
    cohorts: frozenset[str]
    work: frozenset[GroupKind]  # kinds

    def part(self, key: ObjectKey) -> Part:
        """Whether what is found about an object has to be found again, stands as it did, or may depend on
        everything.
        """
        kind = key[:2]
        if key in self.scene.keys:
            return "again"
        if kind == (GROUP, "ClusterQueue"):
            return "again" if key.name in self.scene.queues else "stays"
        if kind == (GROUP, "Cohort"):
            return "again" if key.name in self.cohorts else "stays"
        if kind == (GROUP, "LocalQueue"):
            led = (key.namespace, key.name) in self.queues
            return "again" if led or key.namespace in self.spaces else "stays"
        if kind in self.work:
            queue = (key.namespace, _queue(self.cluster.index.first(key)))
            # What names no queue that is there could be in any of its namespace.
            is_known = queue in self.queues or queue in state_of(self.cluster).objects.local_queues
            led = queue in self.queues if is_known else key.namespace in self.scene.spaces
            return "again" if led or key.namespace in self.spaces else "stays"
        return "shared"


def touched(cluster: Cluster, change: Difference) -> Touched | None:
    """What the difference can matter to; None for everything."""
    if len(change.gone) + len(change.come) > MOST or _is_doubtful(cluster.index, change):
        return None
    if cluster.ambiguous:  # trees are linked of one definition, and rules look at all
        return None
    before = _before(cluster, change)
    if before is None:
        return None
    was, now = state_of(before), state_of(cluster)
    every = [facts for pair in change.pairs for facts in pair if facts is not None]
    on = focus.scene(was, now, every)
    if on is None or not all(facts.key.namespace or _is_one(facts) for facts in every):
        return None
    spaces = on.spaces
    on = focus.wider(on, was, now)
    queues = frozenset(
        key
        for state in (was, now)
        for key, local in state.objects.local_queues.items()
        if local.cluster_queue in on.queues
    )
    if _may_be_meant(cluster, queues, spaces):
        return None
    work = frozenset(kind for kind, keys in cluster.index.kinds.items() if _holds_work(cluster.index, keys))
    cohorts = frozenset(c for s in (was, now) for t in on.trees if t in s.trees for c in s.trees[t].cohorts)
    narrow = _narrow(cluster, now, on, work)
    changed = focused(cluster, _alone(cluster.index, change.come), cluster.systems, same_queues=True)
    return Touched(cluster, narrow, changed, on, spaces, queues, cohorts, work)


def _is_one(facts: Facts) -> bool:
    """Whether a kind has no namespace."""
    return facts.key.group == GROUP and facts.key.kind in ("ClusterQueue", "Cohort", "ResourceFlavor")


def _is_doubtful(index: Index, change: Difference) -> bool:
    """Whether several documents say what one of the objects is."""
    was = Counter(entry.facts.key for entry in change.gone.values())
    now = Counter(entry.facts.key for entry in change.come.values())
    stands = (index.entries[new].facts.key for new in change.moved.values())
    if any(len(index.ids(key)) > 1 for key in stands):
        return True
    return any(
        was[key] > 1 or now[key] > 1 or len(index.ids(key)) > now[key] or not key.name for key in {*was, *now}
    )


def _before(cluster: Cluster, change: Difference) -> Cluster | None:
    """The cluster as it was, as far as queues go; None where its hardware may have been another."""
    every = (*change.gone.values(), *change.come.values())
    own = (e.facts.typed for e in every if isinstance(e.facts.typed, Workload))
    held = (*core_of(cluster).workloads.values(), *own)
    if not cluster.inventory.known or not any(w.nature in ("daemon", "pod") for w in held):
        # Work makes no trees; what is made of all of it is much.
        return _undone(cluster, change, lambda entry: not is_work(entry.facts))
    before = _undone(cluster, change, lambda _: True)
    return before if state_of(before).claimed == state_of(cluster).claimed else None


def _undone(cluster: Cluster, change: Difference, chosen: Callable[[Entry], bool]) -> Cluster:
    old: dict[DocumentId, Entry | None] = {i: None for i, entry in change.come.items() if chosen(entry)}
    for n, (identity, entry) in enumerate(change.gone.items()):
        if chosen(entry):  # numbers count on from others now: what is gone has to be beside all that is there
            old[identity._replace(document=-1 - n)] = entry
    return replace(cluster, old, cluster.inventory) if old else cluster


def _may_be_meant(cluster: Cluster, queues: Iterable[focus.LocalKey], spaces: frozenset[str]) -> bool:
    """Whether work or queues without a namespace in the manifest may be about the scene."""
    state, core = state_of(cluster), core_of(cluster)
    names = {name for _, name in queues}
    names |= {name for space, name in state.objects.local_queues if space in spaces}
    if any(not space for space, _ in queues):
        return True
    loose = {queue_of(w) or DEFAULT_QUEUE for key, w in core.workloads.items() if not key.namespace}
    loose |= {w.queue for (space, _), w in state.objects.workloads.items() if not space}
    return not loose.isdisjoint(names)


def _queue(entry: Entry | None) -> str:
    """The LocalQueue that work names."""
    match entry.facts.typed if entry is not None else None:
        case Workload() as work:
            return queue_of(work)
        case KueueWorkload() as made:
            return made.queue
    return ""


def _holds_work(index: Index, keys: Mapping[ObjectKey, tuple[DocumentId, ...]]) -> bool:
    return any(is_work(index.entries[ids[0]].facts) for ids in keys.values())


def _narrow(cluster: Cluster, state: KueueState, on: focus.Scene, work: frozenset[GroupKind]) -> Cluster:
    queues, own = focus.with_work(focus.narrowed(state, on, focus.leads(state)), core_of(cluster), on)
    shown = focus.shown(queues)
    if (GROUP, "Workload") in work:
        made = cluster.index.kinds[GROUP, "Workload"]
        shown["Workload"] = tuple(key for key in made if key.namespace in on.spaces)
    index = in_sight(cluster.index, on, shown, _within, MANY | work)
    return focused(cluster, index, {**cluster.systems, "core": own, "kueue": queues}, same_queues=True)


def _within(index: Index, kind: GroupKind, spaces: frozenset[str]) -> list[ObjectKey]:
    return [key for key in index.kinds.get(kind, ()) if key.namespace in spaces]


def _alone(index: Index, entries: Mapping[DocumentId, Entry]) -> Index:
    """All for lookups, some for whoever goes through it."""
    kinds: dict[GroupKind, dict[ObjectKey, tuple[DocumentId, ...]]] = {}
    for identity, entry in entries.items():
        key = entry.facts.key
        kinds.setdefault((key.group, key.kind), {})[key] = (identity,)
    return Index(focus.Focus(index.entries, sorted(entries)), kinds)
