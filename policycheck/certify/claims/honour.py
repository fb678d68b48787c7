"""The verdict about one team's guarantee: arithmetic first, then every attack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from policycheck.certify.arena import SUBMIT, Move, Scenario, Story
from policycheck.certify.attack import (
    main_resource,
    sets_within,
    size,
)
from policycheck.certify.claim import Effort
from policycheck.certify.claims.common import MINE, Bench, amounts, declared, listed
from policycheck.certify.claims.siege import NAME, Part, Siege
from policycheck.certify.promise import Shape, TeamPromise
from policycheck.certify.verdict import (
    FAILS,
    HOLDS,
    PROOF,
    SEARCH,
    UNKNOWN,
    Counterexample,
    Verdict,
)
from policycheck.model.amount import show

_TRIED = 30  # attacks that are looked at for a shorter story
_CYCLES = 500  # that these may take together


class Trial:
    """The verdict about one team."""

    def __init__(self, bench: Bench, team: TeamPromise, parts: Sequence[Part], effort: Effort) -> None:
        self.bench, self.team, self.parts, self.effort = bench, team, parts, effort
        self.arena = bench.arena
        self.siege = Siege(bench, team, parts, effort)
        self.tried = self.exceeded = 0
        self.worst = 0  # ms to honour, over all stories

    # -- verdicts -------------------------------------------------------------------------------

    def failed(self, basis: str, why: str) -> Verdict:
        """It fails by arithmetic: with the story that shows it, when one of the directed attacks does."""
        for scenario in self.siege.directed():
            if self.siege.breaks(scenario, self.arena.play(scenario)):
                return self._verdict(FAILS, basis, why, scenario)
        return self._verdict(FAILS, basis, why, None)

    def unfit(self) -> Iterator[Verdict]:
        """Shapes within the guarantee that do not run even when nobody else is there."""
        for part in self.parts:
            for shape in part.shapes:
                asks = sets_within([shape], part.within, part.queue)[:1]
                scenario = Scenario((Move(1, SUBMIT, tuple(asks)),), cycles=6)
                why = self.arena.fits(part.queue, shape) if asks else ""
                if not why:
                    continue
                headline = f"{shape.name} is within the guarantee of {part.queue} and never runs: {why}"

                def never(_: Scenario, story: Story) -> str:
                    stuck = {*story.waiting, *story.unplaced} & {"mine-1"}
                    return headline if stuck else ""  # noqa: B023 - used before the next turn

                found = self.bench.shown(scenario, never, f"{NAME} {self.team.name}")
                yield self._made(FAILS, PROOF, headline, found)

    def cramped(self) -> Iterator[Verdict]:
        """Shapes of which fewer run at once than the guarantee has room for: all that the queue can ever have of
        what they ask for beside is less.
        """
        for part in self.parts:
            pairs = self.arena.rights.resources(part.queue)
            for shape in part.shapes:
                times, main = self._times(part, shape)
                for resource in dict.fromkeys(r for _, r in pairs if times and r not in self.team.guarantee):
                    asked = times * size(shape, resource)
                    most = sum(self.arena.rights.potential(part.queue, *p) for p in pairs if p[1] == resource)
                    if asked > most:
                        own = show(main, times * size(shape, main))
                        yield self._made(
                            FAILS,
                            PROOF,
                            f"{times} {shape.name} have {own} {main} of {part.queue} and ask for "
                            f"{show(resource, asked)} {resource} beside, of which it never gets more than "
                            f"{show(resource, most)}",
                            self._crowd(part, shape),
                        )

    def _times(self, part: Part, shape: Shape) -> tuple[int, str]:
        """How many of a shape the quota of accelerators has room for, in flavors to which all its pods may go."""
        main = main_resource(shape, self.arena.accelerators)
        each = size(shape, main)
        if not each or main not in part.within:
            return 0, main
        room = sum(
            nominal // each
            for (flavor, resource), nominal in self.arena.nominal(part.queue).items()
            if resource == main and all(self.arena.opens(pods, flavor) for pods in shape.pod_sets)
        )
        return min(room, part.within[main] // each), main

    def _crowd(self, part: Part, shape: Shape) -> Counterexample | None:
        """The story of a shape as often as it has to run, or less often where one waits even so."""
        asks = tuple(sets_within([shape], part.within, part.queue))
        scenario = Scenario((Move(1, SUBMIT, asks),), cycles=4 * len(asks) + 4)

        def waits(_: Scenario, story: Story) -> str:
            name = min(story.waiting, default="")
            return f"{name} waits, and nobody else is there: {story.waiting[name]}" if name else ""

        if not waits(scenario, self.arena.play(scenario)):
            return None
        return self.bench.counterexample(scenario, waits, f"{NAME} {self.team.name}")

    def unknown(self, parts: Sequence[Part]) -> Verdict:
        """A check of unknown length stands between."""
        queues = [part.queue for part in parts if part.timing.checks is None]
        return self._verdict(
            UNKNOWN,
            PROOF,
            f"nothing bounds the admission checks of {', '.join(queues)}; promises may say how long they take",
            None,
        )

    def searched(self) -> Verdict:
        """The outcome of all attacks."""
        if not any(self.siege.asks()):
            return self._verdict(UNKNOWN, SEARCH, "no shape of its own fits into the guarantee", None)
        alone = not self.siege.rivals()
        for scenario in self.siege.every():
            story = self.arena.play(scenario)
            self.tried += 1
            self._note(scenario, story)
            why = self.siege.breaks(scenario, story) or self.siege.late(scenario, story)
            if why:
                return self._verdict(FAILS, SEARCH, why, scenario)
        if alone:
            return self._verdict(HOLDS, PROOF, "nobody else can use its quota, and its shapes run", None)
        if not self.exceeded and not self._kept():
            return self._verdict(
                UNKNOWN,
                SEARCH,
                f"vacuous: in {self.tried} attacks nobody else went beyond its own quota",
                None,
            )
        return self._verdict(
            HOLDS,
            SEARCH,
            f"{amounts(self.team.guarantee)} were had again within {self.worst // 1000} s",
            None,
        )

    def _verdict(self, outcome: str, basis: str, why: str, scenario: Scenario | None) -> Verdict:
        found = None
        if scenario is not None:
            found = self.bench.counterexample(
                self._fewest(scenario), self._broken, f"{NAME} {self.team.name}"
            )
        return self._made(outcome, basis, why, found)

    def _broken(self, scenario: Scenario, story: Story) -> str:
        return self.siege.breaks(scenario, story) or self.siege.late(scenario, story)

    def _fewest(self, scenario: Scenario) -> Scenario:
        """Of the attacks that break it, one in which few workloads hold anything: a small story comes of it. They
        are looked at for so many cycles at most.
        """
        story = self.arena.play(scenario)
        best, least, cycles = scenario, len(story.holding), 0
        for other in islice(self.siege.directed(), _TRIED):
            if cycles > _CYCLES:
                break
            story = self.arena.play(other)
            cycles += story.cycles
            if len(story.holding) < least and self._broken(other, story):
                best, least = other, len(story.holding)
        return best

    def _kept(self) -> bool:
        """Whether the queues lend nothing of what is promised, so that nobody can hold it."""
        rights = self.arena.rights
        return all(
            rights.kept(part.queue, *pair) >= nominal
            for part in self.parts
            for pair, nominal in self.arena.nominal(part.queue).items()
            if pair[1] in self.team.guarantee
        )

    def _made(self, outcome: str, basis: str, why: str, found: Counterexample | None) -> Verdict:
        premise = {"othersExceededNominal": self.exceeded}
        if not self.siege.rivals() or self._kept():
            premise["keptByConstruction"] = 1
        sources = dict.fromkeys(s for part in self.parts for s in part.timing.sources)
        promised = declared(self.bench.promises)
        known = [r.queue for r in self.siege.rivals() if promised.get(r.queue)]
        if known:
            sources[f"{listed(known)} run no other jobs than their promised shapes, in any number"] = None
        return self.bench.verdict(
            self.team.name,
            outcome,
            basis,
            why,
            premise=premise,
            assumptions=tuple(sources),
            evidence={
                "scenarios": self.tried,
                "seed": self.effort.seed,
                "timeToHonourMs": self.worst,
                "guarantee": dict(sorted(self.team.guarantee.items())),
            },
            counterexample=found,
            derived=self.team.derived,
        )

    def _note(self, scenario: Scenario, story: Story) -> None:
        self.worst = max(self.worst, self.siege.spent(scenario, story))
        at = next((m.cycle for m in scenario.moves if any(a.name.startswith(MINE) for a in m.asks)), 0)
        used: dict[str, int] = {}
        asks = {ask.name: ask for ask in scenario.asks}
        held: set[str] = set()
        for event in story.happened:
            if event.cycle < at:
                (held.add if event.what == "reserved" else held.discard)(event.name)
        for name in held & asks.keys():
            ask = asks[name]
            resource = main_resource(ask.shape, self.arena.accelerators)
            used[ask.queue] = used.get(ask.queue, 0) + size(ask.shape, resource)
        for queue, amount in used.items():
            own = [v for (_, r), v in self.arena.nominal(queue).items() if r in self.arena.accelerators]
            if amount > sum(own) and queue not in self.team.queues:
                self.exceeded += 1
                return


__all__ = ["NAME", "Part", "Trial"]
