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
    head: Answer = {key: text if isinstance(text := case.get(key), str) else "" for key in ("suite", "name")}
    try:
        return head | _handler(case)(case)
    except UnsupportedError as reason:
        return head | {"unsupported": str(reason)}


def _handler(case: Case) -> Callable[[Case], Answer]:
    """Who answers it, once it is known to have the shape that its suite asks for."""
    from policycheck.systems.kueue.cases import cycles, flavors, narrow, placement, preemption
    from policycheck.systems.kueue.cases.asked import SUITES, family, shape_of
    from policycheck.systems.kueue.cases.shape import wrong
    from policycheck.systems.kueue.validate.case import answer as validated

    suite = case.get("suite")
    kin = family(suite) if isinstance(suite, str) else ""
    trouble = wrong(case, shape_of(kin))
    if trouble:
        raise UnsupportedError(trouble)
    raw = case.get("configuration") or {}
    counted = "cycles" in raw or "maxCycles" in raw
    if not kin and not counted:
        raise UnsupportedError(
            f"the suite {suite!r} is not known; known are {', '.join(sorted(SUITES))}, each also with more"
            " words after a hyphen, and any that runs configuration.cycles or configuration.maxCycles cycles"
        )
    if (not kin or SUITES[kin][1]) and not _holds_queue(case):
        raise UnsupportedError("objects holds no ClusterQueue, and this suite asks about one")
    table: Mapping[str, Callable[[Case], Answer]] = {
        "quota-available": narrow.quota_available,
        "dominant-resource-share": narrow.dominant_resource_share,
        "clusterqueue-usage": narrow.cluster_queue_usage,
        "podset-reducer": narrow.pod_set_reducer,
        "entry-ordering": narrow.entry_ordering,
        "resources-to-reserve": narrow.resources_to_reserve,
        "preemption-candidates-ordering": narrow.candidates_ordering,
        "validation": lambda asked: dict(validated(asked)),
        "preemption": preemption.targets,
        "flavorassigner": flavors.assignment,
        "tas": placement.assignments,
    }
    if kin in table:
        return table[kin]
    if "maxCycles" in raw or case.get("events") or kin in ("random", "big"):
        return cycles.until_stable
    return cycles.fixed


def _holds_queue(case: Case) -> bool:
    return any(value["kind"] == "ClusterQueue" for value in case.get("objects") or ())
