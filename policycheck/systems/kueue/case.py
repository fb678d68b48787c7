"""Recorded situations: one JSON object in, the decisions out.

The form is that of CLI.md (``simulate --case``). What cannot be represented says so by name; nothing
here looks at what is expected.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Case = Mapping[str, Any]
Answer = dict[str, Any]


class UnsupportedError(Exception):
    """The case needs something that is not simulated; the message names it."""


def run(case: Case) -> Answer:
    """The answer to one case, with its suite and name. Never raises for what the case says."""
    suite, name = str(case.get("suite", "")), str(case.get("name", ""))
    head: Answer = {"suite": suite, "name": name}
    try:
        return head | _handler(suite, case)(case)
    except UnsupportedError as reason:
        return head | {"unsupported": str(reason)}


def _handler(suite: str, case: Case) -> Callable[[Case], Answer]:
    from policycheck.systems.kueue.cases import cycles, flavors, narrow, placement, preemption
    from policycheck.systems.kueue.validate.case import answer as validated

    table: Mapping[str, Callable[[Case], Answer]] = {
        "quota-available": narrow.quota_available,
        "dominant-resource-share": narrow.dominant_resource_share,
        "clusterqueue-usage": narrow.cluster_queue_usage,
        "podset-reducer": narrow.pod_set_reducer,
        "entry-ordering": narrow.entry_ordering,
        "resources-to-reserve": narrow.resources_to_reserve,
        "preemption-candidates-ordering": narrow.candidates_ordering,
        "validation": lambda asked: dict(validated(asked)),
    }
    if suite in table:
        return table[suite]
    if suite.startswith("preemption"):
        return preemption.targets
    if suite.startswith("flavorassigner"):
        return flavors.assignment
    if suite.startswith("tas-"):
        return placement.assignments
    if "maxCycles" in (case.get("configuration") or {}) or case.get("events"):
        return cycles.until_stable
    return cycles.fixed
