"""Workloads that wait in queues, by the thousand: kept by shape, since alike ones get the same answer.

One of each shape is kept whole, packed; of the others only the name. So 50,000 workloads of a few hundred shapes
take about as much memory as their names.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from policycheck.digest import sha256
from policycheck.model.facts import Facts
from policycheck.model.origin import ObjectKey
from policycheck.model.workload import Workload
from policycheck.systems.kueue.jobs import DEFAULT_QUEUE, queue_of
from policycheck.systems.kueue.model import KueueWorkload

Place = tuple[str, str]  # namespace and name of a LocalQueue
MOST_SHAPES = 64  # of the queues that a change can touch; beyond that some are left out, and it is said
_NOTED = (
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "generateName",
    "name",
    "ownerReferences",
)


class _Shape:
    """Alike workloads: one as it was read, packed, and the names of all."""

    __slots__ = ("members", "packed")

    def __init__(self, packed: bytes) -> None:
        self.packed = packed
        self.members: dict[str, None] = {}


class Waiting:
    """What waits, by LocalQueue and shape. Not for several threads at once: whoever owns it locks."""

    def __init__(self) -> None:
        self._places: dict[Place, dict[bytes, _Shape]] = {}
        self._where: dict[ObjectKey, tuple[Place, bytes]] = {}

    def __len__(self) -> int:
        return len(self._where)

    def put(self, key: ObjectKey, value: Mapping[str, Any], facts: Facts) -> bool:
        """Takes it in if it waits, else forgets it; whether anything changed."""
        place = _place(facts)
        if place is None:
            return self.drop(key)
        plain = _packed(value)
        mark = sha256(plain).digest()[:12]
        if self._where.get(key) == (place, mark):
            return False
        self.drop(key)
        shapes = self._places.setdefault(place, {})
        shape = shapes.get(mark)
        if shape is None:
            shape = shapes[mark] = _Shape(zlib.compress(plain))
        shape.members[key.name] = None
        self._where[key] = (place, mark)
        return True

    def drop(self, key: ObjectKey) -> bool:
        """Forgets it; whether it was known."""
        found = self._where.pop(key, None)
        if found is None:
            return False
        place, mark = found
        shape = self._places[place][mark]
        shape.members.pop(key.name, None)
        if not shape.members:
            del self._places[place][mark]
            if not self._places[place]:
                del self._places[place]
        return True

    def keys(self, group: str, kind: str) -> list[ObjectKey]:
        """Everything of a kind that waits."""
        return [key for key in self._where if (key.group, key.kind) == (group, kind)]

    def samples(self, places: Iterable[Place]) -> tuple[tuple[dict[str, Any], ...], int]:
        """One workload of every shape that waits in these LocalQueues, and how many shapes were left out."""
        found = [
            (name, shape) for place in sorted(places) for name, shape in sorted(self._of(place), key=_by_name)
        ]
        taken = found[:MOST_SHAPES]
        return tuple(_unpacked(shape.packed, name) for name, shape in taken), len(found) - len(taken)

    def _of(self, place: Place) -> Iterator[tuple[str, _Shape]]:
        for shape in self._places.get(place, {}).values():
            yield next(iter(shape.members)), shape


def _by_name(pair: tuple[str, _Shape]) -> str:
    return pair[0]


def _place(facts: Facts) -> Place | None:
    """The LocalQueue in which an object waits; None when it does not, or belongs to something that does."""
    typed = facts.typed
    if isinstance(typed, KueueWorkload):
        waits = typed.admission is None and not typed.finished and not typed.deleting
        return (typed.namespace, typed.queue) if waits and typed.queue else None
    if isinstance(typed, Workload) and typed.owner is None and not typed.phase and not typed.node:
        return (facts.key.namespace, queue_of(typed) or DEFAULT_QUEUE)
    return None


def _packed(value: Mapping[str, Any]) -> bytes:
    """The object without what tells it from alike ones, as bytes."""
    made = {name: held for name, held in value.items() if name != "status"}
    meta = made.get("metadata")
    if isinstance(meta, Mapping):
        made["metadata"] = {name: held for name, held in meta.items() if name not in _NOTED}
    return json.dumps(made, sort_keys=True, separators=(",", ":")).encode()


def _unpacked(packed: bytes, name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(zlib.decompress(packed))
    value.setdefault("metadata", {})["name"] = name
    return value
