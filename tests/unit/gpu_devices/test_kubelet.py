"""Topology Manager: what a kubelet refuses that the scheduler has bound."""

import pytest

from policycheck.model import cluster as clusters
from policycheck.model.cluster import Entry
from policycheck.model.inventory import Node
from policycheck.model.origin import DocumentId, Origin
from policycheck.simulate.device import Card, CardKind, DeviceAsk, free_units, give
from policycheck.systems import registry
from policycheck.systems.core.kubelet import Alignment, admit, alignment, of_node

GPU, NIC = "nvidia.com/gpu", "rdma/hca"
KIND, NICS = CardKind("H100", whole=GPU), CardKind("nic", whole=NIC)
HGX = tuple(Card(KIND, numa=i // 4) for i in range(8))
SINGLE, RESTRICTED, BEST = (Alignment(p) for p in ("single-numa-node", "restricted", "best-effort"))


def ask(n, resource=GPU):
    return DeviceAsk({resource: n})


def used(*positions):
    return tuple(c._replace(milli=0) if i in positions else c for i, c in enumerate(HGX))


@pytest.mark.parametrize(
    ("told", "devices", "gpus", "admitted"),
    [
        (Alignment(), HGX, 8, True),
        (SINGLE, HGX, 4, True),
        (SINGLE, HGX, 5, False),
        (SINGLE, HGX, 8, False),
        (SINGLE, used(0, 4), 4, False),  # three free on each: four in all, and more, but not on one
        (SINGLE, used(0, 4), 3, True),
        (RESTRICTED, HGX, 8, True),  # no smaller set of NUMA nodes could ever hold eight
        (RESTRICTED, used(0, 4), 4, False),  # one could hold four
        (RESTRICTED, used(0, 4), 5, True),
        (BEST, used(0, 4), 4, True),
        (BEST, HGX, 8, True),
    ],
)
def test_policies(told, devices, gpus, admitted):
    found = admit(devices, [ask(gpus)], told)
    assert (found.refused == "") is admitted
    if admitted:
        assert free_units(devices, GPU) - free_units(found.devices, GPU) == gpus
        assert give(found.devices, found.taken) == devices
    else:
        assert found.refused.startswith("TopologyAffinityError: ")
        assert (found.devices, found.taken) == (devices, ())


def test_devices_are_taken_near_to_each_other_under_best_effort():
    found = admit(used(0), [ask(4)], BEST)
    assert {piece.card for piece in found.taken} == {4, 5, 6, 7}


def test_each_container_is_aligned_by_itself_or_the_pod_as_a_whole():
    pod = [ask(4), ask(4)]
    assert admit(HGX, pod, SINGLE).refused == ""
    assert "8 nvidia.com/gpu" in admit(HGX, pod, SINGLE._replace(scope="pod")).refused
    two = [ask(2), ask(2)]
    found = admit(HGX, two, SINGLE._replace(scope="pod"))
    assert len({HGX[piece.card].numa for piece in found.taken}) == 1


def test_the_hints_of_several_resources_are_intersected():
    # One network card on NUMA node 1 alone: GPUs have to come from there too.
    devices = (*HGX, Card(NICS, numa=1))
    both = DeviceAsk({GPU: 2, NIC: 1})
    found = admit(devices, [both], SINGLE)
    assert {devices[piece.card].numa for piece in found.taken} == {1}
    full = tuple(c._replace(milli=0) if c.numa == 1 and c.kind == KIND else c for c in devices)
    assert admit(full, [both], SINGLE).refused != ""
    assert admit(full, [both], RESTRICTED).refused != ""
    assert admit(full, [both], BEST).refused == ""


def test_a_resource_that_needs_two_numa_nodes_is_never_on_a_single_one():
    devices = (*HGX, Card(NICS, numa=0), Card(NICS, numa=1))
    both = DeviceAsk({GPU: 1, NIC: 2})
    assert admit(devices, [both], SINGLE).refused != ""
    assert admit(devices, [both], RESTRICTED).refused == ""


def test_what_is_not_known_refuses_nothing():
    unknown = tuple(c._replace(numa=-1) for c in HGX)
    assert admit(unknown, [ask(8)], SINGLE).refused == ""
    assert admit(HGX, [DeviceAsk({})], SINGLE) == (HGX, (), "")


def test_devices_of_claims_give_no_hints():
    devices = tuple(c._replace(kind=CardKind("H100", whole="gpu.nvidia.com")) for c in HGX)
    assert admit(devices, [ask(8, "gpu.nvidia.com")], SINGLE).refused == ""


def test_what_is_not_there_is_no_question_of_alignment():
    found = admit(HGX, [ask(5), ask(5)], Alignment())
    assert found.refused.startswith("UnexpectedAdmissionError")
    assert found.devices == HGX


def test_slots_and_laid_out_instances_are_aligned_too():
    shared = CardKind("T4", share=GPU, shares=2)
    devices = (Card(shared, slots=2, numa=0), Card(shared, slots=2, numa=1))
    assert admit(devices, [ask(2)], SINGLE).refused == ""
    assert admit(devices, [ask(3)], SINGLE).refused != ""


def test_nine_numa_nodes_are_more_than_a_kubelet_starts_with():
    devices = tuple(Card(KIND, numa=i) for i in range(9))
    assert "9 NUMA nodes" in admit(devices, [ask(1)], SINGLE).refused


def linked(*bodies):
    entries = []
    for i, body in enumerate(bodies):
        value = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "metadata": {"name": f"k{i}"},
            **body,
        }
        entries.append(Entry(registry.read(value), origin(i)))
    return clusters.link("s", entries, registry.linkers())


def origin(i):
    place = DocumentId(f"f{i}.yaml", 0)
    return Origin(place, 1, str(i))


def test_the_configuration_in_sight_counts_for_all_nodes():
    told = alignment(linked({"topologyManagerPolicy": "single-numa-node", "topologyManagerScope": "pod"}))
    assert told[:2] == ("single-numa-node", "pod")
    assert "assumed" in told.why
    assert alignment(linked()) == ("none", "container", "")
    assert alignment(linked({"cpuManagerPolicy": "static"})) == ("none", "container", "")


def test_configurations_that_differ_hold_for_nobody():
    told = alignment(
        linked({"topologyManagerPolicy": "restricted"}, {"topologyManagerPolicy": "best-effort"})
    )
    assert told.policy == "none"
    assert "differ" in told.why
    same = alignment(linked({"topologyManagerPolicy": "restricted"}, {"topologyManagerPolicy": "restricted"}))
    assert same.policy == "restricted"


def test_a_policy_that_no_kubelet_knows_counts_as_none():
    told = alignment(linked({"topologyManagerPolicy": "strict"}))
    assert told.policy == "none"
    assert "strict is none of" in told.why


def test_labels_of_a_node_say_more_than_the_configuration():
    told = Alignment("restricted", "container", "assumed")
    assert of_node(Node("n", {}), told) == (told, 0)
    labels = {
        "policycheck.dev/topology-manager-policy": "single-numa-node",
        "policycheck.dev/topology-manager-scope": "pod",
        "policycheck.dev/numa-nodes": "4",
    }
    assert of_node(Node("n", labels), told) == (Alignment("single-numa-node", "pod"), 4)


def test_labels_that_say_nothing_usable_are_named():
    labels = {
        "policycheck.dev/topology-manager-policy": "strict",
        "policycheck.dev/topology-manager-scope": "node",
        "policycheck.dev/numa-nodes": "many",
    }
    found, sockets = of_node(Node("n", labels), Alignment())
    assert (found.policy, found.scope, sockets) == ("none", "container", 0)
    assert "is strict" in found.why
    assert "is node" in found.why
    assert "is many" in found.why
    assert of_node(Node("n", {"policycheck.dev/numa-nodes": "0"}), Alignment())[1] == 0


def test_feature_discovery_tells_one_numa_node_from_several():
    seen = {"feature.node.kubernetes.io/cpu-model.family": "6"}
    assert of_node(Node("n", seen), Alignment())[1] == 1
    assert of_node(Node("n", {**seen, "feature.node.kubernetes.io/memory-numa": "true"}), Alignment())[1] == 2


def test_more_shares_than_a_container_may_have_are_refused_by_the_node():
    alone = CardKind("T4", share=GPU, shares=4, limit=1)
    devices = (Card(alone, slots=4),)
    found = admit(devices, [ask(2)], Alignment())
    assert found.refused == (
        "UnexpectedAdmissionError: 2 nvidia.com/gpu are shares, of which a container may have 1"
    )
    assert admit(devices, [ask(1), ask(1)], Alignment()).refused == ""
