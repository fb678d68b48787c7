"""Scenarios as recorded situations, so that ``simulate --case`` comes to the same end."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from policycheck.certify.arena import FINISH, RESUME, STOP, SUBMIT, Scenario
from policycheck.model.capacity import expand
from policycheck.model.cluster import Cluster
from policycheck.model.origin import ObjectKey
from policycheck.systems.kueue.arena import write
from policycheck.systems.kueue.arena.entrance import SPACE, Entrance
from policycheck.systems.kueue.model import GROUP
from policycheck.systems.kueue.opening import Opening

Value = dict[str, Any]


class Casing:
    """Writes situations of one scope. Only what the queues of a scenario can reach is in them."""

    def __init__(self, cluster: Cluster, opening: Opening, doors: Mapping[str, Entrance]) -> None:
        self._cluster, self._opening, self._doors = cluster, opening, doors

    def write(self, scenario: Scenario, name: str, queues: Sequence[str]) -> Value:
        """The situation; ``queues`` are those that can matter to each other."""
        target = self._opening.target
        events: dict[int, Value] = {}
        for move in scenario.moves:
            event = events.setdefault(move.cycle, {"cycle": move.cycle})
            if move.what == SUBMIT:
                event.setdefault("create", []).extend(
                    write.workload(ask, self._doors[ask.queue].namespace, self._doors[ask.queue].name)
                    for ask in move.asks
                )
            elif move.what == FINISH:
                homes = {ask.name: self._doors[ask.queue].namespace for ask in scenario.asks}
                event.setdefault("finish", []).extend(f"{homes[n]}/{n}" for n in move.names if n in homes)
            elif move.what in (STOP, RESUME):
                event.setdefault(move.what, []).extend(move.names)
        return {
            "suite": "certify",
            "name": name,
            "now": write.time_of(86_399),
            "version": ".".join(map(str, target.version)),
            "featureGates": dict(sorted(target.gates.items())),
            "configuration": {**self._configuration(), "maxCycles": scenario.cycles},
            "objects": self._objects(scenario, queues),
            "events": [events[cycle] for cycle in sorted(events)],
        }

    def _configuration(self) -> Value:
        known = self._cluster.index.of_kind("config.kueue.x-k8s.io", "Configuration")
        raw: Mapping[str, Any] = known[0][1].facts.value if known else {}
        made: Value = {key: raw[key] for key in ("fairSharing", "admissionFairSharing") if raw.get(key)}
        resources = raw.get("resources")
        if isinstance(resources, Mapping):
            kept = {
                k: v
                for k, v in resources.items()
                if k in ("transformations", "excludeResourcePrefixes", "deviceClassMappings")
            }
            if kept:
                made["resources"] = kept
            if resources.get("quotaCheckStrategy"):
                made["quotaCheckStrategy"] = resources["quotaCheckStrategy"]
        return made

    def _objects(self, scenario: Scenario, queues: Sequence[str]) -> list[Value]:
        found: list[Value] = []
        doors = {name: self._doors[name] for name in queues}
        spaces = {door.namespace for door in doors.values()}
        found += write.namespaces(self._opening.namespaces, spaces)
        shared = self._shared(scenario, queues)
        for kind, names in shared.items():
            known = self._cluster.index.of_kind(GROUP, kind)
            found += [dict(e.facts.value) for key, e in known if key.name in names]
        for name in queues:
            entry = self._cluster.index.first(ObjectKey(GROUP, "ClusterQueue", "", name))
            if entry is None:
                continue
            value = dict(entry.facts.value)
            if doors[name].made:
                value["spec"] = {**value["spec"], "namespaceSelector": {}}
            found += [value, self._door(name, doors[name])]
        for key, entry in self._cluster.index.of_kind("", "LimitRange"):
            if key.namespace in spaces:
                found.append(dict(entry.facts.value))
        return [*found, *self._nodes(scenario, shared["ResourceFlavor"])]

    def _shared(self, scenario: Scenario, queues: Sequence[str]) -> dict[str, set[str]]:
        """What the queues have to do with, by kind: names of it. Nothing else can change how a story goes."""
        objects = self._opening.objects
        mine = [objects.cluster_queues[name] for name in queues]
        above = {name for queue in mine for name in self._chain(queue.cohort)}
        # One that has quota and no queue may lend it.
        cohorts = above | {name for name in objects.cohorts if above.intersection(self._chain(name))}
        groups = [g for queue in mine for g in queue.groups]
        groups += [g for name in cohorts if name in objects.cohorts for g in objects.cohorts[name].groups]
        flavors = {flavor.name for group in groups for flavor in group.flavors}
        return {
            "Cohort": cohorts,
            "ResourceFlavor": flavors,
            "Topology": {objects.flavors[name].topology for name in flavors if name in objects.flavors},
            "AdmissionCheck": {rule.name for queue in mine for rule in queue.checks},
            "WorkloadPriorityClass": {ask.priority_class for ask in scenario.asks},
        }

    def _chain(self, cohort: str) -> set[str]:
        """The cohort and all above it; names may go in a circle."""
        known = self._opening.objects.cohorts
        found: set[str] = set()
        while cohort and cohort not in found:
            found.add(cohort)
            cohort = known[cohort].parent if cohort in known else ""
        return found

    def _door(self, queue: str, door: Entrance) -> Value:
        entry = self._cluster.index.first(ObjectKey(GROUP, "LocalQueue", door.namespace, door.name))
        if not door.made and entry is not None:
            return dict(entry.facts.value)
        return {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": {"name": door.name, "namespace": SPACE},
            "spec": {"clusterQueue": queue},
        }

    def _nodes(self, scenario: Scenario, flavors: Collection[str]) -> list[Value]:
        """Nodes matter only where Kueue chooses them, and then those to which one of the flavors leads."""
        known = [f for name, f in self._opening.objects.flavors.items() if name in flavors]
        if self._opening.nodes is None or not any(flavor.topology for flavor in known):
            return []
        wanted = [flavor.node_labels.items() for flavor in known]
        lost = list(scenario.lost)
        found = []
        for record in self._opening.nodes:
            leads = any(all(record.labels.get(k) == v for k, v in labels) for labels in wanted)
            for one in expand(record):
                if record.name in lost:
                    lost.remove(record.name)
                elif one.machines and leads:
                    found.append(write.node(one))
        return found
