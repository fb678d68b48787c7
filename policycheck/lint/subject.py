"""What a rule is about: an object of a kind, or something of the neutral model, as plain dicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policycheck.lint.rule import ANY, MODEL_SUBJECTS, Systems
from policycheck.model.cluster import Cluster
from policycheck.model.facts import Facts
from policycheck.model.inventory import Node
from policycheck.model.origin import DocumentId, Path
from policycheck.model.queueing import Quota
from policycheck.model.schema import (
    Field,
    any_,
    boolean,
    integer,
    labels,
    list_of,
    map_of,
    obj,
    string,
    suggest,
)
from policycheck.record import NamedTuple


class Subject(NamedTuple):
    """One thing that a rule looks at. ``path`` is where it stands when ``value`` is no object."""

    id: DocumentId
    value: Mapping[str, object]
    facts: Facts | None
    path: Path | None  # None: paths into ``value`` are paths into the object


def _quotas() -> Field:
    return list_of(
        obj(
            flavor=string(),
            resource=string(),
            nominal=integer(),
            borrowing_limit=integer(),
            lending_limit=integer(),
        )
    )


def model_fields(subject: str) -> Field | None:
    """The fields of a model subject in expressions; None for service and cluster.

    Those two are for checks: what they speak about has no one object. Amounts are in base units.
    """
    match subject:
        case "queue":
            return obj(
                name=string(),
                system=string(),
                cohort=string(),
                tree=string(),
                quotas=_quotas(),
                labels=labels(),
                annotations=labels(),
                stopped=boolean(),
            )
        case "cohort":
            return obj(name=string(), system=string(), parent=string(), quotas=_quotas())
        case "flavor":
            return obj(
                name=string(),
                system=string(),
                node_labels=labels(),
                topology=list_of(string()),
                elastic=boolean(),
            )
        case "workload":
            return obj(
                kind=string(),
                namespace=string(),
                name=string(),
                system=string(),
                queue=string(),
                priority=integer(),
            )
        case "node":
            return obj(
                name=string(),
                labels=labels(),
                allocatable=map_of(integer()),
                capacity=map_of(integer()),
                ready=boolean(),
                unschedulable=boolean(),
                machines=integer(),
            )
    return None


def fields_of(subject: str, systems: Systems) -> Field:
    """The field table that expressions about ``subject`` see. Raises LookupError."""
    if subject in MODEL_SUBJECTS:
        return model_fields(subject) or any_()
    if subject == ANY:
        return any_()
    if "/" not in subject:
        names = (*MODEL_SUBJECTS, *systems.kinds())
        raise LookupError(f"no subject {subject!r}: write group/Kind (v1/Pod){suggest(subject, names)}")
    return systems.table(subject).root()


def kind_of(subject: str) -> tuple[str, str]:
    """Group and kind of ``group/Kind``; the core group is written ``v1`` or ``core``."""
    group, _, kind = subject.rpartition("/")
    return ("" if group in ("v1", "core") else group, kind)


def subjects(cluster: Cluster, subject: str) -> Iterator[Subject]:
    """Everything in ``cluster`` that a rule about ``subject`` looks at, in order."""
    if "/" in subject:
        for ids in cluster.index.kinds.get(kind_of(subject), {}).values():
            for identity in ids:
                facts = cluster.entries[identity].facts
                yield Subject(identity, facts.value, facts, None)
        return
    named: Path = ("metadata", "name")
    for identity, value in _model_values(cluster, subject):
        yield Subject(identity, value, cluster.entries[identity].facts, named)


def occurs(cluster: Cluster, subject: str, system: str) -> bool:
    """Whether ``cluster`` has anything that a rule about ``subject`` could look at."""
    if "/" in subject:
        return kind_of(subject) in cluster.index.kinds
    if subject == "node":
        return cluster.inventory.known
    if subject in ("queue", "cohort", "flavor"):
        return bool(cluster.view.queues or cluster.view.flavors)
    systems = cluster.reading
    # A system without a state of its own speaks about the objects of others.
    if subject == "cluster" and system in cluster.systems:
        return system in systems
    return bool(systems) or cluster.inventory.known


def _model_values(cluster: Cluster, subject: str) -> Iterator[tuple[DocumentId, Mapping[str, object]]]:
    view = cluster.view
    match subject:
        case "queue":
            for queue in view.queues:
                yield queue.id, _plain(queue, quotas=_plain_quotas(queue.quotas))
        case "cohort":
            for cohort in view.cohorts:
                if cohort.id is not None:
                    yield cohort.id, _plain(cohort, quotas=_plain_quotas(cohort.quotas))
        case "flavor":
            for flavor in view.flavors:
                yield flavor.id, _plain(flavor, topology=list(flavor.topology))
        case "workload":
            for work in view.workloads:
                key = work.key
                yield work.id, _plain(work, kind=key.kind, namespace=key.namespace, name=key.name)
        case "node":
            for node in cluster.inventory.nodes:
                identity = cluster.inventory.origins.get(node.name)
                if identity in cluster.entries and identity is not None:
                    yield identity, _plain_node(node)


def _plain(record: NamedTuple, **more: object) -> dict[str, object]:
    fields = {k: v for k, v in record._asdict().items() if k not in ("id", "key") and v is not None}
    return {**fields, **more}


def _plain_quotas(quotas: Mapping[tuple[str, str], Quota]) -> list[dict[str, object]]:
    return [
        {"flavor": flavor, "resource": resource, **_plain(quota)}
        for (flavor, resource), quota in quotas.items()
    ]


def _plain_node(node: Node) -> dict[str, object]:
    names = ("name", "labels", "allocatable", "capacity", "ready", "unschedulable", "machines")
    values = {name: getattr(node, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def expand(value: object, steps: tuple[str | int | None, ...]) -> Iterator[tuple[Path, object]]:
    """Every value that ``steps`` leads to from ``value``, with its path; absent ones are left out."""
    found: list[tuple[Path, object]] = [((), value)]
    for step in steps:
        below: list[tuple[Path, object]] = []
        for path, one in found:
            if step is None and isinstance(one, (list, tuple)):
                below.extend(((*path, at), item) for at, item in enumerate(one))
            elif step is None and isinstance(one, Mapping):
                below.extend(((*path, key), item) for key, item in one.items())
            elif isinstance(one, Mapping) and step in one:
                below.append(((*path, str(step)), one[step]))
            elif isinstance(one, (list, tuple)) and isinstance(step, int) and step < len(one):
                below.append(((*path, step), one[step]))
        found = below
    yield from found
