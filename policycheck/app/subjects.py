"""What a certificate is about: the objects, the files, the rules, and what of the hardware matters."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from policycheck.certify import canonical, normal
from policycheck.certify.needed import Matter
from policycheck.digest import sha256
from policycheck.model.workload import PodSet, Workload

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered, Sources
    from policycheck.certify.arena import Service
    from policycheck.certify.promise import Promises
    from policycheck.lint.rulebook import Rulebook
    from policycheck.lint.settings import Settings
    from policycheck.model.cluster import Cluster, Entry
    from policycheck.model.facts import Facts
    from policycheck.systems.kueue.model import KueueObjects

INVENTORY = "inventory:"  # before the name of a file that holds nothing but hardware
OWNER = "policycheck.dev/owner"  # label or annotation
_BESIDE = frozenset({"Namespace", "PriorityClass", "LimitRange", "RuntimeClass", "DaemonSet"})
_NODES = frozenset({"Node", "ResourceSlice"})


class Inputs(NamedTuple):
    """Digests of bytes by short name, and the folder that the names are relative to."""

    files: Mapping[str, str]
    home: str


def subjects(cluster: Cluster) -> dict[str, str]:
    """The digest of every object on which a verdict may depend, by its full name. Hardware is not among them.

    An object with several contents has the digest of all of them.
    """
    from policycheck.systems.registry import tables

    known = tables()
    found: dict[str, list[str]] = {}
    for entry in cluster.entries.values():
        if is_subject(entry.facts):
            facts = entry.facts
            sha = normal.digest_of(facts, known.get((facts.key.group, facts.key.kind)))
            found.setdefault(normal.name_of(facts), []).append(sha)
    return {
        name: digests[0] if len(set(digests)) == 1 else canonical.digest(sorted(digests))
        for name, digests in sorted(found.items())
    }


def owners(cluster: Cluster) -> dict[str, str]:
    """Who answers for each object, by its full name, where it says so; of several contents the first that does."""
    found: dict[str, str] = {}
    for entry in cluster.entries.values():
        meta = entry.facts.value.get("metadata") if is_subject(entry.facts) else None
        if not isinstance(meta, Mapping):
            continue
        for held in (meta.get("annotations"), meta.get("labels")):
            owner = held.get(OWNER) if isinstance(held, Mapping) else None
            if isinstance(owner, str) and owner.strip():
                found.setdefault(normal.name_of(entry.facts), owner.strip())
    return dict(sorted(found.items()))


def is_subject(facts: Facts) -> bool:
    """Whether a verdict may depend on an object that is no hardware."""
    if isinstance(facts.typed, Workload):
        return not facts.typed.node
    return facts.system == "kueue" or (facts.system == "core" and facts.key.kind in _BESIDE)


def is_hardware(entry: Entry) -> bool:
    """Whether a document tells of nodes, or of what runs on them, and of nothing else. What was given as an
    inventory may hold daemons and namespaces beside.
    """
    facts = entry.facts
    if facts.key.kind in _NODES or (isinstance(facts.typed, Workload) and facts.typed.node):
        return True
    return not entry.origin.reported and facts.key.kind in ("Pod", "DaemonSet", "Namespace")


def inputs(scope: Gathered, sources: Sources, promises: str) -> Inputs:
    """Every file of the scope that anything was read from. Raises OSError when one can not be read again."""
    of_file: dict[str, bool] = {}  # whether all in it is hardware
    for entry in scope.entries:
        name = entry.origin.id.file
        of_file[name] = of_file.get(name, True) and is_hardware(entry)
    of_file.update(dict.fromkeys(scope.hardware.sources, True))
    if promises:
        of_file[promises] = False
    home = home_of(scope.name, of_file, sources)
    found: dict[str, str] = {}
    for name in sorted(of_file):
        held = scope.rendered.get(name)
        data = sources.read(name) if held is None else held
        short = _short(name, home)
        short = f"{INVENTORY}{short}" if of_file[name] else short
        found[name if short in found else short] = sha256(data).hexdigest()
    return Inputs(dict(sorted(found.items())), home)


def home_of(scope: str, files: Iterable[str], sources: Sources) -> str:
    """The folder of a scope: the one that it is called by, or the lowest that holds all of its files."""
    if scope and not sources.in_memory and sources.tree.is_folder(scope):
        return scope
    folders = {os.path.dirname(name) for name in files}  # noqa: PTH120 - of names, not of files
    try:
        return os.path.commonpath(folders) if folders else ""
    except ValueError:  # relative and absolute ones
        return ""


def _short(name: str, home: str) -> str:
    """``name`` as it is called within ``home``; what lies elsewhere by its own name alone."""
    if home and home != "." and name.startswith(f"{home.rstrip('/')}/"):
        return name[len(home.rstrip("/")) + 1 :]
    if not home or home == ".":
        return name if not name.startswith(("/", "../")) else os.path.basename(name)  # noqa: PTH119 - as above
    return os.path.basename(name)  # noqa: PTH119 - as above


def rules(book: Rulebook, settings: Settings) -> dict[str, str]:
    """How strict each rule is once the settings have spoken, and what it says, as a digest."""
    from policycheck.lint.rule import as_json
    from policycheck.lint.select import choose, params_of, severity_of

    running = {rule.id for rule in choose(book, settings).rules}
    found = {}
    for rule in book.rules:
        state = severity_of(rule, settings) if rule.id in running else "off"
        held = {k: v for k, v in as_json(rule).items() if k not in ("program", "file")}
        body = {**held, "params": {k: repr(v) for k, v in params_of(rule, settings).items()}}
        found[rule.id] = f"{state} {rule.status} {canonical.digest(body)[:16]}"
    return dict(sorted(found.items()))


def matter(objects: KueueObjects, promises: Promises, services: Iterable[Service] = ()) -> Matter:
    """What of a node any flavor, topology, job or service asks for. Services in no queue go where no flavor leads."""
    serving = tuple(services)
    apart = [spec for one in serving if not one.queue for spec in one.shape.pod_sets]
    flavors = tuple(objects.flavors.values())
    labels = {key for flavor in flavors for key in flavor.node_labels}
    labels |= {level for topology in objects.topologies.values() for level in topology.levels}
    groups = [g for queue in objects.cluster_queues.values() for g in queue.groups]
    groups += [g for cohort in objects.cohorts.values() for g in cohort.groups]
    resources = {resource for g in groups for flavor in g.flavors for resource in flavor.resources}
    for spec in (*pod_sets(objects, promises), *(s for one in serving for s in one.shape.pod_sets)):
        labels |= set(_labels(spec))
        resources |= set(spec.requests)
    return Matter(
        frozenset(labels),
        frozenset(resources),
        lambda have: any(
            all(have.get(k) == v for k, v in wanted.items())
            for wanted in (*(f.node_labels for f in flavors), *(spec.node_selector for spec in apart))
        ),
    )


def pod_sets(objects: KueueObjects, promises: Promises) -> Iterator[PodSet]:
    """Pods of all jobs in sight, and of those that were promised."""
    for one in objects.workloads.values():
        yield from one.pod_sets
    for team in promises.teams:
        for shape in team.shapes:
            yield from shape.pod_sets


def _labels(spec: PodSet) -> Iterator[str]:
    """Labels of nodes that pods of this kind ask for."""
    yield from spec.node_selector
    for term in (*spec.affinity, *(one.term for one in spec.preferred)):
        yield from (requirement.key for requirement in term.expressions)
    yield from (one.topology_key for one in spec.spread)
    near = spec.neighbours
    if near is not None:
        weighted = (one.term for one in near.preferred)
        yield from (one.topology_key for one in (*near.near, *near.away, *weighted))
