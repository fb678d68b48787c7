"""What Kueue's webhooks refuse about a job: its labels, its annotations, its podsets.

Source: the documentation page "Labels and Annotations" and those of each job; facts 1b.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.model.facts import Facts, Trouble
from policycheck.model.origin import Path
from policycheck.model.workload import PodSet, Workload
from policycheck.systems.core.podspec import mapping, plain_number, whole
from policycheck.systems.kueue.assembly import FAST, GROUP_NAME, TOTAL
from policycheck.systems.kueue.jobs import (
    ELASTIC,
    FRAMEWORKS,
    MAX_EXECUTION,
    MAX_POD_SETS,
    MIN_PARALLELISM,
    PRIORITY_LABEL,
    QUEUE_LABEL,
)
from policycheck.systems.kueue.validate.names import qualified, subdomain

_PREFIX = "kueue.x-k8s.io/podset-"
_MODES = ("required-topology", "preferred-topology", "unconstrained-topology")
_SLICE_LEVEL, _SLICE_SIZE = "slice-required-topology", "slice-size"
_CONSTRAINTS, _GROUP = "slice-required-topology-constraints", "group-name"
_EQUAL = "kueue.x-k8s.io/job-completions-equal-parallelism"
_ELASTIC_KINDS = frozenset({"Job", "RayCluster", "RayJob", "RayService"})
_MOST_LAYERS = 3
Notes = Mapping[str, str]


def problems(facts: Facts, old: Facts | None = None) -> Iterator[Trouble]:
    """Every reason to refuse a job that Kueue has an integration for; nothing for other objects."""
    job = facts.typed
    if not isinstance(job, Workload) or (job.key.group, job.key.kind) not in FRAMEWORKS:
        return
    base: Path = ("spec", "jobTemplate", "metadata") if job.key.kind == "CronJob" else ("metadata",)
    yield from _labels(job.labels, (*base, "labels"))
    yield from _annotations(job, facts.value, (*base, "annotations"))
    is_managed = QUEUE_LABEL in job.labels
    gang = tuple(one._replace(pods=one.pods // max(1, job.copies)) for one in job.pod_sets)
    for pod_set in gang:
        yield from _topology(pod_set)
    yield from _groups(gang)
    if is_managed and len(job.pod_sets) > MAX_POD_SETS:
        say = f"the job has {len(job.pod_sets)} podsets; Kueue takes at most {MAX_POD_SETS}: merge some"
        yield Trouble("too-many-podsets", ("spec",), say)
    if job.key.group == "ray.io":
        from policycheck.systems.kueue.validate import ray

        yield from ray.problems(job, facts.value)
    if old is not None and isinstance(old.typed, Workload):
        yield from _changes(job, old.typed, (*base, "labels"))


def _labels(found: Notes, at: Path) -> Iterator[Trouble]:
    for label, what in ((QUEUE_LABEL, "LocalQueue"), (PRIORITY_LABEL, "WorkloadPriorityClass")):
        name = found.get(label)
        why = subdomain(name) if name is not None else ""
        if why:
            yield Trouble("bad-name", (*at, label), f"{name!r} is no name of a {what}: it {why}")
    raw = found.get(MAX_EXECUTION)
    if raw is not None and not plain_number(raw):
        say = f"{MAX_EXECUTION} is {raw!r}; write whole seconds of 1 or more"
        yield Trouble("bad-label-value", (*at, MAX_EXECUTION), say)


def _annotations(job: Workload, value: Mapping[str, Any], at: Path) -> Iterator[Trouble]:
    notes, spec = job.annotations, mapping(value.get("spec"))
    if job.key.kind == "CronJob":
        spec = mapping(mapping(spec.get("jobTemplate")).get("spec"))
    if notes.get(ELASTIC) == "true" and job.key.group in ("batch", "ray.io", "kubeflow.org"):
        yield from _elastic(job, at)
    least = notes.get(MIN_PARALLELISM)
    parallelism = whole(spec.get("parallelism"), 1)
    if least is not None and job.key.group == "batch" and not 0 < (plain_number(least) or 0) < parallelism:
        say = f"{MIN_PARALLELISM} is {least!r}; write 1 to {parallelism - 1}, below parallelism {parallelism}"
        if parallelism <= 1:
            say = f"{MIN_PARALLELISM} is {least!r}, and with parallelism 1 there is nothing less: remove it"
        yield Trouble("min-parallelism", (*at, MIN_PARALLELISM), say)
    if notes.get(_EQUAL) == "true" and job.key.group == "batch":
        if spec.get("completionMode") != "Indexed":
            say = f"{_EQUAL} is for Indexed jobs; set completionMode: Indexed, or remove it"
            yield Trouble("completions-mode", (*at, _EQUAL), say)
        elif whole(spec.get("completions"), parallelism) != parallelism:
            say = f"{_EQUAL} needs completions {spec.get('completions')} to equal parallelism {parallelism}"
            yield Trouble("completions-mode", (*at, _EQUAL), say)
    if job.key.kind == "Pod":
        yield from _pod_group(job, at)


def _elastic(job: Workload, at: Path) -> Iterator[Trouble]:
    if job.key.kind not in _ELASTIC_KINDS:
        kinds = ", ".join(sorted(_ELASTIC_KINDS))
        say = f"a {job.key.kind} cannot be elastic; kinds that can are {kinds}: remove the annotation"
        yield Trouble("elastic-kind", (*at, ELASTIC), say)
    elif MIN_PARALLELISM in job.annotations:
        say = f"an elastic job cannot have {MIN_PARALLELISM} too; remove one of them"
        yield Trouble("elastic-partial", (*at, ELASTIC), say)


def _pod_group(job: Workload, at: Path) -> Iterator[Trouble]:
    name = job.labels.get(GROUP_NAME) or job.annotations.get(GROUP_NAME)
    total = job.annotations.get(TOTAL)
    if name is not None and total is None:
        say = f"{GROUP_NAME} needs the annotation {TOTAL}, the same on every pod of the group"
        where = (*at[:-1], "labels") if GROUP_NAME in job.labels else at
        yield Trouble("pod-group", (*where, GROUP_NAME), say)
    elif name is None and total is not None:
        yield Trouble("pod-group", (*at, TOTAL), f"{TOTAL} needs the label {GROUP_NAME}")
    elif total is not None and not plain_number(total):
        yield Trouble("pod-group", (*at, TOTAL), f"{TOTAL} is {total!r}; write a whole number of 1 or more")
    if job.annotations.get(FAST, "true") not in ("true", "false"):
        say = f"{FAST} is {job.annotations[FAST]!r}; write true or false in quotes"
        yield Trouble("pod-group", (*at, FAST), say)


def _topology(pod_set: PodSet) -> Iterator[Trouble]:
    """The topology annotations of one pod template."""
    own = {k.removeprefix(_PREFIX): v for k, v in pod_set.annotations.items() if k.startswith(_PREFIX)}
    at: Path = (*pod_set.path, "metadata", "annotations")
    modes = [m for m in _MODES if m in own and own[m] != "false"]
    if len(modes) > 1:
        say = f"{' and '.join(_PREFIX + m for m in modes)} exclude each other; keep one"
        yield Trouble("topology-modes", (*at, _PREFIX + modes[1]), say)
    for name in ("required-topology", "preferred-topology", _SLICE_LEVEL):
        if name in own and (why := qualified(own[name])):
            yield Trouble("bad-label", (*at, _PREFIX + name), f"{own[name]!r} is no node label: it {why}")
    unconstrained = own.get("unconstrained-topology", "true")
    if unconstrained not in ("true", "false"):
        where = (*at, f"{_PREFIX}unconstrained-topology")
        yield Trouble("topology-modes", where, f"it is {unconstrained!r}; write true or false in quotes")
    yield from _slices(own, pod_set.pods, at)
    yield from _layers(own, at)
    yield from _group(own, at)


def _slices(own: Notes, pods: int, at: Path) -> Iterator[Trouble]:
    level, size = own.get(_SLICE_LEVEL), own.get(_SLICE_SIZE)
    if (level is None) != (size is None):
        there, missing = (_SLICE_LEVEL, _SLICE_SIZE) if size is None else (_SLICE_SIZE, _SLICE_LEVEL)
        yield Trouble("slice-pair", (*at, _PREFIX + there), f"it needs {_PREFIX}{missing} too")
    if size is None:
        return
    if not plain_number(size):
        say = f"{_PREFIX}{_SLICE_SIZE} is {size!r}; write a whole number of 1 or more"
        yield Trouble("slice-size", (*at, _PREFIX + _SLICE_SIZE), say)
    elif int(size) > pods > 0:
        say = f"a slice is {size} pods and the podset has {pods}; write at most that"
        yield Trouble("slice-size", (*at, _PREFIX + _SLICE_SIZE), say)


def _layers(own: Notes, at: Path) -> Iterator[Trouble]:
    """Slices in slices: a JSON list, coarse to fine, each size dividing the one before."""
    raw = own.get(_CONSTRAINTS)
    if raw is None:
        return
    where: Path = (*at, _PREFIX + _CONSTRAINTS)
    others = [n for n in (_SLICE_LEVEL, _SLICE_SIZE, _GROUP) if n in own]
    if others:
        yield Trouble("slice-layers", where, f"it excludes {_PREFIX}{others[0]}; keep one of them")
    try:
        parsed = json.loads(raw)
    except (ValueError, RecursionError):
        return  # the reader has said so
    layers = [mapping(one) for one in parsed] if isinstance(parsed, list) else []
    if not 1 <= len(layers) <= _MOST_LAYERS:
        yield Trouble("slice-layers", where, f"it has {len(layers)} layers; 1 to {_MOST_LAYERS} are allowed")
        return
    wrong = sorted({key for one in layers for key in one} - {"topology", "size"})
    if wrong:
        say = f"a layer has the key {wrong[0]!r}; Kueue reads topology and size"
        yield Trouble("slice-layers", where, say)
        return
    names, sizes = [one.get("topology") for one in layers], [whole(one.get("size")) for one in layers]
    if len({str(n) for n in names}) < len(names):
        yield Trouble("slice-layers", where, f"{names[0]!r} stands twice; name each level once")
    for before, size in zip([0, *sizes], sizes, strict=False):
        if size < 1 or (before and before % size):
            say = f"size {size} after {before}: each size has to be 1 or more and divide the one before"
            yield Trouble("slice-layers", where, say if before else f"size is {size}; write 1 or more")
            return


def _group(own: Notes, at: Path) -> Iterator[Trouble]:
    name = own.get(_GROUP)
    if name is None:
        return
    where: Path = (*at, _PREFIX + _GROUP)
    if plain_number(name) is not None:
        yield Trouble("podset-group", where, f"{name!r} is a number; give the group a name")
    if not ("required-topology" in own or "preferred-topology" in own):
        say = f"a podset group needs {_PREFIX}required-topology or {_PREFIX}preferred-topology"
        yield Trouble("podset-group", where, say)
    if _SLICE_LEVEL in own or _SLICE_SIZE in own:
        yield Trouble("podset-group", where, "a podset group cannot have slices; remove one of them")


def _groups(pod_sets: tuple[PodSet, ...]) -> Iterator[Trouble]:
    """A group is two podsets that ask for the same, one of them a single pod."""
    members: dict[str, list[PodSet]] = {}
    for one in pod_sets:
        name = one.annotations.get(_PREFIX + _GROUP)
        if name is not None:
            members.setdefault(name, []).append(one)
    for name, found in members.items():
        where: Path = (*found[-1].path, "metadata", "annotations", _PREFIX + _GROUP)
        if len(found) != 2:
            say = f"group {name!r} has {len(found)} podset{'s' * (len(found) != 1)}; it has to have exactly 2"
            yield Trouble("podset-group", where, say)
        elif all(one.pods != 1 for one in found):
            say = f"no podset of group {name!r} is a single pod; one of the two has to be (the leader)"
            yield Trouble("podset-group", where, say)
        elif len({_asked(one) for one in found}) > 1:
            say = f"the podsets of group {name!r} ask for different topologies; write the same on both"
            yield Trouble("podset-group", where, say)


def _asked(pod_set: PodSet) -> tuple[tuple[str, str], ...]:
    return tuple((m, pod_set.annotations[_PREFIX + m]) for m in _MODES if _PREFIX + m in pod_set.annotations)


def _changes(job: Workload, old: Workload, at: Path) -> Iterator[Trouble]:
    """What may not change: the queue while the job runs, the removal of a priority class."""
    now, before = job.labels.get(QUEUE_LABEL, ""), old.labels.get(QUEUE_LABEL, "")
    if old.nature == "batch" and now != before and old.suspended is False and job.suspended is not True:
        say = f"the queue changes from {before or 'none'} to {now or 'none'}; suspend the job to move it"
        yield Trouble("immutable", (*at, QUEUE_LABEL), say)
    if PRIORITY_LABEL in old.labels and PRIORITY_LABEL not in job.labels:
        say = f"{PRIORITY_LABEL} ({old.labels[PRIORITY_LABEL]}) cannot be removed; name another class"
        yield Trouble("immutable", (*at, PRIORITY_LABEL), say)
    if old.annotations.get(ELASTIC, "") != job.annotations.get(ELASTIC, ""):
        where: Path = (*at[:-1], "annotations", ELASTIC)
        yield Trouble("immutable", where, f"{ELASTIC} cannot be changed; create the job anew")
