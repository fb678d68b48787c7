"""``gang-whole``: gangs start as a whole, or not for long."""

from __future__ import annotations

from policycheck.certify.arena import SUBMIT, Arena, Ask, Move, Scenario, Story
from policycheck.certify.attack import attack, main_resource, mixes, rivals
from policycheck.certify.attack import fill as filled
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.claims.common import MINE, Bench, declared, listed, shapes_of
from policycheck.certify.promise import Promises, Shape, TeamPromise
from policycheck.certify.verdict import FAILS, HOLDS, PROOF, Verdict

NAME = "gang-whole"


def is_gang(shape: Shape) -> bool:
    """Whether it has several pods that ask for something."""
    return sum(spec.pods for spec in shape.pod_sets if spec.requests) > 1


def gangs(arena: Arena, team: TeamPromise) -> list[tuple[str, Shape]]:
    """(queue, shape) of every gang of a team that asks for accelerators."""
    found = []
    for queue in team.queues:
        if queue not in arena.queues():
            continue
        found += [
            (queue, shape)
            for shape in shapes_of(arena, team, queue)
            if is_gang(shape) and main_resource(shape, arena.accelerators) in arena.accelerators
        ]
    return found


def test(arena: Arena, promises: Promises, effort: Effort) -> list[Verdict]:
    """One verdict a team with gangs: what ends a gang of which only some pods run, and when."""
    bench = Bench(NAME, arena, promises)
    found = [_whole(bench, team) for team in promises.teams if effort.wants(team.name) and gangs(arena, team)]
    return found or [bench.nothing("no team runs gangs")]


def _whole(bench: Bench, team: TeamPromise) -> Verdict:
    barred = bench.barred(team)
    if barred is not None:
        return barred
    limit, why = bench.arena.patience()
    mine = gangs(bench.arena, team)
    names = listed(shape.name for _, shape in mine)
    promised = bench.promises.whole_within
    premise = {"gangs": len(mine)}
    derived = team.derived if promised is not None else (*team.derived, "whole within")
    evidence = {
        "timeoutMs": -1 if limit is None else limit,
        "promisedMs": -1 if promised is None else promised,
    }
    if limit is None:
        placed = [s for q, s in mine if not bench.arena.places(q)]
        if not placed:
            return bench.verdict(
                team.name,
                HOLDS,
                PROOF,
                f"a gang is admitted with a place for each of its pods ({names})",
                premise=premise,
                evidence=evidence,
                derived=derived,
            )
        headline = f"nothing ends a gang of which only some pods run: {why}"
        found = _partial(bench, team)
        if found is not None:
            scenario, breaks = found
            return bench.verdict(
                team.name,
                FAILS,
                PROOF,
                headline,
                premise=premise,
                evidence=evidence,
                derived=derived,
                counterexample=bench.counterexample(scenario, breaks, f"{NAME} {team.name}"),
            )
        return bench.verdict(
            team.name, FAILS, PROOF, headline, premise=premise, evidence=evidence, derived=derived
        )
    if promised is not None and limit > promised:
        text = (
            f"a gang in part may hold its nodes for {limit // 1000} s, and {promised // 1000} s are promised"
        )
        return bench.verdict(
            team.name, FAILS, PROOF, text, premise=premise, evidence=evidence, derived=derived
        )
    return bench.verdict(
        team.name,
        HOLDS,
        PROOF,
        f"a gang of which pods do not start is evicted as a whole after {limit // 1000} s ({names})",
        premise=premise,
        evidence=evidence,
        derived=derived,
    )


def _partial(bench: Bench, team: TeamPromise):  # type: ignore[no-untyped-def] # noqa: ANN202 - a pair
    """A scenario in which a gang has quota, and some of its pods have no node."""
    arena = bench.arena
    who = rivals(arena, team.queues, declared(bench.promises))

    def breaks(_: Scenario, story: Story) -> str:
        stuck = sorted(name for name in story.unplaced if name.startswith(MINE))
        return f"{stuck[0]} holds its quota in part for ever: {story.unplaced[stuck[0]]}" if stuck else ""

    for queue, shape in gangs(arena, team):
        asks = [Ask(f"{MINE}1", queue, shape, shape.priority, shape.priority_class)]
        candidates = [Scenario((Move(1, SUBMIT, tuple(asks)),), cycles=6)]
        candidates += [attack(f, asks) for f in (filled(arena, who, mix) for mix in mixes(arena, who)) if f]
        for scenario in candidates:
            if breaks(scenario, arena.play(scenario)):
                return scenario, breaks
    return None


CLAIM = Claim(
    name=NAME,
    title="A gang runs as a whole, or not for long",
    test=test,
    promise=(
        "The time in which fewer than all pods of an admitted gang run is bounded by what was promised, after "
        "which all of them are evicted."
    ),
    means=(
        "HOLDS by proof when pods that are not ready in time evict the whole job (waitForPodsReady), or when a "
        "gang is only admitted with a place for each pod. FAILS by proof when nothing does, with a story in "
        "which a gang runs in part where one is found. NOT_APPLICABLE without gangs."
    ),
    premise="The team runs at least one gang.",
    enforceable=(
        "Quota is reserved for all pods of a gang at once; whether its pods find nodes is up to the default "
        "scheduler, which starts them one by one, unless the flavor has a topology."
    ),
    remedy="Enable waitForPodsReady with a timeout below what was promised, or give the flavor a topology.",
)
