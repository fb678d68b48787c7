"""InferenceServices are read as the pods that KServe makes of them; what can not be told is named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from minimal import FLAVOR, GPU, arena, classes, nodes, queue

from policycheck.certify.claim import Effort
from policycheck.certify.claims import find
from policycheck.certify.derive import derive
from policycheck.certify.verdict import FAILS, HOLDS

CONTAINER = f"{{name: kserve-container, image: x, resources: {{limits: {{{GPU}: 8}}}}}}"


def service(predictor: str, *, notes: str = "", labels: str = "", more: str = "") -> str:
    return f"""
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {{name: chat, namespace: team-a, annotations: {{{notes}}}, labels: {{{labels}}}}}
spec:
  predictor: {{{predictor}}}
{more}
---"""


def runtime(kind: str = "ClusterServingRuntime", gpus: int = 4) -> str:
    space = ", namespace: team-a" if kind == "ServingRuntime" else ""
    return f"""
apiVersion: serving.kserve.io/v1alpha1
kind: {kind}
metadata: {{name: vllm{space}}}
spec:
  nodeSelector: {{gpu: h100}}
  containers:
  - {{name: kserve-container, image: x, resources: {{limits: {{{GPU}: {gpus}}}}}}}
  - {{name: agent, image: y, resources: {{requests: {{cpu: 1}}}}}}
---"""


STANDARD = "serving.kserve.io/deploymentMode: Standard"
QUEUED = "kueue.x-k8s.io/queue-name: a, kueue.x-k8s.io/priority-class: serving"
BASE = queue("a", 8) + FLAVOR + classes(serving=900) + nodes(2)


def read(text: str):
    return arena(BASE + text).services()


@pytest.mark.parametrize(
    ("predictor", "notes", "pods", "surge"),
    [
        ("minReplicas: 3", STANDARD, 3, 1),  # a quarter, rounded up
        ("minReplicas: 8", STANDARD, 8, 2),
        ("minReplicas: 2, deploymentStrategy: {type: Recreate}", STANDARD, 2, 0),
        ("minReplicas: 2, deploymentStrategy: {rollingUpdate: {maxSurge: 2}}", STANDARD, 2, 2),
        ("maxReplicas: 9", STANDARD, 1, 1),  # one where nothing is written
        ("minReplicas: 0", STANDARD, 1, 1),  # an autoscaler of pods never goes to zero
        ("minReplicas: 0", f"{STANDARD}, serving.kserve.io/autoscalerClass: keda", 0, 0),
        ("minReplicas: 0", "serving.kserve.io/deploymentMode: Serverless", 0, 0),
        ("minReplicas: 2", "serving.kserve.io/deploymentMode: Knative", 2, 2),  # a whole new revision
        ("minReplicas: 2", "", 2, 2),  # as it is shipped
        ("minReplicas: 2", "serving.kserve.io/deploymentMode: RawDeployment", 2, 1),
    ],
)
def test_replicas_and_what_a_rollout_adds(predictor, notes, pods, surge):
    (found,) = read(service(f"{predictor}, containers: [{CONTAINER}]", notes=notes))
    assert found.name == "InferenceService team-a/chat"
    assert [s.pods for s in found.shape.pod_sets] == [pods]
    assert found.surge == (surge,)
    assert found.shape.pod_sets[0].requests[GPU] == 8


def test_the_mode_of_the_platform_counts_where_none_is_written():
    config = """
apiVersion: v1
kind: ConfigMap
metadata: {name: inferenceservice-config, namespace: kserve}
data: {deploy: '{"defaultDeploymentMode": "Standard"}'}
---"""
    (found,) = read(service(f"minReplicas: 8, containers: [{CONTAINER}]") + config)
    assert found.surge == (2,)


def test_the_queue_and_the_class_are_those_of_its_labels():
    (found,) = read(service(f"containers: [{CONTAINER}]", notes=STANDARD, labels=QUEUED))
    assert (found.queue, found.shape.priority_class, found.shape.priority) == ("a", "serving", 900)
    (free,) = read(service(f"containers: [{CONTAINER}]", notes=STANDARD))
    assert (free.queue, free.shape.priority) == ("", 0)


@pytest.mark.parametrize("kind", ["ServingRuntime", "ClusterServingRuntime"])
def test_a_model_has_what_its_runtime_has(kind):
    model = "model: {runtime: vllm, modelFormat: {name: x}}"
    (found,) = read(service(model, notes=STANDARD) + runtime(kind))
    (spec,) = found.shape.pod_sets
    assert (spec.requests[GPU], spec.requests["cpu"]) == (4, 1000)
    assert spec.node_selector == {"gpu": "h100"}


def test_what_a_model_says_itself_counts_before_its_runtime():
    model = f"model: {{runtime: vllm, modelFormat: {{name: x}}, resources: {{limits: {{{GPU}: 2}}}}}}"
    (found,) = read(service(model, notes=STANDARD) + runtime())
    assert found.shape.pod_sets[0].requests[GPU] == 2


@pytest.mark.parametrize(
    ("predictor", "notes"),
    [
        ("model: {modelFormat: {name: x}}", STANDARD),  # a runtime that is not in sight
        (f"containers: [{CONTAINER}], workerSpec: {{pipelineParallelSize: 2}}", STANDARD),
        (f"containers: [{CONTAINER}]", "serving.kserve.io/deploymentMode: ModelMesh"),
    ],
)
def test_what_can_not_be_told_is_named(predictor, notes):
    stage = arena(BASE + service(predictor, notes=notes))
    assert stage.services() == []
    assert stage.uncovered() == ["InferenceService team-a/chat"]


def test_parts_beside_the_predictor_are_services_too():
    more = (
        f"  transformer: {{containers: [{CONTAINER}]}}\n  explainer: {{containers: [{{name: e, image: x}}]}}"
    )
    found = read(service(f"containers: [{CONTAINER}]", notes=STANDARD, more=more))
    assert [one.name for one in found] == [
        "InferenceService team-a/chat",
        "InferenceService team-a/chat transformer",
    ]


def test_one_whose_deployment_is_in_sight_is_not_counted_twice():
    made = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat-predictor, namespace: team-a, ownerReferences: [{{kind: InferenceService, name: chat}}]}}
spec:
  replicas: 2
  selector: {{matchLabels: {{a: b}}}}
  template:
    metadata: {{labels: {{a: b}}}}
    spec: {{containers: [{CONTAINER}]}}
---"""
    found = read(service(f"containers: [{CONTAINER}]", notes=STANDARD) + made)
    assert [one.name for one in found] == ["Deployment team-a/chat-predictor"]


def test_it_is_protected_as_any_other_service():
    def outcome(nominal: int, replicas: int) -> str:
        predictor = (
            f"minReplicas: {replicas}, deploymentStrategy: {{type: Recreate}}, containers: [{CONTAINER}], "
            "tolerations: [{operator: Exists}]"
        )
        text = queue("a", nominal, cohort="") + FLAVOR + classes(serving=900) + nodes(3)
        stage = arena(text + service(predictor, notes=STANDARD, labels=QUEUED))
        (found,) = find("inference-protected").test(stage, derive(stage), Effort())
        return found.outcome

    assert outcome(16, 2) == HOLDS
    assert outcome(16, 3) == FAILS
