"""What workloads ask for, and what refers to what."""

from __future__ import annotations

from check_help import flavor, gpu, job, local_queue, make_node, queue, quota, run

from policycheck.systems.core import checks as core_checks
from policycheck.systems.gpu import checks as gpu_checks
from policycheck.systems.kueue import checks

LABEL = "kueue.x-k8s.io/queue-name: lq"
H100 = flavor("h100", pool="h100")
FABRIC = (
    "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\nmetadata: {name: fabric}\nspec:\n  levels:\n"
    "  - nodeLabel: rack\n  - nodeLabel: kubernetes.io/hostname\n"
)
TAS = H100.replace("spec:", "spec:\n  topologyName: fabric")
QUEUE = queue("a", {"h100": gpu(64)}) + local_queue("team", "lq", "a")


def asks(amount, pods=1, **more):
    return job("team", "j", {"nvidia.com/gpu": amount}, pods=pods, labels=LABEL, **more)


def test_more_than_can_ever_be_had():
    assert run(checks.exceeds_limits, QUEUE + asks(8, 8))[0] == []
    hits, _ = run(checks.exceeds_limits, QUEUE + asks(8, 9))
    assert [(h.values["total"], h.values["sum"], h.values["most"]) for h in hits] == [("72", "9 x 8", "64")]
    assert hits[0].path == ("spec", "parallelism")


def test_partial_admission_counts_the_least_pods():
    text = QUEUE + asks(8, 9).replace(
        "  namespace: team\n", '  namespace: team\n  annotations: {kueue.x-k8s.io/job-min-parallelism: "4"}\n'
    )
    assert run(checks.exceeds_limits, text)[0] == []


def test_any_flavor_that_holds_it_is_enough():
    wide = queue("a", {"small": gpu(8), "large": gpu(64)}) + local_queue("team", "lq", "a")
    assert run(checks.exceeds_limits, wide + asks(8, 8))[0] == []
    hits, _ = run(checks.exceeds_limits, wide + asks(8, 9))
    assert [h.values["flavor"] for h in hits] == ["large"]


def test_all_resources_have_to_fit_one_flavor():
    split = queue("a", {"f": {"cpu": quota(4), **gpu(64)}, "g": {"cpu": quota(64), **gpu(4)}})
    text = (
        split
        + local_queue("team", "lq", "a")
        + job("team", "j", {"cpu": 32, "nvidia.com/gpu": 8}, labels=LABEL)
    )
    assert len(run(checks.exceeds_limits, text)[0]) == 1


def test_nothing_is_said_of_queues_in_doubt():
    double = queue("a", {"h100": gpu(8)}) + queue("a", {"h100": gpu(4)}) + local_queue("team", "lq", "a")
    assert run(checks.exceeds_limits, double + asks(8, 8))[0] == []
    transformed = (
        "---\napiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nresources:\n  transformations:\n"
        "  - {input: nvidia.com/gpu, strategy: Replace, outputs: {credits: 1}}\n"
    )
    assert run(checks.exceeds_limits, QUEUE + asks(8, 9) + transformed)[0] == []


def test_what_is_charged_is_what_the_configuration_makes_of_it():
    doubled = (
        "---\napiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nresources:\n  transformations:\n"
        '  - {input: example.com/slice, strategy: Replace, outputs: {nvidia.com/gpu: "2"}}\n'
    )
    slices = job("team", "j", {"example.com/slice": 8}, pods=5, labels=LABEL)
    hits, _ = run(checks.exceeds_limits, QUEUE + slices + doubled)
    assert [(h.values["total"], h.values["most"]) for h in hits] == [("80", "64")]
    assert run(checks.uncovered_resource, QUEUE + slices + doubled)[0] == []
    assert [h.values["resource"] for h in run(checks.uncovered_resource, QUEUE + slices)[0]] == [
        "example.com/slice"
    ]


def test_uncovered_resources_but_for_those_that_are_excluded():
    text = QUEUE + job("team", "j", {"nvidia.com/gpu": 1, "rdma/hca": 1}, labels=LABEL)
    assert [h.values["resource"] for h in run(checks.uncovered_resource, text)[0]] == ["rdma/hca"]
    assert run(checks.uncovered_resource, text, ignore=["rdma/"])[0] == []
    excluded = "---\napiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nresources: {excludeResourcePrefixes: [rdma/]}\n"
    assert run(checks.uncovered_resource, text + excluded)[0] == []
    lenient = excluded.replace("excludeResourcePrefixes: [rdma/]", "quotaCheckStrategy: IgnoreUndeclared")
    assert run(checks.uncovered_resource, text + lenient)[0] == []


def test_a_pod_larger_than_any_node_of_any_flavor():
    small = [make_node("n1", gpus=4, pool="h100")]
    hits, _ = run(checks.larger_than_node, H100 + QUEUE + asks(8), small)
    assert [(h.values["amount"], h.values["largest"]) for h in hits] == [("8", "4")]
    assert run(checks.larger_than_node, H100 + QUEUE + asks(4), small)[0] == []
    # The flavor is not in sight, so its nodes are not known.
    assert run(checks.larger_than_node, QUEUE + asks(8), small)[0] == []
    elastic = [make_node("n1", gpus=4, pool="h100", most=None)]
    assert len(run(checks.larger_than_node, H100 + QUEUE + asks(8), elastic)[0]) == 1


def rack(name, count):
    return [
        make_node(f"{name}-{n}", pool="h100", rack=name, kubernetes__io="")._replace(
            labels={"pool": "h100", "rack": name, "kubernetes.io/hostname": f"{name}-{n}"}
        )
        for n in range(count)
    ]


def test_a_required_level_whose_domains_are_too_small():
    text = FABRIC + TAS + QUEUE
    within = 'kueue.x-k8s.io/podset-required-topology: "rack"'
    racks = rack("r1", 4) + rack("r2", 2)
    assert run(checks.required_domain_too_small, text + asks(8, 4, annotations=within), racks)[0] == []
    hits, _ = run(checks.required_domain_too_small, text + asks(8, 5, annotations=within), racks)
    assert [(h.values["needs"], h.values["largest"], h.values["level"]) for h in hits] == [
        ("40 nvidia.com/gpu (5 pods x 8)", "the largest has 32", "rack")
    ]
    preferred = within.replace("required", "preferred")
    assert run(checks.required_domain_too_small, text + asks(8, 5, annotations=preferred), racks)[0] == []


def test_slices_are_judged_by_their_own_level():
    text = FABRIC + TAS + QUEUE
    slices = 'kueue.x-k8s.io/podset-slice-required-topology: rack, kueue.x-k8s.io/podset-slice-size: "{0}"'
    racks = rack("r1", 2) + rack("r2", 2)
    assert (
        run(checks.required_domain_too_small, text + asks(8, 4, annotations=slices.format(2)), racks)[0] == []
    )
    assert (
        len(run(checks.required_domain_too_small, text + asks(8, 4, annotations=slices.format(4)), racks)[0])
        == 1
    )
    assert [
        h.values["rest"]
        for h in run(checks.slices_left_over, text + asks(8, 4, annotations=slices.format(3)))[0]
    ] == [1]
    assert run(checks.slices_left_over, text + asks(8, 4, annotations=slices.format(2)))[0] == []


def test_levels_missing_on_some_nodes_or_on_all():
    text = FABRIC + TAS
    bare = [make_node("new", pool="h100")._replace(labels={"pool": "h100", "kubernetes.io/hostname": "new"})]
    hits, _ = run(checks.level_missing, text, rack("r1", 2) + bare)
    assert [(str(h.values["lost"]), str(h.values["all"]), h.values["levels"]) for h in hits] == [
        ("1", "3", "rack (1)")
    ]
    assert run(checks.no_level_anywhere, text, rack("r1", 2) + bare)[0] == []
    assert run(checks.level_missing, text, bare)[0] == []
    assert len(run(checks.no_level_anywhere, text, bare)[0]) == 1
    # A pool file has no hostnames, and needs none.
    pool = [make_node("p", pool="h100", rack="r1", machines=4, most=4, source="pool")]
    assert run(checks.level_missing, text, pool)[0] == run(checks.no_level_anywhere, text, pool)[0] == []


def test_references_need_others_of_their_kind_in_sight():
    only = local_queue("team", "lq", "a")
    hits, skips = run(checks.reference_not_in_sight, only)
    assert (hits, skips) == (
        [],
        ["no ClusterQueue is in sight; pass --context with the folder that holds them"],
    )
    hits, _ = run(checks.reference_not_in_sight, only + queue("vision", {}))
    assert [h.values["name"] for h in hits] == ["a"]


def test_a_misspelling_is_said_by_one_rule_only():
    text = local_queue("team", "lq", "vison") + queue("vision", {})
    assert [h.values["meant"] for h in run(checks.cluster_queue_misspelt, text)[0]] == ["vision"]
    assert run(checks.reference_not_in_sight, text) == ([], [])


def test_a_workload_without_namespace_may_mean_any_local_queue():
    loose = asks(1).replace("  namespace: team\n", "")
    assert run(checks.reference_not_in_sight, queue("a", {}) + local_queue("team", "lq", "a") + loose) == (
        [],
        [],
    )
    elsewhere = asks(1).replace("namespace: team\n", "namespace: other\n")
    two = queue("a", {}) + local_queue("team", "lq", "a") + local_queue("other", "dev", "a")
    hits, _ = run(checks.reference_not_in_sight, two + elsewhere)
    assert ["in namespace team" in h.values["hint"] for h in hits] == [True]


def test_a_pod_priority_class_is_no_workload_priority_class():
    text = asks(1).replace(LABEL, f"{LABEL}, kueue.x-k8s.io/priority-class: high")
    pods = "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 5\n"
    hits, _ = run(checks.priority_class_misspelt, text + pods)
    assert ["PriorityClass of pods" in h.values["hint"] for h in hits] == [True]
    assert run(checks.priority_class_misspelt, text)[0] == []


def test_work_outside_queues_only_where_queues_are():
    loose = job("team", "j", {"nvidia.com/gpu": 4}, pods=2)
    assert run(checks.outside_queue, loose)[0] == []
    hits, _ = run(checks.outside_queue, QUEUE + loose)
    assert [h.values["amounts"] for h in hits] == ["8 nvidia.com/gpu"]
    assert run(checks.outside_queue, QUEUE + asks(4))[0] == []
    assert run(checks.outside_queue, QUEUE + job("team", "j", {"cpu": 4}))[0] == []
    assert run(checks.outside_queue, QUEUE + job("kube-system", "j", {"nvidia.com/gpu": 4}))[0] == []
    assert run(checks.outside_queue, QUEUE + local_queue("team", "default", "a") + loose)[0] == []


def test_a_label_on_the_template_is_its_own_fault():
    text = job("team", "j", {"nvidia.com/gpu": 4}).replace(
        "      annotations: {}", f"      labels: {{{LABEL}}}"
    )
    assert run(checks.outside_queue, QUEUE + text)[0] == []
    # The API server gives a Job without labels those of its pods: then Kueue sees it.
    assert run(checks.label_on_template, QUEUE + text)[0] == []
    text = text.replace("  labels: {}", "  labels: {app: j}")
    assert run(checks.outside_queue, QUEUE + text)[0] == []
    hits, _ = run(checks.label_on_template, QUEUE + text)
    assert [h.path[-1] for h in hits] == ["kueue.x-k8s.io/queue-name"]
    assert (
        run(
            checks.label_on_template,
            QUEUE + asks(4).replace("      annotations: {}", f"      labels: {{{LABEL}}}"),
        )[0]
        == []
    )


def test_requests_of_accelerators_equal_their_limits():
    assert run(gpu_checks.request_differs_from_limit, asks(4))[0] == []
    both = asks(4).replace(
        "          limits: {", '          requests: {nvidia.com/gpu: "2"}\n          limits: {'
    )
    hits, _ = run(gpu_checks.request_differs_from_limit, both)
    assert [(h.values["request"], h.values["limit"]) for h in hits] == [(2, "a limit of 4")]


def test_different_definitions_are_one_finding_for_all():
    text = queue("a", {"h100": gpu(8)}) + queue("a", {"h100": gpu(4)}) + queue("b", {}) + queue("b", {}, "x")
    hits, _ = run(core_checks.ambiguous_definition, text)
    assert [(h.values["object"], h.values["documents"]) for h in hits] == [("ClusterQueue a", 2)]
    assert hits[0].values["more"] == "; the same is true of 1 other object"
    assert run(core_checks.ambiguous_definition, queue("a", {}) + queue("a", {}))[0] == []


def test_pods_of_a_deployment_are_queued_one_by_one():
    def serving(amount):
        text = asks(amount).replace("batch/v1", "apps/v1").replace("kind: Job", "kind: Deployment")
        return text.replace("  parallelism: 1\n  completions: 1\n", "  replicas: 20\n")

    assert run(checks.exceeds_limits, QUEUE + serving(8))[0] == []
    assert [h.values["sum"] for h in run(checks.exceeds_limits, QUEUE + serving(65))[0]] == ["1 x 65"]
