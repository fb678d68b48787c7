"""``inference-protected``: what serves is not displaced, and has room when batch work has done its worst.

Who may displace whom is decided on two ladders, as for other workloads: by policies between queues, cell by
cell, and by pod priority at the default scheduler. Room is arithmetic over nodes. How fast anything answers
is not looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from policycheck.certify.arena import SUBMIT, Arena, Ask, Move, Scenario, Service, Story
from policycheck.certify.attack import grown
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.claims.common import Bench, declared, listed
from policycheck.certify.claims.displacement import VICTIM, Class, Stage, cells, taken
from policycheck.certify.claims.replica import FINE, Answer, Serving
from policycheck.certify.claims.room import Space
from policycheck.certify.claims.worst import spots
from policycheck.certify.promise import Promises
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

NAME = "inference-protected"
_VICTIMS = 3  # replicas of a service that run in a story
_NAMELESS = "pods without a class"


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
    found = [_Trial(Serving(bench, one, seen, every), blind).verdict() for one in every]
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

    def __init__(self, of: Serving, blind: Sequence[str]) -> None:
        self.of, self.blind = of, blind
        self.bench, self.arena, self.service = of.bench, of.arena, of.service
        self.allowed = self.tried = self.pressed = 0

    def verdict(self) -> Verdict:
        queue = self.service.queue
        if queue and (elsewhere := self.arena.inapplicable(queue)):
            return self._made(NOT_APPLICABLE, PROOF, f"{queue}: {elsewhere}")
        if queue and (unclear := self.arena.unclear(queue)):
            return self._made(UNKNOWN, PROOF, f"{queue}: {unclear}")
        if not self.of.sets:
            return self._made(
                NOT_APPLICABLE, PROOF, "it asks for no accelerator, or has no replica at its fewest"
            )
        space = Space(self.of, NAME)
        parts = [self._queued(), self._pods(), space.quota(), space.room()]
        for outcome in (FAILS, UNKNOWN):
            for part in parts:
                if part.outcome == outcome:
                    return self._made(outcome, part.basis, part.why, part.story)
        how = "no policy and no pod priority lets anything displace it"
        if self.allowed:
            how = f"in {self.tried} stories made for it others had to go"
        pods = sum(pods for _, _, pods in self.of.needs())
        text = f"{how}, and its {pods} pods, those of a rollout among them, have room when batch work holds all it can"
        return self._made(HOLDS, EXHAUSTIVE if self.allowed else PROOF, text)

    # -- the ladder of queues -------------------------------------------------------------------

    def _queued(self) -> Answer:
        """Evictions by the queue system: proven impossible, or played."""
        queue, shape = self.service.queue, self.service.shape
        if not queue:
            return FINE
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
        return FINE

    def _with_it(self, some: Iterator[Scenario]) -> Iterator[Scenario]:
        """The scenarios with the service itself as the victim."""
        shape = self.service.shape
        replicas = self.of.replicas()
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

    # -- the ladder of pods ---------------------------------------------------------------------

    def _pods(self) -> Answer:
        """Pods that may displace its pods where they meet."""
        mine = {spec.priority_class for spec in self.of.sets}
        takers: dict[str, str] = {}
        for queue, shape in self.of.batch():
            if not self.arena.places(queue) and self._meets(queue):
                for spec in shape.pod_sets:
                    takers.setdefault(spec.priority_class, f"{shape.name} in {queue}")
        for own in sorted(mine):
            for other, whose in sorted(takers.items()):
                if self.of.may(other, own):
                    return Answer(
                        FAILS,
                        f"pods of {whose} have pod priority {self.of.called(other)} and may displace its pods "
                        f"({self.of.called(own)}) on nodes that both may use",
                    )
        return FINE

    def _meets(self, queue: str) -> bool:
        """Whether the queue has quota on a node that the service may use."""
        flavors = {f for f, r in self.arena.nominal(queue) if r in self.arena.accelerators}
        return any(
            flavors & spot.flavors
            for spec, resource, _ in self.of.needs()
            for spot in spots(
                self.arena, spec, self.of.flavors(resource), resource, sorted(flavors), self.of.tolerations()
            )
        )

    # -- what is said ---------------------------------------------------------------------------

    def _made(self, outcome: str, basis: str, why: str, story: Counterexample | None = None) -> Verdict:
        evidence: dict[str, Any] = {
            "pods": sum(s.pods for s in self.service.shape.pod_sets),
            "surge": sum(self.of.surge),
            "stories": self.tried,
        }
        assumed = [
            "how fast a service answers is not certified",
            "batch work takes nodes by their accelerators, with the tolerations and pod classes of its jobs in sight",
            *self.of.assumed,
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
            premise={"servicePods": len(self.of.sets), "evictionsUnderPressure": self.pressed},
            evidence=evidence,
            counterexample=story,
            assumptions=tuple(assumed),
        )


def _displaced(scenario: Scenario, story: Story) -> str:
    return taken(scenario, story, lambda _, __: True, lambda _: True) if _is_victim(story) else ""


def _is_victim(story: Story) -> bool:
    return any(event.what == "evicted" and event.name.startswith(VICTIM) for event in story.happened)


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
        "so much of the nodes that too few pods have room beside the other services, as many as are promised. UNKNOWN without an inventory, and where only more than what "
        "batch queues own might take the room."
    ),
    premise="A service that asks for accelerators is in sight, or a job of a serving class is promised.",
    enforceable=(
        "Deployment, StatefulSet, LeaderWorkerSet, RayService and InferenceService are read; platforms that make pods out of other "
        "objects are named as not covered. Pods outside of queues take what nodes have; a higher pod priority makes "
        "room for them. Where the queue system places by topology, pod priority does not."
    ),
    remedy=(
        "Give services nodes of their own (labels and taints that no batch flavor tolerates), or a pod priority above "
        "all batch work; in queues a quota that covers the surge of a rollout and lendingLimit 0."
    ),
)
