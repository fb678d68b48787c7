"""``inference-protected`` on pairs of minimal clusters."""

from __future__ import annotations

import sys
from itertools import product
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from minimal import FLAVOR, GPU, TOPOLOGY, arena, classes, job, node, nodes, pod_classes, queue, shape

from policycheck.certify.claim import Effort
from policycheck.certify.claims import find
from policycheck.certify.claims.worst import Spot, left
from policycheck.certify.derive import derive
from policycheck.certify.promise import Promises, Protection, TeamPromise
from policycheck.certify.verdict import FAILS, HOLDS, NOT_APPLICABLE, PROOF, UNKNOWN, Verdict

LLM = "Deployment serving/llm"


def service(
    replicas: int = 1,
    gpus: int = 8,
    *,
    surge: str = "0",
    of: str = "",
    priority: str = "",
    pod: str = "",
    pool: str = "",
) -> str:
    labels = f"kueue.x-k8s.io/queue-name: {of}" if of else ""
    labels += f", kueue.x-k8s.io/priority-class: {priority}" if priority else ""
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: llm, namespace: {f"team-{of}" if of else "serving"}, labels: {{{labels}}}}}
spec:
  replicas: {replicas}
  strategy: {{rollingUpdate: {{maxSurge: {surge}}}}}
  selector: {{matchLabels: {{a: b}}}}
  template:
    metadata: {{labels: {{a: b}}}}
    spec:
      {f"priorityClassName: {pod}" if pod else ""}
      {f"nodeSelector: {{pool: {pool}}}" if pool else ""}
      tolerations: [{{operator: Exists}}]
      containers: [{{name: m, image: x, resources: {{limits: {{{GPU}: {gpus}}}}}}}]
---"""


def verdicts(text: str, promises: Promises | None = None) -> dict[str, Verdict]:
    stage = arena(text)
    return {
        v.subject: v for v in find("inference-protected").test(stage, promises or derive(stage), Effort())
    }


BATCH = FLAVOR + queue("a", 16)
RANKED = pod_classes(serving="1000", batch="10")
LOW = job("train", "a", 2, 8, pod="priorityClassName: batch")
HIGH = job("train", "a", 2, 8, pod="priorityClassName: serving").replace("train", "vip")


@pytest.mark.parametrize(
    ("row", "text", "expected"),
    [
        ("nodes that quota can not fill", BATCH + nodes(3) + service(8, 1), HOLDS),
        ("one unit on each of them keeps out whole ones", BATCH + nodes(3) + service(), FAILS),
        ("quota that may fill every node", BATCH + nodes(2) + service(), FAILS),
        (
            "single units on every node keep out whole ones",
            FLAVOR + queue("a", 2) + nodes(2) + service(),
            FAILS,
        ),
        ("small ones find room beside them", FLAVOR + queue("a", 2) + nodes(2) + service(2, 4), HOLDS),
        ("a rollout needs more", BATCH + nodes(3) + service(8, 1, surge="1"), FAILS),
        ("and has it", BATCH + nodes(4) + service(8, 1, surge="1"), HOLDS),
        ("a higher pod priority makes room", BATCH + nodes(2) + RANKED + LOW + service(pod="serving"), HOLDS),
        ("an equal one does not", BATCH + nodes(2) + RANKED + HIGH + service(pod="serving"), FAILS),
        (
            "a higher one of batch work displaces it",
            BATCH + nodes(4) + RANKED + HIGH + service(pod="batch"),
            FAILS,
        ),
        (
            "nodes of its own",
            BATCH
            + nodes(2)
            + node(7, labels={"pool": "s"}).replace("gpu: h100", "gpu: other")
            + service(pool="s"),
            HOLDS,
        ),
        ("not even empty nodes", BATCH + nodes(3) + service(gpus=16), FAILS),
        ("no inventory", BATCH + service(), UNKNOWN),
    ],
)
def test_services_outside_of_queues(row, text, expected):
    found = verdicts(text)[LLM]
    assert found.outcome == expected, found
    assert any("how fast" in one for one in found.assumptions)


RUNS = FLAVOR + RANKED + classes(serving=1000, batch=10)
KEEPS = "{reclaimWithinCohort: Any, withinClusterQueue: Never}"


def test_a_replica_in_a_queue_is_not_taken_where_it_is_within_quota():
    text = (
        RUNS
        + queue("a", 8)
        + queue("b", 8)
        + nodes(2)
        + service(2, 4, of="a", priority="serving", pod="serving")
    )
    found = verdicts(text)["Deployment team-a/llm"]
    assert found.outcome == HOLDS, found


def test_a_replica_of_a_low_class_is_taken_within_its_queue():
    text = (
        RUNS
        + queue("a", 8)
        + queue("b", 8)
        + nodes(2)
        + service(2, 4, of="a", priority="batch", pod="serving")
    )
    found = verdicts(text)["Deployment team-a/llm"]
    assert found.outcome == FAILS
    assert found.counterexample.workloads <= 5
    assert "is evicted for" in found.headline
    own = RUNS + queue("a", 8, preemption=KEEPS) + queue("b", 8) + nodes(2)
    assert (
        verdicts(own + service(2, 4, of="a", priority="batch", pod="serving"))[
            "Deployment team-a/llm"
        ].outcome
        == HOLDS
    )


def test_quota_has_to_cover_a_rollout():
    text = RUNS + queue("a", 8) + queue("b", 8) + nodes(3)
    found = verdicts(text + service(2, 4, surge="1", of="a", priority="serving", pod="serving"))[
        "Deployment team-a/llm"
    ]
    assert found.outcome == FAILS
    assert "rollout" in found.headline
    alone = RUNS + queue("a", 8, cohort="") + nodes(3)
    short = verdicts(alone + service(2, 4, surge="1", of="a", priority="serving", pod="serving"))[
        "Deployment team-a/llm"
    ]
    assert (short.outcome, short.basis) == (FAILS, PROOF)
    wide = RUNS + queue("a", 12) + queue("b", 8) + nodes(3)
    assert (
        verdicts(wide + service(2, 4, surge="1", of="a", priority="serving", pod="serving"))[
            "Deployment team-a/llm"
        ].outcome
        == HOLDS
    )


def test_jobs_of_serving_classes_are_subjects():
    promises = Promises(
        (TeamPromise("a", ("a",), {GPU: 8}, shapes=(shape("chat", 4, 2, "serving", 1000),)),),
        Protection(serving=("serving",)),
    )
    text = RUNS + queue("a", 8) + queue("b", 8) + nodes(3)
    assert verdicts(text, promises)["a: chat"].outcome == HOLDS
    low = promises._replace(teams=(promises.teams[0]._replace(shapes=(shape("chat", 4, 2, "serving", 1),)),))
    assert verdicts(text, low)["a: chat"].outcome == FAILS


@pytest.mark.parametrize(
    ("row", "gpus", "expected"),
    [("what all of them need is there", 40, HOLDS), ("batch work takes what one of them needs", 32, FAILS)],
)
def test_services_have_room_beside_each_other(row, gpus, expected):
    """Each of them alone has room beside 8 GPUs of batch work; both have it on five nodes and not on four."""
    teams = (
        TeamPromise("s", ("s",), {GPU: 16}, shapes=(shape("chat", 1, 16, "serving", 1000),)),
        TeamPromise("t", ("t",), {GPU: 16}, shapes=(shape("search", 1, 16, "serving", 1000),)),
    )
    promises = Promises(teams, Protection(serving=("serving",)))
    apart = {"cohort": "", "preemption": "{withinClusterQueue: Never}"}
    text = TOPOLOGY + classes(serving=1000) + queue("a", 8, cohort="batch")
    text += queue("s", 16, **apart) + queue("t", 16, **apart) + nodes(gpus // 8)
    found = verdicts(text, promises)["s: chat"]
    assert (found.outcome, found.basis) == (expected, PROOF), found
    if expected == FAILS:
        assert "8 of 16 pods of 1 nvidia.com/gpu have room beside the other services" in found.headline
        assert found.counterexample.workloads <= 3
        assert "finds no node beside batch work" in found.counterexample.timeline[-1]


def test_a_service_in_sight_is_not_counted_beside_its_own_promise():
    """Both say the same pods: 16 of them are promised, 12 in sight, and beside those 8 of another queue and 8 of batch
    work fit onto four nodes."""
    teams = (
        TeamPromise("s", ("s",), {GPU: 16}, shapes=(shape("llm", 1, 16, "serving", 1000),)),
        TeamPromise("t", ("t",), {GPU: 8}, shapes=(shape("search", 1, 8, "serving", 1000),)),
    )
    promises = Promises(teams, Protection(serving=("serving",)))
    apart = {"cohort": "", "preemption": "{withinClusterQueue: Never}"}
    text = TOPOLOGY + classes(serving=1000) + queue("a", 8, cohort="batch")
    text += queue("s", 16, **apart) + queue("t", 8, **apart)
    text += service(12, 1, surge="1", of="s", priority="serving")
    found = verdicts(text + nodes(4), promises)
    assert found["Deployment team-s/llm"].outcome == HOLDS
    assert found["s: llm"].outcome == HOLDS
    assert found["t: search"].outcome == HOLDS
    assert verdicts(text + nodes(3), promises)["Deployment team-s/llm"].outcome == FAILS


def test_nothing_that_serves():
    assert verdicts(BATCH + nodes(2))[""].outcome == NOT_APPLICABLE


def test_platforms_that_are_not_read_are_named():
    kserve = """
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: chat, namespace: serving}
spec: {predictor: {model: {modelFormat: {name: x}}}}
---"""
    found = verdicts(BATCH + nodes(2) + kserve)[""]
    assert found.outcome == UNKNOWN
    assert "InferenceService" in found.headline
    beside = verdicts(BATCH + nodes(3) + kserve + service(8, 1))[LLM]
    assert any("InferenceService" in one for one in beside.assumptions)


def test_the_fewest_replicas_of_an_autoscaler_count():
    scaled = """
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: llm, namespace: serving}
spec: {minReplicas: 1, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: llm}}
---"""
    assert verdicts(BATCH + nodes(3) + service(12, 1))[LLM].outcome == FAILS
    assert verdicts(BATCH + nodes(3) + service(12, 1) + scaled)[LLM].outcome == HOLDS


def _by_hand(free: list[int], most: int, each: int, budget: int) -> int:
    """Every way of taking ``budget`` units, one after another."""
    ways = product(*(range(min(f, budget) + 1) for f in free))
    return min(
        sum(min(most, (f - t) // each) for f, t in zip(free, w, strict=True))
        for w in ways
        if sum(w) <= budget
    )


@pytest.mark.parametrize("free", [[8, 8], [7, 5, 3], [4, 8, 1], [6, 6, 6]])
@pytest.mark.parametrize("each", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("most", [1, 2, 9])
def test_the_worst_state_bounds_every_state(free, each, most):
    some = [Spot(1, f, min(most, f // each), frozenset({"f"})) for f in free]
    for budget in range(sum(free) + 1):
        worst = _by_hand(free, most, each, budget)
        assert left(some, each, {"f": budget}, certain=False) <= worst
        assert left(some, each, {"f": budget}, certain=True) >= worst
        if most == 9:
            assert left(some, each, {"f": budget}, certain=False) == worst
