"""Rules that stand in the schemas of Kueue's kinds beside types, and that webhooks do not repeat.

Source: the validation rules in the API reference (facts 1a).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.systems.core.podspec import mapping, text
from policycheck.systems.kueue.validate.problem import REQUIRED, Problem, invalid, problem

Value = Mapping[str, Any]
_PAIRS = {("kueue.x-k8s.io", "WorkloadPriorityClass"), ("scheduling.k8s.io", "PriorityClass")}


def rules(new: Value, old: Value | None = None) -> list[Problem]:  # noqa: ARG001 - transitions are the webhooks'
    """What the schema of ``new``'s kind refuses."""
    return _priority(mapping(new.get("spec"))) if new.get("kind") == "Workload" else []


def _priority(spec: Value) -> list[Problem]:
    """A priority class reference names one of two kinds, and comes with the priority itself."""
    reference = spec.get("priorityClassRef")
    if not isinstance(reference, dict):
        return []
    problems = []
    pair = (text(reference.get("group")), text(reference.get("kind")))
    if pair not in _PAIRS:
        say = (
            f"priorityClassRef is {pair[0]} {pair[1]}; allowed are kueue.x-k8s.io WorkloadPriorityClass "
            "and scheduling.k8s.io PriorityClass"
        )
        problems.append(invalid(("spec", "priorityClassRef"), "priority-pair", say))
    if spec.get("priority") is None:
        say = "priority is missing; a Workload with priorityClassRef states the number too"
        problems.append(problem(REQUIRED, ("spec", "priority"), "priority-missing", say))
    return problems
