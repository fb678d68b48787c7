"""``burst-usable``: what is idle can be used, by a team whose jobs could run there."""

from __future__ import annotations

from collections.abc import Iterable

from policycheck.certify.arena import SUBMIT, Arena, Ask, Move, Scenario, Story
from policycheck.certify.attack import Mix, Rival, fill, main_resource, plain, settled, size
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.claims.common import MINE, Bench, listed, shapes_of
from policycheck.certify.promise import Promises, Shape, TeamPromise
from policycheck.certify.verdict import EXHAUSTIVE, FAILS, HOLDS, NOT_APPLICABLE, PROOF, UNKNOWN, Verdict

NAME = "burst-usable"


def test(arena: Arena, promises: Promises, effort: Effort) -> list[Verdict]:
    """One verdict a team that was promised what is idle, or that is in no cohort without a reason."""
    bench = Bench(NAME, arena, promises)
    found = [verdict for team in promises.teams if effort.wants(team.name) for verdict in _team(bench, team)]
    return found or [bench.nothing("no team is promised what is idle")]


def _team(bench: Bench, team: TeamPromise) -> Iterable[Verdict]:
    barred = bench.barred(team)
    if barred is not None:
        if team.burst is not None or barred.outcome == FAILS:
            yield barred
        return
    if team.isolated:
        why = f"it is isolated on purpose: {team.isolated}"
        yield bench.verdict(team.name, NOT_APPLICABLE, PROOF, why)
        return
    alone = [q for q in team.queues if not bench.arena.peers(q)]
    if alone and len(alone) == len(team.queues):
        text = f"{listed(alone)} is in no cohort with others: what they leave idle it can not use"
        yield bench.verdict(team.name, FAILS, PROOF, text, premise={"peers": 0}, derived=team.derived)
        return
    if team.burst is None:
        yield bench.verdict(team.name, NOT_APPLICABLE, PROOF, "no share of what is idle is promised")
        return
    yield _reach(bench, team, team.burst)


def _reach(bench: Bench, team: TeamPromise, share: int) -> Verdict:
    """What it gets of what its shapes tolerate while the others are idle, in thousandths."""
    arena = bench.arena
    worst, told, tried = None, None, 0
    for queue in team.queues:
        for shape in _shapes(arena, team, queue):
            idle = arena.tolerated(shape)
            resource = main_resource(shape, arena.accelerators)
            units = idle.get(resource, 0)
            if units < size(shape, resource):
                continue
            for heads in (False, True):
                scenario = _scenario(arena, queue, shape, heads=heads)
                story = arena.play(scenario)
                tried += 1
                got = _held(story, queue, resource)
                reached = got * 1000 // units
                if worst is None or reached < worst:
                    worst = reached
                    told = (scenario, queue, got, units, resource, shape, heads)
    if worst is None or told is None:
        return bench.verdict(
            team.name,
            UNKNOWN,
            EXHAUSTIVE,
            "vacuous: no idle node takes any of its shapes",
            premise={"states": 0},
            derived=team.derived,
        )
    scenario, queue, got, units, resource, shape, heads = told
    beside = " beside queues whose first job can not start" if heads else ""
    text = (
        f"{shape.name} gets {got} of {units} idle {resource} that it tolerates ({worst / 10:.1f} %){beside}"
    )
    evidence = {"promisedShare": share, "reachedShare": worst, "states": tried}
    if worst >= share:
        return bench.verdict(
            team.name,
            HOLDS,
            EXHAUSTIVE,
            text,
            premise={"states": tried},
            evidence=evidence,
            derived=team.derived,
        )

    def breaks(smaller: Scenario, story: Story) -> str:
        mine = [ask for ask in smaller.asks if ask.queue == queue]
        reached = _held(story, queue, resource)
        stuck = [ask.name for ask in mine if ask.name in story.waiting]
        # Asked was no more than the promised share, but for one job.
        asked = sum(size(ask.shape, resource) for ask in mine) - size(shape, resource)
        if reached * 1000 >= share * units or not stuck or asked * 1000 > share * units:
            return ""
        reason = story.waiting[stuck[0]]
        return f"{stuck[0]} waits ({reason}) while {units - reached} of {units} {resource} are idle"

    if breaks(scenario, arena.play(scenario)):
        found = bench.counterexample(scenario, breaks, f"{NAME} {team.name}")
    else:
        found = bench.told(scenario, lambda *_: text, f"{NAME} {team.name}")
    return bench.verdict(
        team.name,
        FAILS,
        EXHAUSTIVE,
        f"{text}; {share / 10:.1f} % are promised",
        premise={"states": tried},
        evidence=evidence,
        counterexample=found,
        derived=team.derived,
    )


def _shapes(arena: Arena, team: TeamPromise, queue: str) -> list[Shape]:
    units = [r for _, r in arena.rights.resources(queue) if r in arena.accelerators]
    own = shapes_of(arena, team, queue)
    return own or [plain(r, 1, {}, f"one {r}") for r in dict.fromkeys(units)]


def _scenario(arena: Arena, queue: str, shape: Shape, *, heads: bool) -> Scenario:
    """The team asks for all it can get. ``heads``: every other queue has one job that no node can take."""
    lowest = min([*arena.classes.items(), ("", 0)], key=lambda c: (c[1], c[0]))
    asks = fill(arena, [Rival(queue, (shape,))], Mix("all", 0, ((shape.priority_class, shape.priority),)))
    asks = [ask._replace(name=f"{MINE}{n}") for n, ask in enumerate(asks, 1)]
    # One more than it can get, so that what stops it can be seen.
    last = len(asks) + 1
    asks.append(Ask(f"{MINE}{last}", queue, shape, shape.priority, shape.priority_class, last))
    moves = []
    if heads:
        moves.append(Move(1, SUBMIT, tuple(_stuck(arena, queue, lowest))))
    moves.append(Move(3 if heads else 1, SUBMIT, tuple(asks)))
    return Scenario(tuple(moves), cycles=settled(asks) + 10)


def _stuck(arena: Arena, queue: str, lowest: tuple[str, int]) -> Iterable[Ask]:
    """A job of one pod that is larger than any node, in every other queue."""
    for peer in arena.peers(queue):
        for resource in dict.fromkeys(r for _, r in arena.rights.resources(peer)):
            if resource in arena.accelerators:
                largest = max(
                    ((n.allocatable or {}).get(resource, 0) for n in arena.inventory.nodes), default=0
                )
                shape = plain(resource, largest + 1, {}, "larger than any node")
                yield Ask(f"stuck-{peer}", peer, shape, lowest[1], lowest[0])
                break


def _held(story: Story, queue: str, resource: str) -> int:
    """What the team's workloads hold of ``resource``, those without nodes in sight left out."""
    return sum(
        one.usage.get(resource, 0)
        for name, grant in story.holding.items()
        if grant.queue == queue and name not in story.unplaced and name not in story.coming
        for one in grant.sets
    )


CLAIM = Claim(
    name=NAME,
    title="What is idle can be used",
    test=test,
    promise="While the others are idle, a team reaches the promised share of the idle accelerators it tolerates.",
    means=(
        "Each shape of the team is submitted until no more is admitted, with the others idle, and once more with "
        "a job in every other queue that can not start. HOLDS (exhaustive over shapes) when the promised share is "
        "reached each time. FAILS by proof for a queue that is in no cohort, unless the promises say isolated."
    ),
    premise="Some idle node takes a shape of the team.",
    enforceable=(
        "A queue can use what its cohort lends, up to its borrowingLimit and the lendingLimits of the others, in "
        "flavors that it has quota of. A job in another queue that holds quota without nodes takes from it."
    ),
    remedy="Put the queue in a cohort, raise borrowingLimit or drop lendingLimit, list the flavors of idle nodes.",
)
