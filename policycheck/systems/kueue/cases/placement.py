"""Situations that ask where the pods of one workload go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.systems.core.podspec import items, mapping, text, whole
from policycheck.systems.kueue import read
from policycheck.systems.kueue.case import Answer, Case, UnsupportedError
from policycheck.systems.kueue.cases.world import read_world, resources
from policycheck.systems.kueue.model import KueueWorkload, TopologyAssignment
from policycheck.systems.kueue.scheduler.filling import Holding, fill
from policycheck.systems.kueue.scheduler.land import Land, survey
from policycheck.systems.kueue.scheduler.topology import is_pod_owned, profile
from policycheck.systems.kueue.scheduler.wish import NOTHING, Ask
from policycheck.systems.kueue.target import strategy


def assignments(case: Case) -> Answer:
    """The assignment of every podset, or why there is none."""
    world = read_world(case)
    rules = strategy(world.target)
    land = survey(world.objects, world.nodes, rules)
    if land is None or not land.fields:
        raise UnsupportedError("a placement without a flavor that has a topology and a node to go with it")
    asked = mapping(case.get("input"))
    flavor = next(iter(land.fields))
    _use(land, flavor, items(asked.get("priorUsageThisFlavor")))
    if rules.topology_overlapping and land.fields[flavor].hostname:
        _use(land, flavor, items(asked.get("priorUsageOtherFlavors")))
    given = [mapping(r) for r in items(asked.get("requests"))]
    names = [text(mapping(r.get("podSet")).get("name")) for r in given]
    asks = [_ask(number, request) for number, request in enumerate(given)]
    raw = mapping(asked.get("workload"))
    holding = _holding(read.workload(raw, []), names) if raw else None
    found = fill(land, {flavor: asks}, profile(rules), holding=holding, telling=True)
    result: dict[str, Any] = {names[m]: {"topologyAssignment": written(a)} for m, a in found.placed.items()}
    if found.failure is not None:
        failed = asks[found.failure.member]
        group = failed.request.group
        for ask in asks:
            if ask is failed or (group and ask.request.group == group):
                result[names[ask.member]] = {"failureReason": found.failure.text}
    return {"result": result}


def written(assignment: TopologyAssignment) -> dict[str, Any]:
    """An assignment in the form that was recorded."""
    return {
        "levels": list(assignment.levels),
        "domains": [{"values": list(values), "count": pods} for values, pods in assignment.domains],
    }


def _use(land: Land, flavor: str, usage: list[Any]) -> None:
    for raw in usage:
        one = mapping(raw)
        leaf = land.fields[flavor].where.get(tuple(text(v) for v in items(one.get("values"))))
        if leaf is not None:
            each = resources(one.get("singlePodRequests"))
            land.add(land.taken([(flavor, leaf, each, whole(one.get("count")))]))


def _ask(number: int, given: Mapping[str, Any]) -> Ask:
    raw = mapping(given.get("podSet"))
    spec = read.workload({"spec": {"podSets": [raw]}}, []).pod_sets[0]
    request = spec.topology or NOTHING
    return Ask(
        member=number,
        pods=whole(given.get("count")),
        each=resources(given.get("singlePodRequests")),
        spec=spec,
        request=request._replace(group=text(given.get("podSetGroupName"))),
        implied=given.get("implied") is True,
        before=read.topology_assignment(given.get("previousAssignment")),
    )


def _holding(workload: KueueWorkload, names: list[str]) -> Holding | None:
    if not workload.unhealthy_nodes or workload.admission is None:
        return None
    given = {s.name: s.topology for s in workload.admission.pod_sets if s.topology is not None}
    placed = {number: given[name] for number, name in enumerate(names) if name in given}
    return Holding(workload.unhealthy_nodes[0], placed, is_pod_owned(workload))
