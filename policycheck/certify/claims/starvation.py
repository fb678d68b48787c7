"""``no-starvation``: who asks within the guarantee runs in the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policycheck.certify.arena import FINISH, SUBMIT, Arena, Ask, Move, Scenario, Story
from policycheck.certify.attack import (
    drawn,
    fill,
    main_resource,
    mixes,
    plain,
    priorities_of,
    rivals,
    sets_within,
    settled,
)
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.claims.common import MINE, Bench, declared, shapes_of
from policycheck.certify.claims.rolling import passed_by, rolling
from policycheck.certify.promise import Promises, Shape, TeamPromise
from policycheck.certify.verdict import FAILS, HOLDS, PROOF, SEARCH, UNKNOWN, Verdict

NAME = "no-starvation"
_WAVES = 6  # in which others go on coming
_SHARE = 25  # one of so many of a verdict's drawn scenarios is spent on each shape: a story of waves is long


def test(arena: Arena, promises: Promises, effort: Effort) -> list[Verdict]:
    """One verdict a team with a guarantee."""
    bench = Bench(NAME, arena, promises)
    found = [
        _starvation(bench, team, effort)
        for team in promises.teams
        if effort.wants(team.name) and any(team.guarantee.values())
    ]
    return found or [bench.nothing("no team is guaranteed anything")]


def _starvation(bench: Bench, team: TeamPromise, effort: Effort) -> Verdict:
    barred = bench.barred(team)
    if barred is not None:
        return barred
    never = _never(bench, team) or _passed(bench, team)
    if never is not None:
        return never
    arena = bench.arena
    tried = came = 0
    for scenario in _streams(bench, team, effort):
        # What has run has run, whatever comes after it.
        story = arena.play(_first_wave(scenario))
        if not _ran(story):
            story = arena.play(scenario)
        tried += 1
        came += any(event.what == "reserved" and not event.name.startswith(MINE) for event in story.happened)
        if _starved(scenario, story):
            return bench.verdict(
                team.name,
                FAILS,
                SEARCH,
                _starved(scenario, story),
                premise={"othersWentOn": came},
                evidence={"scenarios": tried},
                counterexample=bench.counterexample(scenario, _starved, f"{NAME} {team.name}"),
                derived=team.derived,
            )
    evidence = {"scenarios": tried, "seed": effort.seed, "waves": _WAVES}
    premise = {"othersWentOn": came}
    if not tried:
        return bench.verdict(
            team.name, UNKNOWN, SEARCH, "no job of its own fits into the guarantee", derived=team.derived
        )
    if not came:
        alone = "nobody else can use its quota, and its own jobs come to an end"
        return bench.verdict(
            team.name,
            HOLDS,
            SEARCH,
            alone,
            premise={"ownDemandAhead": tried},
            evidence=evidence,
            derived=team.derived,
        )
    return bench.verdict(
        team.name,
        HOLDS,
        SEARCH,
        f"in {tried} stories with others going on to come, what was within the guarantee ran",
        premise=premise,
        evidence=evidence,
        derived=team.derived,
    )


def _never(bench: Bench, team: TeamPromise) -> Verdict | None:
    """A job of the team within its guarantee that does not run even when nobody else is there."""
    arena = bench.arena
    for queue in team.queues:
        own = _guarantee(arena, team, queue)
        for shape in shapes_of(arena, team, queue):
            why = arena.fits(queue, shape) if sets_within([shape], own, queue) else ""
            if not why:
                continue
            scenario = _stream(arena, queue, shape, None, ())
            return bench.verdict(
                team.name,
                FAILS,
                PROOF,
                f"{shape.name} is within the guarantee of {queue} and never runs, whoever else is there: {why}",
                premise={"withinTheGuarantee": 1},
                counterexample=bench.shown(scenario, _starved, f"{NAME} {team.name}"),
                derived=team.derived,
            )
    return None


def _passed(bench: Bench, team: TeamPromise) -> Verdict | None:
    """A job within the guarantee that smaller ones of others pass by for ever."""
    arena = bench.arena
    who = rivals(arena, team.queues, declared(bench.promises))
    for queue in team.queues if who else ():
        own = _guarantee(arena, team, queue)
        for shape in shapes_of(arena, team, queue):
            if not sets_within([shape], own, queue) or not _waits_for_ends(arena, queue, shape.priority):
                continue  # what it takes back nobody can keep it waiting for
            scenario = rolling(arena, who, queue, shape)
            if scenario is None:
                continue
            if passed_by(scenario, arena.play(scenario)):
                found = bench.counterexample(scenario, passed_by, f"{NAME} {team.name}")
                return bench.verdict(
                    team.name,
                    FAILS,
                    SEARCH,
                    found.timeline[-1],
                    premise={"othersWentOn": 1},
                    evidence={"scenarios": 1},
                    counterexample=found,
                    derived=team.derived,
                )
    return None


def _waits_for_ends(arena: Arena, queue: str, at: int) -> bool:
    """Whether there is quota of its own that a job of priority ``at`` can not take back."""
    return any(
        found.enforced < found.nominal
        for (flavor, resource), nominal in arena.nominal(queue).items()
        if nominal and resource in arena.accelerators
        for found in (arena.enforcement(queue, flavor, resource, at),)
    )


def _starved(scenario: Scenario, story: Story) -> str:
    """In words, the job within the guarantee that never ran; "" when it did, or while somebody goes on for ever."""
    name = f"{MINE}last"
    ended = {name for move in scenario.moves if move.what == FINISH for name in move.names}
    if _ran(story) or name not in story.waiting or not ended.issuperset(story.holding):
        return ""  # who waits for what never ends is not starved by it
    ask = next(a for a in scenario.asks if a.name == name)
    ahead = [a.name for a in scenario.asks if a.name.startswith(f"{MINE}ahead") and a.name in story.waiting]
    behind = f" behind {ahead[0]}, which can not start ({story.waiting[ahead[0]]})" if ahead else ""
    return f"{ask.queue} waits for {name}{behind} ({story.waiting[name] or 'never looked at'})"


def _ran(story: Story) -> bool:
    return any(event.what == "reserved" and event.name == f"{MINE}last" for event in story.happened)


def _first_wave(scenario: Scenario) -> Scenario:
    """The scenario up to the cycle in which the first wave ends."""
    end = min((move.cycle for move in scenario.moves if move.what == FINISH), default=scenario.cycles)
    return scenario._replace(moves=tuple(m for m in scenario.moves if m.cycle <= end), cycles=end)


def _streams(bench: Bench, team: TeamPromise, effort: Effort) -> Iterator[Scenario]:
    """Others come in waves, each wave ends, and between them waits a job within the guarantee, behind a
    finite number of the team's own: one that runs, and one that is larger than all there is. Then waves that
    are drawn.
    """
    arena = bench.arena
    who = rivals(arena, team.queues, declared(bench.promises))
    for queue in team.queues:
        own = _guarantee(arena, team, queue)
        units = [r for r in own if r in arena.accelerators]
        for shape in [*shapes_of(arena, team, queue), *(plain(r, 1, {}, f"one {r}") for r in units[:1])]:
            if arena.fits(queue, shape) or not sets_within([shape], own, queue):
                continue
            before = (None, *_ahead(arena, queue, shape, own))
            for ahead in before:
                first = next((f for f in (fill(arena, who, m) for m in mixes(arena, who)) if f), [])
                yield _stream(arena, queue, shape, ahead, first)
            for number in range(effort.scenarios // _SHARE if who else 0):
                asks = sets_within([shape], own, queue)[:1]
                wave = drawn(arena, who, asks, effort.seed, f"{NAME} {queue} {shape.name}", number).asks
                others = [ask for ask in wave if not ask.name.startswith(MINE)]
                yield _stream(arena, queue, shape, before[number % len(before)], others)


def _guarantee(arena: Arena, team: TeamPromise, queue: str) -> dict[str, int]:
    own: dict[str, int] = {}
    for (_, resource), nominal in arena.nominal(queue).items():
        own[resource] = own.get(resource, 0) + nominal
    return {r: min(v, team.guarantee.get(r, v)) for r, v in own.items() if v}


def _ahead(arena: Arena, queue: str, shape: Shape, own: dict[str, int]) -> Iterator[Shape]:
    """Own demand that comes first: a job that has all of the guarantee, and one that is larger than all."""
    resource = main_resource(shape, arena.accelerators)
    most = sum(
        min(arena.rights.potential(queue, *pair), 1 << 32)
        for pair in arena.rights.resources(queue)
        if pair[1] == resource
    )
    whole = plain(resource, 1, {}, "all of the guarantee")
    for pods in (own.get(resource, 0), most + 1):
        if pods > 0:
            yield whole._replace(pod_sets=(whole.pod_sets[0]._replace(pods=pods),))


def _stream(arena: Arena, queue: str, shape: Shape, ahead: Shape | None, wave: Sequence[Ask]) -> Scenario:
    top = priorities_of(arena)[0]
    at = settled(wave) if wave else 1
    moves: list[Move] = []
    for number in range(_WAVES if wave else 1):
        begin = 1 + number * (at + 2)
        coming = tuple(
            ask._replace(
                name=f"{ask.name}-w{number + 1}", priority=top[1], priority_class=top[0], age=10 + number
            )
            for ask in wave
        )
        if coming:
            moves.append(Move(begin, SUBMIT, coming))
            moves.append(Move(begin + at + 1, FINISH, names=tuple(a.name for a in coming)))
    asks = []
    if ahead is not None:
        asks.append(Ask(f"{MINE}ahead", queue, ahead, shape.priority, shape.priority_class, age=1))
    asks.append(Ask(f"{MINE}last", queue, shape, shape.priority, shape.priority_class, age=2))
    moves.append(Move(2, SUBMIT, tuple(asks)))
    if ahead is not None:
        moves.append(Move(3 + _WAVES * (at + 2), FINISH, names=(f"{MINE}ahead",)))
    moves.sort(key=lambda move: move.cycle)
    last = moves[-1].cycle
    # The end of own demand ahead counts only when it ran: what never starts never ends.
    if ahead is not None and arena.fits(queue, ahead):
        moves = [m for m in moves if m.names != (f"{MINE}ahead",)]
    return Scenario(tuple(moves), cycles=last + 20)


CLAIM = Claim(
    name=NAME,
    title="Nobody starves within the guarantee",
    test=test,
    promise=(
        "A job within the guarantee, with finitely many of the team's own jobs ahead of it, runs although others "
        "go on to come with the highest priority."
    ),
    means=(
        "Others come in waves and end; a job within the guarantee waits among them, behind nothing, behind a job "
        "with all of the guarantee, and behind one that is larger than all there is; and smaller jobs of others "
        "come and end one by one. FAILS by search when it "
        "never runs, by proof when it does not even where nobody else is there; HOLDS by search."
    ),
    premise="Others got quota in at least one story, or own demand stood ahead.",
    enforceable=(
        "StrictFIFO lets a job that can not start hold up everything behind it. BestEffortFIFO goes on with the "
        "next, and may then pass a large job by for ever while small ones fit."
    ),
    remedy="BestEffortFIFO, reclaimWithinCohort Any, and a queue of their own for jobs of another size.",
)
