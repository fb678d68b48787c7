"""``inference-protected``: what serves is not displaced, and has room when batch work has done its worst.

Who may displace whom is decided on two ladders, as for other workloads: by policies between queues, cell by
cell, and by pod priority at the default scheduler. Room is arithmetic over nodes. How fast anything answers
is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from policycheck.certify.arena import SUBMIT, Arena, Ask, Load, Move, Scenario, Service, Story
from policycheck.certify.attack import attack, fill, grown, mixes, rivals
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.claims.common import MINE, Bench, declared, listed, shapes_of
from policycheck.certify.claims.displacement import VICTIM, Class, Stage, cells, taken
from policycheck.certify.claims.worst import left, spots
from policycheck.certify.promise import Promises, Shape
from policycheck.certify.verdict import (
    EXHAUSTIVE,
    FAILS,
    HOLDS,
    NOT_APPLICABLE,
    PROOF,
    SEARCH,
    UNKNOWN,
    Counterexample,
    Verdict,
)
from policycheck.model.amount import show
from policycheck.model.placement import Toleration
from policycheck.model.workload import PodSet
from policycheck.simulate.hold import FAILS as NOT_HELD
from policycheck.simulate.hold import HOLDS as HELD
from policycheck.simulate.hold import hold

NAME = "inference-protected"
_VICTIMS = 3  # replicas of a service that run in a story
_NAMELESS = "pods without a class"


class Answer(NamedTuple):
    """What one part of the question comes to; "" in ``outcome`` where it is nothing that speaks against it."""

    outcome: str = ""
    why: str = ""
    basis: str = PROOF
    story: Counterexample | None = None


_FINE = Answer()


def test(arena: Arena, promises: Promises, effort: Effort) -> list[Verdict]:  # noqa: ARG001
    """One verdict a service in sight, or promised job of a serving class; one for a class of which there is none."""
    bench = Bench(NAME, arena, promises)
    classes = promises.protection.serving
    # Classes that are written say what serves; what is in no queue is under nobody's class.
    seen = [
        s for s in arena.services() if not (classes and s.queue and s.shape.priority_class not in classes)
    ]
    every = [*seen, *_promised(arena, promises)]
    blind = arena.uncovered()
    found = [_Trial(bench, one, seen, every, blind).verdict() for one in every]
    if found:
        return found
    if blind:
        why = f"{listed(blind)} in sight, whose pods are not read: nothing is known of their replicas"
        return [bench.verdict("", UNKNOWN, PROOF, why)]
    why = f" and nothing of class {listed(classes)}" if classes else ""
    return [bench.nothing(f"no service with accelerators is in sight{why}")]


def _promised(arena: Arena, promises: Promises) -> Iterator[Service]:
    """What teams were promised to serve with."""
    known = set(arena.queues())
    for team in promises.teams:
        for shape in team.shapes:
            queues = [q for q in (shape.queues or team.queues) if q in known]
            if shape.priority_class in promises.protection.serving and shape.priority_class and queues:
                whole = shape if shape.jobs == 1 else grown(shape, shape.jobs)
                yield Service(f"{team.name}: {shape.name}", whole, queues[0], apart=False)


class _Trial:
    """One service."""

    def __init__(
        self,
        bench: Bench,
        service: Service,
        seen: Sequence[Service],
        every: Sequence[Service],
        blind: Sequence[str],
    ) -> None:
        self.bench, self.arena, self.service = bench, bench.arena, service
        self.seen, self.blind = seen, blind
        self.sources = {one.shape.source for one in every if one.shape.source}
        self.serving = {one.queue for one in every if one.queue and not any(self._running(one.queue))}
        self.allowed = self.tried = self.pressed = 0
        self.sets = [s for s in service.shape.pod_sets if s.pods and self._resource(s)]
        self.surge = service.surge or (0,) * len(service.shape.pod_sets)
        self.assumed: list[str] = []

    def _resource(self, spec: PodSet) -> str:
        return next((r for r in self.arena.accelerators if spec.requests.get(r, 0) > 0), "")

    def _needs(self) -> Iterator[tuple[PodSet, str, int]]:
        """Pods that have to be there during a rollout: podset, resource, pods."""
        for spec, more in zip(self.service.shape.pod_sets, self.surge, strict=False):
            resource = self._resource(spec)
            if spec.pods and resource:
                yield spec, resource, spec.pods + more

    def verdict(self) -> Verdict:
        queue = self.service.queue
        if queue and (elsewhere := self.arena.inapplicable(queue)):
            return self._made(NOT_APPLICABLE, PROOF, f"{queue}: {elsewhere}")
        if queue and (unclear := self.arena.unclear(queue)):
            return self._made(UNKNOWN, PROOF, f"{queue}: {unclear}")
        if not self.sets:
            return self._made(
                NOT_APPLICABLE, PROOF, "it asks for no accelerator, or has no replica at its fewest"
            )
        parts = [self._queued(), self._pods(), self._quota(), self._room()]
        for outcome in (FAILS, UNKNOWN):
            for part in parts:
                if part.outcome == outcome:
                    return self._made(outcome, part.basis, part.why, part.story)
        how = "no policy and no pod priority lets anything displace it"
        if self.allowed:
            how = f"in {self.tried} stories made for it others had to go"
        pods = sum(pods for _, _, pods in self._needs())
        text = f"{how}, and its {pods} pods, those of a rollout among them, have room when batch work holds all it can"
        return self._made(HOLDS, EXHAUSTIVE if self.allowed else PROOF, text)

    # -- the ladder of queues -------------------------------------------------------------------

    def _queued(self) -> Answer:
        """Evictions by the queue system: proven impossible, or played."""
        queue, shape = self.service.queue, self.service.shape
        if not queue:
            return _FINE
        mine: Class = (shape.priority_class, shape.priority)
        takers = [*sorted(self.arena.classes.items(), key=lambda c: (-c[1], c[0])), ("", 0)]
        stage = Stage(self.arena, declared(self.bench.promises))
        for cell in dict.fromkeys(cells(self.arena, [(t, mine) for t in takers], [queue])):
            self.allowed += 1
            for scenario in self._with_it(stage.scenarios(cell, within=True)):
                story = self.arena.play(scenario)
                self.tried += 1
                self.pressed += any(event.what == "evicted" for event in story.happened)
                if _displaced(scenario, story):
                    found = self.bench.counterexample(scenario, _displaced, f"{NAME} {self.service.name}")
                    return Answer(FAILS, found.timeline[-1], EXHAUSTIVE, found)
        if self.allowed and not self.pressed:
            return Answer(
                UNKNOWN, "vacuous: policies allow evictions, and in no story was anything evicted", SEARCH
            )
        return _FINE

    def _with_it(self, some: Iterator[Scenario]) -> Iterator[Scenario]:
        """The scenarios with the service itself as the victim."""
        shape = self.service.shape
        replicas = self._replicas()
        asks = tuple(
            Ask(f"{VICTIM}{n + 1}", self.service.queue, one, shape.priority, shape.priority_class, n)
            for n, one in enumerate(replicas[:_VICTIMS])
        )
        done = set()
        for scenario in some:
            made = scenario._replace(moves=(Move(1, SUBMIT, asks), *scenario.moves[1:]))
            if repr(made.moves) not in done:
                done.add(repr(made.moves))
                yield made

    def _replicas(self) -> list[Shape]:
        """The workloads that it is for the queue."""
        shape = self.service.shape
        if not self.service.apart or len(shape.pod_sets) != 1:
            return [shape]
        (spec,) = shape.pod_sets
        return [shape._replace(pod_sets=(spec._replace(pods=1),))] * spec.pods

    # -- the ladder of pods ---------------------------------------------------------------------

    def _running(self, queue: str) -> Iterator[Shape]:
        """What runs through the queue, as promised or in sight, and does not serve."""
        promises = self.bench.promises
        teams = [t for t in promises.teams if queue in t.queues]
        promised = [s for t in teams for s in shapes_of(self.arena, t, queue)]
        for shape in (*promised, *self.arena.shapes(queue)):
            serves = shape.priority_class in promises.protection.serving and shape.priority_class
            if not serves and shape.source not in self.sources:
                yield shape

    def _batch(self) -> Iterator[tuple[str, Shape]]:
        """What runs in queues and does not serve."""
        for queue in self.arena.queues():
            yield from ((queue, shape) for shape in self._running(queue))

    def _pods(self) -> Answer:
        """Pods that may displace its pods where they meet."""
        mine = {spec.priority_class for spec in self.sets}
        takers: dict[str, str] = {}
        for queue, shape in self._batch():
            if not self.arena.places(queue) and self._meets(queue):
                for spec in shape.pod_sets:
                    takers.setdefault(spec.priority_class, f"{shape.name} in {queue}")
        for own in sorted(mine):
            for other, whose in sorted(takers.items()):
                if self._may(other, own):
                    return Answer(
                        FAILS,
                        f"pods of {whose} have pod priority {self._called(other)} and may displace its pods "
                        f"({self._called(own)}) on nodes that both may use",
                    )
        return _FINE

    def _meets(self, queue: str) -> bool:
        """Whether the queue has quota on a node that the service may use."""
        flavors = {f for f, r in self.arena.nominal(queue) if r in self.arena.accelerators}
        return any(
            flavors & spot.flavors
            for spec, resource, _ in self._needs()
            for spot in spots(
                self.arena, spec, self._flavors(resource), resource, sorted(flavors), self._tolerations()
            )
        )

    def _tolerations(self) -> tuple[Toleration, ...]:
        """What pods of batch work bring, as far as it is known."""
        every = (t for _, shape in self._batch() for spec in shape.pod_sets for t in spec.tolerations)
        return tuple(dict.fromkeys(every))

    def _may(self, taker: str, holder: str) -> bool:
        taker, holder = taker or self.arena.pod_default, holder or self.arena.pod_default
        for rung in self.arena.ladder():
            if (rung.taker, rung.holder) == (taker, holder):
                return rung.may
        values = self.arena.pod_classes
        return values.get(taker, 0) > values.get(holder, 0)

    def _called(self, name: str) -> str:
        name = name or self.arena.pod_default
        return f"{name or _NAMELESS} ({self.arena.pod_classes.get(name, 0)})"

    # -- quota ----------------------------------------------------------------------------------

    def _flavors(self, resource: str) -> tuple[str, ...]:
        """Through which its pods go; () outside of queues."""
        if not self.service.queue:
            return ()
        pairs = self.arena.nominal(self.service.queue)
        return tuple(f for f, r in pairs if r == resource)

    def _quota(self) -> Answer:
        """Whether it has quota for its fewest replicas whenever it asks, and for a rollout beside batch work."""
        queue = self.service.queue
        if not queue:
            return _FINE
        for resource, (least, most) in self._sums().items():
            pairs = [p for p in self.arena.nominal(queue) if p[1] == resource]
            own = sum(self.arena.nominal(queue)[p] for p in pairs)
            at = self.service.shape.priority
            firm = sum(self.arena.enforcement(queue, *pair, at).enforced for pair in pairs)
            if least > own:
                return Answer(
                    FAILS, f"it needs {show(resource, least)} {resource} and the quota of {queue} is {own}"
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
        return _FINE

    def _sums(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for spec, resource, pods in self._needs():
            least, most = found.get(resource, (0, 0))
            each = spec.requests[resource]
            found[resource] = least + each * spec.pods, most + each * pods
        return found

    def _borrowed(self, resource: str, most: int) -> Answer:
        """A rollout that borrows: from queues that serve as well, or from batch work that may hold it."""
        queue = self.service.queue
        batch = [q for q in self.arena.peers(queue) if q not in self.serving]
        if not batch:
            self.assumed.append(f"services of the cohort of {queue} are rolled out one after another")
            return _FINE
        asks = [
            Ask(
                f"{MINE}1",
                queue,
                self._whole(),
                self.service.shape.priority,
                self.service.shape.priority_class,
            )
        ]
        who = [r for r in rivals(self.arena, [queue], declared(self.bench.promises)) if r.queue in batch]
        for mix in mixes(self.arena, who):
            scenario = attack(fill(self.arena, who, mix), asks)
            if _waits(scenario, self.arena.play(scenario)):
                found = self.bench.counterexample(scenario, _waits, f"{NAME} {self.service.name}")
                return Answer(
                    FAILS, f"a rollout has to borrow {resource}: {found.timeline[-1]}", SEARCH, found
                )
        return Answer(
            UNKNOWN,
            f"a rollout needs {show(resource, most)} {resource}, more than the quota of {queue}; that {listed(batch)} "
            "may hold it was not shown",
            SEARCH,
        )

    def _whole(self) -> Shape:
        shape = self.service.shape
        sets = tuple(s._replace(pods=s.pods + m) for s, m in zip(shape.pod_sets, self.surge, strict=False))
        return shape._replace(pod_sets=sets)

    # -- room -----------------------------------------------------------------------------------

    def _room(self) -> Answer:
        """Nodes for all of it: empty ones, then with batch work on them."""
        empty = self._on_empty_nodes()
        if empty.outcome:
            return empty
        for spec, resource, pods in self._needs():
            flavors = self._flavors(resource)
            budget = self._budget(resource, every=True)
            where = spots(self.arena, spec, flavors, resource, sorted(budget), self._tolerations())
            each = spec.requests[resource]
            others = self._others(spec, resource)
            free = left(where, each, budget, certain=False) - others
            if free >= pods:
                continue
            if self._displaces():
                self.assumed.append(
                    "its pods displace those of batch work on nodes that are full (pod priority)"
                )
                continue
            sure = left(where, each, self._budget(resource, every=False), certain=True)
            what = f"{pods} pods of {show(resource, each)} {resource}"
            if sure < pods:
                return Answer(
                    FAILS,
                    f"batch work within its quota may take the nodes so that {sure} of {what} have room, and its pods "
                    "can not displace them",
                )
            return Answer(
                UNKNOWN,
                f"{what} have room for certain only {max(free, 0)} times when batch work borrows all it can",
            )
        return _FINE

    def _on_empty_nodes(self) -> Answer:
        loads = [
            Load(self.service.name, spec._replace(pods=1), pods, self._flavors(resource))
            for spec, resource, pods in self._needs()
        ]
        for one in self.seen:
            if one.name != self.service.name:
                loads += [
                    Load(one.name, s._replace(pods=1), s.pods, self._of(one, self._resource(s)))
                    for s in one.shape.pod_sets
                    if s.pods and self._resource(s)
                ]
        posed = self.arena.posed(loads)
        if posed.why:
            return Answer(UNKNOWN, posed.why)
        answer = hold(posed.classes, posed.demands)
        if answer.outcome == NOT_HELD:
            return Answer(FAILS, f"with a rollout under way it has no room even on empty nodes: {answer.why}")
        return _FINE if answer.outcome == HELD else Answer(UNKNOWN, answer.why)

    def _of(self, one: Service, resource: str) -> tuple[str, ...]:
        if not one.queue:
            return ()
        return tuple(f for f, r in self.arena.nominal(one.queue) if r == resource)

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
        loads = [
            Load("it", spec._replace(pods=1), 1, self._flavors(resource)),
            Load(one.name, other._replace(pods=1), 1, self._of(one, resource)),
        ]
        homes = [{c for home in d.allowed for c in home} for d in self.arena.posed(loads).demands]
        return bool(homes) and not homes[0].isdisjoint(homes[-1])

    def _budget(self, resource: str, *, every: bool) -> Mapping[str, int]:
        """What batch work may hold by flavor: with ``every`` all of its trees, else what its queues own."""
        found: dict[str, int] = {}
        held = self._sums()[resource][0] if self.service.queue else 0
        for one in self.arena.holdings():
            is_batch = any(q not in self.serving for q in one.queues or (one.holder,))
            own = one.kind != "Cohort" and one.holder not in self.serving
            if one.resource != resource or not (is_batch if every else own):
                continue
            amount = one.amount
            if one.holder == self.service.queue:  # what the service itself holds of it nobody else does
                part = min(amount, held)
                amount, held = amount - part, held - part
            found[one.flavor] = found.get(one.flavor, 0) + amount
        return found

    def _displaces(self) -> bool:
        """Whether its pods displace all batch pods where it needs room."""
        if self.service.queue and self.arena.places(self.service.queue):
            return False
        classes = {spec.priority_class for _, shape in self._batch() for spec in shape.pod_sets} or {""}
        return all(self._may(spec.priority_class, other) for spec in self.sets for other in classes)

    def _made(self, outcome: str, basis: str, why: str, story: Counterexample | None = None) -> Verdict:
        evidence: dict[str, Any] = {
            "pods": sum(s.pods for s in self.service.shape.pod_sets),
            "surge": sum(self.surge),
            "stories": self.tried,
        }
        assumed = [
            "how fast a service answers is not certified",
            "batch work takes nodes by their accelerators, and tolerates what its jobs in sight tolerate",
            *self.assumed,
        ]
        if self.blind:
            assumed.append(
                f"{listed(self.blind)} in sight: their replicas are not read, and nothing is said of them"
            )
        return self.bench.verdict(
            self.service.name,
            outcome,
            basis,
            why,
            premise={"servicePods": len(self.sets), "evictionsUnderPressure": self.pressed},
            evidence=evidence,
            counterexample=story,
            assumptions=tuple(assumed),
        )


def _displaced(scenario: Scenario, story: Story) -> str:
    return taken(scenario, story, lambda _, __: True, lambda _: True) if _is_victim(story) else ""


def _is_victim(story: Story) -> bool:
    return any(event.what == "evicted" and event.name.startswith(VICTIM) for event in story.happened)


def _waits(scenario: Scenario, story: Story) -> str:
    name = f"{MINE}1"
    if name in story.waiting and any(ask.name == name for ask in scenario.asks):
        return f"{name} waits: {story.waiting[name]}"
    return ""


CLAIM = Claim(
    name=NAME,
    title="What serves is not displaced and has room",
    test=test,
    promise=(
        "No replica of a service can be displaced, by the queue system or by the default scheduler, and its fewest "
        "replicas with what a rollout adds have room when batch work has taken all that it can. How fast it answers "
        "is not certified."
    ),
    means=(
        "HOLDS by proof when no policy and no pod priority allows it, and there is room whichever nodes batch work "
        "takes within its quota; exhaustive when policies allow some evictions and in every story made for them others "
        "had to go. FAILS with the story when a replica is evicted; by proof when pods of batch work have a higher "
        "pod priority on the same nodes, when quota is short of a rollout, or when batch work within its quota may take "
        "so much of the nodes that too few pods have room. UNKNOWN without an inventory, and where only more than what "
        "batch queues own might take the room."
    ),
    premise="A service that asks for accelerators is in sight, or a job of a serving class is promised.",
    enforceable=(
        "Deployment, StatefulSet, LeaderWorkerSet and RayService are read; platforms that make pods out of other "
        "objects are named as not covered. Pods outside of queues take what nodes have; a higher pod priority makes "
        "room for them. Where the queue system places by topology, pod priority does not."
    ),
    remedy=(
        "Give services nodes of their own (labels and taints that no batch flavor tolerates), or a pod priority above "
        "all batch work; in queues a quota that covers the surge of a rollout and lendingLimit 0."
    ),
)
