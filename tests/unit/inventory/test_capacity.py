from policycheck.model import capacity, levels
from policycheck.model.inventory import Accelerators, Inventory, Node, Range
from policycheck.model.placement import Taint, Toleration

GPU = "nvidia.com/gpu"


def node(name="n", gpus=8, labels=None, **more):
    exact = Range(gpus, gpus)
    return Node(
        name=name,
        labels=labels or {},
        allocatable={GPU: gpus, "cpu": 64000},
        accelerators=Accelerators("H100", exact, exact, resource=GPU),
        source="node",
    )._replace(**more)


def unknown(name="u", physical=None, capacity_=None, **told):
    found = None
    if physical is not None:
        found = Accelerators("H100", physical, Range(0, physical.high, "no status"), resource=GPU, **told)
    return Node(name, {}, capacity=capacity_, accelerators=found, source="node")


def test_select_wants_every_label():
    both = [node("a", labels={"x": "1", "y": "2"}), node("b", labels={"x": "1"})]
    assert [n.name for n in capacity.select(both, {"x": "1"})] == ["a", "b"]
    assert [n.name for n in capacity.select(Inventory(tuple(both), True), {"x": "1", "y": "2"})] == ["a"]
    assert capacity.select(both, {"x": "2"}) == ()
    assert len(capacity.select(both, {})) == 2


def test_the_total_is_net_and_leaves_out_what_is_out_of_use():
    nodes = [
        node("a"),
        node("b", committed={GPU: 3}),
        node("c", ready=False),
        node("d", unschedulable=True),
        node("e", committed={GPU: 99}),
    ]
    assert capacity.total(nodes, GPU) == Range(13, 13)
    assert capacity.arithmetic(nodes, GPU) == "1 node x 8 + 1 node x 5"
    assert capacity.total([], GPU) == Range(0, 0)
    assert capacity.arithmetic([], GPU) == "no node"
    assert capacity.arithmetic([node("a")], "cpu") == "1 node x 64"


def test_the_arithmetic_groups_alike_nodes_most_first():
    nodes = [node(str(n), 4) for n in range(2)] + [node(str(n)) for n in range(8)]
    assert capacity.arithmetic(nodes, GPU) == "8 nodes x 8 + 2 nodes x 4"
    assert capacity.arithmetic([node(machines=8, most=8)], GPU) == "8 nodes x 8"


def test_an_unlisted_resource_is_none_unless_every_node_has_it():
    bare = node(allocatable={GPU: 8})
    assert capacity.free(bare, "rdma/ib") == Range(0, 0)
    assert capacity.free(bare, "memory").high is None
    assert capacity.free(node(), "cpu") == Range(64000, 64000)


def test_elastic_pools_are_ranges():
    pool = node("pool", machines=2, most=10)
    found = capacity.total([pool, node()], GPU)
    assert (found.low, found.high) == (24, 88)
    assert "pool is elastic (2 to 10 machines)" in found.why
    assert capacity.arithmetic([pool], GPU) == "2..10 nodes x 8"
    assert capacity.total([node(machines=0, most=None)], GPU).high is None
    assert capacity.machines([pool, node()]).high == 11


def test_without_amounts_labels_or_capacity_bound():
    measured = unknown(physical=Range(8, 8))
    assert (capacity.free(measured, GPU).low, capacity.free(measured, GPU).high) == (0, 8)
    shared = unknown(physical=Range(8, 8), replicas=4)
    assert capacity.free(shared, GPU).high == 32
    for doubtful in (
        unknown(physical=Range(8, 8, "assumed")),
        unknown(physical=Range(8, 8), model_source="karpenter"),
        unknown(physical=Range(8, 8), replicas=0),
        unknown(physical=Range(1, 1), sharing="mig-single"),
        unknown(),
    ):
        found = capacity.free(doubtful, GPU)
        assert (found.low, found.high) == (0, None)
        assert found.why
    assert capacity.free(unknown(capacity_={GPU: 8}), GPU).high == 8
    assert capacity.free(unknown(capacity_={"cpu": 1}), GPU) == Range(0, 0)
    assert capacity.arithmetic([measured, unknown()], GPU) == "1 node x at most 8 + 1 node unknown"


def test_the_largest_node():
    assert capacity.largest_node([node("a", 4), node("b", 8), node("c", 16, ready=False)], GPU) == Range(8, 8)
    assert capacity.largest_node([], GPU) == Range(0, 0)
    found = capacity.largest_node([node("a", 4), unknown(physical=Range(8, 8))], GPU)
    assert (found.low, found.high) == (4, 8)
    found = capacity.largest_node([unknown(), node("a", 4)], GPU)
    assert (found.low, found.high) == (4, None)


def test_lacking_a_label():
    assert [n.name for n in capacity.lacking([node("a", labels={"rack": "r"}), node("b")], "rack")] == ["b"]


def test_domains_hold_what_their_usable_nodes_hold():
    def at(name, block, rack, **more):
        return node(name, labels={"block": block, "rack": rack}, **more)

    nodes = [
        at("a", "1", "1"),
        at("b", "1", "2"),
        at("c", "2", "1"),
        at("d", "2", "2", ready=False),
        node("e"),
    ]
    blocks, racks = capacity.domains(nodes, ["block", "rack"], GPU)
    assert [(d.values, d.machines.low, d.free.low) for d in blocks] == [(("1",), 2, 16), (("2",), 1, 8)]
    assert [d.values for d in racks] == [("1", "1"), ("1", "2"), ("2", "1")]
    assert capacity.unnested(nodes, ["block", "rack"]) == (
        ("rack", "1", ("1", "2")),
        ("rack", "2", ("1", "2")),
    )


def test_alike_machines_are_hosts_of_their_own():
    pool = node("p", labels={"rack": "r"}, machines=3, most=5)
    parts = capacity.expand(pool)
    assert [(p.name, p.machines, p.most) for p in parts] == [
        ("p-1", 1, 1),
        ("p-2", 1, 1),
        ("p-3", 1, 1),
        ("p", 0, 2),
    ]
    racks, hosts = capacity.domains([pool], ["rack", capacity.HOSTNAME], GPU)
    assert [d.values for d in hosts] == [("r", "p-1"), ("r", "p-2"), ("r", "p-3")]
    assert racks[0].free.low == 24
    assert capacity.expand(node("x")) == (node("x"),)


def test_tolerable_nodes():
    tainted = node("t", taints=(Taint("nvidia.com/gpu", "present", "NoSchedule"),))
    assert capacity.tolerable([tainted, node("a")], ()) == (node("a"),)
    assert len(capacity.tolerable([tainted], (Toleration("nvidia.com/gpu", "Exists"),))) == 1


def test_models_add_up_without_slices():
    sliced = node("m", 2)
    assert sliced.accelerators is not None
    sliced = sliced._replace(
        accelerators=sliced.accelerators._replace(slices={"nvidia.com/mig-1g.10gb": 7}, sharing="mig-mixed")
    )
    out = node("o", ready=False)
    (found,) = capacity.by_model([sliced, node("a"), out])
    assert (found.physical.low, found.machines.low) == (18, 3)
    assert found.slices == {"nvidia.com/mig-1g.10gb": 7}
    assert capacity.physical([sliced, node("a"), out]) == Range(18, 18)
    assert capacity.schedulable([sliced, node("a"), out]) == Range(10, 10)


def test_a_table_does_not_know_labels():
    assert capacity.knows_labels([node()])
    assert not capacity.knows_labels([node(), node(source="table")])
    assert capacity.knows_labels([node(source="table", labels={"a/b": "c"})])


def test_level_candidates_come_widest_first():
    labels = {
        "kubernetes.io/hostname": "n",
        "topology.k8s.aws/network-node-layer-3": "l3",
        "topology.k8s.aws/network-node-layer-1": "l1",
        "topology.kubernetes.io/zone": "z",
        "example.com/rack": "r1",
        "example.com/tracker": "no",
    }
    found = levels.candidates(
        [node(labels=labels), node("b", labels={"example.com/rack": "r2"}, ready=False)], GPU
    )
    assert [(level.key, level.carried, level.lacking, level.values) for level in found] == [
        ("topology.kubernetes.io/zone", 1, 1, 1),
        ("topology.k8s.aws/network-node-layer-1", 1, 1, 1),
        ("topology.k8s.aws/network-node-layer-3", 1, 1, 1),
        ("example.com/rack", 2, 0, 2),
        ("kubernetes.io/hostname", 1, 1, 1),
    ]
    rack = found[3]
    assert [(d.values, d.free.low) for d in rack.domains] == [(("r1",), 8), (("r2",), 0)]


def test_reasons_are_named_once_and_not_without_end():
    found = capacity.together(Range(0, 1, f"reason {n % 7}") for n in range(1000))
    assert (found.low, found.high) == (0, 1000)
    assert found.why == "reason 0; reason 1; reason 2; reason 3; and 3 reasons more"
    twice = Range(0, 1, "a; b").plus(Range(0, 1, "b"))
    assert (twice.high, twice.why) == (2, "a; b")
    assert Range(1, 1, "a").plus(Range(1, None, "b")) == Range(2, None, "a; b")


def test_devices_of_a_class_are_no_units_of_a_resource():
    made = node(
        allocatable={"cpu": 1},
        accelerators=Accelerators("A", Range(4, 4), Range(4, 4), resource="gpu.nvidia.com"),
    )
    assert capacity.devices([made, node()], "gpu.nvidia.com") == Range(4, 4)
    assert capacity.total([made], "gpu.nvidia.com") == Range(0, 0)
    assert capacity.total([made], GPU) == Range(0, 0)
