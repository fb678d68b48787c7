"""Every static filter, in kube-scheduler's words."""

from __future__ import annotations

import pytest

from policycheck.model.placement import NodeTerm, Requirement, Taint, Toleration

GPU_TAINT = Taint("nvidia.com/gpu", "present", "NoSchedule")


def why(placer, one):
    placed = placer.place("team/job", [one], 0)
    return placed.sets[0].why


def test_a_summary_counts_nodes_by_their_reasons(placer, node, pods):
    nodes = [node(f"c{n}", gpus=4) for n in range(8)]
    nodes += [node(f"t{n}", gpus=8, taints=[GPU_TAINT]) for n in range(4)]
    assert why(placer(*nodes), pods(gpus=8)) == (
        "0/12 nodes are available: 4 node(s) had untolerated taint {nvidia.com/gpu: present}, "
        "8 Insufficient nvidia.com/gpu"
    )


def test_a_node_short_of_several_things_counts_for_each(placer, node, pods):
    one = placer(node("a", cpu=1, memory=1))
    assert why(one, pods(cpu=2, memory=2)) == (
        "0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory"
    )


@pytest.mark.parametrize(
    ("toleration", "fits"),
    [
        (Toleration("nvidia.com/gpu", "Exists"), True),
        (Toleration("nvidia.com/gpu", "Equal", "present"), True),
        (Toleration("nvidia.com/gpu", "Equal", "true"), False),
        (Toleration("nvidia.com/gpu", "Exists", effect="NoExecute"), False),
        (Toleration("", "Exists"), True),
    ],
)
def test_taints(placer, node, pods, toleration, fits):
    one = placer(node("a", taints=[GPU_TAINT]))
    assert (why(one, pods(tolerations=(toleration,))) == "") == fits


def test_soft_taints_refuse_nobody(placer, node, pods):
    assert why(placer(node("a", taints=[Taint("k", "v", "PreferNoSchedule")])), pods()) == ""


def test_selectors_and_affinity(placer, node, pods):
    both = placer(node("a", labels={"zone": "a"}), node("b", labels={"zone": "b"}))
    told = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector"
    assert why(both, pods(node_selector={"zone": "c"})) == told
    both.free("team/job")
    wanted = NodeTerm((Requirement("zone", "In", ("b",)),))
    placed = both.place("team/job", [pods(affinity=(wanted,), has_affinity=True)], 0)
    assert placed.sets[0].where == (("b", 1),)
    both.free("team/job")
    assert why(both, pods(has_affinity=True)) == told  # required, without a usable term: nowhere
    both.free("team/job")
    by_name = NodeTerm(fields=(Requirement("metadata.name", "In", ("a",)),))
    assert both.place("team/job", [pods(affinity=(by_name,), has_affinity=True)], 0).sets[0].where == (
        ("a", 1),
    )


def test_cordoned_nodes(placer, node, pods):
    one = placer(node("a", unschedulable=True))
    assert why(one, pods()) == "0/1 nodes are available: 1 node(s) were unschedulable"
    one.free("team/job")
    tolerant = Toleration("node.kubernetes.io/unschedulable", "Exists", effect="NoSchedule")
    assert why(one, pods(tolerations=(tolerant,))) == ""


def test_nodes_that_are_not_ready_take_nobody(placer, node, pods):
    one = placer(node("a", ready=False))
    told = "0/1 nodes are available: 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }"
    assert why(one, pods(tolerations=(Toleration("", "Exists"),))) == told


def test_too_many_pods(placer, node, pods):
    one = placer(node("a", committed={"pods": 109}))
    placed = one.place("team/job", [pods(2)], 0)
    assert (placed.sets[0].waiting, placed.sets[0].why) == (1, "0/1 nodes are available: 1 Too many pods")


def test_models(placer, node, pods):
    both = placer(node("a", gpus=8, model="H100"), node("b", gpus=8, model="A100"), node("c"))
    placed = both.place("team/job", [pods(gpus=1, models=("A100", "L4"))], 0)
    assert placed.sets[0].where == (("b", 1),)
    both.free("team/job")
    assert "3 node(s) didn't match Pod's node affinity/selector" in why(both, pods(gpus=1, models=("L4",)))


def test_claims_of_devices(placer, node, pods):
    from policycheck.model.workload import DeviceClaim

    claim = DeviceClaim("gpu.example.com", 2)
    plain = node("a")
    offering = plain._replace(name="b", allocatable={**plain.allocatable, "gpu.example.com": 2})
    assert why(placer(plain), pods(claims=(claim,))) == (
        "0/1 nodes are available: 1 cannot allocate all claims"
    )
    twice = pods(claims=(claim, claim._replace(devices=1)))
    assert "2 cannot allocate all claims" in why(placer(plain, offering), twice)
    two = placer(plain, offering)
    assert two.place("team/job", [pods(2, claims=(claim,))], 0).sets[0].where == (("b", 1),)


def test_nodes_chosen_before(placer, node, pods):
    both = placer(node("a", gpus=2), node("b", gpus=2))
    placed = both.place("team/job", [pods(4, gpus=1, fixed=(("a", 3), ("b", 1)))], 0)
    assert placed.sets[0].where == (("a", 2), ("b", 1))
    assert placed.sets[0].waiting == 1
    assert placed.sets[0].why == (
        "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, "
        "1 node(s) didn't match the requested node name"
    )
    elsewhere = both.place("team/other", [pods(1, fixed=(("nowhere", 1),))], 0)
    assert "2 node(s) didn't match the requested node name" in elsewhere.sets[0].why
