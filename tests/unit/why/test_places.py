"""Pods of workloads with quota on nodes: what runs, what waits, and what pools make of it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from policycheck.model.inventory import Inventory, Node
from policycheck.model.placement import Selector
from policycheck.model.workload import PodSet, TopologyRequest
from policycheck.simulate import why
from policycheck.systems.kueue import opening as openings
from policycheck.systems.kueue.model import (
    ClusterQueue,
    FlavorQuotas,
    KueueObjects,
    KueueWorkload,
    LocalQueue,
    Quota,
    ResourceFlavor,
    ResourceGroup,
    Topology,
)
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.target import Target
from policycheck.systems.kueue.why.ask import ask
from policycheck.systems.kueue.why.places import places
from policycheck.systems.kueue.why.trial import narrowed, settle

GPU, HOST = "nvidia.com/gpu", "kubernetes.io/hostname"


def node(name, gpus=8, **more):
    labels = {"pool": "h100", HOST: name, **more.pop("labels", {})}
    return Node(name, labels, allocatable={GPU: gpus}, source="node", **more)


def queue(name, flavor, quota):
    return ClusterQueue(
        name, "", (ResourceGroup((GPU,), (FlavorQuotas(flavor, {GPU: Quota(quota)}),)),), Selector()
    )


def job(name, to, pods, gpus, when=0, topology=None):
    spec = PodSet("main", pods, {GPU: gpus}, topology=topology)
    return KueueWorkload("ns", name, to, (spec,), created=f"2026-01-01T00:00:{when:02}Z", uid=name)


def objects(workloads, flavors=None, queues=None, topologies=None):
    flavors = flavors or {"h100": ResourceFlavor("h100", {"pool": "h100"})}
    queues = queues or [queue("a", "h100", 64)]
    return KueueObjects(
        cluster_queues={q.name: q for q in queues},
        local_queues={("ns", q.name): LocalQueue("ns", q.name, q.name) for q in queues},
        flavors=flavors,
        topologies=topologies or {},
        workloads={(w.namespace, w.name): w for w in workloads},
    )


def opened(nodes, made):
    """As ``opening`` makes it of a cluster."""
    inventory = Inventory(tuple(map(openings.filled, nodes)), known=True)
    return Opening(
        made,
        {"ns": {}},
        (),
        Target(),
        1,
        openings._nodes(inventory),
        openings._pools(inventory, made),
        openings._near(inventory, made),
        frozenset(r for n in nodes for r in openings._untold(n)),
    )


def test_pods_without_a_node_are_told_with_the_schedulers_words():
    nodes = [node(f"n{n}") for n in range(4)]
    answer = ask(opened(nodes, objects([job("gang", "a", 5, 5)])), "ns/gang")
    assert answer.outcome == why.ADMITTED
    assert answer.headline == "is given its quota on h100, and 4 of its 5 pods find a node"
    assert [(one.name, one.pods, one.least, one.most) for one in answer.unplaced] == [("main", 5, 1, 1)]
    assert answer.notes == (
        "main: 1 of 5 pods stay Pending: 0/4 nodes are available: 4 Insufficient nvidia.com/gpu",
    )
    whole = ask(opened(nodes, objects([job("gang", "a", 4, 5)])), "ns/gang")
    assert (whole.headline, whole.notes) == ("is given its quota on h100", ())


def test_those_that_had_quota_before_are_on_nodes_before():
    nodes = [node("n0"), node("n1")]
    made = objects([job("first", "a", 2, 5, when=1), job("second", "a", 2, 4, when=2)])
    found = places(settle(opened(nodes, made), "ns/second"))
    assert (found.running, found.pods, [one.most for one in found.sets]) == ("0", 2, [2])
    assert places(settle(opened(nodes, made), "ns/first")).sets == ()


def test_queues_of_other_cohorts_on_the_same_nodes_matter():
    flavors = {
        "h100": ResourceFlavor("h100", {"pool": "h100"}),
        "all": ResourceFlavor("all"),
        "l4": ResourceFlavor("l4", {"pool": "l4"}),
    }
    queues = [queue("a", "h100", 64), queue("b", "all", 64), queue("c", "l4", 64)]
    made = objects(
        [job("first", "b", 2, 5, when=1), job("second", "a", 1, 4, when=2), job("third", "c", 1, 4, when=3)],
        flavors,
        queues,
    )
    other = node("l0", labels={"pool": "l4"})
    opening = opened([node("n0"), node("n1"), other], made)
    small = narrowed(opening, "ns/second")
    # c shares nodes with b, which shares nodes with a
    assert set(small.objects.cluster_queues) == {"a", "b", "c"}
    assert set(narrowed(opening._replace(nodes=None), "ns/second").objects.cluster_queues) == {"a"}
    apart = opened(
        [node("n0"), other], made._replace(cluster_queues={q.name: q for q in (queues[0], queues[2])})
    )
    assert set(narrowed(apart, "ns/second").objects.cluster_queues) == {"a"}


def test_what_nobody_tells_of_nodes_is_enough_and_said():
    made = objects([job("gang", "a", 1, 5)])
    queues = ClusterQueue(
        "a",
        "",
        (ResourceGroup(("cpu", GPU), (FlavorQuotas("h100", {"cpu": Quota(10**6), GPU: Quota(64)}),)),),
        Selector(),
    )
    workload = made.workloads["ns", "gang"]
    asking = workload._replace(pod_sets=(PodSet("main", 1, {GPU: 5, "cpu": 10_000}),))
    made = made._replace(cluster_queues={"a": queues}, workloads={("ns", "gang"): asking})
    answer = ask(opened([node("n0")], made), "ns/gang")
    assert answer.headline == "is given its quota on h100"
    assert answer.notes == ("nothing says what nodes have of cpu: taken as enough",)


FABRIC = {"fabric": Topology("fabric", ("rack", HOST))}
PLACED = {"h100": ResourceFlavor("h100", {"pool": "h100"}, topology="fabric")}


def pool(least, most):
    labels = {"pool": "h100", "rack": "r1"}
    return Node("p", labels, allocatable={GPU: 8}, machines=least, most=most, source="pool")


def asked_of(least, most, pods):
    request = TopologyRequest("required", "rack")
    made = objects([job("gang", "a", pods, 8, topology=request)], PLACED, topologies=FABRIC)
    return ask(opened([pool(least, most)], made), "ns/gang", search=False)


def test_both_ends_of_pools_are_answered_where_they_differ():
    grown = asked_of(2, 8, 4)
    assert grown.outcome == why.WAITS
    assert grown.headline.startswith("at the pools' minimum: can never be admitted")
    assert grown.headline.endswith("with all pools at their maximum: is given its quota on h100")
    assert "pools that grow: p" in grown.notes
    assert [(end.at, end.outcome) for end in grown.ends] == [
        ("minimum", why.NEVER),
        ("maximum", why.ADMITTED),
    ]
    assert asked_of(0, 8, 4).headline.endswith("with all pools at their maximum: is given its quota on h100")
    assert asked_of(4, 8, 4).headline == "is given its quota on h100"
    never = asked_of(1, 3, 4)
    assert never.outcome == why.NEVER
    assert "maximum" not in never.headline
    assert asked_of(1, None, 8).headline.endswith("maximum: is given its quota on h100")


@settings(max_examples=40)
@given(
    st.integers(0, 4),
    st.integers(0, 4),
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 8)), max_size=4),
)
def test_running_and_waiting_add_up(machines, more, gangs):
    made = objects([job(f"j{n}", "a", pods, gpus, when=n) for n, (pods, gpus) in enumerate(gangs)])
    opening = opened([pool(machines, machines + more)], made)
    for at in (opening.smallest(), opening.largest()):
        for workload in made.workloads.values():
            trial = settle(at, workload.id)
            found = places(trial) if trial.holds else None
            if found is None:
                continue
            spec = workload.pod_sets[0]
            size = sum(node.machines for node in at.nodes)
            assert found.pods == spec.pods
            for one in found.sets:
                assert 0 <= one.least <= one.most <= spec.pods
                assert one.why
                assert spec.pods - one.least <= size * (8 // spec.requests[GPU])
