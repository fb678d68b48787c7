import pytest

from policycheck.model.origin import DocumentId
from policycheck.systems import registry
from policycheck.systems.kueue.detect import detect, sightings
from policycheck.systems.kueue.target import Target


def deployment(image, *args, **labels):
    container = {"name": "manager", "image": image, "args": list(args)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "kueue-controller-manager", "labels": labels},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


def seen(value):
    return [(s.what, s.version, s.path) for s in sightings(value)]


CONTAINER = ("spec", "template", "spec", "containers", 0)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (
            deployment("registry.k8s.io/kueue/kueue:v0.19.2"),
            [("image", "0.19.2", (*CONTAINER, "image"))],
        ),
        (
            deployment("mirror.example.com:5000/k8s/kueue:v0.18.1@sha256:abc"),
            [("image", "0.18.1", (*CONTAINER, "image"))],
        ),
        (deployment("registry.k8s.io/kueue/kueue:main"), []),
        (deployment("registry.k8s.io/kueue/kueueviz-backend:v0.19.2"), []),
        (deployment("example.com/other:v0.19.2"), []),
        (
            {"kind": "Service", "metadata": {"labels": {"helm.sh/chart": "kueue-0.17.1"}}},
            [("chart", "0.17.1", ("metadata", "labels", "helm.sh/chart"))],
        ),
        (
            {"name": "platform", "dependencies": [{"name": "kueue", "version": "~0.16.x"}]},
            [("chart", "0.16", ("dependencies", 0, "version"))],
        ),
        ({"name": "platform", "dependencies": [{"name": "kueue", "version": ">=0.16.0 <1"}]}, []),
        (
            {"controllerManager": {"manager": {"image": {"tag": "v0.15.2"}}}},
            [("image", "0.15.2", ("controllerManager", "manager", "image", "tag"))],
        ),
        (
            {
                "kind": "Application",
                "apiVersion": "argoproj.io/v1alpha1",
                "spec": {"source": {"chart": "kueue", "targetRevision": "0.18.0"}},
            },
            [("chart", "0.18.0", ("spec", "source", "targetRevision"))],
        ),
        (
            {
                "resources": [
                    "https://github.com/kubernetes-sigs/kueue/releases/download/v0.19.1/manifests.yaml"
                ]
            },
            [("release", "0.19.1", ("resources", 0))],
        ),
        (
            {"resources": ["github.com/kubernetes-sigs/kueue/config/default?ref=v0.14.3"]},
            [("release", "0.14.3", ("resources", 0))],
        ),
    ],
)
def test_what_says_a_version(value, wanted):
    assert seen(value) == wanted


def test_gates_come_from_flags_values_and_the_configuration():
    flagged = deployment("x/kueue:v0.19.0", "--feature-gates=TASBalancedPlacement=true,PriorityBoost=false")
    found = list(sightings(flagged))
    assert found[1].gates == {"TASBalancedPlacement": True, "PriorityBoost": False}
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "data": {
            "c": "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n"
            "featureGates: {ConcurrentAdmission: true}\n"
        },
    }
    (one,) = sightings(config)
    assert (one.gates, one.path) == ({"ConcurrentAdmission": True}, ("data", "c", "featureGates"))
    values = {"controllerManager": {"featureGates": [{"name": "A", "enabled": True}]}}
    assert next(sightings({"kueue": values})).gates == {"A": True}


def test_the_image_wins_and_a_contradiction_is_told():
    documents = [
        (DocumentId("Chart.yaml"), {"dependencies": [{"name": "kueue", "version": "0.18.0"}]}),
        (DocumentId("all.yaml"), deployment("x/kueue:v0.19.2")),
    ]
    found = detect(documents)
    assert (found.version, found.assumed) == ("0.19.2", False)
    assert "Chart.yaml says 0.18.0" in found.conflict
    assert detect(reversed(documents)) == found
    assert found.target() == Target((0, 19), {}, assumed=False)


def test_nothing_in_sight_leaves_the_default_with_its_gates():
    found = detect([(DocumentId("a.yaml"), deployment("x/kueue:main", "--feature-gates=A=true"))])
    assert (found.version, found.assumed, found.conflict) == ("", True, "")
    assert found.target(Target((0, 19))) == Target((0, 19), {"A": True}, assumed=True)


CONFIG = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
metrics:
  enableClusterQueueResources: true
waitForPodsReady:
  timeouts: 5m
"""


@pytest.mark.parametrize(
    ("value", "at"),
    [
        (
            {"managerConfig": {"controllerManagerConfigYaml": CONFIG}},
            ("managerConfig", "controllerManagerConfigYaml"),
        ),
        (
            {"kueue": {"managerConfig": {"controllerManagerConfigYaml": CONFIG}}},
            ("kueue", "managerConfig", "controllerManagerConfigYaml"),
        ),
        (
            {
                "apiVersion": "helm.toolkit.fluxcd.io/v2",
                "kind": "HelmRelease",
                "spec": {"values": {"managerConfig": {"controllerManagerConfigYaml": CONFIG}}},
            },
            ("spec", "values", "managerConfig", "controllerManagerConfigYaml"),
        ),
    ],
)
def test_the_configuration_is_found_in_chart_values_with_paths_into_its_text(value, at):
    facts = registry.read(value)
    assert facts.typed.enable_cluster_queue_resources
    assert (facts.key.group, facts.key.kind) == ("config.kueue.x-k8s.io", "Configuration")
    assert [(t.code, t.path) for t in facts.troubles] == [
        ("unknown-field", (*at, "waitForPodsReady", "timeouts"))
    ]
    assert facts.written(("metrics", "enableClusterQueueResources")) == (
        *at,
        "metrics",
        "enableClusterQueueResources",
    )


def test_values_as_text_inside_an_application():
    inner = "managerConfig:\n  controllerManagerConfigYaml: |\n" + "".join(
        f"    {line}\n" for line in CONFIG.splitlines()
    )
    value = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "kueue"},
        "spec": {"source": {"chart": "kueue", "helm": {"values": inner}}},
    }
    assert registry.read(value).typed.enable_cluster_queue_resources
    other = {**value, "spec": {"source": {"helm": {"values": "a: [b"}}}}
    assert registry.read(other).system == ""


def test_a_configuration_that_is_no_yaml_is_told():
    broken = {"managerConfig": {"controllerManagerConfigYaml": CONFIG + "metrics: [\n"}}
    facts = registry.read(broken)
    assert facts.typed is None
    assert [(t.code, t.path) for t in facts.troubles] == [
        ("wrong-type", ("managerConfig", "controllerManagerConfigYaml"))
    ]
