"""``no-thrash``: nobody is thrown about for ever."""

from __future__ import annotations

from collections.abc import Iterator

from policycheck.certify.arena import SUBMIT, Arena, Scenario, Story
from policycheck.certify.attack import (
    Rival,
    attack,
    drawn,
    fill,
    mixes,
    plain,
    priorities_of,
    rivals,
    sets_within,
)
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.claims.common import Bench, declared, listed
from policycheck.certify.promise import Promises
from policycheck.certify.verdict import FAILS, HOLDS, NOT_APPLICABLE, PROOF, SEARCH, UNKNOWN, Verdict

NAME = "no-thrash"
_DEFAULT = 3  # preemptions of one workload without a new arrival, when nothing is promised


def test(arena: Arena, promises: Promises, effort: Effort) -> list[Verdict]:
    """One verdict for every group of queues that can take from one another."""
    bench = Bench(NAME, arena, promises)
    groups: dict[tuple[str, ...], str] = {}
    for queue in arena.queues():
        if arena.unclear(queue) or arena.inapplicable(queue):
            continue
        groups.setdefault(tuple(sorted((queue, *arena.peers(queue)))), queue)
    found = [_thrash(bench, group, effort) for group in groups]
    return found or [bench.nothing("there is no queue")]


def _thrash(bench: Bench, group: tuple[str, ...], effort: Effort) -> Verdict:
    arena = bench.arena
    most = _DEFAULT if bench.promises.thrash is None else bench.promises.thrash
    name = listed(group)
    derived = () if bench.promises.thrash is not None else ("thrash",)

    def breaks(scenario: Scenario, story: Story) -> str:
        last = max((m.cycle for m in scenario.moves if m.what == SUBMIT), default=0)
        counts: dict[str, int] = {}
        for event in story.happened:
            if event.what == "evicted" and event.by and event.cycle > last:
                counts[event.name] = counts.get(event.name, 0) + 1
        worst = max(counts, key=lambda n: (counts[n], n), default="")
        if story.loop and worst:
            return f"{worst} and others are evicted in turn for ever, every {story.loop} cycles"
        if worst and counts[worst] > most:
            return f"{worst} is evicted {counts[worst]} times without a new arrival, and at most {most} are promised"
        return ""

    if not any(t.may for a in group for b in group for t in arena.rights.may_take(a, b).values()):
        return bench.verdict(name, NOT_APPLICABLE, PROOF, "no queue of it may take from any", derived=derived)
    tried = evicted = 0
    for scenario in _crowds(bench, group, effort):
        story = arena.play(scenario)
        tried += 1
        evicted += any(event.what == "evicted" for event in story.happened)
        if breaks(scenario, story):
            return bench.verdict(
                name,
                FAILS,
                SEARCH,
                breaks(scenario, story),
                premise={"evictions": evicted},
                evidence={"scenarios": tried, "seed": effort.seed, "most": most},
                counterexample=bench.counterexample(scenario, breaks, f"{NAME} {name}"),
                derived=derived,
            )
    evidence = {"scenarios": tried, "seed": effort.seed, "most": most}
    if not evicted:
        return bench.verdict(
            name,
            UNKNOWN,
            SEARCH,
            f"vacuous: nothing was evicted in {tried} stories",
            evidence=evidence,
            derived=derived,
        )
    return bench.verdict(
        name,
        HOLDS,
        SEARCH,
        f"in {tried} stories no workload was evicted more than {most} times after the last arrival",
        premise={"evictions": evicted},
        evidence=evidence,
        derived=derived,
    )


def _crowds(bench: Bench, group: tuple[str, ...], effort: Effort) -> Iterator[Scenario]:
    """Everybody asks for all: each queue in turn comes last, and drawn crowds."""
    arena, shapes = bench.arena, declared(bench.promises)
    top = priorities_of(arena)[0]
    for queue in group:
        own = {r: v for (_, r), v in arena.nominal(queue).items() if v}
        units = next((r for r in own if r in arena.accelerators), next(iter(own), ""))
        if not units:
            continue
        half = plain(units, max(1, own[units] // 2), {}, "half")
        who = rivals(arena, [queue], shapes)
        if not who:  # it takes from nobody but itself: what comes last is of the highest class
            who = [Rival(queue, tuple(shapes.get(queue) or (half,)))]
            half = half._replace(priority=top[1], priority_class=top[0])
        mine = sets_within([half], own, queue)
        if not mine:
            continue
        for mix in list(mixes(arena, who))[:4]:
            asks = fill(arena, who, mix)
            if asks:
                yield attack(asks, mine)
        for number in range(max(1, effort.scenarios // len(group))):
            yield drawn(arena, who, mine, effort.seed, f"{NAME} {queue}", number)


CLAIM = Claim(
    name=NAME,
    title="Nobody is thrown about",
    test=test,
    promise="Without new arrivals no workload is preempted more often than promised.",
    means=(
        "Every queue of a group asks for all it can get, each in turn last, and in drawn orders. FAILS by search "
        "when one workload is evicted more often than promised after the last arrival, or a state repeats for "
        "ever; HOLDS by search. Such livelocks exist in the real scheduler."
    ),
    premise="Something was evicted in at least one story.",
    enforceable="Two policies that each allow what the other takes back keep workloads going in circles.",
    remedy="Do not combine borrowWithinCohort or fair sharing with overlapping reclaim policies; set priorities apart.",
)
