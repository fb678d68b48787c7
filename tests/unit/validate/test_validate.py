import json
from pathlib import Path

import pytest

from policycheck.systems import registry
from policycheck.systems.kueue.target import Target
from policycheck.systems.kueue.validate import Gates, of_target, problems, validate
from policycheck.systems.kueue.validate.case import answer

GPU = "nvidia.com/gpu"
RECORDED = Path(__file__).parents[4] / "shared" / "conformance" / "kueue" / "validation.jsonl"


def made(kind, spec, **more):
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": {"name": "x"},
        "spec": spec,
        **more,
    }


def group(*flavors, covered=(GPU,)):
    return {
        "coveredResources": list(covered),
        "flavors": [
            {"name": f, "resources": [{"name": r, "nominalQuota": 1} for r in covered]} for f in flavors
        ],
    }


def limited(**limits):
    one = group("a")
    one["flavors"][0]["resources"][0].update(limits)
    return one


def errors(new, old=None, **gates):
    return [(p.type.removeprefix("FieldValue"), p.field) for p in validate(new, old, Gates(**gates))]


QUOTA = "spec.resourceGroups[0].flavors[0].resources[0]"


@pytest.mark.parametrize(
    ("kind", "spec", "wanted"),
    [
        ("ClusterQueue", {"cohortName": "c", "resourceGroups": [limited(lendingLimit=1)]}, []),
        (
            "ClusterQueue",
            {"resourceGroups": [limited(borrowingLimit=0)]},
            [("Invalid", f"{QUOTA}.borrowingLimit")],
        ),
        (
            "ClusterQueue",
            {"cohortName": "c", "resourceGroups": [limited(lendingLimit="1500m")]},
            [("Invalid", f"{QUOTA}.lendingLimit")],
        ),
        ("Cohort", {"parentName": "c", "resourceGroups": [limited(lendingLimit=9)]}, []),
        (
            "Cohort",
            {"resourceGroups": [limited(borrowingLimit=9)]},
            [("Invalid", f"{QUOTA}.borrowingLimit")],
        ),
        (
            "ClusterQueue",
            {"resourceGroups": [group("a", "a")]},
            [("Duplicate", "spec.resourceGroups[0].flavors[1].name")],
        ),
        (
            "ClusterQueue",
            {"resourceGroups": [{**group("a"), "coveredResources": [GPU, "cpu"]}]},
            [("Invalid", "spec.resourceGroups[0].flavors[0].resources")],
        ),
        (
            "ClusterQueue",
            {"preemption": {"borrowWithinCohort": {"policy": "LowerPriority"}}},
            [("Invalid", "spec.preemption")],
        ),
        (
            "ClusterQueue",
            {"fairSharing": {"weight": "1n"}},
            [("Invalid", "spec.fairSharing.weight")],
        ),
        ("ClusterQueue", {"fairSharing": {"weight": "0"}}, []),
        (
            "ResourceFlavor",
            {"tolerations": [{"operator": "Equal"}]},
            [("Invalid", "spec.tolerations[0].operator")],
        ),
        (
            "ResourceFlavor",
            {"tolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 3}]},
            [("Invalid", "spec.tolerations[0].effect")],
        ),
        (
            "ResourceFlavor",
            {"nodeTaints": [{"key": "a", "effect": "NoSchedule"}] * 2},
            [("Duplicate", "spec.nodeTaints[1]")],
        ),
        ("ResourceFlavor", {"topologyName": "t"}, [("Invalid", "spec.topologyName")]),
        (
            "Topology",
            {"levels": [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "rack"}]},
            [("Invalid", "spec.levels[0].nodeLabel")],
        ),
        (
            "AdmissionCheck",
            {"controllerName": "c", "parameters": {"apiGroup": "a.b", "kind": "K"}},
            [("Required", "spec.parameters.name")],
        ),
        (
            "MultiKueueCluster",
            {"clusterSource": {"kubeConfig": {}, "clusterProfileRef": {}}},
            [("Invalid", "spec.clusterSource")],
        ),
    ],
)
def test_what_is_refused_on_creation(kind, spec, wanted):
    assert errors(made(kind, spec)) == wanted


@pytest.mark.parametrize(
    ("kind", "old", "new", "field"),
    [
        ("LocalQueue", {"clusterQueue": "a"}, {"clusterQueue": "b"}, "spec.clusterQueue"),
        ("AdmissionCheck", {"controllerName": "a"}, {"controllerName": "b"}, "spec.controllerName"),
        (
            "ResourceFlavor",
            {"nodeLabels": {"a": "b"}, "topologyName": "t"},
            {"nodeLabels": {"a": "b"}},
            "spec.topologyName",
        ),
        ("Topology", {"levels": [{"nodeLabel": "rack"}]}, {"levels": [{"nodeLabel": "row"}]}, "spec.levels"),
    ],
)
def test_what_is_fixed_at_creation(kind, old, new, field):
    assert errors(made(kind, new), made(kind, old)) == [("Invalid", field)]
    assert errors(made(kind, old), made(kind, old)) == []


def test_levels_may_change_above_the_hostname_and_a_topology_may_be_added_later():
    def levels(*names):
        return made("Topology", {"levels": [{"nodeLabel": n} for n in names]})

    host = "kubernetes.io/hostname"
    assert errors(levels("row", "rack", host), levels("rack", host)) == []
    assert errors(levels("rack"), levels("rack", host)) == [("Invalid", "spec.levels")]
    flavor = made("ResourceFlavor", {"nodeLabels": {"a": "b"}})
    assert errors(made("ResourceFlavor", {"nodeLabels": {"a": "b"}, "topologyName": "t"}), flavor) == []


def test_bad_on_flavors_are_tolerated_on_update_only_as_they_were():
    def queue(flavor, on, strategy="BestEffortFIFO"):
        checks = {"admissionChecks": [{"name": "c", "onFlavors": [on]}]}
        return made(
            "ClusterQueue",
            {
                "resourceGroups": [group(flavor)],
                "admissionChecksStrategy": checks,
                "queueingStrategy": strategy,
            },
        )

    where = ("NotSupported", "spec.admissionChecksStrategy.admissionChecks[0].onFlavors[0]")
    assert errors(queue("a", "gone")) == [where]
    assert errors(queue("a", "gone", "StrictFIFO"), queue("a", "gone")) == []
    assert errors(queue("b", "gone"), queue("a", "gone")) == [where]
    assert errors(queue("a", "gone", "StrictFIFO"), queue("a", "gone"), refuses_old_on_flavors=True) == [
        where
    ]


def workload(count=2, *, reserved=False, assigned=None, reclaimable=None, elastic=False, **pod_set):
    status = {}
    if reserved:
        status = {
            "conditions": [{"type": "QuotaReserved", "status": "True"}],
            "admission": {"clusterQueue": "q", "podSetAssignments": [{"name": "main", **(assigned or {})}]},
        }
    if reclaimable is not None:
        status["reclaimablePods"] = [{"name": "main", "count": reclaimable}]
    value = made("Workload", {"podSets": [{"name": "main", "count": count, "template": {}, **pod_set}]})
    if elastic:
        value["metadata"]["annotations"] = {"kueue.x-k8s.io/elastic-job": "true"}
    return {**value, "status": status}


def test_a_workload_may_not_change_while_it_holds_quota():
    held = workload(reserved=True)
    assert errors(workload(3, reserved=True), held, elastic=False) == [("Invalid", "spec.podSets.0")]
    assert errors(workload(3, reserved=True), held) == []  # gate on: elastic jobs scale
    assert errors(workload(3), workload(2), elastic=False) == []
    moved = workload(reserved=True, assigned={"topologyAssignment": {"levels": ["rack"]}})
    assert errors(moved, held) == []
    assert errors(workload(reserved=True, assigned={"count": 1}), held) == [("Invalid", "status.admission")]


def test_reclaimable_pods_grow_and_stay_within_the_podset():
    assert errors(workload(2, reclaimable=3)) == [("Invalid", "status.reclaimablePods[main].count")]
    before = workload(4, reserved=True, reclaimable=2)
    assert errors(workload(4, reserved=True, reclaimable=1), before) == [
        ("Invalid", "status.reclaimablePods[main].count")
    ]
    assert errors(workload(4, reserved=True), before) == [("Required", "status.reclaimablePods[main]")]
    assert errors(workload(4, reclaimable=1), before) == []
    scaled = {"assigned": {"count": 8}, "reserved": True, "elastic": True}
    assert errors(workload(4, reclaimable=1, **scaled), workload(8, reclaimable=3, **scaled)) == []


def test_usage_is_a_multiple_of_the_pods_and_min_count_at_most_the_count():
    odd = workload(3, reserved=True, assigned={"count": 3, "resourceUsage": {"cpu": "1"}})
    assert errors(odd) == [("Invalid", "status.admission.podSetAssignments[0].resourceUsage[cpu]")]
    even = workload(3, reserved=True, assigned={"count": 3, "resourceUsage": {"cpu": "1500m"}})
    assert errors(even) == []
    assert errors(workload(2, minCount=3)) == [("Invalid", "spec.podSets[0].minCount")]


def test_versions_decide_what_is_checked():
    negative = {"spec": {"containers": [{"resources": {"requests": {"cpu": "-1"}}}]}}
    value = workload(template=negative)
    assert [p.field for p in validate(value, None, of_target(Target((0, 20))))] == [
        "spec.podSets[0].template.spec.containers[0].resources.requests[cpu]"
    ]
    assert validate(value, None, of_target(Target((0, 19)))) == ()
    forced = Target((0, 19), {"WorkloadValidateResourcesAreNonNegative": True})
    assert len(validate(value, None, of_target(forced))) == 1


def test_problems_are_told_at_the_place_as_written_and_once():
    old = {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "MultiKueueConfig",
        "metadata": {"name": "x"},
        "spec": {"clusters": ["a", "a"]},
    }
    facts = registry.read(old)
    assert ("duplicate-item", ("spec", "clusters", 1)) in [(t.code, t.path) for t in facts.troubles]
    assert list(problems(facts)) == []
    queue = registry.read(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta1",
            "kind": "ClusterQueue",
            "metadata": {"name": "x"},
            "spec": {"cohort": "Team_A"},
        }
    )
    (found,) = problems(queue)
    assert (found.code, found.path) == ("bad-name", ("spec", "cohort"))


def test_a_priority_class_of_a_workload_is_one_of_two_kinds_with_its_number():
    facts = registry.read(
        made("Workload", {"priorityClassRef": {"group": "a", "kind": "PriorityClass", "name": "p"}})
    )
    assert [(t.code, t.path) for t in problems(facts)] == [
        ("priority-pair", ("spec", "priorityClassRef")),
        ("priority-missing", ("spec", "priority")),
    ]


CONFIG = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration"}


@pytest.mark.parametrize(
    ("more", "code", "path"),
    [
        (
            {
                "fairSharing": {
                    "preemptionStrategies": ["LessThanInitialShare", "LessThanOrEqualToFinalShare"]
                }
            },
            "bad-strategies",
            ("fairSharing", "preemptionStrategies"),
        ),
        (
            {"integrations": {"frameworks": ["batch/jobs"]}},
            "unknown-framework",
            ("integrations", "frameworks", 0),
        ),
        (
            {"managedJobsNamespaceSelector": {}},
            "selector-matches-system",
            ("managedJobsNamespaceSelector",),
        ),
        (
            {"resources": {"quotaCheckStrategy": "IgnoreUndeclared", "excludeResourcePrefixes": ["a"]}},
            "excluded-undeclared",
            ("resources", "excludeResourcePrefixes"),
        ),
        (
            {"waitForPodsReady": {"timeout": "-5m"}},
            "negative",
            ("waitForPodsReady", "timeout"),
        ),
        (
            {
                "resources": {
                    "deviceClassMappings": [
                        {"name": "a", "deviceClassNames": ["x"]},
                        {"name": "b", "deviceClassNames": ["x"]},
                    ]
                }
            },
            "duplicate-class",
            ("resources", "deviceClassMappings", 1, "deviceClassNames", 0),
        ),
        (
            {"multiKueue": {"incrementalDispatcherConfig": {"stepSize": 2}}},
            "dispatcher",
            ("multiKueue", "incrementalDispatcherConfig"),
        ),
    ],
)
def test_what_the_controller_refuses_to_start_with(more, code, path):
    assert [(t.code, t.path) for t in problems(registry.read(CONFIG | more))] == [(code, path)]


def test_a_selector_that_spares_the_system_is_fine():
    expression = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": ["kube-system", "kueue-system"],
    }
    selector = {"managedJobsNamespaceSelector": {"matchExpressions": [expression]}}
    assert list(problems(registry.read(CONFIG | selector))) == []


def test_hostile_shapes_are_answered_without_complaint_from_python():
    for kind in ("ClusterQueue", "Cohort", "LocalQueue", "ResourceFlavor", "Topology", "Workload"):
        for spec in ([], "x", 5, None, {"resourceGroups": [None, 5]}, {"podSets": [5, {"count": "x"}]}):
            validate(made(kind, spec, status=spec), made(kind, spec, status=spec))
    assert validate({"kind": ["x"]}) == ()


@pytest.mark.shared
def test_recorded_answers_of_the_webhooks():
    if not RECORDED.exists():
        pytest.skip(f"{RECORDED} is not there: recorded admission answers come beside the checkout")
    cases = [json.loads(line) for line in RECORDED.read_text().splitlines()]

    def told(given):
        return given["valid"], {(e["type"], e["field"]) for e in given["errors"]}

    differing = [c["name"] for c in cases if told(answer(c)) != told(c["expected"])]
    assert differing == []
    assert len(cases) == 144


def test_what_holds_without_a_target_is_what_the_newest_version_has():
    assert of_target(Target()) == Gates()
