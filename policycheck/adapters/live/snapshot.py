"""``cluster:CONTEXT`` as a PATH: what the cluster holds at this moment, as files that commands read like others.

A folder of that name is made in memory. Objects of queues and jobs are files of their own, written as
``kubectl get KIND NAME -o json`` prints them, so that lines in findings are lines there; what comes by the
thousand is in lists.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from policycheck.adapters.live import kinds
from policycheck.adapters.live.connect import ApiError, Connection, LiveError, connect
from policycheck.adapters.live.kinds import Served
from policycheck.adapters.live.listing import Listing
from policycheck.model.cluster import GroupKind
from policycheck.record import NamedTuple
from policycheck.source.tree import DISK, Tree
from policycheck.source.tree import Listing as Names

PREFIX = "cluster:"
_AT_ONCE = 4  # kinds that are listed side by side
_SINGLE = 1000  # objects of a kind that are files of their own
_BUNDLE = 2000  # objects of one list
_FORBIDDEN = 403
_NOTES = "kubectl.kubernetes.io/last-applied-configuration"
# Pods of queued workloads: their quota is what counts, the pods come and go with it.
_QUEUED = frozenset(
    f"{kinds.KUEUE}/{name}" for name in ("queue-name", "podset", "managed", "workload", "pod-group-name")
)


class Snapshot(NamedTuple):
    """A cluster as files. ``refused`` are those that could not be had, and why; ``note`` is to be told."""

    files: Mapping[str, bytes]
    refused: Mapping[str, str]
    note: str


class Found(NamedTuple):
    """The objects of every kind that could be had."""

    objects: Mapping[Served, tuple[dict[str, Any], ...]]
    refused: Mapping[GroupKind, str]  # served, and not for us
    absent: tuple[GroupKind, ...]  # not served


def fetch(connection: Connection, wanted: Iterable[GroupKind] = kinds.ALL) -> Found:
    """Every object of the wanted kinds, without what servers note in them for themselves.

    A kind that we may not list is told in ``refused``. Raises LiveError for all else that goes wrong.
    """
    asked = tuple(wanted)
    served, broken = kinds.discover(connection.get, asked)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        several = pool.map(lambda one: (one, _list(connection, one)), served.values())
        lists = dict(several)
    refused: dict[GroupKind, str] = {
        one.group_kind: found for one, found in lists.items() if isinstance(found, str)
    }
    refused |= {kind: broken[kind[0]] for kind in asked if kind[0] in broken and kind not in served}
    objects = {one: found for one, found in lists.items() if not isinstance(found, str)}
    absent = tuple(kind for kind in asked if kind not in served and kind[0] not in broken)
    return Found(objects, refused, absent)


def _list(connection: Connection, served: Served) -> tuple[dict[str, Any], ...] | str:
    try:
        by_name = {_key(one): tidy(one) for one in Listing(connection.get, served)}
    except ApiError as error:
        if error.code != _FORBIDDEN:
            raise
        return str(error)
    return tuple(by_name[key] for key in sorted(by_name))


def _key(value: Mapping[str, Any]) -> tuple[str, str]:
    meta = value.get("metadata") or {}
    return str(meta.get("namespace") or ""), str(meta.get("name") or "")


def tidy(value: dict[str, Any]) -> dict[str, Any]:
    """An object without managed fields and the text that was applied last."""
    meta = {key: held for key, held in (value.get("metadata") or {}).items() if key != "managedFields"}
    notes = meta.get("annotations")
    if isinstance(notes, dict) and _NOTES in notes:
        meta["annotations"] = {key: held for key, held in notes.items() if key != _NOTES}
    return {**value, "metadata": meta}


def snapshot(context: str, *, is_hardware: bool = False, connection: Connection | None = None) -> Snapshot:
    """The files of ``cluster:CONTEXT``; ``is_hardware``: nodes, and what takes from them outside of queues.

    Reads, and never writes. A cluster that can not be read is a file that can not be. Raises LiveError when no
    kubeconfig knows it.
    """
    way = connection or connect(context)
    folder = f"{PREFIX}{context}"
    try:
        found = fetch(way, kinds.HARDWARE if is_hardware else kinds.ALL)
    except LiveError as error:
        return Snapshot({}, {folder: str(error)}, "")
    finally:
        if connection is None:
            way.close()
    return as_snapshot(folder, found, is_hardware=is_hardware)


def as_snapshot(folder: str, found: Found, *, is_hardware: bool = False) -> Snapshot:
    """What was found as files below ``folder``."""
    files: dict[str, bytes] = {}
    for served, objects in found.objects.items():
        free = is_hardware and served.kind == "Pod"
        kept = tuple(one for one in objects if not is_queued(one)) if free else objects
        files.update(_files(f"{folder}/{served.plural}", served, kept))
    refused = {
        f"{folder}/{kind}.json": f"{kind}: {why}"
        for (group, kind), why in found.refused.items()
        if (group, kind) in kinds.NEEDED
    }
    return Snapshot(files, refused, _note(folder, found, is_hardware=is_hardware))


def is_queued(pod: Mapping[str, Any]) -> bool:
    """Whether a pod belongs to a workload that a queue accounts for."""
    meta = pod.get("metadata") or {}
    return not _QUEUED.isdisjoint({**(meta.get("labels") or {}), **(meta.get("annotations") or {})})


def _files(stem: str, served: Served, objects: tuple[dict[str, Any], ...]) -> Iterable[tuple[str, bytes]]:
    if served.group_kind not in kinds.HARDWARE and len(objects) <= _SINGLE:
        for one in objects:
            name = "/".join(part for part in _key(one) if part)
            yield f"{stem}/{name}.json", (json.dumps(one, indent=4, sort_keys=True) + "\n").encode()
        return
    for number, at in enumerate(range(0, len(objects), _BUNDLE), 1):
        # An item a line: a finding in a list of thousands names the object, and the line is it.
        lines = ",\n".join(json.dumps(one, sort_keys=True) for one in objects[at : at + _BUNDLE])
        text = f'{{"apiVersion":"v1","kind":"List","items":[\n{lines}\n]}}\n'
        yield f"{stem}-{number}.json" if len(objects) > _BUNDLE else f"{stem}.json", text.encode()


def _note(folder: str, found: Found, *, is_hardware: bool) -> str:
    count = sum(map(len, found.objects.values()))
    parts = [f"{folder}: read {count} objects of {len(found.objects)} kinds"]
    queues = [kind for kind in kinds.QUEUES if kind[0] == kinds.KUEUE]
    absent = set(found.absent)
    if not is_hardware and absent.issuperset(queues):
        parts.append(f"nothing of {kinds.KUEUE} is installed there")
        absent.difference_update(queues)
    if absent:
        parts.append(f"the server has no {', '.join(sorted(kind for _, kind in absent))}")
    for (group, kind), why in sorted(found.refused.items()):
        if (group, kind) not in kinds.NEEDED:
            parts.append(f"not checked: {kind} ({why})")
    return "; ".join(parts)


class Clusters:
    """Disk and clusters as one tree: names below ``cluster:CONTEXT`` are of the cluster, all others of the disk."""

    def __init__(self, snapshots: Iterable[Snapshot], disk: Tree = DISK) -> None:
        self._disk = disk
        self._held: dict[str, bytes] = {}
        self._refused: dict[str, str] = {}
        for one in snapshots:
            self._held.update(one.files)
            self._refused.update(one.refused)
        self._names = Names((*self._held, *self._refused))

    @property
    def names(self) -> tuple[str, ...]:
        """All files of all clusters, those that could not be had too."""
        return (*self._held, *self._refused)

    def reader(self, read: Callable[[str], bytes]) -> Callable[[str], bytes]:
        """``read`` for names of the disk; names of clusters are held. Raises OSError for what could not be had."""

        def of_all(name: str) -> bytes:
            if name in self._refused:
                raise PermissionError(None, self._refused[name])
            return self._held[name] if name in self._held else read(name)

        return of_all

    def _of(self, path: str) -> Tree:
        return self._names if path.startswith(PREFIX) else self._disk

    def is_folder(self, path: str) -> bool:
        """As the protocol has it."""
        return self._of(path).is_folder(path)

    def is_file(self, path: str) -> bool:
        """As the protocol has it."""
        return self._of(path).is_file(path)

    def exists(self, path: str) -> bool:
        """As the protocol has it."""
        return self._of(path).exists(path)

    def scan(self, folder: str) -> list[tuple[str, bool]]:
        """As the protocol has it. Raises OSError."""
        return self._of(folder).scan(folder)

    def real(self, path: str) -> str:
        """As the protocol has it."""
        return self._of(path).real(path)

    def why_not(self, path: str, *, named: bool = False) -> str:
        """As the protocol has it; a kind that may not be listed can not be read."""
        if path in self._refused:
            return f"not checked: {self._refused[path]}"
        return self._of(path).why_not(path, named=named)
