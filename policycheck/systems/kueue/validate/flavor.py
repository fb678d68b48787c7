"""ResourceFlavor and Topology, with taints and tolerations.

Source: the ResourceFlavor and Topology API reference; Kubernetes' "Taints and Tolerations" (facts 1a).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.origin import Path
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.kueue.validate.gates import Gates
from policycheck.systems.kueue.validate.names import label_map, label_value, qualified, subdomain
from policycheck.systems.kueue.validate.problem import (
    DUPLICATE,
    NOT_SUPPORTED,
    REQUIRED,
    Problem,
    changed,
    invalid,
    problem,
)

Value = Mapping[str, Any]
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_HOSTNAME = "kubernetes.io/hostname"


def resource_flavor(new: Value, old: Value | None, gates: Gates) -> list[Problem]:  # noqa: ARG001 - one signature
    """A ResourceFlavor."""
    spec = mapping(new.get("spec"))
    problems = [
        *label_map(spec.get("nodeLabels"), ("spec", "nodeLabels")),
        *_taints(spec.get("nodeTaints")),
        *tolerations(spec.get("tolerations"), ("spec", "tolerations")),
    ]
    topology = text(spec.get("topologyName"))
    path: Path = ("spec", "topologyName")
    if topology and (why := subdomain(topology)):
        problems.append(invalid(path, "bad-name", f"topologyName {topology!r} {why}"))
    if topology and not mapping(spec.get("nodeLabels")):
        say = f"topologyName is {topology} and nodeLabels is empty; a flavor with a topology needs at least one node label"
        problems.append(invalid(path, "topology-without-labels", say))
    before = text(mapping(old.get("spec")).get("topologyName")) if old is not None else ""
    if before and before != topology:
        problems.append(changed(path, f"topologyName (it was {before})"))
    return problems


def _taints(value: object) -> list[Problem]:
    problems = []
    seen: set[tuple[str, str]] = set()
    for n, raw in enumerate(items(value)):
        taint, at = mapping(raw), ("spec", "nodeTaints", n)
        key, effect = text(taint.get("key")), text(taint.get("effect"))
        if not key:
            problems.append(problem(REQUIRED, (*at, "key"), "bad-taint", "a taint needs a key"))
        elif why := qualified(key):
            problems.append(invalid((*at, "key"), "bad-taint", f"taint key {key!r} {why}"))
        if why := label_value(text(taint.get("value"))):
            problems.append(invalid((*at, "value"), "bad-taint", f"taint value {taint.get('value')!r} {why}"))
        if effect not in _EFFECTS:
            say = f"effect is {effect!r}; allowed are {', '.join(_EFFECTS)}"
            problems.append(problem(NOT_SUPPORTED, (*at, "effect"), "bad-taint", say))
        if (key, effect) in seen:
            say = f"taint {key} with effect {effect} stands twice; remove one"
            problems.append(problem(DUPLICATE, at, "duplicate-taint", say))
        seen.add((key, effect))
    return problems


def tolerations(value: object, path: Path) -> list[Problem]:
    """A list of tolerations."""
    problems: list[Problem] = []
    for n, raw in enumerate(items(value)):
        problems += _toleration(mapping(raw), (*path, n))
    return problems


def _toleration(value: Value, path: Path) -> list[Problem]:
    problems = []
    key, operator, own = (text(value.get(k)) for k in ("key", "operator", "value"))
    effect = text(value.get("effect"))
    if key and (why := qualified(key)):
        problems.append(invalid((*path, "key"), "bad-toleration", f"toleration key {key!r} {why}"))
    if not key and operator != "Exists":
        say = "a toleration without key tolerates everything; that needs operator: Exists"
        problems.append(invalid((*path, "operator"), "bad-toleration", say))
    if operator == "Exists" and own:
        say = f"operator Exists takes no value, found {own!r}; remove it, or write Equal"
        problems.append(invalid((*path, "operator"), "bad-toleration", say))
    elif operator in ("", "Equal") and (why := label_value(own)):
        problems.append(invalid((*path, "operator"), "bad-toleration", f"value {own!r} {why}"))
    elif operator not in ("", "Equal", "Exists"):
        say = f"operator is {operator!r}; allowed are Equal, Exists"
        problems.append(problem(NOT_SUPPORTED, (*path, "operator"), "bad-toleration", say))
    if effect and effect not in _EFFECTS:
        say = f"effect is {effect!r}; allowed are {', '.join(_EFFECTS)}"
        problems.append(problem(NOT_SUPPORTED, (*path, "effect"), "bad-toleration", say))
    if value.get("tolerationSeconds") is not None and effect != "NoExecute":
        say = f"tolerationSeconds needs effect NoExecute, it is {effect or 'not set'}; set it, or remove the seconds"
        problems.append(invalid((*path, "effect"), "bad-toleration", say))
    return problems


def _levels(value: Value) -> list[str]:
    return [text(mapping(v).get("nodeLabel")) for v in items(mapping(value.get("spec")).get("levels"))]


def topology(new: Value, old: Value | None, gates: Gates) -> list[Problem]:  # noqa: ARG001
    """A Topology: unique labels, the hostname only as the last.

    Levels may change only while the hostname is lowest both before and after.
    """
    at: Path = ("spec", "levels")
    levels = _levels(new)
    problems = []
    for n, label in enumerate(levels):
        path: Path = (*at, n, "nodeLabel")
        if why := qualified(label):
            problems.append(invalid(path, "bad-label", f"node label {label!r} {why}"))
        if label in levels[:n]:
            say = f"level {label} stands twice; remove one"
            problems.append(problem(DUPLICATE, path, "duplicate-level", say))
        if label == _HOSTNAME and n != len(levels) - 1:
            say = f"{_HOSTNAME} is the tightest level; put it last"
            problems.append(invalid(path, "hostname-not-last", say))
    if old is not None:
        before = _levels(old)
        both = before[-1:] == levels[-1:] == [_HOSTNAME]
        if before != levels and not both:
            problems.append(changed(at, f"levels (unless {_HOSTNAME} is last before and after)"))
    return problems
