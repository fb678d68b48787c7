"""What a namespace and a runtime class add to a pod's requests, in two orders.

The API server first copies limits into missing requests, then applies LimitRange defaults; a
controller that builds its own record of the pods may do it the other way round, and then charges
something else than the pods request (kueue#15020). Sources: the Kubernetes documentation pages
"Limit Ranges", "Pod Overhead", "Runtime Class".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policycheck.model.amount import add
from policycheck.model.facts import Trouble
from policycheck.model.origin import Path
from policycheck.model.workload import ContainerRequest, PodSet
from policycheck.record import NamedTuple
from policycheck.systems.core.podspec import base_units, exact, items, labels, mapping, tolerations

Amounts = Mapping[str, int]


class LimitRange(NamedTuple):
    """Defaults and bounds for the containers of a namespace, in base units."""

    namespace: str
    name: str
    limits: Amounts = {}  # default
    requests: Amounts = {}  # defaultRequest
    most: Amounts = {}
    least: Amounts = {}
    pod_most: Amounts = {}
    pod_least: Amounts = {}


class RuntimeClass(NamedTuple):
    """What a runtime costs every pod, and where it runs."""

    name: str
    overhead: Amounts = {}
    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Any, ...] = ()


class Defaults(NamedTuple):
    """The runtime classes of a cluster, and the limit ranges of each namespace in order of name."""

    runtime_classes: Mapping[str, RuntimeClass] = {}
    limit_ranges: Mapping[str, tuple[LimitRange, ...]] = {}


def collect(things: Iterable[object]) -> Defaults:
    """Defaults out of whatever was read; the order of ``things`` does not matter."""
    classes: dict[str, RuntimeClass] = {}
    ranges: dict[str, list[LimitRange]] = {}
    for thing in things:
        if isinstance(thing, RuntimeClass):
            classes[thing.name] = thing
        elif isinstance(thing, LimitRange):
            ranges.setdefault(thing.namespace, []).append(thing)
    return Defaults(classes, {n: tuple(sorted(r, key=lambda one: one.name)) for n, r in ranges.items()})


def limit_range(value: Mapping[str, Any], namespace: str, name: str, troubles: list[Trouble]) -> LimitRange:
    """A LimitRange, with the defaults that the API server fills into it.

    For containers ``default`` falls back to ``max``, ``defaultRequest`` to ``default``, then ``min``.
    """
    container: dict[str, dict[str, int]] = {}
    pod: dict[str, dict[str, int]] = {}
    for n, raw in enumerate(items(mapping(value.get("spec")).get("limits"))):
        one, at = mapping(raw), ("spec", "limits", n)
        into = {"Container": container, "Pod": pod}.get(str(one.get("type")))
        for field in ("default", "defaultRequest", "max", "min"):
            if into is not None:
                found = base_units(exact(one.get(field), (*at, field), troubles))
                into.setdefault(field, {}).update(found)
    limits = {**container.get("max", {}), **container.get("default", {})}
    requests = {**container.get("min", {}), **limits, **container.get("defaultRequest", {})}
    return LimitRange(
        namespace,
        name,
        limits,
        requests,
        container.get("max", {}),
        container.get("min", {}),
        pod.get("max", {}),
        pod.get("min", {}),
    )


def runtime_class(value: Mapping[str, Any], name: str, troubles: list[Trouble]) -> RuntimeClass:
    """A RuntimeClass."""
    at: Path = ("overhead", "podFixed")
    overhead = base_units(exact(mapping(value.get("overhead")).get("podFixed"), at, troubles))
    scheduling = mapping(value.get("scheduling"))
    return RuntimeClass(
        name, overhead, labels(scheduling.get("nodeSelector")), tolerations(scheduling.get("tolerations"))
    )


def admitted(pod_set: PodSet, namespace: str, defaults: Defaults) -> PodSet:
    """The podset as its pods are created: limits copied into requests, then the namespace's defaults."""
    return _defaulted(pod_set, namespace, defaults, limits_first=True)


def charged(pod_set: PodSet, namespace: str, defaults: Defaults) -> PodSet:
    """The podset as Kueue's Workload states it: the namespace's defaults, then limits copied."""
    return _defaulted(pod_set, namespace, defaults, limits_first=False)


def _defaulted(pod_set: PodSet, namespace: str, defaults: Defaults, *, limits_first: bool) -> PodSet:
    ranges = defaults.limit_ranges.get(namespace, ())
    runtime = defaults.runtime_classes.get(pod_set.runtime_class)
    extra = runtime.overhead if runtime is not None and not pod_set.overhead else {}
    if not ranges and not extra:
        return pod_set
    if not ranges:
        return pod_set._replace(requests=_plus(pod_set.requests, extra), overhead=extra)
    containers = tuple(_container(c, ranges, limits_first=limits_first) for c in pod_set.containers)
    requests = _total({n: c.requests for n, c in enumerate(containers)}, containers)
    limits = _total({n: c.limits for n, c in enumerate(containers)}, containers)
    requests.update(pod_set.pod_level)
    overhead = pod_set.overhead or extra
    return pod_set._replace(
        requests=_plus(requests, overhead),
        limits=_plus(limits, overhead) if limits else limits,
        containers=containers,
        overhead=overhead,
    )


def _container(
    container: ContainerRequest, ranges: tuple[LimitRange, ...], *, limits_first: bool
) -> ContainerRequest:
    """One container with what several limit ranges give it; the first by name wins."""
    requests, limits = dict(container.requests), dict(container.limits)
    if limits_first:
        requests = {**limits, **requests}
    for one in ranges:
        requests = {**one.requests, **requests}
        limits = {**one.limits, **limits}
    if not limits_first:
        requests = {**limits, **requests}
    return container._replace(requests=requests, limits=limits)


def _plus(one: Amounts, other: Amounts) -> dict[str, int]:
    return {**one, **{name: add(one.get(name, 0), value) for name, value in other.items()}}


def _most(one: Amounts, other: Amounts) -> dict[str, int]:
    return {**one, **{name: max(one.get(name, value), value) for name, value in other.items()}}


def _total(amounts: Mapping[int, Amounts], containers: tuple[ContainerRequest, ...]) -> dict[str, int]:
    """The pod's sum by Kubernetes' formula (systems.core.podspec), over amounts by position."""
    sidecars: dict[str, int] = {}
    starting: dict[str, int] = {}
    running: dict[str, int] = {}
    for n, container in enumerate(containers):
        if not container.init:
            running = _plus(running, amounts[n])
        elif container.sidecar:
            sidecars = _plus(sidecars, amounts[n])
            starting = _most(starting, sidecars)
        else:
            starting = _most(starting, _plus(sidecars, amounts[n]))
    return _most(_plus(sidecars, running), starting)
