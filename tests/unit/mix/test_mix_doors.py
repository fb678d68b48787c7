"""What a mix is told of a cluster: queues, what they could ever give, and the capacity."""

from __future__ import annotations

from policycheck.app import load
from policycheck.app.arrivals import site
from policycheck.app.gather import Sources
from policycheck.lint.settings import Settings
from policycheck.source.tree import Listing

GPU = "nvidia.com/gpu"
QUEUE = """---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:
  {cohort}
  namespaceSelector: {{}}
  resourceGroups:
    - coveredResources: [{resource}]
      flavors: [{flavors}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: q, namespace: {name}}}
spec: {{clusterQueue: {name}}}
"""
FLAVORS = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: fabric}
spec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: big}
spec: {nodeLabels: {pool: big}, topologyName: fabric}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: small}
spec: {nodeLabels: {pool: small}}
"""


def node(name, pool, gpus, ready="True"):
    return f"""---
apiVersion: v1
kind: Node
metadata: {{name: {name}, labels: {{pool: {pool}}}}}
status:
  allocatable: {{cpu: "8", nvidia.com/gpu: "{gpus}"}}
  conditions: [{{type: Ready, status: "{ready}"}}]
"""


def flavor(name, nominal, limit="", resource=GPU):
    more = f", borrowingLimit: {limit}" if limit else ""
    return f"{{name: {name}, resources: [{{name: {resource}, nominalQuota: {nominal}{more}}}]}}"


def queue(name, *flavors, cohort="", resource=GPU):
    named = f"cohortName: {cohort}" if cohort else ""
    return QUEUE.format(name=name, cohort=named, resource=resource, flavors=", ".join(flavors))


def place(*texts, resource=GPU):
    held = {"all.yaml": "".join((FLAVORS, *texts)).encode()}
    sources = Sources(tuple(held), held.__getitem__, tree=Listing(list(held)), in_memory=True)
    (cluster,) = load(sources, Settings())
    return site(cluster, resource)


def test_what_a_queue_is_guaranteed_and_could_ever_give_one_job():
    found, _ = place(
        queue("alone", flavor("big", 16), flavor("small", 4)),
        queue("lends", flavor("big", 32), cohort="c"),
        queue("borrows", flavor("big", 8, 16), cohort="c"),
        queue("takes", flavor("big", 8), cohort="c"),
        queue("other", flavor("big", 8, resource="cpu"), resource="cpu"),
    )
    doors = {d.namespace: d for d in found.doors}
    assert {name: (d.guarantee, d.most, d.serves) for name, d in doors.items()} == {
        "alone": (20, 16, True),  # one podset lies in one flavor
        "lends": (32, 48, True),
        "borrows": (8, 24, True),
        "takes": (8, 48, True),
        "other": (0, 0, False),
    }
    assert doors["alone"].levels == ("rack", "kubernetes.io/hostname")
    assert (doors["alone"].queue, doors["alone"].holder) == ("q", "alone")


def test_the_largest_node_is_one_that_the_queue_can_use():
    nodes = node("a", "big", 8) + node("b", "small", 4) + node("c", "big", 16, "False")
    found, _ = place(queue("wide", flavor("big", 16)), queue("narrow", flavor("small", 4)), nodes)
    assert {d.namespace: d.per_host for d in found.doors} == {"wide": 8, "narrow": 4}
    assert [h.name for h in found.hosts] == ["a", "b"]


def test_the_capacity_is_the_smaller_of_nodes_and_quota():
    nodes = node("a", "big", 8) + node("b", "big", 8, "False")
    assert place(queue("x", flavor("big", 16)))[0].capacity == 16
    assert place(queue("x", flavor("big", 16)))[1] == "all quota"
    assert (
        place(queue("x", flavor("big", 16)), nodes)[0].capacity,
        place(queue("x", flavor("big", 16)), nodes)[1],
    ) == (
        8,
        "the usable nodes",
    )
    assert place(queue("x", flavor("big", 4)), nodes)[0].capacity == 4
    assert (
        place(queue("x", flavor("big", "64", resource="cpu"), resource="cpu"), resource="cpu")[0].capacity
        == 64
    )


def test_a_local_queue_that_leads_nowhere_is_no_door():
    lost = "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: q, namespace: n}\nspec: {clusterQueue: gone}\n"
    found, whence = place(lost)
    assert (found.doors, found.capacity, whence) == ((), 0, "")
