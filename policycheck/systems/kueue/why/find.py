"""Which workload is meant by a name, among those in a queue and those that Kueue leaves alone."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import NamedTuple

from policycheck.model.workload import Workload
from policycheck.systems.core.link import CoreState
from policycheck.systems.kueue import assembly, jobs
from policycheck.systems.kueue.model import KueueWorkload
from policycheck.systems.kueue.state import KueueState
from policycheck.wording import some


class UnknownWorkloadError(ValueError):
    """No workload, or several, have this name; the message says which are there."""


class Named(NamedTuple):
    """One workload and all that it may be called."""

    id: str  # namespace/name
    names: frozenset[str]
    queued: KueueWorkload | None
    job: Workload | None  # one that is in no queue
    alike: int = 1  # Workloads that one object becomes


def known(state: KueueState, core: CoreState) -> list[Named]:
    """Every workload of a cluster, by id."""
    by_source: dict[object, list[KueueWorkload]] = {}
    for workload in state.objects.workloads.values():
        by_source.setdefault(workload.source or workload.id, []).append(workload)
    found = [_queued(same[0], len(same)) for same in by_source.values()]
    sources = {w.source for w in state.objects.workloads.values()}
    owned = {(w.namespace, k, n) for w in state.objects.workloads.values() for k, n in w.owners}
    for key, job in core.workloads.items():
        mine = key in sources or (key.namespace, key.kind, key.name) in owned
        if not mine and job.owner is None:
            names = _names(key.namespace, key.kind, key.name)
            found.append(Named(f"{key.namespace}/{key.name}", names, None, job))
    return sorted(found, key=lambda n: n.id)


def _names(namespace: str, kind: str, name: str) -> frozenset[str]:
    kind = kind.lower()
    return frozenset({name, f"{kind}/{name}", f"{namespace}/{name}", f"{namespace}/{kind}/{name}"})


def _queued(workload: KueueWorkload, alike: int) -> Named:
    names = set(_names(workload.namespace, "Workload", workload.name))
    if workload.source is not None:
        names |= _names(workload.namespace, workload.source.kind, workload.source.name)
    for kind, name in workload.owners:
        names |= _names(workload.namespace, kind, name)
    return Named(workload.id, frozenset(names), workload, None, alike)


def choose(asked: str, found: Iterable[tuple[int, Named]]) -> tuple[int, Named]:
    """The one that ``asked`` means; the number is its cluster's. Raises UnknownWorkloadError."""
    everything = list(found)
    wanted = asked.strip()
    lowered = _lowered(wanted)
    exact = [pair for pair in everything if pair[1].id == wanted]
    matching = exact or [pair for pair in everything if wanted in pair[1].names or lowered in pair[1].names]
    if len(matching) == 1:
        return matching[0]
    if matching:
        ids = sorted({named.id for _, named in matching})
        raise UnknownWorkloadError(
            f"{asked!r} could be {', '.join(ids[:8])}; write one of them"
            if len(ids) > 1
            else f"{ids[0]} is in {len(matching)} scopes; give the PATH of one of them"
        )
    raise UnknownWorkloadError(_nothing(asked, [named for _, named in everything]))


def _lowered(name: str) -> str:
    """``Job/x`` as ``job/x``: kinds are written either way."""
    first, slash, rest = name.partition("/")
    return f"{first.lower()}{slash}{rest}"


def _nothing(asked: str, everything: list[Named]) -> str:
    if not everything:
        return f"no workload {asked!r} in sight, nor any other; does PATH hold jobs or Workloads?"
    spellings = {name: named.id for named in reversed(everything) for name in sorted(named.names)}
    near = difflib.get_close_matches(asked, list(spellings), n=3)
    close = list(dict.fromkeys(spellings[name] for name in near))
    if close:
        return f"no workload {asked!r} in sight; did you mean {' or '.join(close)}?"
    everything = sorted(everything, key=lambda named: named.queued is None)  # those in a queue first
    there = some([named.id for named in everything], 6)
    return f"no workload {asked!r} in sight; there are {there}"


def unmanaged(job: Workload, state: KueueState, core: CoreState) -> tuple[bool, str]:
    """Whether the job is held back all the same, and why no Workload is made of it."""
    configuration, key = state.objects.configuration, job.key
    namespace = core.namespaces.get(key.namespace)
    if jobs.is_exempt(key.namespace, namespace.labels if namespace else {}, configuration):
        return False, f"Kueue leaves namespace {key.namespace} alone (managedJobsNamespaceSelector)"
    if job.nature == "daemon":
        return False, "a DaemonSet is in no queue"
    framework = jobs.FRAMEWORKS.get((key.group, key.kind), "")
    if not framework:
        return False, f"Kueue has no integration for {key.kind}"
    if configuration.frameworks is not None and framework not in configuration.frameworks:
        return False, f"the integration {framework} is not enabled in Kueue's Configuration"
    if not jobs.queue_of(job):
        label = next((p.labels[jobs.QUEUE_LABEL] for p in job.pod_sets if jobs.QUEUE_LABEL in p.labels), "")
        if configuration.manage_jobs_without_queue_name:
            return True, "it names no queue, and Kueue holds back every job without one"
        if label:
            return False, (
                f"the label {jobs.QUEUE_LABEL}: {label} is on its pods, not on the {key.kind} itself, "
                "where alone it counts"
            )
        return False, f"it has no label {jobs.QUEUE_LABEL}"
    group = assembly.group_of(job)
    if group:
        return True, f"pod group {group} is not complete, or its pods say different totals"
    if jobs.prebuilt_of(job):
        return True, f"it waits for the Workload {jobs.prebuilt_of(job)}, which is not in sight"
    return False, "it has no pods: no Workload is made of it"
