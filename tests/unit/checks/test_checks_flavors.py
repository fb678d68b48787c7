"""Flavors and nodes, owners, namespaces."""

from __future__ import annotations

from check_help import flavor, gpu, local_queue, make_node, queue, run

from policycheck.systems.kueue import checks

OWNERS = {"owner": ["owner"], "explanation": ["why"]}


def test_a_flavor_that_matches_no_node_names_the_label_to_blame():
    nodes = [make_node("n1", product="NVIDIA-H100", pool="a"), make_node("n2", product="NVIDIA-L4", pool="b")]
    hits, _ = run(checks.matches_no_node, flavor("f", product="NVIDIA-H10O"), nodes)
    assert [(h.path, h.values["why"]) for h in hits] == [
        (("spec", "nodeLabels", "product"), "no node has product=NVIDIA-H10O; did you mean 'NVIDIA-H100'?")
    ]
    hits, _ = run(checks.matches_no_node, flavor("f", product="NVIDIA-H100", pool="b"), nodes)
    assert [h.values["why"] for h in hits] == ["no node carries all 2 labels at once"]
    assert run(checks.matches_no_node, flavor("f"), nodes)[0] == []


REMOTE = """
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata: {name: dispatch}
spec: {controllerName: %s}
"""


def test_the_nodes_of_a_manager_are_those_of_other_clusters():
    check = "admissionChecksStrategy: {admissionChecks: [{name: dispatch}]}"
    base = flavor("far", pool="far") + queue("q", {"far": gpu(8)}, extra=check)
    nodes = [make_node("manager", pool="system")]
    remote = base + REMOTE % "kueue.x-k8s.io/multikueue"
    assert run(checks.matches_no_node, remote, nodes)[0] == []
    assert run(checks.guarantees_beyond_hardware, remote, nodes)[0] == []
    here = [make_node("worker", pool="far", gpus=4)]
    assert run(checks.guarantees_beyond_hardware, remote, here)[0] == []
    budget = base + REMOTE % "example.com/budget"
    assert len(run(checks.matches_no_node, budget, nodes)[0]) == 1
    assert len(run(checks.guarantees_beyond_hardware, budget, here)[0]) == 1


def test_a_provisioned_flavor_may_have_no_node():
    spot = flavor("spot", pool="spot")
    check = "admissionChecksStrategy: {admissionChecks: [{name: nodes}]}"
    provisioned = queue("q", {"spot": gpu(8)}, extra=check)
    assert run(checks.matches_no_node, spot + provisioned, [make_node("team", pool="a")])[0] == []
    assert (
        len(
            run(checks.matches_no_node, spot + queue("q", {"spot": gpu(8)}), [make_node("team", pool="a")])[0]
        )
        == 1
    )


def test_overlap_needs_a_resource_in_common_and_equal_taints():
    both = flavor("a", pool="x") + flavor("b", pool="x")
    assert len(run(checks.flavors_overlap, both + queue("q", {"a": gpu(8), "b": gpu(8)}))[0]) == 1
    assert run(checks.flavors_overlap, both + queue("q", {"a": gpu(8), "b": gpu(0)}))[0] == []
    empty = flavor("a") + flavor("b") + queue("q", {"a": gpu(8), "b": gpu(8)})
    assert run(checks.flavors_overlap, empty)[0] == []
    # Two flavors over everything do share the nodes, once there are nodes to share.
    assert len(run(checks.flavors_overlap, empty, [make_node("team"), make_node("m")])[0]) == 1


def test_overlap_leaves_the_word_to_the_sum_when_that_is_short():
    text = flavor("a", pool="x") + flavor("b", pool="x") + queue("q", {"a": gpu(8), "b": gpu(8)})
    one, two = [make_node("n1", pool="x")], [make_node("n1", pool="x"), make_node("n2", pool="x")]
    assert run(checks.flavors_overlap, text, one)[0] == []
    assert len(run(checks.guarantees_beyond_hardware, text, one)[0]) == 1
    assert len(run(checks.flavors_overlap, text, two)[0]) == 1
    assert run(checks.guarantees_beyond_hardware, text, two)[0] == []


def test_unused_flavors_need_queues_in_sight():
    assert run(checks.flavor_unused, flavor("a"))[1] == [
        "no ClusterQueue is in sight; pass --context with the folder that holds them"
    ]
    hits, _ = run(checks.flavor_unused, flavor("a") + flavor("b") + queue("q", {"a": gpu(8)}))
    assert [h.values["flavor"] for h in hits] == ["b"]
    # Of two definitions of a queue either may hold: what one of them names is not unused.
    double = queue("q", {"a": gpu(8)}) + queue("q", {"b": gpu(8)})
    assert run(checks.flavor_unused, flavor("a") + flavor("b") + double)[0] == []


def test_owners_are_asked_for_one_by_one_or_once_for_all():
    def owned(name, **said):
        notes = ", ".join(f"{key}: x" for key in said)
        return queue(name, {}).replace(f"{{name: {name}}}", f"{{name: {name}, annotations: {{{notes}}}}}")

    full = owned("a", owner=1, why=1) + owned("b", owner=1, why=1)
    assert run(checks.owner_missing, full, **OWNERS)[0] == []
    hits, _ = run(checks.owner_missing, full + owned("c", owner=1) + queue("d", {}), **OWNERS)
    assert [(h.values["who"], h.values["missing"]) for h in hits] == [
        ("ClusterQueue c does not say", "why its quotas are what they are"),
        ("ClusterQueue d does not say", "who owns it and why its quotas are what they are"),
    ]
    hits, _ = run(checks.owner_missing, "".join(queue(n, {}) for n in "abc") + owned("d", owner=1), **OWNERS)
    assert [h.values["who"] for h in hits] == [
        "3 of 4 ClusterQueues (a, b and c) do not say",
        "ClusterQueue d does not say",
    ]


def namespace(name, **labels):
    said = ", ".join(f"{key}: {value}" for key, value in labels.items())
    return f"---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {{{said}}}}}\n"


def selecting(name, selector):
    return queue(name, {}).replace("namespaceSelector: {}", f"namespaceSelector: {{{selector}}}")


def test_a_local_queue_outside_the_selector_only_where_that_is_known():
    text = selecting("q", "matchLabels: {tenant: a}") + local_queue("team", "lq", "q")
    assert run(checks.local_queue_outside_selector, text)[0] == []
    assert len(run(checks.local_queue_outside_selector, text + namespace("team", tenant="b"))[0]) == 1
    assert run(checks.local_queue_outside_selector, text + namespace("team", tenant="a"))[0] == []
    by_name = selecting("q", "matchLabels: {kubernetes.io/metadata.name: m, tenant: a}") + local_queue(
        "team", "lq", "q"
    )
    assert len(run(checks.local_queue_outside_selector, by_name)[0]) == 1


def test_a_selector_that_takes_none_of_the_namespaces():
    text = selecting("q", "matchLabels: {tenant: a}")
    assert run(checks.selector_matches_none, text)[0] == []
    assert len(run(checks.selector_matches_none, text + namespace("team", tenant="b"))[0]) == 1
    assert run(checks.selector_matches_none, text + namespace("team", tenant="a"))[0] == []


def test_contradicting_labels_need_every_pair_to_clash():
    def grouped(second):
        group = "\n  - coveredResources: [cpu]\n    flavors:" + "".join(
            f"\n    - {{name: {name}, resources: [{{name: cpu, nominalQuota: 4}}]}}" for name in second
        )
        return queue("q", {"gpu": gpu(8)}).rstrip() + group + "\n"

    flavors = flavor("gpu", klass="gpu") + flavor("cpu", klass="cpu") + flavor("any")
    hits, _ = run(checks.labels_contradict, flavors + grouped(["cpu"]))
    assert [h.values["key"] for h in hits] == ["klass"]
    assert run(checks.labels_contradict, flavors + grouped(["cpu", "any"]))[0] == []
