"""Amounts whose unit slipped: fractions of GPUs, thousandths of cores, G beside Gi."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.lint.hit import Hit, Related
from policycheck.model.amount import QuantityError, quantity, show
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.systems.core.podspec import items, mapping
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.checks.common import Found, Params, derived, documents, quota_places, state
from policycheck.systems.kueue.state import FlavorResource

_FIELDS = ("nominalQuota", "borrowingLimit", "lendingLimit")
_BINARY = re.compile(r"\d\s*[KMGTPE]i\Z")
_DECIMAL = re.compile(r"\d\s*[kMGTPE]\Z")
_DEVICES = re.compile(r"(?:\b|nvidia|amd|intel|google)(?:gpu|tpu|npu|nvidia)s?\Z")


_Cell = tuple[DocumentId, str, FlavorResource, Path, Mapping[str, Any]]


def _cells(cluster: Cluster) -> tuple[_Cell, ...]:
    """Every quota as written in the newest form: document, holder, pair, place, fields."""
    return derived(cluster, _every_cell)


def _every_cell(cluster: Cluster) -> tuple[_Cell, ...]:
    return tuple(_walked(cluster))


def _walked(cluster: Cluster) -> Iterator[_Cell]:
    for kind in ("ClusterQueue", "Cohort"):
        for identity, facts in documents(cluster, kind):
            for pair, path in quota_places(facts.value).items():
                value: object = facts.value
                for step in path:
                    value = items(value)[step] if isinstance(step, int) else mapping(value).get(step)
                yield identity, facts.key.name, pair, path, mapping(value)


def fraction_of_accelerator(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A quota of GPUs that is no whole number: it is rounded up."""
    for identity, name, (flavor, resource), path, cell in _cells(cluster):
        if not is_accelerator(resource):
            continue
        for field in _FIELDS:
            exact = _exact(cell.get(field))
            if exact is None or exact.denominator == 1:
                continue
            counted = -(-exact.numerator // exact.denominator)
            values = {
                "field": field,
                "written": cell[field],
                "resource": resource,
                "flavor": flavor,
                "name": name,
                "counted": counted,
            }
            yield Hit(identity, (*path, field), values)


def _exact(raw: object) -> Any:
    try:
        return None if raw is None else quantity(raw)
    except QuantityError:
        return None


def cpu_below_one(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Less than one core beside accelerators: 500m where 500 was meant."""
    for identity, name, (flavor, resource), path, cell in _cells(cluster):
        exact = _exact(cell.get("nominalQuota"))
        if resource != "cpu" or exact is None or not 0 < exact < 1:
            continue
        devices = [
            (p[1], _exact(other.get("nominalQuota")))
            for i, _, p, _, other in _cells(cluster)
            if i == identity and p[0] == flavor and is_accelerator(p[1])
        ]
        found = [(r, n) for r, n in devices if n]
        if not found:
            continue
        written = str(cell["nominalQuota"])
        values = {
            "written": written,
            "name": name,
            "flavor": flavor,
            "devices": f"{found[0][1]} {found[0][0]}",
            "meant": written.removesuffix("m") if written.endswith("m") else "whole cores",
            "right": _cores(written),
        }
        yield Hit(identity, (*path, "nominalQuota"), values)


def _cores(written: str) -> int | None:
    """The whole cores that are meant by thousandths; None when that is not plain."""
    bare = written.removesuffix("m")
    return int(bare) if bare != written and bare.isdigit() else None


def units_mixed(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Memory counted partly in G and partly in Gi among queues that lend to each other."""
    found = state(cluster)
    groups: dict[tuple[str, str], list[tuple[DocumentId, Path, str, str]]] = {}
    for identity, name, pair, path, cell in _cells(cluster):
        tree = found.tree_of.get(name) or found.tree_of_cohort.get(name)
        for field in _FIELDS if tree and pair[1] in ("memory", "ephemeral-storage") else ():
            written = cell.get(field)
            if isinstance(written, str):
                groups.setdefault((tree or "", pair[1]), []).append((identity, (*path, field), written, name))
    for (_, resource), held in groups.items():
        decimal = [h for h in held if _DECIMAL.search(h[2])]
        binary = [h for h in held if _BINARY.search(h[2])]
        if not decimal or not binary:
            continue
        few, many = (decimal, binary) if len(decimal) <= len(binary) else (binary, decimal)
        identity, path, written, name = few[0]
        rest = tuple(Related(i, p, f"{w} here") for i, p, w, _ in (*few[1:3], *many[:2]))
        other = written + "i" if few is decimal else written.removesuffix("i")
        exact, wider = _exact(written), _exact(other)
        values = {
            "name": name,
            "written": written,
            "shown": show(resource, int(exact)) if exact is not None else written,
            "many": many[0][2],
            "resource": resource,
            "meant": other if wider is not None else "the same unit",
            "right": other if wider is not None else "",
        }
        yield Hit(identity, path, values, rest)


def bare_accelerator(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Quota of ``gpu``: a pod can only request an accelerator by a name with its vendor's domain.

    What a transformation or a device class makes may be called so; gpu-memory and the like are not
    asked about at all, since nobody requests them. See
    https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#extended-resources.
    """
    found = state(cluster)
    made = {output for rule in found.objects.configuration.transformations for output in rule.outputs}
    made |= {mapped.name for mapped in found.objects.configuration.device_classes}
    told: set[tuple[str, str]] = set()
    for identity, name, (_, resource), path, _cell in _cells(cluster):
        bare = "/" not in resource and _DEVICES.search(resource.lower())
        if bare and resource not in made and (name, resource) not in told:
            told.add((name, resource))
            yield Hit(identity, (*path, "name"), {"name": name, "resource": resource})
