"""Judging a change finds what linting the whole cluster before and after it would find to be new."""

import admission_worlds as worlds
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policycheck.app.admission import Change
from policycheck.app.reach import TOGETHER, WHOLE, WITHOUT_WORK, WORK_AND_WHOLE
from policycheck.app.world import World, read


def hold(seed):
    """Changes one after another on a random cluster; each is held against linting everything twice."""
    rng = worlds.rng(seed)
    world = World("live")
    groups = rng.sample(worlds.examples(), rng.randint(1, 8))
    for one in (one for group in groups for one in group):
        world.put(one)
    judge = worlds.judge_of(world)
    known = {entry.facts.key: entry.facts for entry in world.cluster().entries.values()}
    found = 0
    for _ in range(3):
        change = worlds.draw(rng, known, groups)
        if change is None:
            continue
        before, after = worlds.both(world, judge, judge._with_transitions(change))
        new = worlds.wanted(before, after, change)
        wanted = {mark: (f.rule, f.message) for mark, f in new.items()}
        judged = judge.judge(change)
        assert {f.fingerprint: (f.rule, f.message) for f in judged.new} == wanted, change.facts.key
        assert judged.errors == ()
        found += len(wanted)
    return found


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_it_is_the_difference_of_two_whole_runs(seed):
    hold(seed)


@pytest.mark.slow
@settings(max_examples=1500)
@given(st.integers(0, 2**32))
def test_it_is_the_difference_of_two_whole_runs_at_length(seed):
    hold(seed)


def test_the_drawn_changes_have_findings():
    assert sum(hold(seed) for seed in range(20)) >= 5


def test_one_change_after_another_in_other_trees():
    world = World("live")
    for one in (worlds.flavor(), worlds.node("n0")):
        world.put(one)
    for n in range(6):
        world.put(worlds.queue(f"q{n}", n + 1, f"c{n // 2}"))
        world.put(worlds.local("main", f"team-{n}", f"q{n}"))
    judge = worlds.judge_of(world)
    for pods in (1, 4, 8, 12):
        for n in (0, 2, 4, 5, 3, 1):
            change = Change(None, read(worlds.job(f"j{pods}", f"team-{n}", pods=pods)))
            before, after = worlds.both(world, judge, change)
            wanted = worlds.wanted(before, after, change)
            assert {f.fingerprint for f in judge.judge(change).new} == wanted.keys()
        name = f"q{pods % 6}"
        old = world.cluster().index.first(read(worlds.queue(name)).key).facts
        change = Change(old, read(worlds.queue(name, pods, "c1")))
        before, after = worlds.both(world, judge, change)
        wanted = worlds.wanted(before, after, change)
        assert {f.fingerprint for f in judge.judge(change).new} == wanted.keys()
        world.put(worlds.queue(name, pods, "c1"))


def test_every_rule_in_the_tables_is_one():
    checks = {rule.check for rule in worlds.book().rules if rule.check}
    assert set(WHOLE) | WITHOUT_WORK | WORK_AND_WHOLE | TOGETHER <= checks
    assert set(WHOLE) >= WORK_AND_WHOLE


def test_what_was_there_before_is_not_new():
    world = worlds.small()
    judge = worlds.judge_of(world)
    wrong = read(worlds.job("big", pods=40))
    assert [f.rule for f in judge.judge(Change(None, wrong)).new] == ["KQ630"]
    labelled = read(worlds.job("big", pods=40, annotations={"team": "vision"}))
    assert judge.judge(Change(wrong, labelled)).new == ()


def test_a_change_for_the_worse_is_new_and_back_again_is_not():
    world = worlds.small()
    judge = worlds.judge_of(world)
    fine, wrong = read(worlds.queue("team-0", 8, "all")), read(worlds.queue("team-0", 80, "all"))
    assert "KQ110" in [f.rule for f in judge.judge(Change(fine, wrong)).new]
    assert judge.judge(Change(wrong, fine)).new == ()


def test_waiting_workloads_that_a_change_makes_impossible_are_told():
    world = worlds.small(worlds.job("waits", pods=12))
    judge = worlds.judge_of(world)
    old, new = read(worlds.queue("team-1", 8, "all")), read(worlds.queue("team-1", 1, "all"))
    found = judge.judge(Change(old, new)).new
    assert [(f.rule, str(f.object)) for f in found] == [("KQ630", "Job team-a/waits")]


def test_alike_waiting_workloads_are_looked_at_once():
    world = worlds.small(*(worlds.job(f"waits-{n}", pods=12) for n in range(50)))
    judge = worlds.judge_of(world)
    old, new = read(worlds.queue("team-1", 8, "all")), read(worlds.queue("team-1", 1, "all"))
    assert len(judge.judge(Change(old, new)).new) == 1


def test_too_many_shapes_are_said_to_be_left_out():
    world = worlds.small(*(worlds.job(f"waits-{n}", pods=n + 1) for n in range(70)))
    judge = worlds.judge_of(world)
    old, new = read(worlds.queue("team-1", 8, "all")), read(worlds.queue("team-1", 1, "all"))
    assert judge.judge(Change(old, new)).left_out == 6


def test_a_deletion_tells_what_it_leaves_behind():
    world = worlds.small(worlds.flavor("a100"))
    judge = worlds.judge_of(world)
    found = judge.judge(Change(read(worlds.flavor()), None)).new
    assert {"KQ640"} <= {f.rule for f in found}


def test_a_suppression_holds_and_its_removal_is_noticed():
    world = worlds.small()
    judge = worlds.judge_of(world)
    quiet = read(worlds.job("big", pods=40, annotations={"policycheck.dev/ignore.KQ630": "a test"}))
    found = judge.judge(Change(None, quiet))
    assert found.new == ()
    assert [one.finding.rule for one in found.suppressed] == ["KQ630"]
    loud = read(worlds.job("big", pods=40))
    assert [f.rule for f in judge.judge(Change(quiet, loud)).new] == ["KQ630"]


def test_words_are_those_of_all_nodes_though_alike_ones_are_looked_at_once():
    world = worlds.small(queues=8)
    judge = worlds.judge_of(world)
    change = Change(None, read(worlds.job("big", gpus=9)))
    before, after = worlds.both(world, judge, change)
    was, now = worlds.lint(before), worlds.lint(after)
    assert {f.message for f in judge.judge(change).new} == {f.message for m, f in now.items() if m not in was}


def test_a_deadline_ends_it():
    from policycheck.app.admission import TooLateError

    judge = worlds.judge_of(worlds.small())
    with pytest.raises(TooLateError):
        judge.judge(Change(None, read(worlds.job("j"))), late=lambda: True)


def test_few_trees_are_looked_at_for_one_queue_of_many():
    world = World("live")
    world.put(worlds.flavor())
    for n in range(300):
        world.put(worlds.queue(f"q{n}", cohort=f"c{n // 10}"))
    judge = worlds.judge_of(world)
    seen = []
    inner = judge.bench.look

    def spy(cluster, rules, *rest):
        seen.append((len(cluster.systems["kueue"].trees.keys()), len(rules)))
        return inner(cluster, rules, *rest)

    judge.bench.look = spy
    old, new = (
        read(worlds.queue("q5", cohort="c0")),
        read(worlds.queue("q5", cohort="c0", queueingStrategy="StrictFIFO")),
    )
    judge.judge(Change(old, new))
    assert max(trees for trees, _ in seen) == 1


@pytest.mark.parametrize(("until", "found"), [("0.18", []), ("0.19", ["XY001"])])
def test_rules_of_ones_own_are_asked_where_they_are_about(tmp_path, until, found):
    from policycheck.app.admission import Judge
    from policycheck.app.bench import Bench
    from policycheck.app.book import rulebook, systems
    from policycheck.lint.settings import Settings

    (tmp_path / "XY001-labelled.yaml").write_text(
        f"""
id: XY001
name: labelled
title: Queues say whose they are
severity: error
confidence: high
phase: queues
subject: kueue.x-k8s.io/ClusterQueue
expression: "has(object.metadata.labels) && 'team' in object.metadata.labels"
message: "{{object.metadata.name}} has no team"
remediation: Add the label team
rationale: Somebody has to be asked.
sources: [https://example.com]
applies: {{until: "{until}"}}
since: "0.1"
examples:
  bad: [{{manifest: "{{}}", findings: ["1:1 metadata"]}}]
  good: [{{manifest: "{{}}"}}]
""",
        encoding="utf-8",
    )
    book = rulebook((str(tmp_path),))
    assert book.problems == ()
    judge = Judge(Bench(worlds.small(), book, systems(), Settings(), worlds.TARGETS))
    new = judge.judge(Change(None, read(worlds.queue("team-9", 0, "all")))).new
    assert [f.rule for f in new if f.rule == "XY001"] == found
