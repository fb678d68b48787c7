"""The arena of Kueue: scenarios play out as the scheduler decides, and replay as cases to the same end."""

from __future__ import annotations

import json

import pytest

from policycheck.app import Sources, load
from policycheck.certify.arena import FINISH, RESUME, STOP, SUBMIT, Ask, Move, Scenario
from policycheck.certify.promise import Shape
from policycheck.lint.settings import Settings
from policycheck.model.workload import PodSet, TopologyRequest
from policycheck.source.tree import Listing
from policycheck.systems.kueue.arena.stage import KueueArena
from policycheck.systems.kueue.case import run
from policycheck.systems.kueue.opening import opening

GPU = "nvidia.com/gpu"


def queue(
    name: str, nominal: int, reclaim: str = "Any", within: str = "LowerPriority", **more: object
) -> str:
    extra = "".join(f"\n  {key}: {value}" for key, value in more.items())
    return f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  cohortName: all
  namespaceSelector: {{}}
  preemption: {{reclaimWithinCohort: {reclaim}, withinClusterQueue: {within}}}{extra}
  resourceGroups:
  - coveredResources: ["{GPU}"]
    flavors:
    - name: h100
      resources: [{{name: "{GPU}", nominalQuota: {nominal}}}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: {name}, namespace: team-{name}}}
spec: {{clusterQueue: {name}}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: team-{name}}}
---"""


FLAVOR = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec:
  nodeLabels: {gpu: h100}
  tolerations: [{key: gpu, operator: Exists}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: production}
value: 1000
---"""


def node(number: int, gpus: int = 8, rack: str = "r1") -> str:
    return f"""
apiVersion: v1
kind: Node
metadata:
  name: n{number}
  labels: {{gpu: h100, rack: {rack}, kubernetes.io/hostname: n{number}}}
spec:
  taints: [{{key: gpu, effect: NoSchedule}}]
status:
  allocatable: {{"{GPU}": "{gpus}", cpu: "64", memory: 512Gi, pods: "110"}}
  conditions: [{{type: Ready, status: "True"}}]
---"""


def arena(text: str) -> KueueArena:
    files = {"all.yaml": text}
    sources = Sources(
        ("all.yaml",), read=lambda name: files[name].encode(), tree=Listing(files), in_memory=True
    )
    (cluster,) = load(sources, Settings())
    return KueueArena(cluster, opening(cluster, None))


def ask(name: str, of: str, gpus: int, priority: int = 0, age: int = 0, pods: int = 1, **more: object) -> Ask:
    spec = PodSet("main", pods, {GPU: gpus}, **more)
    return Ask(name, of, Shape(name, (spec,), priority=priority), priority, age=age)


TWO = FLAVOR + queue("a", 8) + queue("b", 8) + node(1) + node(2)
RECLAIM = Scenario(
    (
        Move(1, SUBMIT, (ask("one", "a", 8), ask("two", "a", 8, age=1))),
        Move(4, SUBMIT, (ask("mine", "b", 8, age=9),)),
    )
)


def test_a_guarantee_is_taken_back():
    story = arena(TWO).play(RECLAIM)
    assert [(h.cycle, h.what, h.name, h.reason, h.by) for h in story.happened] == [
        (1, "reserved", "one", "", ""),
        (2, "reserved", "two", "", ""),
        (4, "evicted", "two", "InCohortReclamation", "mine"),
        (5, "reserved", "mine", "", ""),
    ]
    assert set(story.holding) == {"one", "mine"}
    assert story.waiting == {"two": "WaitingForQuota"}
    assert story.evictions("two") == 1
    assert story.unplaced == {}


def test_playing_leaves_nothing_behind():
    stage = arena(TWO)
    assert stage.play(RECLAIM) == stage.play(RECLAIM)
    assert stage.plays == 2


def test_the_order_of_moves_in_a_cycle_and_ends_count():
    stage = arena(TWO)
    ended = Scenario(
        (*RECLAIM.moves[:1], Move(3, FINISH, names=("one",)), Move(4, SUBMIT, (ask("mine", "b", 8),)))
    )
    story = stage.play(ended)
    assert not [h for h in story.happened if h.what == "evicted"]
    assert set(story.holding) == {"two", "mine"}


def test_stopped_queues_drain_and_come_back():
    story = arena(TWO).play(
        Scenario(
            (
                Move(1, SUBMIT, (ask("one", "a", 8),)),
                Move(3, STOP, names=("a",)),
                Move(5, RESUME, names=("a",)),
            )
        )
    )
    assert [(h.cycle, h.what, h.reason) for h in story.happened] == [
        (1, "reserved", ""),
        (3, "evicted", "ClusterQueueStopped"),
        (5, "reserved", ""),
    ]


def test_quota_without_a_node_is_told():
    """16 GPUs of quota, on nodes of 8: a pod of 12 has quota and no node; on lost nodes nobody has one."""
    stage = arena(TWO)
    big = Scenario((Move(1, SUBMIT, (ask("big", "a", 12),)),))
    assert "Insufficient nvidia.com/gpu" in stage.play(big).unplaced["big"]
    small = Scenario((Move(1, SUBMIT, (ask("small", "a", 8),)),))
    assert stage.play(small).unplaced == {}
    assert set(stage.play(small._replace(lost=("n1", "n2"))).unplaced) == {"small"}
    assert stage.fits("a", ask("x", "a", 12).shape).startswith("1 of 1 pods wait")
    assert stage.fits("a", ask("x", "a", 17).shape) == "ExceedsMaxQuota"
    assert stage.fits("a", ask("x", "a", 8).shape) == ""


TOPOLOGY = (
    FLAVOR.replace("spec:\n  nodeLabels", "spec:\n  topologyName: net\n  nodeLabels")
    + """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: net}
spec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}
---"""
    + queue("a", 16)
    + queue("b", 16)
    + node(1)
    + node(2, rack="r2")
    + node(3, rack="r2")
)
GANG = ask("gang", "a", 8, pods=2, topology=TopologyRequest("required", "rack"))


def test_topology_decides_too_and_lost_nodes_are_gone():
    stage = arena(TOPOLOGY)
    story = stage.play(Scenario((Move(1, SUBMIT, (GANG,)),)))
    placement = story.holding["gang"].sets[0].placement
    assert placement == (("kubernetes.io/hostname",), ((("n2",), 1), (("n3",), 1)))
    assert stage.play(Scenario((Move(1, SUBMIT, (GANG,)),), lost=("n3",))).waiting == {
        "gang": "TopologyPlacementFailed"
    }


def replayed(stage: KueueArena, scenario: Scenario) -> dict[str, object]:
    case = json.loads(json.dumps(stage.case(scenario, "story")))
    answer = run(case)
    assert "unsupported" not in answer, answer
    return answer


@pytest.mark.parametrize(
    ("text", "scenario"),
    [
        (TWO, RECLAIM),
        (TWO.replace("Any", "Never"), RECLAIM),
        (TWO, Scenario((*RECLAIM.moves, Move(6, FINISH, names=("one",)), Move(8, STOP, names=("b",))))),
        (TOPOLOGY, Scenario((Move(1, SUBMIT, (GANG,)), Move(2, SUBMIT, (ask("more", "b", 8, pods=2),))))),
        (TOPOLOGY, Scenario((Move(1, SUBMIT, (GANG,)),), lost=("n2",))),
        (FLAVOR + queue("a", 8, stopPolicy="Hold"), Scenario((Move(1, SUBMIT, (ask("one", "a", 8),)),))),
    ],
)
def test_a_case_replays_to_the_same_end(text, scenario):
    stage = arena(text)
    story, answer = stage.play(scenario), replayed(stage, scenario)
    final = answer["final"]
    short = {name.partition("/")[2]: held for name, held in final["reserved"].items()}
    assert set(short) == set(story.holding)
    for name, held in short.items():
        usage = {s["name"]: s["flavors"] for s in held["podSetAssignments"]}
        assert usage == {s.name: dict(s.flavors) for s in story.holding[name].sets}
    waiting = {name.partition("/")[2]: reason for name, reason in final["pending"].items()}
    assert waiting == {n: r for n, r in story.waiting.items() if n in waiting}
    evicted = [(c["cycle"], e["workload"].partition("/")[2]) for c in answer["cycles"] for e in c["evicted"]]
    assert evicted == [(h.cycle, h.name) for h in story.happened if h.what == "evicted" and h.by]


def test_queues_without_an_entrance_get_one_and_it_is_said():
    text = FLAVOR + queue("a", 8).replace("namespaceSelector: {}", "namespaceSelector: {matchLabels: {x: y}}")
    stage = arena(text)
    scenario = Scenario((Move(1, SUBMIT, (ask("one", "a", 8),)),))
    assert set(stage.play(scenario).holding) == {"one"}
    assert any("no LocalQueue in sight leads to a" in note for note in stage.notes)
    assert set(replayed(stage, scenario)["final"]["reserved"]) == {"certify/one"}


@pytest.mark.parametrize(
    ("reclaim", "at", "more", "enforced"),
    [
        ("Any", 0, "", 8),
        ("Never", 0, "", 0),
        ("Never", 0, ", lendingLimit: 3", 5),
        ("LowerPriority", 0, "", 0),
        ("LowerPriority", 1000, "", 0),
        ("LowerPriority", 2000, "", 8),
        ("LowerPriority", 0, ", lendingLimit: 0", 8),
    ],
)
def test_what_a_queue_can_enforce(reclaim, at, more, enforced):
    """Others may borrow with the highest class there is (1000)."""
    text = (
        FLAVOR + queue("a", 8, reclaim).replace("nominalQuota: 8", f"nominalQuota: 8{more}") + queue("b", 8)
    )
    found = arena(text).enforcement("a", "h100", GPU, at)
    assert (found.nominal, found.enforced) == (8, enforced)
    assert found.why


def test_what_it_waits_for_at_worst():
    timing = arena(TWO).timing("a")
    assert (timing.cycle, timing.grace, timing.checks, timing.runs) == (1000, 30_000, 0, None)
    blocking = (
        TWO
        + """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
waitForPodsReady: {enable: true, blockAdmission: true}
---
"""
    )
    assert "for ever" in arena(blocking).timing("a").blocked


def test_pods_of_a_higher_class_displace_lower_ones_unless_they_never_preempt():
    text = (
        TWO
        + """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: serving}
value: 1000
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: polite}
value: 2000
preemptionPolicy: Never
---
"""
    )
    may = {(r.taker, r.holder) for r in arena(text).ladder() if r.may}
    assert may == set()
    with_pods = (
        text
        + """
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: d}
spec: {containers: [{name: m, image: x}]}
---
"""
    )
    assert {(r.taker, r.holder) for r in arena(with_pods).ladder() if r.may} == {("serving", "(no class)")}
