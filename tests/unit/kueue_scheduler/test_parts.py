"""Small parts of the scheduler, each against what is documented of it."""

from fractions import Fraction

import pytest

from policycheck.model.placement import NodeTerm, Requirement, Taint, Toleration
from policycheck.model.workload import PodSet
from policycheck.systems.kueue.model import (
    AdmissionFairSharing,
    Configuration,
    DeviceClassMapping,
    LocalQueue,
    ResourceFlavor,
    Transformation,
)
from policycheck.systems.kueue.scheduler.flavor import refusal, topology_refusal
from policycheck.systems.kueue.scheduler.local import Ledger, share_of
from policycheck.systems.kueue.scheduler.moment import NANOS, moment
from policycheck.systems.kueue.scheduler.plan import entering
from policycheck.systems.kueue.scheduler.reduce import search
from policycheck.systems.kueue.scheduler.shape import per_pod


def pods(**more):
    return PodSet("main", 1, more.pop("requests", {"cpu": 1000}), **more)


def test_excluded_prefixes_are_dropped():
    spec = pods(requests={"cpu": 1000, "example.com/x": 3})
    assert per_pod(spec, Configuration(exclude_prefixes=("example.com/",))) == {"cpu": 1000}


def test_transformations_multiply_replace_add_up_and_never_go_below_zero():
    rules = (
        Transformation("mig", "Replace", {"mem": "5", "cpu": "500m"}),
        Transformation("gpu", "Retain", {"mem": "80"}),
        Transformation("odd", "Replace", {"gone": "-1"}),
        Transformation("per", "Replace", {"out": "2"}, multiply_by="gpu"),
    )
    spec = pods(requests={"cpu": 1000, "mig": 2, "gpu": 3, "odd": 4, "per": 5})
    assert per_pod(spec, Configuration(transformations=rules)) == {
        "cpu": 2000, "mem": 250, "gpu": 3, "gone": 0, "out": 30,
    }  # fmt: skip


def test_devices_are_charged_under_the_name_that_their_class_is_mapped_to():
    from policycheck.model.workload import DeviceClaim

    spec = pods(claims=(DeviceClaim("gpu.example.com", 2), DeviceClaim("other", 1)))
    mapped = Configuration(device_classes=(DeviceClassMapping("gpus", ("gpu.example.com",)),))
    assert per_pod(spec, mapped) == {"cpu": 1000, "gpus": 2}


def test_only_keys_that_the_flavor_declares_count():
    flavor = ResourceFlavor("f", {"pool": "a"})
    assert refusal(flavor, pods(node_selector={"pool": "a", "zone": "x"}), {"pool"}) == ""
    assert "node affinity" in refusal(flavor, pods(node_selector={"pool": "b"}), {"pool"})
    elsewhere = NodeTerm((Requirement("zone", "In", ("x",)),))
    not_here = NodeTerm((Requirement("pool", "NotIn", ("a",)),))
    assert refusal(flavor, pods(affinity=(not_here,)), {"pool"})
    assert refusal(flavor, pods(affinity=(not_here, elsewhere)), {"pool"}) == ""


def test_a_flavors_own_tolerations_count_and_soft_taints_do_not():
    taint = Taint("spot", "true", "NoSchedule")
    tolerant = Toleration("spot", "Exists")
    assert "untolerated taint spot=true:NoSchedule" in refusal(
        ResourceFlavor("f", node_taints=(taint,)), pods(), ()
    )
    assert refusal(ResourceFlavor("f", node_taints=(taint,), tolerations=(tolerant,)), pods(), ()) == ""
    assert refusal(ResourceFlavor("f", node_taints=(taint,)), pods(tolerations=(tolerant,)), ()) == ""
    soft = taint._replace(effect="PreferNoSchedule")
    assert refusal(ResourceFlavor("f", node_taints=(soft,)), pods(), ()) == ""


@pytest.mark.parametrize(
    ("mode", "levels", "every", "refused"),
    [
        ("", None, False, False),
        ("", ("rack",), False, True),  # a flavor with topology is for those that ask for it
        ("", ("rack",), True, False),  # unless the queue has no other
        ("required", None, False, True),
        ("required", ("rack",), False, False),
        ("required", ("block",), False, True),
    ],
)
def test_topology_requests_and_flavors_must_go_together(mode, levels, every, refused):
    from policycheck.model.workload import TopologyRequest

    spec = pods(topology=TopologyRequest(mode, "rack") if mode else None)
    why = topology_refusal(ResourceFlavor("f"), spec, levels, every=every, touches=True)
    assert bool(why) == refused


def test_the_reduction_is_spread_in_proportion_and_is_the_least_that_succeeds():
    tried = []

    def fits(counts):
        tried.append(counts)
        return counts if sum(counts) <= 12 else None

    assert search([(10, 4), (10, None), (5, 2)], fits) is None
    assert search([(10, 1), (6, 1), (3, None)], fits) == [5, 4, 3]
    assert all(c[2] == 3 for c in tried if len(c) == 3 and c[0] != 10 and c[1] != 10)


def test_times_are_ordered_and_the_zero_time_is_first():
    assert moment("") == moment("nonsense") == moment("0001-01-01T00:00:00Z") == 0
    assert moment("2026-01-01T12:00:01Z") - moment("2026-01-01T12:00:00Z") == NANOS
    assert moment("2026-01-01T12:00:00+02:00") == moment("2026-01-01T10:00:00Z")
    assert moment("2024-03-01T00:00:00Z") - moment("2024-02-29T00:00:00Z") == 86_400 * NANOS
    assert moment("2026-01-01T12:00:00.5Z") % NANOS == NANOS // 2


def test_groups_are_entered_by_the_hash_of_the_resource():
    assert entering("") == 0xCBF29CE484222325
    assert entering("a") == 0xAF63DC4C8601EC8C  # test vector of FNV-1a
    assert sorted(["cpu", "nvidia.com/gpu"], key=entering) == ["nvidia.com/gpu", "cpu"]


def test_local_queues_that_used_more_go_later():
    config = AdmissionFairSharing(half_life=10.0, sampling=10.0, weights={"memory": 0.0})
    ledger = Ledger(
        config,
        {
            "ns/a": LocalQueue("ns", "a", "q", fair_weight=2000),
            "ns/z": LocalQueue("ns", "z", "q", fair_weight=0),
        },
    )
    assert ledger.use("ns/a") == ledger.use("ns/b") == 0.0
    assert ledger.use("ns/z") == float("inf")
    ledger.charge("ns/a", {"cpu": 4000, "memory": 10**12})
    assert ledger.use("ns/a") == float(Fraction(1, 2) * 4 / 2)
    ledger.sample({"ns/a": {"cpu": 4000}, "ns/b": {"cpu": 1000}})
    assert ledger.use("ns/a") == 1.0
    assert ledger.use("ns/b") == 0.5
    other = ledger.copy()
    other.charge("ns/b", {"cpu": 9000})
    assert ledger.use("ns/b") == 0.5
    ledger.sample({})
    assert ledger.use("ns/b") == 0.25


def test_without_a_half_life_nothing_is_ever_charged():
    assert share_of(300.0, 0.0) == 0.0
