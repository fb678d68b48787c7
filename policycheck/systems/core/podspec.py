"""Pod templates to podsets: what one pod asks for, where it may go, and in what topology.

The request formula is Kubernetes' own (documentation "Pod overhead", "Sidecar containers", KEP-753,
KEP-2837): the larger of all containers with the sidecars, and of each init container with the
sidecars started before it; pod-level requests win for the resources they name; overhead is added.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from policycheck.model.amount import QuantityError, clamp, quantity
from policycheck.model.conform import respelling
from policycheck.model.facts import Trouble
from policycheck.model.origin import Path
from policycheck.model.placement import (
    NodeTerm,
    PodAffinity,
    PodTerm,
    PreferredTerm,
    Requirement,
    Selector,
    Spread,
    Taint,
    Toleration,
    WeightedPodTerm,
)
from policycheck.model.workload import ContainerRequest, DeviceClaim, PodSet, TopologyRequest

Exact = dict[str, Fraction]
Troubles = list[Trouble]

_PREFIX = "kueue.x-k8s.io/podset-"


def mapping(value: object) -> Mapping[str, Any]:
    """``value`` when it is a mapping, else an empty one: readers go on where a schema rule speaks."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """``value`` when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    """A scalar as text; "" for what is none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (str, int, float)) else ""


def whole(value: object, default: int = 0) -> int:
    """An integer field; ``default`` for what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return default
    try:
        return int(value)
    except (ValueError, OverflowError):
        return default


def plain_number(raw: str) -> int | None:
    """The count that a label or annotation spells in plain digits; None for anything else.

    Ten digits and more are no count of anything here, and keep a forged one from costing time.
    """
    return int(raw) if raw.isascii() and raw.isdigit() and len(raw) < 10 else None


def labels(value: object) -> dict[str, str]:
    """A map of strings; entries that are not scalars are left out."""
    return {str(k): text(v) for k, v in mapping(value).items() if not isinstance(v, (dict, list))}


def exact(value: object, path: Path, troubles: Troubles) -> Exact:
    """A resource list as exact quantities; what cannot be read becomes a trouble."""
    found: Exact = {}
    for name, raw in mapping(value).items():
        try:
            found[str(name)] = quantity(raw)
        except QuantityError as error:
            at = (*path, str(name))
            troubles.append(Trouble("bad-quantity", at, str(error), mend=respelling(raw, at)))
    return found


def base_units(amounts: Mapping[str, Fraction]) -> dict[str, int]:
    """Exact quantities in base units, rounded up as a whole (model.amount)."""
    out = {}
    for name, value in amounts.items():
        scaled = value * 1000 if name == "cpu" else value
        out[name] = clamp(-(-scaled.numerator // scaled.denominator))
    return out


def _plus(into: Exact, more: Mapping[str, Fraction]) -> None:
    for name, value in more.items():
        into[name] = into.get(name, Fraction(0)) + value


def _at_least(into: Exact, more: Mapping[str, Fraction]) -> None:
    for name, value in more.items():
        if name not in into or value > into[name]:
            into[name] = value


def _resources(
    container: Mapping[str, Any], kind: str, path: Path, troubles: Troubles, *, copy_limits: bool
) -> Exact:
    resources = mapping(container.get("resources"))
    found = exact(resources.get(kind), (*path, "resources", kind), troubles)
    if kind == "requests" and copy_limits:
        for name, value in exact(resources.get("limits"), (*path, "resources", "limits"), []).items():
            found.setdefault(name, value)
    return found


def _total(spec: Mapping[str, Any], kind: str, path: Path, troubles: Troubles, *, copy_limits: bool) -> Exact:
    """Requests or limits of one pod by the formula in the module's docstring."""
    sidecars: Exact = {}
    starting: Exact = {}
    for n, container in enumerate(items(spec.get("initContainers"))):
        own = _resources(
            mapping(container), kind, (*path, "initContainers", n), troubles, copy_limits=copy_limits
        )
        if mapping(container).get("restartPolicy") == "Always":
            _plus(sidecars, own)
            _at_least(starting, sidecars)
            continue
        needed = dict(sidecars)
        _plus(needed, own)
        _at_least(starting, needed)
    running = dict(sidecars)
    for n, container in enumerate(items(spec.get("containers"))):
        own = _resources(
            mapping(container), kind, (*path, "containers", n), troubles, copy_limits=copy_limits
        )
        _plus(running, own)
    _at_least(running, starting)
    running.update(_resources(spec, kind, path, troubles, copy_limits=copy_limits))
    if kind == "requests" or running:
        _plus(running, exact(spec.get("overhead"), (*path, "overhead"), troubles))
    return running


def _containers(spec: Mapping[str, Any], path: Path) -> Iterator[ContainerRequest]:
    for field, init in (("containers", False), ("initContainers", True)):
        for n, container in enumerate(items(spec.get(field))):
            where = (*path, field, n)
            yield ContainerRequest(
                text(mapping(container).get("name")),
                base_units(_resources(mapping(container), "requests", where, [], copy_limits=False)),
                base_units(_resources(mapping(container), "limits", where, [], copy_limits=False)),
                init,
                where,
                init and mapping(container).get("restartPolicy") == "Always",
            )


def requirement(value: object) -> Requirement:
    """One ``{key, operator, values}`` expression."""
    found = mapping(value)
    values = tuple(text(v) for v in items(found.get("values")))
    return Requirement(text(found.get("key")), text(found.get("operator")), values)


def selector(value: object) -> Selector | None:
    """A label selector; None when absent, which matches nothing."""
    if not isinstance(value, dict):
        return None
    equal = [Requirement(k, "In", (v,)) for k, v in sorted(labels(value.get("matchLabels")).items())]
    return Selector((*equal, *(requirement(e) for e in items(value.get("matchExpressions")))))


def _term(value: object) -> NodeTerm:
    found = mapping(value)
    return NodeTerm(
        tuple(requirement(e) for e in items(found.get("matchExpressions"))),
        tuple(requirement(e) for e in items(found.get("matchFields"))),
    )


_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _chosen(found: Mapping[str, Any], own: Mapping[str, str]) -> Selector | None:
    """The label selector of a pod affinity term or spread constraint, with what matchLabelKeys and
    mismatchLabelKeys add of the pod's own labels; a key that the template does not have adds nothing.
    """
    chosen = selector(found.get("labelSelector"))
    if chosen is None:
        return None
    more = [
        Requirement(key, operator, (own[key],))
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in map(text, items(found.get(field)))
        if key in own
    ]
    return Selector((*chosen.requirements, *more)) if more else chosen


def _pod_term(value: object, own: Mapping[str, str]) -> PodTerm:
    found = mapping(value)
    return PodTerm(
        text(found.get("topologyKey")),
        _chosen(found, own),
        tuple(text(n) for n in items(found.get("namespaces"))),
        selector(found.get("namespaceSelector")),
    )


def neighbours(affinity: Mapping[str, Any], own: Mapping[str, str]) -> PodAffinity | None:
    """Pod affinity and anti-affinity of a pod with labels ``own``; None without any."""
    near, away = mapping(affinity.get("podAffinity")), mapping(affinity.get("podAntiAffinity"))
    if not near and not away:
        return None
    return PodAffinity(
        tuple(_pod_term(t, own) for t in items(near.get(_REQUIRED))),
        tuple(_pod_term(t, own) for t in items(away.get(_REQUIRED))),
        tuple(
            WeightedPodTerm(
                sign * whole(mapping(p).get("weight")), _pod_term(mapping(p).get("podAffinityTerm"), own)
            )
            for sign, side in ((1, near), (-1, away))
            for p in items(side.get(_PREFERRED))
        ),
    )


def spread(value: object, own: Mapping[str, str]) -> tuple[Spread, ...]:
    """Topology spread constraints of a pod with labels ``own``; defaults are the API server's."""
    found = (mapping(c) for c in items(value))
    return tuple(
        Spread(
            text(c.get("topologyKey")),
            whole(c.get("maxSkew"), 1),
            text(c.get("whenUnsatisfiable")) != "ScheduleAnyway",
            _chosen(c, own),
            whole(c.get("minDomains"), 1),
            text(c.get("nodeAffinityPolicy")) != "Ignore",
            text(c.get("nodeTaintsPolicy")) == "Honor",
        )
        for c in found
    )


def taints(value: object) -> tuple[Taint, ...]:
    """A list of taints."""
    found = (mapping(t) for t in items(value))
    return tuple(Taint(text(t.get("key")), text(t.get("value")), text(t.get("effect"))) for t in found)


def tolerations(value: object) -> tuple[Toleration, ...]:
    """A list of tolerations; the operator defaults to Equal."""
    found = (mapping(t) for t in items(value))
    return tuple(
        Toleration(
            text(t.get("key")),
            text(t.get("operator")) or "Equal",
            text(t.get("value")),
            text(t.get("effect")),
        )
        for t in found
    )


def topology_request(
    annotations: Mapping[str, str], path: Path, troubles: Troubles
) -> TopologyRequest | None:
    """The topology request in a pod template's annotations, or None.

    Keys: Kueue's topology-aware scheduling reference (facts 1b).
    """
    mode, level = "", ""
    for name in ("required", "preferred"):
        if annotations.get(f"{_PREFIX}{name}-topology"):
            mode, level = mode or name, level or annotations[f"{_PREFIX}{name}-topology"]
    if not mode and annotations.get(f"{_PREFIX}unconstrained-topology") == "true":
        mode = "unconstrained"
    slices = _slices(annotations.get(f"{_PREFIX}slice-required-topology-constraints", ""), path, troubles)
    size = annotations.get(f"{_PREFIX}slice-size", "")
    request = TopologyRequest(
        mode=mode,
        level=level,
        slice_level=annotations.get(f"{_PREFIX}slice-required-topology", ""),
        slice_size=plain_number(size) or 0,
        slices=slices,
        group=annotations.get(f"{_PREFIX}group-name", ""),
    )
    return None if request == TopologyRequest() else request


def _slices(raw: str, path: Path, troubles: Troubles) -> tuple[tuple[str, int], ...]:
    if not raw:
        return ()
    import json

    try:
        parsed = json.loads(raw)
        return tuple((str(s["topology"]), int(s["size"])) for s in parsed)
    except (ValueError, TypeError, KeyError, RecursionError):
        where = (*path, "metadata", "annotations", f"{_PREFIX}slice-required-topology-constraints")
        wanted = 'a JSON list such as [{"topology": "kubernetes.io/hostname", "size": 4}]'
        troubles.append(Trouble("wrong-type", where, f"{raw!r} is not {wanted}"))
        return ()


def _claims(spec: Mapping[str, Any]) -> tuple[DeviceClaim, ...]:
    found = []
    for entry in items(spec.get("resourceClaims")):
        name = text(mapping(entry).get("resourceClaimTemplateName")) or text(
            mapping(entry).get("resourceClaimName")
        )
        found.append(DeviceClaim("", 0, name))
    return tuple(found)


def pod_set(
    name: str,
    pods: int,
    template: object,
    path: Path,
    troubles: Troubles,
    *,
    min_count: int | None = None,
    copy_limits: bool = True,
) -> PodSet:
    """A podset from a pod template at ``path``.

    With ``copy_limits`` a container's limits stand in for requests it does not state, as the API
    server defaults pods; a recorded Workload is taken as it is.
    """
    found = mapping(template)
    spec, meta = mapping(found.get("spec")), mapping(found.get("metadata"))
    annotations = labels(meta.get("annotations"))
    affinity, own = mapping(spec.get("affinity")), labels(meta.get("labels"))
    node_affinity = mapping(affinity.get("nodeAffinity"))
    required = node_affinity.get(_REQUIRED)
    preferred = items(node_affinity.get(_PREFERRED))
    at = (*path, "spec")
    return PodSet(
        name=name,
        pods=pods,
        requests=base_units(_total(spec, "requests", at, troubles, copy_limits=copy_limits)),
        min_count=min_count,
        limits=base_units(_total(spec, "limits", at, troubles, copy_limits=False)),
        node_selector=labels(spec.get("nodeSelector")),
        affinity=tuple(_term(t) for t in items(mapping(required).get("nodeSelectorTerms"))),
        preferred=tuple(
            PreferredTerm(whole(mapping(p).get("weight")), _term(mapping(p).get("preference")))
            for p in preferred
        ),
        tolerations=tolerations(spec.get("tolerations")),
        topology=topology_request(annotations, path, troubles),
        claims=_claims(spec),
        labels=own,
        annotations=annotations,
        priority_class=text(spec.get("priorityClassName")),
        scheduling_gates=tuple(text(mapping(g).get("name")) for g in items(spec.get("schedulingGates"))),
        has_affinity=isinstance(required, dict),
        path=path,
        containers=tuple(_containers(spec, at)),
        pod_level=base_units(_resources(spec, "requests", at, [], copy_limits=copy_limits)),
        overhead=base_units(exact(spec.get("overhead"), at, [])),
        runtime_class=text(spec.get("runtimeClassName")),
        neighbours=neighbours(affinity, own),
        spread=spread(spec.get("topologySpreadConstraints"), own),
    )
