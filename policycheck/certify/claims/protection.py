"""``production-protected`` and ``experiments-contained``: whose workloads may be displaced by whom.

Two ladders decide it: the priority of workloads in queues, and the priority of their pods at the default
scheduler. What policies forbid is proven cell by cell; what they allow is played.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from policycheck.certify.arena import Arena, Scenario, Story
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.claims.common import Bench, declared, listed, shapes_of
from policycheck.certify.claims.displacement import Cell, Class, Stage, Together, cells, taken, together
from policycheck.certify.promise import ALWAYS, Promises, Shape
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
from policycheck.simulate.scheduler import Grant

PROTECTED, CONTAINED = "production-protected", "experiments-contained"
Wrong = Callable[[Class, Class], bool]


def test_protected(arena: Arena, promises: Promises, effort: Effort) -> list[Verdict]:
    """One verdict a protected class."""
    bench = Bench(PROTECTED, arena, promises)
    known = _classes(arena)
    found = []
    for name in promises.protection.protected:
        if not effort.wants(name):
            continue
        if name not in arena.classes:
            found.append(_unknown_class(bench, name))
            continue
        value = arena.classes[name]
        pairs = [(taker, (name, value)) for taker in known if taker[1] <= value]

        def is_wrong(taker: Class, victim: Class, name: str = name, value: int = value) -> bool:
            return victim[0] == name and taker[1] <= value

        within = promises.protection.mode != ALWAYS
        found.append(_Search(bench, name, pairs, is_wrong, effort).verdict(within=within))
    return found or [bench.nothing("no class is protected")]


def test_contained(arena: Arena, promises: Promises, effort: Effort) -> list[Verdict]:
    """One verdict a class of experiments: what it displaces is of such a class itself."""
    bench = Bench(CONTAINED, arena, promises)
    experiments = set(promises.protection.experiments)
    known = _classes(arena)
    found = []
    for name in sorted(experiments):
        if not effort.wants(name):
            continue
        if name not in arena.classes:
            found.append(_unknown_class(bench, name))
            continue
        mine = (name, arena.classes[name])
        # What names no class was promised nothing.
        pairs = [(mine, victim) for victim in known if victim[0] and victim[0] not in experiments]

        def is_wrong(taker: Class, victim: Class, name: str = name) -> bool:
            return taker[0] == name and bool(victim[0]) and victim[0] not in experiments

        within = promises.protection.mode != ALWAYS
        found.append(_Search(bench, name, pairs, is_wrong, effort).verdict(within=within))
    return found or [bench.nothing("no class is for experiments")]


def _classes(arena: Arena) -> list[Class]:
    """All classes; and none at all, which has priority 0."""
    return [*sorted(arena.classes.items(), key=lambda c: (-c[1], c[0])), ("", 0)]


def _unknown_class(bench: Bench, name: str) -> Verdict:
    known = listed(sorted(bench.arena.classes)) or "none"
    return bench.verdict(
        name, FAILS, PROOF, f"no priority class {name} in sight, so nothing protects by it; there are {known}"
    )


class _Search:
    """Whether evictions of a kind can happen."""

    def __init__(
        self, bench: Bench, name: str, pairs: Sequence[tuple[Class, Class]], is_wrong: Wrong, effort: Effort
    ) -> None:
        self.bench, self.name, self.pairs, self.is_wrong = bench, name, pairs, is_wrong
        self.effort = effort
        self.arena = bench.arena
        self.tried = self.pressed = self.allowed = 0
        self.together = Together(())

    def verdict(self, *, within: bool) -> Verdict:
        """The verdict over both ladders."""
        holders = self._holders()
        unclear = [q for q in holders if self.arena.unclear(q)]
        holders = [q for q in holders if not self.arena.unclear(q) and not self.arena.inapplicable(q)]
        if not holders and not unclear:
            return self._made(NOT_APPLICABLE, PROOF, "no queue runs it", None)
        stage = Stage(self.arena, declared(self.bench.promises))
        found = _each(cells(self.arena, self.pairs, holders))
        self.allowed, self.together = len(found), together(self.arena, found)
        for cell in self.together.cells:
            for scenario in stage.scenarios(cell, within=within):
                story = self.arena.play(scenario)
                self.tried += 1
                self.pressed += any(event.what == "evicted" for event in story.happened)
                if self.breaks(scenario, story, within=within):
                    return self._failed(scenario, within=within)
        pods = self._pods()
        if pods:
            return self._made(FAILS, PROOF, pods, None)
        if unclear:
            why = self.arena.unclear(unclear[0])
            return self._made(UNKNOWN, PROOF, f"{unclear[0]}: {why}", None)
        if not self.allowed:
            return self._made(HOLDS, PROOF, "no policy of any queue allows it", None)
        if not self.pressed:
            return self._made(UNKNOWN, SEARCH, "vacuous: in no story was anything evicted", None)
        return self._made(
            HOLDS,
            EXHAUSTIVE,
            f"policies allow {self.allowed} cells, and in {self.tried} stories made for {self._which()} others had to go",
            None,
        )

    def _which(self) -> str:
        """The cells that were played, in words."""
        played = len(self.together.cells)
        return "each of them" if played == self.allowed else f"{played} that stand for all of them"

    def _holders(self) -> list[str]:
        """Queues with workloads of the losing classes; all queues where none is declared."""
        losing = {victim[0] for _, victim in self.pairs}
        running = [q for q in self.arena.queues() if any(s.priority_class in losing for s in self._shapes(q))]
        return running or list(self.arena.queues())

    def _shapes(self, queue: str) -> list[Shape]:
        promised = [t for t in self.bench.promises.teams if queue in t.queues]
        return [s for team in promised for s in shapes_of(self.arena, team, queue)] or list(
            self.arena.shapes(queue)
        )

    def breaks(self, scenario: Scenario, story: Story, *, within: bool) -> str:
        """In words, the eviction that must not be. ``within``: victims that were within their queue's quota."""
        return taken(scenario, story, self.is_wrong, self._within if within else lambda _: True)

    def _within(self, victims: Mapping[str, Grant]) -> bool:
        """Whether the victims together were within their queue's own quota, in every flavor."""
        held: dict[tuple[str, str, str], int] = {}
        for grant in victims.values():
            for one in grant.sets:
                for resource, flavor in one.flavors.items():
                    key = grant.queue, flavor, resource
                    held[key] = held.get(key, 0) + one.usage.get(resource, 0)
        return all(
            amount <= self.arena.nominal(queue).get((flavor, resource), 0)
            for (queue, flavor, resource), amount in held.items()
        )

    def _failed(self, scenario: Scenario, *, within: bool) -> Verdict:
        found = self.bench.counterexample(
            scenario, lambda s, t: self.breaks(s, t, within=within), f"{self.bench.claim} {self.name}"
        )
        return self._made(FAILS, EXHAUSTIVE, found.timeline[-1], found)

    def _pods(self) -> str:
        """In words, pods that may displace those of a losing class at the default scheduler."""
        value = {**self.arena.classes, "": 0}
        rungs = {(r.taker, r.holder): r for r in self.arena.ladder() if r.may}
        by_class: dict[str, set[str]] = {}
        for queue in self.arena.queues():
            for shape in self._shapes(queue):
                pods = {spec.priority_class for spec in shape.pod_sets}
                by_class.setdefault(shape.priority_class, set()).update(pods)
        wrong = {(taker[0], victim[0]) for taker, victim in self.pairs}
        for taker, victim in sorted(wrong, key=lambda p: (-value.get(p[0], 0), p)):
            for one in sorted(by_class.get(taker, ())):
                for other in sorted(by_class.get(victim, ())):
                    rung = rungs.get((one, other))
                    if rung is not None and taker != victim:
                        return (
                            f"pods of {taker or 'workloads without a class'} have pod priority {one} and may "
                            f"displace pods of {victim} ({other}) when they find no node: {rung.why}"
                        )
        return ""

    def _made(self, outcome: str, basis: str, why: str, found: Counterexample | None) -> Verdict:
        protection = self.bench.promises.protection
        return self.bench.verdict(
            self.name,
            outcome,
            basis,
            why,
            premise={"cellsAllowed": self.allowed, "evictionsUnderPressure": self.pressed},
            evidence={"stories": self.tried, "mode": protection.mode, **self._taken_together()},
            assumptions=self._assumed(),
            counterexample=found,
            derived=protection.derived,
        )

    def _taken_together(self) -> dict[str, Any]:
        """Which pairs of queues were played for which, where some were not played themselves."""
        known = self.together
        if known.chosen == known.pairs:
            return {}
        told = {"pairs": known.pairs, "played": known.chosen, "cellsPlayed": len(known.cells)}
        return {"takenTogether": {**told, "sameButForNames": known.twins, "sameButForAmounts": known.amounts}}

    def _assumed(self) -> tuple[str, ...]:
        if not self.together.amounts:
            return ()
        text = (
            "pairs of queues that differ from others in nothing but the amounts of their quota are decided like "
            f"those: {self.together.amounts} were not played, those with the least and the most were"
        )
        return (text,)


def _each(found: Iterable[Cell]) -> list[Cell]:
    return list(dict.fromkeys(found))


_MEANS = (
    "HOLDS by proof when no policy of any queue allows such an eviction, for any pair of queues and classes. "
    "Where policies allow it, every cell is played with the victim running and others beside it that would "
    "rather have to go (of queues that differ in nothing but the amounts of their quota, those with the least and "
    "the most; the evidence says which were taken together): HOLDS (exhaustive over cells) when it is never the victim, FAILS with the story when it "
    "is. FAILS by proof when pod priority at the default scheduler allows it. UNKNOWN when nothing was ever "
    "evicted in any story."
)

PROTECTED_CLAIM = Claim(
    name=PROTECTED,
    title="Production is not displaced by its equals or by less",
    test=test_protected,
    promise=(
        "No running workload of a protected class is evicted for one of lower or equal class, by the queue "
        "system or by the default scheduler; within its queue's guarantee, or always, as promised."
    ),
    means=_MEANS,
    premise="Some workload was evicted in at least one story while the protected one ran.",
    enforceable=(
        "A workload within its queue's own quota is never taken for another queue; what it borrows can be, by "
        "reclaimWithinCohort Any whatever its priority. Within a queue LowerOrNewerEqualPriority takes newer "
        "equals."
    ),
    remedy=(
        "Give protected workloads quota of their own and keep them within it; withinClusterQueue LowerPriority; "
        "pod priority classes in the same order as those of workloads, batch ones with preemptionPolicy Never."
    ),
)
CONTAINED_CLAIM = Claim(
    name=CONTAINED,
    title="Experiments displace experiments alone",
    test=test_contained,
    promise="A workload of an experimental class never displaces one of another class.",
    means=_MEANS,
    premise="Some workload was evicted in at least one story.",
    enforceable=(
        "A team that asks within its own quota may take back what others borrow whatever its priority "
        "(reclaimWithinCohort Any): that is its right, and only promised away with LowerPriority."
    ),
    remedy="Give experiments a queue of their own with reclaimWithinCohort LowerPriority or Never.",
)
