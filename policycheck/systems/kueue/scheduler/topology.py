"""Topology in the decision about one workload: what it asks for, and what placement means for its flavors.

Quota comes first. When it fits but the pods find no place, the flavor counts as one that needs
preemption, if they would find one with nobody else placed; else it does not fit at all
(TopologyPlacementFailed). Sources: KEP-2724 "Topology aware scheduling"; facts 1c.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from policycheck.model.placement import Toleration
from policycheck.model.workload import PodSet
from policycheck.systems.core.podspec import items, labels, tolerations
from policycheck.systems.kueue.model import (
    ClusterQueue,
    KueueObjects,
    KueueWorkload,
    TopologyAssignment,
)
from policycheck.systems.kueue.scheduler.assign import (
    FIT,
    NO_FIT,
    PREEMPT,
    TOPOLOGY,
    Assignment,
    SetResult,
    worse_reason,
)
from policycheck.systems.kueue.scheduler.counts import Profile
from policycheck.systems.kueue.scheduler.filling import Found, Holding, fill
from policycheck.systems.kueue.scheduler.land import Claim, Land
from policycheck.systems.kueue.scheduler.state import Item
from policycheck.systems.kueue.scheduler.wish import NOTHING, Ask, is_explicit
from policycheck.systems.kueue.target import Strategy

_PROVISIONING = "kueue.x-k8s.io/provisioning-request"
_REMOTE = "kueue.x-k8s.io/multikueue"
_GROUPED = "kueue.x-k8s.io/is-group-workload"
PENDING, READY = "Pending", "Ready"
Asks = dict[str, list[Ask]]


class Traits(NamedTuple):
    """What topology means for one queue."""

    flavors: frozenset[str]  # of it, those that have one
    only: bool  # there are no others: pods that do not ask are placed as well
    provisioned: frozenset[str]  # flavors whose nodes are provisioned first, placement waits for that
    remote: bool  # another cluster places


def profile(rules: Strategy) -> Profile:
    """The ways of placing under ``rules``."""
    return Profile(
        mixed=rules.topology_mixed,
        multi_layer=rules.topology_multi_layer,
        balanced=rules.topology_balanced,
        prefers=rules.topology_prefers_affinity,
        overlapping=rules.topology_overlapping,
        keeps_pod_owned=rules.topology_keeps_pod_owned,
        elastic=rules.topology_elastic,
    )


def traits(queue: ClusterQueue, objects: KueueObjects, land: Land | None) -> Traits | None:
    """The traits of ``queue``; None when none of its flavors has a topology."""
    names = frozenset(f.name for g in queue.groups for f in g.flavors)
    flavors = frozenset(names & land.fields.keys()) if land is not None else frozenset[str]()
    if not flavors:
        return None
    provisioned: set[str] = set()
    remote = False
    for rule in queue.checks:
        check = objects.checks.get(rule.name)
        if check is not None and check.controller == _PROVISIONING:
            provisioned.update(rule.on_flavors or names)
        remote = remote or (check is not None and check.controller == _REMOTE)
    return Traits(flavors, flavors == names, frozenset(provisioned), remote)


def is_pod_owned(workload: KueueWorkload) -> bool:
    """Whether the workload stands for one plain pod, which can not move."""
    owners = workload.owners
    return len(owners) == 1 and owners[0][0] == "Pod" and workload.annotations.get(_GROUPED) != "true"


def lost(assignment: TopologyAssignment | None, workload: KueueWorkload) -> bool:
    """Whether one of the nodes of ``assignment`` is known to have failed."""
    bad = workload.unhealthy_nodes
    return assignment is not None and bool(bad) and any(v[-1] in bad for v, _ in assignment.domains if v)


def lost_any(item: Item) -> bool:
    """Whether the workload's placement has lost a node."""
    return item.admission is not None and any(
        lost(s.topology, item.workload) for s in item.admission.pod_sets
    )


def needs_second_pass(item: Item) -> bool:
    """Whether a workload that holds quota must be looked at again: its pods have no place yet and all
    checks are done, or a node of theirs has failed.
    """
    if item.admission is None or item.evicted:
        return False
    states = item.workload.check_states
    waits = any(s.topology is None and s.delayed_topology == PENDING for s in item.admission.pod_sets)
    checked = bool(states) and all(c.state == READY for c in states)
    return (waits and checked and not item.admitted) or lost_any(item)


def claims_of(land: Land, item: Item) -> list[Claim]:
    """What the placed pods of a workload that holds quota take."""
    if item.admission is None:
        return []
    specs = {s.name: s.spec for s in item.shape.sets}
    found: list[Claim] = []
    for given in item.admission.pod_sets:
        if given.topology is None or given.name not in specs:
            continue
        each = specs[given.name].requests
        for flavor in sorted(set(given.flavors.values()) & land.fields.keys()):
            found.extend(land.claims(flavor, given.topology, each))
    return found


class Placer:
    """Places one workload in one queue's flavors."""

    def __init__(
        self,
        land: Land,
        ways: Profile,
        queue: Traits,
        item: Item,
        old: Item | None = None,
        *,
        telling: bool = False,
    ) -> None:
        self.land = land
        self._profile = ways
        self._traits = queue
        self._item = item
        self._old = old
        self._telling = telling
        self._holding = _holding(item)
        self._asked: tuple[Assignment, int, Asks] | None = None

    @property
    def wanted(self) -> bool:
        """Whether any podset is to be placed."""
        return self._traits.only or any(is_explicit(s.spec.topology) for s in self._item.shape.sets)

    # -- what is asked --------------------------------------------------------------------------

    def asks(self, assignment: Assignment) -> Asks:
        """The podsets to place, by flavor. One that cannot be placed for what it was given makes the
        assignment one that does not fit.
        """
        known = self._asked
        if known is not None and known[0] is assignment and known[1] == len(assignment.topology):
            return known[2]
        found: Asks = {}
        for result in assignment.sets:
            spec = self._item.shape.sets[result.member].spec
            explicit = is_explicit(spec.topology)
            if not (explicit or self._traits.only) or not result.pods:
                continue
            kept = assignment.topology.get(result.member)
            if kept is not None and not lost(kept, self._item.workload):
                continue
            flavor = self._flavor(assignment, result)
            if flavor is None:
                self._refuse(assignment, result)
            elif self._traits.remote or (not self._item.reserved and flavor in self._traits.provisioned):
                assignment.delayed[result.member] = PENDING
            else:
                found.setdefault(flavor, []).append(self._ask(result, spec, implied=not explicit))
        self._asked = assignment, len(assignment.topology), found
        return found

    def _flavor(self, assignment: Assignment, result: SetResult) -> str | None:
        """The one flavor with a topology that the podset was given."""
        given = {c.flavor for c in result.flavors.values()} & self._traits.flavors
        if not given and not result.asks:
            given = self._of_group(assignment, result)
        return next(iter(given)) if len(given) == 1 else None

    def _of_group(self, assignment: Assignment, result: SetResult) -> set[str]:
        """Pods that request nothing go with the others of their group, a leader with its workers."""
        sets = self._item.shape.sets
        request = sets[result.member].spec.topology
        group = request.group if request is not None else ""
        if not group:
            return set()
        for other in assignment.sets:
            theirs = sets[other.member].spec.topology
            if other is not result and theirs is not None and theirs.group == group:
                mine = {r: c for r, c in other.flavors.items() if c.flavor in self._traits.flavors}
                result.flavors.update({r: c._replace(amount=0) for r, c in mine.items()})
        return {c.flavor for c in result.flavors.values()}

    def _refuse(self, assignment: Assignment, result: SetResult) -> None:
        assignment.mode = NO_FIT
        assignment.reason = worse_reason(assignment.reason, result.failed)
        assignment.trouble = "no flavor, or more than one, with a topology was assigned"

    def _ask(self, result: SetResult, spec: PodSet, *, implied: bool) -> Ask:
        request = spec.topology or NOTHING
        before = None
        if self._old is not None and self._old.admission is not None:
            given = (s for s in self._old.admission.pod_sets if s.name == spec.name)
            before = next((s.topology for s in given), None)
        updated = _updated(spec, self._item.workload)
        key = (self._item.shape.number, result.member, implied) if updated is spec else None
        return Ask(result.member, result.pods, spec.requests, updated, request, implied, before, key)

    # -- what comes of it -----------------------------------------------------------------------

    def find(self, asks: Asks, *, empty: bool = False) -> Found:
        """Places for ``asks`` as things are, or with nobody else placed."""
        if empty and not self._telling and self._holding is None and self._old is None:
            return self._find_empty(asks)
        return fill(self.land, asks, self._profile, holding=self._holding, empty=empty, telling=self._telling)

    def _find_empty(self, asks: Asks) -> Found:
        """Where they would be with nobody else placed; that changes with nodes only."""
        key = tuple((flavor, ask.key, ask.pods) for flavor, some in asks.items() for ask in some)
        known = self.land.empty
        found = known.get(key)
        if not isinstance(found, Found):
            found = fill(self.land, asks, self._profile, empty=True)
            if all(ask.key is not None for some in asks.values() for ask in some):
                known[key] = found
        return found

    def settle(self, assignment: Assignment) -> None:
        """Place an assignment that quota allows; where there is no place, its mode is what is left."""
        asks = self.asks(assignment)
        if not asks:
            return
        first = -1
        if assignment.mode == FIT:
            found = self.find(asks)
            if found.failure is None:
                self.accept(assignment, found)
                return
            first, assignment.trouble = found.failure.member, found.failure.text
            self._demote(assignment, [first])
        if assignment.mode != PREEMPT or self._holding is not None:
            return
        failure = self.find(asks, empty=True).failure
        if failure is None:
            self._demote(assignment, [ask.member for some in asks.values() for ask in some])
            return
        assignment.trouble = failure.text
        assignment.mode = NO_FIT
        result = next(r for r in assignment.sets if r.member == failure.member)
        # The real scheduler gives no reason when quota had nothing against this podset and it was
        # another that found no place at first (recorded runs).
        named = failure.member == first or not result.clean
        assignment.reason = _reason(result, failure.flavor) if named else ""

    def _demote(self, assignment: Assignment, members: Iterable[int]) -> None:
        """Everything that these podsets were given needs preemption."""
        chosen = set(members)
        for result in assignment.sets:
            if result.member in chosen:
                for resource, one in result.flavors.items():
                    result.flavors[resource] = one._replace(mode=PREEMPT)
        assignment.mode = PREEMPT
        assignment.contest()

    def accept(self, assignment: Assignment, found: Found) -> None:
        """Take over what was found."""
        assignment.topology.update(found.placed)
        assignment.delayed.update({m: READY for m in found.placed if m in assignment.delayed})
        assignment.claims = self._claims(assignment)

    def _claims(self, assignment: Assignment) -> list[Claim]:
        """What the assignment takes beyond what the workload takes already."""
        found: list[Claim] = []
        for result in assignment.sets:
            placed = assignment.topology.get(result.member)
            flavor = self._flavor(assignment, result) if placed is not None else None
            if flavor is None:
                continue
            spec = self._item.shape.sets[result.member].spec
            held = self._held(spec.name)
            for claim in self.land.claims(flavor, placed, spec.requests):
                pods = claim[3] - held.get(self.land.fields[flavor].names[claim[1]], 0)
                if pods > 0:
                    found.append((flavor, claim[1], claim[2], pods))
        return found

    def _held(self, name: str) -> dict[tuple[str, ...], int]:
        held: dict[tuple[str, ...], int] = {}
        if self._item.reserved and self._item.admission is not None:
            for given in self._item.admission.pod_sets:
                if given.name == name and given.topology is not None:
                    for values, pods in given.topology.domains:
                        held[values] = held.get(values, 0) + pods
        return held


def _holding(item: Item) -> Holding | None:
    workload = item.workload
    if not workload.unhealthy_nodes or item.admission is None:
        return None
    given = {s.name: s.topology for s in item.admission.pod_sets}
    placed = {n: t for n, s in enumerate(item.shape.sets) if (t := given.get(s.name)) is not None}
    return Holding(workload.unhealthy_nodes[0], placed, is_pod_owned(workload))


def _reason(result: SetResult, flavor: str) -> str:
    """Why the podset does not fit: per resource group the least of what stood in the way of its
    flavors, and of that the gravest.
    """
    reason = ""
    for names, why in result.groups:
        reason = worse_reason(reason, TOPOLOGY if flavor in names else why)
    return reason or TOPOLOGY


def _updated(spec: PodSet, workload: KueueWorkload) -> PodSet:
    """The podset with what checks that are ready have added to it (ProvisioningRequest)."""
    selector: dict[str, str] = {}
    more: tuple[Toleration, ...] = ()
    for state in workload.check_states:
        for update in state.pod_set_updates if state.state == READY else ():
            if update.get("name") == spec.name:
                selector.update(labels(update.get("nodeSelector")))
                more += tolerations(items(update.get("tolerations")))
    if not selector and not more:
        return spec
    merged: Mapping[str, str] = {**spec.node_selector, **selector}
    return spec._replace(node_selector=merged, tolerations=spec.tolerations + more)
