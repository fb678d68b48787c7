"""``topology-honoured``: gangs run close together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from policycheck.certify.arena import SUBMIT, Arena, Ask, Move, Scenario, Story
from policycheck.certify.attack import (
    attack,
    drawn,
    main_resource,
    mixes,
    rivals,
    size,
)
from policycheck.certify.attack import fill as filled
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.claims.common import MINE, Bench, declared, listed
from policycheck.certify.claims.gang import gangs
from policycheck.certify.claims.scattered import fragments, nodes_of
from policycheck.certify.promise import Promises, Shape, TeamPromise
from policycheck.certify.verdict import FAILS, HOLDS, PROOF, SEARCH, UNKNOWN, Verdict
from policycheck.model.workload import PodSet
from policycheck.simulate.scheduler import Grant

NAME = "topology-honoured"
_SHARE = 5  # one of so many of a verdict's drawn scenarios is spent on each gang


def test(arena: Arena, promises: Promises, effort: Effort) -> list[Verdict]:
    """One verdict a team with gangs that need several nodes."""
    bench = Bench(NAME, arena, promises)
    found = []
    for team in promises.teams:
        # Replicas of a service do not wait for one another.
        serving = promises.protection.serving
        mine = [(q, s) for q, s in gangs(arena, team) if s.priority_class not in serving]
        several = [(q, s) for q, s in mine if nodes_of(arena, s) > 1]
        if several and effort.wants(team.name):
            found.append(_topology(bench, team, several, effort))
    return found or [bench.nothing("no team runs gangs that need several nodes")]


def _topology(
    bench: Bench, team: TeamPromise, several: Sequence[tuple[str, Shape]], effort: Effort
) -> Verdict:
    barred = bench.barred(team)
    if barred is not None:
        return barred
    arena = bench.arena
    premise = {"gangsOverSeveralNodes": len(several)}
    too_wide = _too_wide(bench, team, several, premise)
    if too_wide is not None:
        return too_wide
    bare = [s.name for _, s in several if not _hints(s)]
    if bare:
        return bench.verdict(
            team.name,
            FAILS,
            PROOF,
            f"{listed(bare)} need several nodes and say nothing of topology: they may be spread over all of them",
            premise=premise,
            derived=team.derived,
        )
    deaf = [q for q, _ in several if not arena.places(q)]
    if deaf:
        return bench.verdict(
            team.name,
            FAILS,
            PROOF,
            f"{listed(dict.fromkeys(deaf))} does not place pods by topology, so that hints are not looked at",
            premise=premise,
            derived=team.derived,
        )
    if not all(_hints(s) == {"required"} for _, s in several):
        return _spans(bench, team, several, premise, effort)
    placed = sum(not arena.fits(q, s) for q, s in several)
    if not placed:
        why = "vacuous: every gang requires one domain, and none of them is ever admitted"
        return bench.verdict(team.name, UNKNOWN, PROOF, why, premise=premise, derived=team.derived)
    return bench.verdict(
        team.name,
        HOLDS,
        PROOF,
        "every gang requires one domain, and is admitted only with all its pods in one",
        premise={**premise, "placedAlone": placed},
        derived=team.derived,
    )


def _too_wide(
    bench: Bench, team: TeamPromise, several: Sequence[tuple[str, Shape]], premise: dict[str, int]
) -> Verdict | None:
    """A job that requires a domain of which there is none so large: it would run, but for what it requires. Jobs
    in sight count beside those that were promised: whoever submits them waits for ever.
    """
    arena = bench.arena
    known = set(arena.queues())
    seen = [(q, s) for q in team.queues if q in known for s in arena.shapes(q) if nodes_of(arena, s) > 1]
    for queue, shape in (*several, *seen):
        levels = sorted({_level(spec) for spec in shape.pod_sets if _mode(spec) == "required"})
        free = shape._replace(pod_sets=tuple(spec._replace(topology=None) for spec in shape.pod_sets))
        if not levels or not arena.fits(queue, shape) or arena.fits(queue, free):
            continue
        resource = main_resource(shape, arena.accelerators)
        headline = (
            f"{shape.name} requires one {listed(levels)} for {size(shape, resource)} {resource}, and none is so "
            "large: it waits for ever"
        )
        ask = Ask(f"{MINE}1", queue, shape, shape.priority, shape.priority_class)

        def waits(_: Scenario, story: Story, queue: str = queue) -> str:
            reason = story.waiting.get(f"{MINE}1", "")
            return f"{queue} waits for {MINE}1, and nobody else is there: {reason}" if reason else ""

        scenario = Scenario((Move(1, SUBMIT, (ask,)),), cycles=5)
        return bench.verdict(
            team.name,
            FAILS,
            PROOF,
            headline,
            premise=premise,
            counterexample=bench.counterexample(scenario, waits, f"{NAME} {team.name}"),
            derived=team.derived,
        )
    return None


def _level_of(shape: Shape) -> str:
    return next((level for spec in shape.pod_sets if (level := _level(spec))), "")


def _mode(spec: PodSet) -> str:
    return spec.topology.mode if spec.topology is not None else ""


def _level(spec: PodSet) -> str:
    return spec.topology.level if spec.topology is not None else ""


def _hints(shape: Shape) -> set[str]:
    return {
        spec.topology.mode for spec in shape.pod_sets if spec.topology is not None and spec.topology.mode
    } - {"unconstrained"}


class Span(NamedTuple):
    """So many domains of a level, a label of nodes; "" is the level above them."""

    level: str
    domains: int

    def __str__(self) -> str:
        word = self.level.rpartition("/")[2] or "domain"
        return f"{self.domains} {word}{'s' * (self.domains != 1)}"


def _span(arena: Arena, grant: Grant, shape: Shape) -> Span:
    """How far a gang is spread at the levels that it names: podsets that name the same one together."""
    named = {spec.name: _level(spec) for spec in shape.pod_sets}
    levels = sorted(set(named.values()) - {""}) or [""]
    found = []
    for level in levels:
        sets = tuple(s for s in grant.sets if named.get(s.name, "") == level)
        found.append(Span(level, arena.spanned(grant._replace(sets=sets), level)))
    return max(found, key=lambda one: one.domains)


def _spans(
    bench: Bench,
    team: TeamPromise,
    several: Sequence[tuple[str, Shape]],
    premise: dict[str, int],
    effort: Effort,
) -> Verdict:
    """How many domains gangs span that only prefer one, with the others holding all they can."""
    arena, most = bench.arena, bench.promises.domains
    if most is None:
        return bench.verdict(
            team.name,
            UNKNOWN,
            PROOF,
            "a preference has no bound of its own; promises may say how many domains a gang may span",
            premise=premise,
            derived=team.derived,
        )
    who = rivals(arena, team.queues, declared(bench.promises))
    tried, widest = 0, Span("", 0)

    def breaks(scenario: Scenario, story: Story) -> str:
        shapes = {ask.name: ask.shape for ask in scenario.asks if ask.name.startswith(MINE)}
        for name in sorted(shapes.keys() & story.holding.keys()):
            span = _span(arena, story.holding[name], shapes[name])
            if span.domains > most:
                return f"{name} spans {span}, and at most {most} {'is' if most == 1 else 'are'} promised"
        return ""

    for queue, shape in several:
        asks = [Ask(f"{MINE}1", queue, shape, shape.priority, shape.priority_class)]
        scenarios = [Scenario((Move(1, SUBMIT, tuple(asks)),), cycles=6)]
        fills = [f for f in (filled(arena, who, mix) for mix in mixes(arena, who)) if f]
        scenarios += [attack(f, asks) for f in fills]
        scenarios += fragments(arena, who, asks[0], _level_of(shape), nodes_of(arena, shape))
        for number in range(effort.scenarios // _SHARE if who else 0):
            subject = f"{NAME} {team.name} {queue} {shape.name}"
            scenarios.append(drawn(arena, who, asks, effort.seed, subject, number))
        for scenario in scenarios:
            story = arena.play(scenario)
            if f"{MINE}1" in story.holding:
                tried += 1
                span = _span(arena, story.holding[f"{MINE}1"], shape)
                widest = max(widest, span, key=lambda one: one.domains)
            if breaks(scenario, story):
                return bench.verdict(
                    team.name,
                    FAILS,
                    SEARCH,
                    breaks(scenario, story),
                    premise={**premise, "placed": tried},
                    counterexample=bench.counterexample(scenario, breaks, f"{NAME} {team.name}"),
                    derived=team.derived,
                )
    if not tried:
        return bench.verdict(
            team.name,
            UNKNOWN,
            SEARCH,
            "vacuous: no gang was ever placed",
            premise=premise,
            derived=team.derived,
        )
    return bench.verdict(
        team.name,
        HOLDS,
        SEARCH,
        f"in {tried} stories no gang spanned more than {widest}",
        premise={**premise, "placed": tried},
        evidence={"scenarios": tried, "seed": effort.seed, "mostDomains": widest.domains},
        derived=team.derived,
    )


CLAIM = Claim(
    name=NAME,
    title="Gangs run close together",
    test=test,
    promise="Jobs over several nodes carry a topology hint and span at most the promised number of domains.",
    means=(
        "FAILS by proof when such a job says nothing of topology, its queue's flavors place by none, or it requires "
        "a domain of which none is so large (jobs in sight count beside those that are promised). HOLDS by proof "
        "when all of them require a domain and some can be placed; by search when they prefer one and attacks never "
        "spread them over more domains than promised, of the level that each names."
    ),
    premise="The team runs a gang that needs several nodes, and at least one was placed.",
    enforceable="A required domain is never left; a preferred one is left when it has no room.",
    remedy="Annotate the pod template with the required topology, and give the flavor a topologyName.",
)
