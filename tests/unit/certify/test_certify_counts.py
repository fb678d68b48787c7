"""How much is played: what does not have to be told apart is taken together, and the evidence says so."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from minimal import FLAVOR, GPU, arena, classes, nodes, queue, shape

from policycheck.certify.claim import Effort
from policycheck.certify.claims import find, starvation
from policycheck.certify.promise import Promises, Protection, TeamPromise
from policycheck.certify.verdict import EXHAUSTIVE, FAILS, HOLDS

BOTH = FLAVOR + classes(production=1000, standard=500) + nodes(8)
PROTECTION = Promises((), Protection(("production",)))
NEWER = "{reclaimWithinCohort: Any, withinClusterQueue: LowerOrNewerEqualPriority}"
BORROWS = (
    "{reclaimWithinCohort: Any, withinClusterQueue: LowerPriority, "
    "borrowWithinCohort: {policy: LowerPriority, maxPriorityThreshold: 2000}}"
)


def teams(sizes: list[int], **more: object) -> str:
    return "".join(queue(f"team{n:02d}", size, **more) for n, size in enumerate(sizes))


def protected(text: str):
    stage = arena(BOTH + text)
    (found,) = find("production-protected").test(stage, PROTECTION, Effort())
    return found, stage.plays


def test_queues_that_are_the_same_but_for_names_are_played_as_one_pair():
    small, few = protected(teams([4, 4]))
    large, many = protected(teams([4] * 12))
    assert (small.outcome, large.outcome) == (HOLDS, HOLDS)
    assert many <= few
    assert large.basis == EXHAUSTIVE
    told = large.evidence["takenTogether"]
    assert (told["pairs"], told["played"], told["sameButForNames"], told["sameButForAmounts"]) == (
        132,
        1,
        131,
        0,
    )
    assert not [a for a in large.assumptions if "amounts" in a]
    assert large.premise["cellsAllowed"] == 264


def test_all_pairs_of_a_few_that_differ_in_amounts_are_played():
    found, _ = protected(teams([1, 2, 4, 8]))
    assert "takenTogether" not in found.evidence
    assert "each of them" in found.headline


def test_of_many_that_differ_in_amounts_the_least_and_the_most_are_played_and_it_is_assumed():
    found, plays = protected(teams(list(range(1, 13))))
    told = found.evidence["takenTogether"]
    assert (told["pairs"], told["played"], told["sameButForAmounts"]) == (132, 16, 116)
    assert "32 that stand for all of them" in found.headline
    assert sum("amounts of their quota" in a for a in found.assumptions) == 1
    assert plays < 16 * 60


def test_what_one_of_many_may_do_is_found():
    one = queue("other", 4, preemption=NEWER)
    found, _ = protected(teams(list(range(1, 13))) + one)
    assert found.outcome == FAILS
    assert "other" in found.headline
    taking = Promises((), Protection(("standard",), mode="always"))
    stage = arena(
        BOTH
        + teams(list(range(1, 13)), preemption="{withinClusterQueue: LowerPriority}")
        + queue("other", 4, preemption=BORROWS)
    )
    (borrowed,) = find("production-protected").test(stage, taking, Effort())
    assert borrowed.outcome == FAILS
    assert "for taker-1 of other" in borrowed.headline


def test_waves_after_the_one_in_which_it_ran_are_not_played(monkeypatch):
    def cycles() -> int:
        stage = arena(BOTH + teams([8, 8, 8]))
        team = TeamPromise("team00", ("team00",), {GPU: 8}, shapes=(shape("job", 8),))
        (found,) = find("no-starvation").test(stage, Promises((team,)), Effort(scenarios=0))
        assert found.outcome == HOLDS
        return stage._theatre.cycles

    few = cycles()
    monkeypatch.setattr(starvation, "_first_wave", lambda scenario: scenario)
    assert 2 * few < cycles()
