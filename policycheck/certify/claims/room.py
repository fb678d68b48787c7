"""Whether a service gets quota and nodes, whatever batch work holds."""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.certify.arena import SUBMIT, Load, Move, Scenario, Service, Story
from policycheck.certify.attack import attack, fill, mixes, rivals
from policycheck.certify.claims.beside import MOST_ASKS, Company
from policycheck.certify.claims.common import MINE, declared, listed
from policycheck.certify.claims.replica import FINE, Answer, Serving
from policycheck.certify.claims.worst import left, spots
from policycheck.certify.verdict import FAILS, PROOF, SEARCH, UNKNOWN
from policycheck.model.amount import show
from policycheck.model.workload import PodSet
from policycheck.simulate.hold import FAILS as NOT_HELD
from policycheck.simulate.hold import HOLDS as HELD
from policycheck.simulate.hold import hold


def _is_same(seen: Service, promised: Service) -> bool:
    """Whether a promised service is in sight under its name."""
    name = promised.name.rpartition(": ")[2]
    return seen.queue == promised.queue and seen.name.rpartition("/")[2] == name


class Space:
    """Room for one service."""

    def __init__(self, of: Serving, claim: str) -> None:
        self.of, self.claim = of, claim
        self.bench, self.arena, self.service = of.bench, of.arena, of.service
        self.seen = [one for one in of.seen if not _is_same(one, of.service)]
        self.company = Company(of, claim)

    def quota(self) -> Answer:
        """Whether it has quota for its fewest replicas whenever it asks, and for a rollout beside batch work."""
        queue = self.service.queue
        if not queue:
            return FINE
        for (resource, flavors), (least, most) in self.of.sums().items():
            pairs = [p for p in self.arena.nominal(queue) if p[1] == resource and p[0] in flavors]
            own = sum(self.arena.nominal(queue)[p] for p in pairs)
            at = self.service.shape.priority
            firm = sum(self.arena.enforcement(queue, *pair, at).enforced for pair in pairs)
            if least > own:
                return Answer(
                    FAILS,
                    f"it needs {show(resource, least)} {resource} and the quota of {queue} is {show(resource, own)}",
                )
            if least > firm:
                return Answer(
                    FAILS,
                    f"it needs {show(resource, least)} {resource} of {queue}, and only {show(resource, firm)} can be "
                    "had while others borrow",
                )
            potential = sum(self.arena.rights.potential(queue, *pair) for pair in pairs)
            if most > potential:
                return Answer(
                    FAILS,
                    f"a rollout needs {show(resource, most)} {resource} at once, and {queue} gets "
                    f"{show(resource, potential)} at most",
                )
            if most > own:
                lent = self._borrowed(resource, most)
                if lent.outcome:
                    return lent
        return self._alone()

    def _alone(self) -> Answer:
        """A rollout while nobody else is there: companions and topology count too."""
        asks = tuple(self.of.asks(MINE))
        if len(asks) > MOST_ASKS:
            return FINE
        scenario = Scenario((Move(1, SUBMIT, asks),), cycles=2 * len(asks) + 10)
        if not _waits(scenario, self.arena.play(scenario)):
            return FINE
        found = self.bench.counterexample(scenario, _waits, f"{self.claim} {self.service.name}")
        return Answer(FAILS, f"a rollout does not run even alone: {found.timeline[-1]}", PROOF, found)

    def _borrowed(self, resource: str, most: int) -> Answer:
        """A rollout that borrows: from queues that serve as well, or from batch work that may hold it."""
        queue = self.service.queue
        batch = [q for q in self.arena.peers(queue) if q not in self.of.queues]
        if not batch:
            self.of.assumed.append(f"services of the cohort of {queue} are rolled out one after another")
            return FINE
        asks = self.of.asks(MINE)
        who = [r for r in rivals(self.arena, [queue], declared(self.bench.promises)) if r.queue in batch]
        for mix in mixes(self.arena, who):
            scenario = attack(fill(self.arena, who, mix), asks)
            if _waits(scenario, self.arena.play(scenario)):
                found = self.bench.counterexample(scenario, _waits, f"{self.claim} {self.service.name}")
                return Answer(
                    FAILS, f"a rollout has to borrow {resource}: {found.timeline[-1]}", SEARCH, found
                )
        return Answer(
            UNKNOWN,
            f"a rollout needs {show(resource, most)} {resource}, more than the quota of {queue}; that {listed(batch)} "
            "may hold it was not shown",
            SEARCH,
        )

    def room(self) -> Answer:
        """Nodes for all of it: empty ones, then with batch work on them."""
        empty = self._on_empty_nodes()
        if empty.outcome:
            return empty
        for spec, resource, pods in self.of.needs():
            flavors = self.of.flavors(resource)
            budget = self._budget(resource, every=True)
            where = spots(self.arena, spec, flavors, resource, sorted(budget), self.of.tolerations())
            each = spec.requests[resource]
            beside = self.company.keeps_out(spec, resource)
            others = max(self._others(spec, resource), beside)
            free = left(where, each, budget, certain=False) - others
            if free >= pods:
                continue
            if self.of.displaces():
                self.of.assumed.append(
                    "its pods displace those of batch work on nodes that are full (pod priority)"
                )
                continue
            sure = left(where, each, self._budget(resource, every=False), certain=True)
            what = f"{pods} pods of {show(resource, each)} {resource}"
            if sure - beside < pods:
                those = f"{sure} of {what} have room"
                if beside and sure >= pods:
                    those = f"{max(0, sure - beside)} of {what} have room beside the other services"
                return Answer(
                    FAILS,
                    f"batch work within its quota may take the nodes so that {those}, and its pods can not displace "
                    "them",
                    PROOF,
                    self.company.crowded(resource, {f for spot in where for f in spot.flavors}),
                )
            return Answer(
                UNKNOWN,
                f"{what} have room for certain only {max(free, 0)} times when batch work borrows all it can",
            )
        return FINE

    def _on_empty_nodes(self) -> Answer:
        loads = [
            Load(self.service.name, spec._replace(pods=1), pods, self.of.flavors(resource))
            for spec, resource, pods in self.of.needs()
        ]
        for one in self.seen:
            if one.name != self.service.name:
                loads += [
                    Load(one.name, s._replace(pods=1), s.pods, self.of.flavors_of(one, self.of.resource(s)))
                    for s in one.shape.pod_sets
                    if s.pods and self.of.resource(s)
                ]
        posed = self.arena.posed(loads)
        if posed.why:
            return Answer(UNKNOWN, posed.why)
        answer = hold(posed.classes, posed.demands)
        if answer.outcome == NOT_HELD:
            return Answer(FAILS, f"with a rollout under way it has no room even on empty nodes: {answer.why}")
        return FINE if answer.outcome == HELD else Answer(UNKNOWN, answer.why)

    def _others(self, spec: PodSet, resource: str) -> int:
        """Pods of this size that other services may keep out, at one each."""
        mine = self.service.name
        return sum(
            s.pods * -(-s.requests[resource] // spec.requests[resource])
            for one in self.seen
            if one.name != mine
            for s in one.shape.pod_sets
            if s.requests.get(resource, 0) and self._share(spec, s, one, resource)
        )

    def _share(self, spec: PodSet, other: PodSet, one: Service, resource: str) -> bool:
        """Whether there is a node that both may use."""
        mine, theirs = self.company.homes(spec, other, one, resource)
        return not mine.isdisjoint(theirs)

    def _budget(self, resource: str, *, every: bool) -> Mapping[str, int]:
        """What batch work may hold by flavor: with ``every`` all of its trees, else what its queues own."""
        found: dict[str, int] = {}
        held = self.of.sums()[resource, self.of.flavors(resource)][0] if self.service.queue else 0
        for one in self.arena.holdings():
            is_batch = any(q not in self.of.queues for q in one.queues or (one.holder,))
            own = one.kind != "Cohort" and one.holder not in self.of.queues
            if one.resource != resource or not (is_batch if every else own):
                continue
            amount = one.amount
            if one.holder == self.service.queue:  # what the service itself holds of it nobody else does
                part = min(amount, held)
                amount, held = amount - part, held - part
            found[one.flavor] = found.get(one.flavor, 0) + amount
        return found


def _waits(scenario: Scenario, story: Story) -> str:
    for ask in scenario.asks:
        why = story.waiting.get(ask.name) or story.unplaced.get(ask.name)
        if why and ask.name.startswith(MINE):
            return f"{ask.name} of {ask.queue} waits: {why}"
    return ""
