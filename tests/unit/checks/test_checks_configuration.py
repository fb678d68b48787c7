"""The Configuration against queues, and what is said when there is none, or another version."""

from __future__ import annotations

from check_help import flavor, gpu, job, local_queue, queue, quota, run

from policycheck.systems.kueue import checks


def config(text, version="v1beta2"):
    return f"---\napiVersion: config.kueue.x-k8s.io/{version}\nkind: Configuration\n{text}\n"


QUEUE = flavor("h100", pool="h100") + queue("a", {"h100": {"memory": quota("64Gi"), **gpu(8)}})
EVERY = [
    name
    for name in checks.__all__
    if name
    in {
        "blocks_admission",
        "configuration_field",
        "endless_requeues",
        "excluded_and_quota",
        "gate_misspelt",
        "gate_removed",
        "manages_everything",
        "manages_nobody",
        "mapping_uncovered",
        "no_duration",
        "on_by_default",
        "output_uncovered",
        "replaced_and_quota",
        "retained_uncovered",
        "sorting_off",
        "too_short",
        "undeclared_gate_off",
        "usage_in_bytes",
        "usage_never_decays",
        "within_nominal_before",
        "written_and_off",
    }
]


def test_without_a_configuration_nothing_is_said_of_it():
    assert len(EVERY) == 21
    for name in EVERY:
        assert run(getattr(checks, name), QUEUE) == ([], []), name


def test_of_two_that_differ_neither_is_believed():
    two = config("fairSharing: {}") + config("manageJobsWithoutQueueName: true")
    for name in EVERY:
        assert run(getattr(checks, name), QUEUE + two) == ([], []), name


def test_a_wait_that_is_off_is_not_judged():
    off = config("waitForPodsReady: {enable: false, timeout: 1m, blockAdmission: true}", "v1beta1")
    for check in (checks.too_short, checks.blocks_admission, checks.endless_requeues, checks.written_and_off):
        assert run(check, QUEUE + off)[0] == []


def test_an_excluded_prefix_hits_only_what_has_quota():
    found = config("resources: {excludeResourcePrefixes: [nvidia.com, rdma/]}")
    hits, _ = run(checks.excluded_and_quota, QUEUE + found)
    assert [(h.path, h.values["resources"]) for h in hits] == [
        (("resources", "excludeResourcePrefixes", 0), "nvidia.com/gpu")
    ]


def test_an_output_that_is_excluded_need_not_be_covered():
    found = config(
        "resources:\n  excludeResourcePrefixes: [example.com/]\n  transformations:\n"
        "  - {input: cpu, strategy: Retain, outputs: {example.com/credits: 1}}"
    )
    assert run(checks.output_uncovered, QUEUE + found)[0] == []


def test_what_comes_out_of_another_transformation_is_charged():
    found = config(
        "resources:\n  transformations:\n  - {input: nvidia.com/gpu, strategy: Replace, outputs: {credits: 1}}\n"
        "  - {input: example.com/slice, strategy: Replace, outputs: {nvidia.com/gpu: 1}}"
    )
    assert run(checks.replaced_and_quota, QUEUE + found)[0] == []


def test_weights_of_zero_count_where_they_are_read():
    zero = queue("a", {"h100": gpu(8)}, "ml", extra='fairSharing: {weight: "0"}')
    assert len(run(checks.weight_zero, zero + config("fairSharing: {}"))[0]) == 1
    assert run(checks.weight_zero, zero + config("admissionFairSharing: {}"))[0] == []
    assert run(checks.weight_zero, zero)[0] == []


def test_a_gate_that_is_merely_unknown_is_left_alone():
    found = config("featureGates: {SomethingOfTomorrow: true, PartialAdmision: true}")
    assert [h.values["meant"] for h in run(checks.gate_misspelt, found)[0]] == ["PartialAdmission"]


SPACES = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team, labels: {tenant: a}}\n"
MANAGED = config("manageJobsWithoutQueueName: true\nmanagedJobsNamespaceSelector: {matchLabels: {tenant: a}}")


def test_held_is_what_kueue_manages_and_nobody_else_made():
    lost = job("team", "j", {"cpu": 1})
    base = QUEUE + SPACES + local_queue("team", "lq", "a")
    assert len(run(checks.in_no_queue, base + MANAGED + lost)[0]) == 1
    assert run(checks.in_no_queue, base + lost)[0] == []
    assert run(checks.in_no_queue, base + MANAGED + job("other", "j", {"cpu": 1}))[0] == []
    owned = lost.replace(
        "  labels:", "  ownerReferences: [{apiVersion: x/v1, kind: Y, name: y, controller: true}]\n  labels:"
    )
    assert run(checks.in_no_queue, base + MANAGED + owned)[0] == []


def test_a_selector_may_take_namespaces_that_have_queues():
    base = QUEUE + SPACES + local_queue("team", "lq", "a")
    assert run(checks.manages_everything, base + MANAGED)[0] == []
    wide = SPACES.replace("team,", "ops,")
    hits, _ = run(checks.manages_everything, base + wide + MANAGED)
    assert [h.values["what"] for h in hits] == ["the selector takes 1 namespace without LocalQueue"]
