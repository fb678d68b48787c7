"""Each claim on a pair of minimal clusters: one where it has to hold, one where it has to fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from minimal import (
    FLAVOR,
    GPU,
    TOPOLOGY,
    arena,
    classes,
    configuration,
    job,
    node,
    nodes,
    pod_classes,
    queue,
    shape,
)

from policycheck.certify.arena import SUBMIT, Ask, Move, Scenario
from policycheck.certify.claim import Effort
from policycheck.certify.claims import find
from policycheck.certify.derive import derive
from policycheck.certify.promise import ALWAYS, Losses, Promises, Protection, TeamPromise
from policycheck.certify.verdict import FAILS, HOLDS, NOT_APPLICABLE, UNKNOWN, Verdict
from policycheck.model.workload import TopologyRequest
from policycheck.systems.kueue.case import run

EFFORT = Effort(30, 1)
NEVER = "{reclaimWithinCohort: Never, withinClusterQueue: LowerPriority}"
LOWER = "{reclaimWithinCohort: LowerPriority, withinClusterQueue: LowerPriority}"


def team(name: str, gpus: int, **more: object) -> TeamPromise:
    return TeamPromise(name, (name,), {GPU: gpus}, **more)


def verdicts(claim: str, text: str, promises: Promises | None = None, **delays: int) -> dict[str, Verdict]:
    """Verdicts by subject, each counterexample replayed to the same end."""
    stage = arena(text, **delays)
    found = find(claim).test(stage, promises or derive(stage), EFFORT)
    for verdict in found:
        if verdict.counterexample is not None and verdict.counterexample.case:
            replay(verdict)
    return {v.subject: v for v in found}


def replay(verdict: Verdict) -> None:
    """The case of a counterexample comes to the end that the verdict tells of."""
    story = verdict.counterexample
    assert len(story.timeline) <= 10
    answer = run(json.loads(json.dumps(story.case)))
    final = answer["final"]
    assert sorted(n.partition("/")[2] for n in final["reserved"]) == story.end["reserved"]
    pending = {n.partition("/")[2]: r for n, r in final["pending"].items()}
    assert {n: r for n, r in story.end["pending"].items() if n in pending} == pending
    evictions = {n.partition("/")[2]: times for n, times in final["evictions"].items()}
    assert {n: t for n, t in story.end["evictions"].items() if n in evictions} == evictions


def outcome(
    claim: str, text: str, promises: Promises | None = None, subject: str = "a", **delays: int
) -> str:
    return verdicts(claim, text, promises, **delays)[subject].outcome


# -- guarantee-honoured: every row of what is enforceable -----------------------------------------------

PAIR = FLAVOR + queue("a", 8) + queue("b", 8) + nodes(2)


def with_a(text: str = "", **spec: object) -> str:
    return FLAVOR + text + queue("a", 8, **spec) + queue("b", 8) + nodes(2)


HONOURED = [
    ("reclaim Any gives nominal", PAIR, None, HOLDS),
    ("Never gives nothing when nothing is kept", with_a(preemption=NEVER), None, FAILS),
    ("Never gives what is never lent", with_a(preemption=NEVER, limits=", lendingLimit: 0"), None, HOLDS),
    (
        "Never gives no more than is never lent",
        with_a(preemption=NEVER, limits=", lendingLimit: 4"),
        None,
        FAILS,
    ),
    (
        "what is never lent is enough where no more was promised",
        with_a(preemption=NEVER, limits=", lendingLimit: 4"),
        Promises((team("a", 4),)),
        HOLDS,
    ),
    (
        "and one more is too much",
        with_a(preemption=NEVER, limits=", lendingLimit: 4"),
        Promises((team("a", 5),)),
        FAILS,
    ),
    ("LowerPriority gives nothing against equals", with_a(preemption=LOWER), None, FAILS),
    (
        "LowerPriority gives nothing while others may be higher",
        with_a(classes(high=100), preemption=LOWER),
        None,
        FAILS,
    ),
    (
        "LowerPriority gives nominal against lower ones alone",
        with_a(preemption=LOWER),
        Promises((team("a", 8, shapes=(shape("top", 1, priority=10),)),)),
        HOLDS,
    ),
    ("quota that is less than promised", PAIR, Promises((team("a", 9),)), FAILS),
    ("a queue that is not there", PAIR, Promises((team("gone", 8),)), FAILS),
    (
        "a queue that nobody else can use",
        FLAVOR + queue("a", 8, cohort="") + nodes(1),
        None,
        HOLDS,
    ),
    ("time that is longer than promised", PAIR, Promises((team("a", 8, within=20_000),)), FAILS),
    ("time that is promised", PAIR, Promises((team("a", 8, within=60_000),)), HOLDS),
    (
        "nodes that may be lost, with one to spare",
        FLAVOR + queue("a", 8) + queue("b", 8) + nodes(3),
        Promises((team("a", 8), team("b", 8)), losses=Losses(1)),
        HOLDS,
    ),
    (
        "nodes that may be lost, with none to spare",
        PAIR,
        Promises((team("a", 8), team("b", 8)), losses=Losses(1)),
        FAILS,
    ),
]


@pytest.mark.parametrize(("row", "text", "promises", "expected"), HONOURED, ids=[r[0] for r in HONOURED])
def test_a_guarantee_is_honoured_or_not(row, text, promises, expected):
    found = verdicts("guarantee-honoured", text, promises)
    name = promises.teams[0].name if promises else "a"
    assert found[name].outcome == expected, found[name]


def test_runs_that_end_bound_what_can_not_be_taken_back():
    """Never, and all jobs of others have a maximum execution time: it waits that long and no longer."""
    limited = job("train", "b", 1, 8, more=', kueue.x-k8s.io/max-exec-time-seconds: "600"')
    own = job("mine", "a", 1, 8, more=', kueue.x-k8s.io/max-exec-time-seconds: "600"')
    text = with_a(preemption=NEVER) + limited + own
    held = verdicts("guarantee-honoured", text)["a"]
    assert (held.outcome, held.evidence["timeToHonourMs"] >= 600_000) == (HOLDS, True)
    late = Promises((team("a", 8, within=300_000),))
    assert outcome("guarantee-honoured", text, late) == FAILS


def test_companions_count():
    """The GPUs are there, and the cpu that a job of ``a`` needs beside is borrowed by nobody's leave."""
    groups = """
  - coveredResources: ["nvidia.com/gpu", "cpu"]
    flavors:
    - name: h100
      resources: [{name: "nvidia.com/gpu", nominalQuota: 8}, {name: cpu, nominalQuota: CPU}]"""
    train = shape("train", 1, pods=8)
    asks = train.pod_sets[0]._replace(requests={GPU: 1, "cpu": 1000})
    promises = Promises((team("a", 8, shapes=(train._replace(pod_sets=(asks,)),)),))

    def text(cpu: int) -> str:
        return (
            FLAVOR
            + queue("a", 8, resourceGroups=groups.replace("CPU", str(cpu)))
            + queue("b", 8, resourceGroups=groups.replace("CPU", "64"))
            + nodes(2)
        )

    assert outcome("guarantee-honoured", text(64), promises) == HOLDS
    assert outcome("guarantee-honoured", text(0), promises) == FAILS


def test_companions_that_end_first_are_told_with_the_fewest_jobs():
    """Eight jobs of a GPU and a core are promised, and there is cpu for one: two of them are enough to see it."""
    groups = """
  - coveredResources: ["nvidia.com/gpu", "cpu"]
    flavors:
    - name: h100
      resources: [{name: "nvidia.com/gpu", nominalQuota: 8}, {name: cpu, nominalQuota: 1}]"""
    train = shape("train", 1)
    asks = train.pod_sets[0]._replace(requests={GPU: 1, "cpu": 1000})
    promises = Promises((team("a", 8, shapes=(train._replace(pod_sets=(asks,)),)),))
    text = FLAVOR + queue("a", 8, cohort="", resourceGroups=groups) + nodes(1)
    found = verdicts("guarantee-honoured", text, promises)["a"]
    assert (found.outcome, found.basis) == (FAILS, "proof")
    assert "8 train have 8 nvidia.com/gpu of a and ask for 8 cpu beside" in found.headline
    assert found.counterexample.workloads == 2


def test_admission_that_may_stand_still_has_no_bound():
    endless = configuration("waitForPodsReady: {blockAdmission: true}")
    assert outcome("guarantee-honoured", PAIR + endless) == FAILS
    limited = configuration(
        "waitForPodsReady: {blockAdmission: true, requeuingStrategy: {backoffLimitCount: 2}}"
    )
    assert outcome("guarantee-honoured", PAIR + limited) == HOLDS


CHECKED = with_a(
    """
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: approval}
spec: {controllerName: example.com/approval}
---""",
    admissionChecksStrategy="{admissionChecks: [{name: approval}]}",
)


def test_a_check_without_a_bound_is_unknown_and_a_known_one_counts():
    assert outcome("guarantee-honoured", CHECKED) == UNKNOWN
    found = verdicts("guarantee-honoured", CHECKED, approval=120_000)["a"]
    assert found.outcome == HOLDS
    assert found.evidence["timeToHonourMs"] > 120_000


@pytest.mark.parametrize("claim", ["guarantee-honoured", "no-starvation"])
@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ("", "selects no namespace"),
        ("{matchLabels: {team: x}}", "does not select the namespace"),
    ],
)
def test_a_queue_that_lets_nobody_in_is_a_story_too(claim, selector, why):
    """The queue stays as it is written in the case, so that the job waits there as well."""
    promises = Promises((team("a", 8, shapes=(shape("train", 1),)),))
    text = (
        with_a(namespaceSelector=selector) if selector else with_a().replace("  namespaceSelector: {}", "", 1)
    )
    found = verdicts(claim, text, promises)["a"]
    assert found.outcome == FAILS
    assert why in found.headline
    assert found.counterexample.workloads == 1
    assert found.counterexample.end["pending"]


def test_multikueue_managers_are_not_certified_here():
    text = CHECKED.replace("example.com/approval", "kueue.x-k8s.io/multikueue")
    assert outcome("guarantee-honoured", text) == NOT_APPLICABLE


def test_what_is_defined_twice_is_unknown():
    twice = PAIR + queue("a", 4)
    assert outcome("guarantee-honoured", twice) == UNKNOWN


def test_a_premise_that_never_occurs_is_vacuous():
    """``b`` may borrow nothing, so nobody ever holds what is ``a``'s."""
    text = FLAVOR + queue("a", 8) + queue("b", 8, limits=", borrowingLimit: 0") + nodes(2)
    found = verdicts("guarantee-honoured", text)["a"]
    assert found.outcome == UNKNOWN
    assert "vacuous" in found.headline


def test_what_others_may_not_borrow_needs_no_taking_back():
    """Never takes nothing back, and there is nothing to take: no failure, and a premise that never occurs."""
    text = FLAVOR + queue("a", 8, preemption=NEVER) + queue("b", 8, limits=", borrowingLimit: 0") + nodes(2)
    assert outcome("guarantee-honoured", text) == UNKNOWN
    some = FLAVOR + queue("a", 8, preemption=NEVER) + queue("b", 8, limits=", borrowingLimit: 2") + nodes(2)
    assert outcome("guarantee-honoured", some) == FAILS
    assert outcome("guarantee-honoured", some, Promises((team("a", 6),))) == HOLDS


def test_fragments_break_a_guarantee_and_the_story_is_small():
    """16 GPUs of quota each on four nodes: pods of others on every node leave no whole node to ``a``."""
    text = FLAVOR + queue("a", 16) + queue("b", 16) + nodes(4)
    whole = shape("train", 8, pods=2)
    promises = Promises((team("a", 16, shapes=(whole,)), team("b", 16)))
    found = verdicts("guarantee-honoured", text, promises)["a"]
    assert found.outcome == FAILS
    assert found.counterexample.workloads <= 5
    assert "Insufficient nvidia.com/gpu" in found.headline


# -- protection ---------------------------------------------------------------------------------------

TWO_CLASSES = classes(production=1000, experiment=100)
PROTECT = Protection(protected=("production",), experiments=("experiment",))


def protected(text: str, protection: Protection = PROTECT) -> Verdict:
    return verdicts("production-protected", text, Promises((team("a", 8),), protection))["production"]


def test_production_within_its_quota_is_not_displaced():
    assert protected(PAIR + TWO_CLASSES).outcome == HOLDS


def test_production_that_borrows_is_displaced_by_whoever_takes_back():
    always = PROTECT._replace(mode=ALWAYS)
    found = protected(PAIR + TWO_CLASSES, always)
    assert found.outcome == FAILS
    assert found.counterexample.workloads == 2
    assert protected(PAIR.replace("Any", "LowerPriority") + TWO_CLASSES, always).outcome == HOLDS


def test_newer_equals_are_displaced_within_a_queue():
    newer = "{reclaimWithinCohort: Never, withinClusterQueue: LowerOrNewerEqualPriority}"
    text = FLAVOR + TWO_CLASSES + queue("a", 8, cohort="", preemption=newer) + nodes(1)
    assert protected(text).outcome == FAILS


def test_pod_priority_is_the_second_ladder():
    """Workloads are in order, and pods of experiments have the higher pod priority."""
    jobs = job(
        "run", "a", 1, 8, more=", kueue.x-k8s.io/priority-class: production", pod="priorityClassName: low"
    )
    tests = job(
        "try", "b", 1, 8, more=", kueue.x-k8s.io/priority-class: experiment", pod="priorityClassName: high"
    )
    text = PAIR + TWO_CLASSES + pod_classes(low="10", high="1000") + jobs + tests
    found = protected(text)
    assert found.outcome == FAILS
    assert "pod priority high" in found.headline
    never = text.replace("value: 1000\n---", "value: 1000\npreemptionPolicy: Never\n---")
    assert protected(never).outcome == HOLDS


def test_a_class_that_nobody_defines_protects_nothing():
    assert protected(PAIR).outcome == FAILS


def test_experiments_displace_experiments_alone():
    def contained(text: str) -> str:
        found = verdicts("experiments-contained", text, Promises((team("a", 8),), PROTECT))
        return found["experiment"].outcome

    lower = PAIR.replace("Any", "LowerPriority") + TWO_CLASSES
    assert contained(lower) == HOLDS
    assert contained(PAIR + TWO_CLASSES) == HOLDS  # production within its quota is not reached
    always = Promises((team("a", 8),), PROTECT._replace(mode=ALWAYS))
    found = verdicts("experiments-contained", PAIR + TWO_CLASSES, always)["experiment"]
    assert found.outcome == FAILS


# -- bursts -------------------------------------------------------------------------------------------


def test_what_is_idle_can_be_used_or_not():
    promises = Promises((team("a", 8, burst=900),))
    assert outcome("burst-usable", PAIR, promises) == HOLDS
    limited = FLAVOR + queue("a", 8, limits=", borrowingLimit: 2") + queue("b", 8) + nodes(2)
    found = verdicts("burst-usable", limited, promises)["a"]
    assert found.outcome == FAILS
    assert found.evidence["reachedShare"] == 625  # 10 of 16
    assert outcome("burst-usable", limited, Promises((team("a", 8, burst=600),))) == HOLDS
    kept = FLAVOR + queue("a", 8) + queue("b", 8, limits=", lendingLimit: 0") + nodes(2)
    assert outcome("burst-usable", kept, promises) == FAILS


def test_a_queue_without_cohort_fails_unless_it_is_isolated():
    text = FLAVOR + queue("a", 8, cohort="") + nodes(2)
    assert outcome("burst-usable", text) == FAILS
    isolated = Promises((team("a", 8, isolated="regulated data"),))
    assert outcome("burst-usable", text, isolated) == NOT_APPLICABLE


def test_jobs_that_can_not_start_take_from_what_is_idle():
    """In the queue of ``b`` a job of 9 GPUs holds quota and no node: 8 GPUs fewer can be borrowed."""
    text = FLAVOR + queue("a", 8) + queue("b", 16) + nodes(3)
    found = verdicts("burst-usable", text, Promises((team("a", 8, burst=900),)))["a"]
    assert found.outcome == FAILS
    assert "can not start" in found.headline


# -- gangs --------------------------------------------------------------------------------------------

GANG = job("train", "a", 2, 8)


def test_gangs_in_part_end_by_a_timeout_or_never():
    on = configuration("waitForPodsReady: {timeout: 5m}")
    off = configuration("waitForPodsReady: {enable: false}").replace("v1beta2", "v1beta1")
    text = FLAVOR + queue("a", 16) + queue("b", 8) + GANG
    promises = Promises((team("a", 16),), whole_within=600_000)
    assert outcome("gang-whole", text + nodes(3) + on, promises) == HOLDS
    assert outcome("gang-whole", text + nodes(3) + on, promises._replace(whole_within=60_000)) == FAILS
    found = verdicts("gang-whole", text + nodes(1) + off, promises)["a"]
    assert found.outcome == FAILS
    assert "in part" in found.counterexample.timeline[-1]


def test_a_gang_that_is_placed_as_a_whole_needs_no_timeout():
    off = configuration("waitForPodsReady: {enable: false}").replace("v1beta2", "v1beta1")
    assert outcome("gang-whole", TOPOLOGY + queue("a", 16) + GANG + nodes(2) + off) == HOLDS


def test_no_gang_no_claim():
    found = verdicts("gang-whole", PAIR)
    assert found[""].outcome == NOT_APPLICABLE


def test_gangs_over_several_nodes_say_where_they_belong():
    def found(text: str, gang: str, domains: int | None = None) -> str:
        promises = Promises((team("a", 16),), domains=domains)
        return outcome("topology-honoured", text + queue("a", 16) + queue("b", 16) + gang, promises)

    required = job("train", "a", 2, 8, template="kueue.x-k8s.io/podset-required-topology: rack")
    preferred = job("train", "a", 2, 8, template="kueue.x-k8s.io/podset-preferred-topology: rack")
    assert found(TOPOLOGY + nodes(4, racks=2), required) == HOLDS
    assert found(TOPOLOGY + nodes(4, racks=2), GANG) == FAILS
    assert found(FLAVOR + nodes(4, racks=2), required) == FAILS
    assert found(TOPOLOGY + nodes(4, racks=2), preferred) == UNKNOWN
    assert found(TOPOLOGY + nodes(4, racks=2), preferred, 2) == HOLDS
    assert found(TOPOLOGY + nodes(4, racks=4), preferred, 1) == FAILS


BLOCKS = TOPOLOGY.replace("{nodeLabel: rack}", "{nodeLabel: block}, {nodeLabel: rack}")


def in_blocks(count: int, racks: int, blocks: int) -> str:
    """Nodes in racks, and racks in blocks."""
    text = nodes(count, racks=racks)
    for rack in range(racks):
        text = text.replace(f"rack: r{rack + 1},", f"rack: r{rack + 1}, block: b{rack * blocks // racks},")
    return text


def test_domains_are_counted_at_the_level_that_a_gang_names():
    """Two nodes in two racks of one block: one block is spanned, and two racks."""

    def found(level: str) -> Verdict:
        gang = job("train", "a", 2, 8, template=f"kueue.x-k8s.io/podset-preferred-topology: {level}")
        text = BLOCKS + in_blocks(4, 4, 1) + queue("a", 16) + queue("b", 16) + gang
        return verdicts("topology-honoured", text, Promises((team("a", 16),), domains=1))["a"]

    assert found("rack").outcome == FAILS
    assert "spans 2 racks, and at most 1 is promised" in found("rack").headline
    assert found("block").outcome == HOLDS
    assert "more than 1 block" in found("block").headline


def test_free_nodes_may_lie_in_as_many_domains_as_there_are():
    """Others fill every node; one in each rack ends, and a gang of two nodes gets those. No fill alone does it."""
    gang = job("train", "a", 2, 8, template="kueue.x-k8s.io/podset-preferred-topology: rack")
    others = shape("small", 8, pods=1)
    teams = (team("a", 16), TeamPromise("b", ("b",), {GPU: 16}, shapes=(others,)))
    text = TOPOLOGY + nodes(4, racks=2) + queue("a", 16) + queue("b", 16) + gang
    found = verdicts("topology-honoured", text, Promises(teams, domains=1))["a"]
    assert found.outcome == FAILS
    assert "spans 2 racks" in found.headline
    assert any(" ends" in line for line in found.counterexample.timeline)
    assert outcome("topology-honoured", text, Promises(teams, domains=2)) == HOLDS


def test_a_domain_that_is_required_has_to_be_there():
    """A gang of three nodes in racks of two: without what it requires it would run."""
    gang = job("train", "a", 3, 8, template="kueue.x-k8s.io/podset-required-topology: rack")
    text = TOPOLOGY + nodes(4, racks=2) + queue("a", 24) + queue("b", 8) + gang
    declared = verdicts("topology-honoured", text, Promises((team("a", 24),)))["a"]
    assert (declared.outcome, declared.counterexample.workloads) == (FAILS, 1)
    assert "requires one rack for 24 nvidia.com/gpu, and none is so large" in declared.headline
    fine = shape("fine", 8, pods=2, topology=TopologyRequest("required", "rack"))
    promised = Promises((team("a", 24, shapes=(fine,)),))
    assert outcome("topology-honoured", text, promised) == FAILS  # somebody submits it all the same
    assert outcome("topology-honoured", text.replace(gang, ""), promised) == HOLDS


def test_gangs_that_are_never_admitted_hold_nothing():
    gang = shape("huge", 8, pods=9, topology=TopologyRequest("required", "rack"))
    promised = Promises((team("a", 24, shapes=(gang,)),))
    text = TOPOLOGY + nodes(4, racks=2) + queue("a", 24) + queue("b", 8)
    assert outcome("topology-honoured", text, promised) == UNKNOWN


# -- waiting ------------------------------------------------------------------------------------------


def test_own_demand_that_can_not_start_blocks_a_strict_queue_for_ever():
    strict = with_a(queueingStrategy="StrictFIFO")
    found = verdicts("no-starvation", strict, Promises((team("a", 8),)))["a"]
    assert found.outcome == FAILS
    assert found.counterexample.workloads == 2
    assert outcome("no-starvation", PAIR, Promises((team("a", 8),))) == HOLDS


def test_small_jobs_of_others_pass_a_large_one_by_for_ever_where_it_can_not_take_back():
    """Others end one by one, and there are never 8 GPUs free at once; who holds the line is not passed by."""
    promises = Promises((team("a", 8, shapes=(shape("big", 8),)),))
    found = verdicts("no-starvation", with_a(preemption=NEVER), promises)["a"]
    assert found.outcome == FAILS
    assert "that came later run in their place" in found.headline
    assert found.counterexample.workloads <= 5
    text = "\n".join(found.counterexample.timeline)
    assert text.count(" ends") >= 2
    assert outcome("no-starvation", with_a(), promises) == HOLDS
    strict = verdicts("no-starvation", with_a(preemption=NEVER, queueingStrategy="StrictFIFO"), promises)["a"]
    assert (
        "behind mine-ahead, which can not start" in strict.headline
    )  # held up by its own, and passed by nobody
    assert strict.counterexample.end["reserved"] == []
    small = Promises((team("a", 8, shapes=(shape("small", 1),)),))
    assert outcome("no-starvation", with_a(preemption=NEVER), small) == HOLDS  # any end is enough for it


def test_nobody_is_thrown_about():
    assert outcome("no-thrash", PAIR, subject="a, b") == HOLDS
    alone = FLAVOR + queue("a", 8, cohort="", preemption="{withinClusterQueue: Never}") + nodes(1)
    assert outcome("no-thrash", alone) == NOT_APPLICABLE


def test_a_case_holds_what_its_queues_have_to_do_with_and_no_more():
    """A cohort without queues lends its quota; a flavor, a class and nodes of others are left out."""
    other = FLAVOR.replace("name: h100", "name: spare").replace("gpu: h100", "gpu: spare")
    lender = f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {{name: more}}
spec:
  parentName: all
  resourceGroups:
  - coveredResources: ["{GPU}"]
    flavors: [{{name: h100, resources: [{{name: "{GPU}", nominalQuota: 4}}]}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Cohort
metadata: {{name: elsewhere}}
---"""
    text = TOPOLOGY + other + lender + classes(high=9, low=1)
    text += queue("a", 8) + queue("b", 8) + queue("c", 8, cohort="elsewhere")
    stage = arena(text + nodes(2) + node(9).replace("gpu: h100", "gpu: spare"))
    asks = (Ask("big", "a", shape("big", 4, pods=5), 9, "high"), Ask("own", "b", shape("own", 4), 9, "high"))
    scenario = Scenario((Move(1, SUBMIT, asks),), cycles=9)
    held: dict[str, set[str]] = {}
    case = stage.case(scenario, "x")
    for one in case["objects"]:
        held.setdefault(one["kind"], set()).add(one["metadata"]["name"])
    assert held["ClusterQueue"] == {"a", "b"}
    assert held["Cohort"] == {"more"}
    assert held["ResourceFlavor"] == {"h100"}
    assert held["WorkloadPriorityClass"] == {"high"}
    assert held["Node"] == {"n0", "n1"}
    story, final = stage.play(scenario), run(json.loads(json.dumps(case)))["final"]
    assert sorted(n.partition("/")[2] for n in final["reserved"]) == sorted(story.holding)
    assert {n.partition("/")[2]: r for n, r in final["pending"].items()} == story.waiting


def test_topology_requests_survive_in_cases():
    """A gang that requires a rack: the case says so, and replays."""
    gang = shape("train", 8, pods=2, topology=TopologyRequest("required", "rack"))
    text = TOPOLOGY + queue("a", 16) + queue("b", 16) + nodes(4, racks=4)
    found = verdicts("guarantee-honoured", text, Promises((team("a", 16, shapes=(gang,)),)))["a"]
    assert found.outcome == FAILS  # no rack has two nodes
    assert found.counterexample.workloads == 1
