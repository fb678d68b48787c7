"""``topology-honoured``: gangs run close together."""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.certify.arena import SUBMIT, Arena, Ask, Move, Scenario, Story
from policycheck.certify.attack import attack, drawn, main_resource, mixes, rivals, size
from policycheck.certify.attack import fill as filled
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.claims.common import MINE, Bench, declared, listed
from policycheck.certify.claims.gang import gangs
from policycheck.certify.promise import Promises, Shape, TeamPromise
from policycheck.certify.verdict import FAILS, HOLDS, PROOF, SEARCH, UNKNOWN, Verdict

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
        several = [(q, s) for q, s in mine if _nodes(arena, s) > 1]
        if several:
            found.append(_topology(bench, team, several, effort))
    return found or [bench.nothing("no team runs gangs that need several nodes")]


def _nodes(arena: Arena, shape: Shape) -> int:
    """How many nodes it needs at least."""
    resource = main_resource(shape, arena.accelerators)
    most = max(((n.allocatable or {}).get(resource, 0) for n in arena.inventory.nodes if n.usable), default=0)
    return -(-size(shape, resource) // most) if most else 1


def _topology(
    bench: Bench, team: TeamPromise, several: Sequence[tuple[str, Shape]], effort: Effort
) -> Verdict:
    barred = bench.barred(team)
    if barred is not None:
        return barred
    arena = bench.arena
    premise = {"gangsOverSeveralNodes": len(several)}
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
    if all(_hints(s) == {"required"} for _, s in several):
        return bench.verdict(
            team.name,
            HOLDS,
            PROOF,
            "every gang requires one domain, and is admitted only with all its pods in one",
            premise=premise,
            derived=team.derived,
        )
    return _spans(bench, team, several, premise, effort)


def _hints(shape: Shape) -> set[str]:
    return {
        spec.topology.mode for spec in shape.pod_sets if spec.topology is not None and spec.topology.mode
    } - {"unconstrained"}


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
    tried, worst = 0, 0

    def breaks(_: Scenario, story: Story) -> str:
        spanned = {n: arena.spanned(g) for n, g in story.holding.items() if n.startswith(MINE)}
        wide = {n: d for n, d in spanned.items() if d > most}
        name = min(wide, default="")
        return f"{name} spans {wide[name]} domains, and at most {most} are promised" if wide else ""

    for queue, shape in several:
        asks = [Ask(f"{MINE}1", queue, shape, shape.priority, shape.priority_class)]
        scenarios = [Scenario((Move(1, SUBMIT, tuple(asks)),), cycles=6)]
        scenarios += [attack(f, asks) for f in (filled(arena, who, mix) for mix in mixes(arena, who)) if f]
        for number in range(effort.scenarios // _SHARE if who else 0):
            subject = f"{NAME} {team.name} {queue} {shape.name}"
            scenarios.append(drawn(arena, who, asks, effort.seed, subject, number))
        for scenario in scenarios:
            story = arena.play(scenario)
            if f"{MINE}1" in story.holding:
                tried += 1
                worst = max(worst, arena.spanned(story.holding[f"{MINE}1"]))
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
        f"in {tried} stories no gang spanned more than {worst} domains",
        premise={**premise, "placed": tried},
        evidence={"scenarios": tried, "seed": effort.seed, "mostDomains": worst},
        derived=team.derived,
    )


CLAIM = Claim(
    name=NAME,
    title="Gangs run close together",
    test=test,
    promise="Jobs over several nodes carry a topology hint and span at most the promised number of domains.",
    means=(
        "FAILS by proof when such a job says nothing of topology, or its queue's flavors place by none. HOLDS by "
        "proof when all of them require a domain; by search when they prefer one and attacks never spread them "
        "wider than promised."
    ),
    premise="The team runs a gang that needs several nodes; for preferences, at least one was placed.",
    enforceable="A required domain is never left; a preferred one is left when it has no room.",
    remedy="Annotate the pod template with the required topology, and give the flavor a topologyName.",
)
