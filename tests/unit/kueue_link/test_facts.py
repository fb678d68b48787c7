from policycheck.systems import registry
from policycheck.systems.kueue.model import Configuration


def read(api, kind, spec, **more):
    return registry.read({"apiVersion": api, "kind": kind, "metadata": {"name": "x"}, "spec": spec, **more})


def test_v1beta1_and_v1beta2_read_the_same():
    old = read("kueue.x-k8s.io/v1beta1", "ClusterQueue", {"cohort": "a", "admissionChecks": ["p", "q"]})
    new = read(
        "kueue.x-k8s.io/v1beta2",
        "ClusterQueue",
        {"cohortName": "a", "admissionChecksStrategy": {"admissionChecks": [{"name": "p"}, {"name": "q"}]}},
    )
    assert old.typed == new.typed
    assert old.value["spec"] == new.value["spec"]
    assert old.troubles == ()  # that the version is deprecated is counted by a rule
    assert old.written(("spec", "admissionChecksStrategy", "admissionChecks", 1, "name")) == (
        "spec",
        "admissionChecks",
        1,
    )
    assert old.written(("spec", "cohortName")) == ("spec", "cohort")
    assert old.written(("spec", "resourceGroups", 0)) == ("spec", "resourceGroups", 0)


def test_a_field_of_the_other_version_takes_no_effect():
    facts = read("kueue.x-k8s.io/v1beta2", "ClusterQueue", {"cohort": "a"})
    assert facts.typed.cohort == ""
    assert [t.code for t in facts.troubles] == ["other-version-field"]


def test_a_kind_without_api_version_is_read_and_said():
    facts = registry.read({"kind": "ClusterQueue", "metadata": {"name": "x"}, "spec": {"cohortName": "a"}})
    assert facts.key.group == "kueue.x-k8s.io"
    assert facts.typed.cohort == "a"
    assert ("missing-field", ("apiVersion",)) in [(t.code, t.path) for t in facts.troubles]


def test_versions_that_nobody_serves_are_named():
    for version in ("v1alpha1", "v2"):
        facts = read(f"kueue.x-k8s.io/{version}", "Cohort", {})
        assert [t.code for t in facts.troubles] == ["dead-version"]


def test_a_kind_that_nobody_reads_stays_visible():
    facts = read("example.org/v1", "Widget", {})
    assert (facts.system, facts.typed, facts.key.kind) == ("", None, "Widget")


def test_a_bad_quantity_is_one_trouble_at_its_written_place():
    groups = [
        {
            "coveredResources": ["cpu"],
            "flavors": [{"name": "f", "resources": [{"name": "cpu", "nominalQuota": "lots"}]}],
        }
    ]
    facts = read("kueue.x-k8s.io/v1beta2", "ClusterQueue", {"resourceGroups": groups})
    where = ("spec", "resourceGroups", 0, "flavors", 0, "resources", 0, "nominalQuota")
    assert [(t.code, t.path) for t in facts.troubles] == [("bad-quantity", where)]


def test_hostile_shapes_are_read_without_complaint_from_python():
    for spec in (
        [],
        "x",
        5,
        None,
        {"resourceGroups": "x"},
        {"resourceGroups": [None, 5]},
        {"preemption": []},
    ):
        facts = read("kueue.x-k8s.io/v1beta2", "ClusterQueue", spec)
        assert facts.typed is not None
    for kind in ("LocalQueue", "Workload", "Topology", "ResourceFlavor", "Cohort", "WorkloadPriorityClass"):
        assert (
            read("kueue.x-k8s.io/v1beta2", kind, {"podSets": [5], "levels": 7, "nodeTaints": {}}).typed
            is not None
        )
    for api, kind in (("v1", "Pod"), ("batch/v1", "Job"), ("ray.io/v1", "RayJob"), ("v1", "Node")):
        assert read(api, kind, {"template": 5, "containers": 7, "rayClusterSpec": []}).typed is not None


CONFIG = """
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
metrics:
  enableClusterQueueResources: true
fairSharing: {}
"""


def test_the_configuration_is_found_in_its_config_map():
    facts = registry.read(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "c"},
            "data": {"controller_manager_config.yaml": CONFIG},
        }
    )
    assert isinstance(facts.typed, Configuration)
    assert facts.typed.enable_cluster_queue_resources
    assert facts.typed.fair_sharing is not None
    assert facts.written(("metrics",))[:2] == ("data", "controller_manager_config.yaml")
    other = registry.read(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
    )
    assert other.system == ""


def test_defaults_of_the_configuration_depend_on_its_version():
    beta1 = registry.read(
        {"apiVersion": "config.kueue.x-k8s.io/v1beta1", "kind": "Configuration", "fairSharing": {}}
    )
    beta2 = registry.read({"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"})
    assert beta1.typed.fair_sharing is None
    assert not beta1.typed.wait_for_pods_ready.enabled
    assert beta2.typed.wait_for_pods_ready.timeout == 1800.0


def test_ray_jobs_have_a_head_and_worker_groups():
    template = {"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 8}}}]}}
    cluster = {
        "headGroupSpec": {"template": {}},
        "workerGroupSpecs": [{"groupName": "w", "replicas": 3, "numOfHosts": 2, "template": template}],
    }
    facts = read("ray.io/v1", "RayJob", {"rayClusterSpec": cluster})
    assert [(p.name, p.pods) for p in facts.typed.pod_sets] == [
        ("head", 1),
        ("w", 6),
        ("submitter", 1),
    ]
    assert facts.typed.pod_sets[1].requests == {"nvidia.com/gpu": 8}
    assert facts.typed.pod_sets[1].path == ("spec", "rayClusterSpec", "workerGroupSpecs", 0, "template")
