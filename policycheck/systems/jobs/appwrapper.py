"""AppWrapper: the podsets of the objects that it wraps, declared or inferred, numbered through."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.facts import Trouble
from policycheck.model.origin import Path
from policycheck.model.workload import PodSet, Workload
from policycheck.systems.core.podspec import items, mapping, pod_set, text, whole
from policycheck.systems.jobs.facts import Made

Value = Mapping[str, Any]


def read(value: Value, kind: str, troubles: list[Trouble]) -> Made:
    """An AppWrapper. One that wraps another counts for nothing there, as its controller refuses it."""
    name = text(mapping(value.get("metadata")).get("name"))
    found: list[PodSet] = []
    for n, raw in enumerate(items(mapping(value.get("spec")).get("components"))):
        component = mapping(raw)
        at: Path = ("spec", "components", n, "template")
        declared = items(component.get("podSets"))
        wrapped = mapping(component.get("template"))
        if declared:
            found.extend(_declared(wrapped, declared, at, troubles))
        elif wrapped.get("kind") != kind:
            found.extend(_inferred(wrapped, at, troubles))
    return Made(tuple(one._replace(name=f"{name}-{n}") for n, one in enumerate(found)))


def _declared(wrapped: Value, declared: list[Any], at: Path, troubles: list[Trouble]) -> list[PodSet]:
    """Podsets by path (``template.spec.template``, ``template.spec.jobs[0].template``) and replicas."""
    found = []
    for raw in declared:
        one = mapping(raw)
        steps = _steps(text(one.get("path")))
        template: Any = wrapped
        for step in steps:
            if isinstance(step, int):
                held = items(template)
                template = held[step] if step < len(held) else None
            else:
                template = mapping(template).get(step)
        pods = max(0, whole(one.get("replicas"), 1))
        found.append(pod_set("", pods, template, (*at, *steps), troubles))
    return found


def _steps(path: str) -> Path:
    """A component's path below its ``template``, which is where it begins."""
    steps: list[str | int] = []
    for part in path.split("."):
        name, *indices = part.replace("]", "").split("[")
        steps.append(name)
        steps.extend(int(i) for i in indices if i.isascii() and i.isdigit() and len(i) < 10)
    return tuple(steps[1:] if steps[:1] == ["template"] else steps)


def _inferred(wrapped: Value, at: Path, troubles: list[Trouble]) -> list[PodSet]:
    from policycheck.systems.registry import read as read_any

    facts = read_any(wrapped)
    if not isinstance(facts.typed, Workload):
        return []
    troubles.extend(t._replace(path=(*at, *t.path)) for t in facts.troubles)
    return [_moved(one, at) for one in facts.typed.pod_sets]


def _moved(one: PodSet, at: Path) -> PodSet:
    """A podset of an object that is written inside another one, at ``at``."""
    containers = tuple(c._replace(path=(*at, *c.path)) for c in one.containers)
    return one._replace(path=(*at, *one.path), containers=containers)
