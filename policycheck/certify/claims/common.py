"""What claims have in common: verdicts for subjects that nothing can be said of, counterexamples, words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from policycheck.certify.arena import Arena, Ask, Scenario, Story
from policycheck.certify.attack import MADE
from policycheck.certify.lives import lives
from policycheck.certify.promise import Promises, Shape, TeamPromise
from policycheck.certify.shrink import shrink
from policycheck.certify.telling import tell
from policycheck.certify.verdict import (
    FAILS,
    NOT_APPLICABLE,
    PROOF,
    UNKNOWN,
    Counterexample,
    Verdict,
)
from policycheck.wording import some

SHRINK = 300  # plays that making one story smaller may take
CYCLES = 2500  # and cycles


def required(promises: Promises, claim: str) -> bool:
    """Whether the claim counts towards a certificate."""
    return claim in promises.required if promises.required else claim != "slo"


class Bench:
    """Makes the verdicts of one claim in one scope."""

    def __init__(self, claim: str, arena: Arena, promises: Promises) -> None:
        self.claim, self.arena, self.promises = claim, arena, promises

    def verdict(self, subject: str, outcome: str, basis: str, headline: str, **more: Any) -> Verdict:
        """A verdict about ``subject``."""
        more.setdefault("required", required(self.promises, self.claim))
        more["assumptions"] = tuple(dict.fromkeys((*self.arena.notes, *more.get("assumptions", ()))))
        return Verdict(self.claim, subject, self.arena.scope, outcome, basis, headline, **more)

    def nothing(self, why: str) -> Verdict:
        """There is no subject."""
        return self.verdict("", NOT_APPLICABLE, PROOF, why)

    def barred(self, team: TeamPromise) -> Verdict | None:
        """A verdict where nothing else can be said: a queue is missing, undecidable, or works elsewhere."""
        known = set(self.arena.queues())
        gone = [q for q in team.queues if q not in known]
        if gone or not team.queues:
            what = f"no queue {', '.join(gone)} in sight" if gone else "no queue holds its quota"
            return self.verdict(
                team.name,
                FAILS,
                PROOF,
                f"{what}: nothing of what was promised can be had",
                derived=team.derived,
            )
        for queue in team.queues:
            elsewhere = self.arena.inapplicable(queue)
            if elsewhere:
                return self.verdict(team.name, NOT_APPLICABLE, PROOF, f"{queue}: {elsewhere}")
            unclear = self.arena.unclear(queue)
            if unclear:
                return self.verdict(team.name, UNKNOWN, PROOF, f"{queue}: {unclear}", derived=team.derived)
        return None

    def counterexample(
        self,
        scenario: Scenario,
        breaks: Callable[[Scenario, Story], str],
        name: str,
        stays: Callable[[Ask], bool] | None = None,
    ) -> Counterexample:
        """The story made small. ``breaks`` says in words how a story breaks the promise, "" when it does not.
        Workloads that ``stays`` names (those that the team runs) are left out or stay as they are. Where stories are
        long, fewer of them are played.
        """
        stays = stays or is_team_s_own
        cycles = 0

        def still(smaller: Scenario) -> bool:
            nonlocal cycles
            if cycles > CYCLES:
                return False
            story = self.arena.play(smaller)
            cycles += story.cycles
            return bool(breaks(smaller, story))

        small = shrink(scenario, still, SHRINK, stays, _is_mine).scenario
        return self.told(small, breaks, name)

    def shown(
        self, scenario: Scenario, breaks: Callable[[Scenario, Story], str], name: str
    ) -> Counterexample | None:
        """The story as it is, if it breaks the promise; else where queues that let nobody in stay as they are."""
        if breaks(scenario, self.arena.play(scenario)):
            return self.told(scenario, breaks, name)
        closed = Bench(self.claim, self.arena.as_written(), self.promises)
        return closed.told(scenario, breaks, name) if breaks(scenario, closed.arena.play(scenario)) else None

    def told(self, scenario: Scenario, breaks: Callable[[Scenario, Story], str], name: str) -> Counterexample:
        """The story as it is."""
        story = self.arena.play(scenario)
        lines = tell(scenario, story, breaks(scenario, story))
        drawn = lives(scenario, story, self.arena.accelerators)
        case = self.arena.case(scenario, name)
        return Counterexample(case, lines, len(scenario.asks), ending_of(story), drawn)


MINE = "mine-"  # names of the workloads of the one whose promise is tested


def is_team_s_own(ask: Ask) -> bool:
    """Whether the workload is a job that the team runs, and so no smaller one will do."""
    return ask.name.startswith(MINE) and ask.shape.source != MADE


def _is_mine(ask: Ask) -> bool:
    return ask.name.startswith(MINE)


def ending_of(story: Story) -> dict[str, Any]:
    """How the story ends, in the words of ``simulate --case``: who holds quota, who waits and why, evictions."""
    evictions: dict[str, int] = {}
    for event in story.happened:
        if event.what == "evicted" and event.by:
            evictions[event.name] = evictions.get(event.name, 0) + 1
    return {
        "reserved": sorted(story.holding),
        "pending": {name: reason for name, reason in sorted(story.waiting.items()) if reason},
        "evictions": dict(sorted(evictions.items())),
        "converged": not story.loop,
    }


def shapes_of(arena: Arena, team: TeamPromise, queue: str) -> list[Shape]:
    """What the team runs: as promised, else as declared in sight."""
    if team.shapes:
        return [shape for shape in team.shapes if not shape.queues or queue in shape.queues]
    return list(arena.shapes(queue))


def declared(promises: Promises) -> Mapping[str, Sequence[Shape]]:
    """Promised shapes by queue."""
    found: dict[str, list[Shape]] = {}
    for team in promises.teams:
        for queue in team.queues:
            mine = [shape for shape in team.shapes if not shape.queues or queue in shape.queues]
            found.setdefault(queue, []).extend(mine)
    return found


def amounts(values: Mapping[str, int]) -> str:
    """``16 nvidia.com/gpu, 512 cpu``."""
    from policycheck.model.amount import show

    return ", ".join(f"{show(resource, value)} {resource}" for resource, value in sorted(values.items()))


def listed(names: Iterable[str], most: int = 5) -> str:
    """Names, the first few of many."""
    return some(list(names), most)
