"""What holds of every run, whatever the cluster."""

import json
import re
import sys
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from policycheck.simulate.scheduler import PREEMPTING, RESERVED
from policycheck.systems.kueue.case import run
from policycheck.systems.kueue.cases.world import open_session, read_world
from policycheck.systems.kueue.scheduler.moment import NANOS
from policycheck.systems.kueue.scheduler.run import until_stable

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from conformance.compact import expand  # noqa: E402 - tests are no package
from simulator_worlds import worlds  # noqa: E402


def opened(doc):
    world = read_world(expand(doc))
    return world, open_session(world)


def leaves(session):
    """Usage of every queue, worked out from what its holders hold."""
    out = []
    for tree, members in zip(session.trees, session.members, strict=True):
        used = [0] * len(tree.usage)
        for queue in members:
            for item in queue.holders.values() if queue else ():
                for cell, amount in item.amounts:
                    used[cell] += amount
        out.append(used)
    return out


@given(worlds())
def test_usage_is_what_holders_hold_and_within_what_may_be_borrowed(doc):
    world, session = opened(doc)
    for number in range(8):
        session.cycle(world.now + number * NANOS)
        for tree, used in zip(session.trees, leaves(session), strict=True):
            for cell, amount in enumerate(tree.usage):
                assert amount >= 0
                if tree.nodes[cell % tree.size].is_queue:
                    assert amount == used[cell]
                    assert amount <= tree.ceiling[cell]
        session.settle()


@given(worlds())
def test_nobody_both_holds_quota_and_waits(doc):
    world, session = opened(doc)
    everyone = set(session.items)
    for number in range(8):
        decisions = session.cycle(world.now + number * NANOS)
        waiting, holding = {w.workload for w in session.waiting()}, set(session.holding())
        assert not waiting & holding
        assert waiting | holding == everyone
        assert len({d.workload for d in decisions}) == len(decisions)
        for decision in decisions:
            assert (decision.workload in holding) == (decision.outcome == RESERVED)
            assert (decision.grant is not None) == (decision.outcome == RESERVED)
        session.settle()


@given(worlds(), st.randoms(use_true_random=False))
def test_the_order_of_documents_is_irrelevant(doc, shuffle):
    case = expand(doc)
    before = json.dumps(run(case), sort_keys=True)
    shuffle.shuffle(case["objects"])
    assert json.dumps(run(case), sort_keys=True) == before


@given(worlds())
def test_renaming_that_keeps_the_order_renames_and_no_more(doc):
    before = json.dumps(run(expand(doc)), sort_keys=True)
    parts = json.dumps({k: doc[k] for k in ("queues", "cohorts", "work")})
    renamed = re.sub(r"\b([qcw])(\d)", r"\1-called-\2", parts)
    after = json.dumps(run(expand({**doc, **json.loads(renamed)})), sort_keys=True)
    assert after.replace("-called-", "") == before


@given(worlds())
def test_a_cohort_of_one_queue_admits_the_same_as_none(doc):
    alone = {n: t for n, t in doc["queues"].items() if "in=" not in t}
    if not alone:
        return
    work = {n: t for n, t in doc["work"].items() if t.split()[0] in alone}
    doc = {**doc, "queues": alone, "work": work, "cohorts": {}}
    joined = {n: f"in=cohort-of-{n} {t}" for n, t in alone.items()}
    one, other = run(expand(doc)), run(expand({**doc, "queues": joined}))
    assert one["final"] == other["final"]
    assert one["cycles"] == other["cycles"]


@given(worlds())
def test_the_same_input_gives_the_same_bytes(doc):
    assert json.dumps(run(expand(doc))) == json.dumps(run(expand(json.loads(json.dumps(doc)))))


@given(worlds(), st.integers(0, 5))
def test_a_fork_goes_its_own_way_and_decides_alike(doc, steps):
    world, session = opened(doc)
    for number in range(steps):
        session.cycle(world.now + number * NANOS)
        session.settle()
    digest = session.digest()
    fork = session.fork()
    assert fork.digest() == digest
    shown = [d[:8] for d in fork.cycle(world.now + steps * NANOS)]
    fork.settle()
    fork.release(list(fork.items))
    assert session.digest() == digest
    again = [d[:8] for d in session.cycle(world.now + steps * NANOS)]
    assert again == shown


@given(worlds(), st.integers(1, 10**6))
def test_a_digest_does_not_depend_on_the_clock(doc, later):
    world, session = opened(doc)
    other = session.fork()
    for number in range(4):
        session.cycle(world.now + number * NANOS)
        other.cycle(world.now + (later + number) * NANOS)
        session.settle()
        other.settle()
    assert session.digest() == other.digest()


@settings(max_examples=60)
@given(worlds())
def test_reasons_are_those_of_the_decision_whenever_they_are_asked(doc):
    world, session = opened(doc)
    decided = []
    for number in range(6):
        decided += session.cycle(world.now + number * NANOS)
        session.settle()
    for decision in decided:
        reasons = decision.explain()
        again = decision.explain()
        assert reasons == again
        recomputed = any("shared victims" in note for note in reasons.notes)
        if decision.outcome == PREEMPTING and not recomputed:
            taken = {(w.workload, w.why) for w in reasons.weighed if w.taken}
            assert taken == {(v.workload, v.reason) for v in decision.victims}
        if decision.outcome == RESERVED and decision.grant.sets and not recomputed:
            tried = {t.flavor for t in reasons.tried if t.mode != "NoFit"}
            assert tried >= {f for s in decision.grant.sets for f in s.flavors.values()}
        if decision.reason in ("ExceedsMaxQuota", "NoMatchingFlavor"):
            named = {s.reason for t in reasons.tried for s in t.shortfalls} | {
                "NoMatchingFlavor" for t in reasons.tried if t.refusal
            }
            assert decision.reason in named
            assert all(s.missing > 0 for t in reasons.tried for s in t.shortfalls)


@given(worlds())
def test_a_run_that_converged_stays_as_it_is(doc):
    world, session = opened(doc)
    result = until_stable(session, world.now, 30)
    if not result.converged:
        return
    holding, scans = session.holding(), 12
    for number in range(scans):
        session.cycle(world.now + (100 + number) * NANOS)
        session.settle()
    assert session.holding() == holding


@given(worlds())
def test_thrash_is_named_with_a_loop_that_really_repeats(doc):
    world, session = opened(doc)
    result = until_stable(session, world.now, 60, stop_at_loop=True)
    if result.loop is None:
        return
    at = result.cycles[-1].number
    digest = session.digest()
    for number in range(result.loop.period):
        session.cycle(world.now + (at + number) * NANOS)
        session.settle()
    assert session.digest() == digest
