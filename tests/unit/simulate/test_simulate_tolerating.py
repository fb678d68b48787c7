"""Who decides without the queue system lets pods onto the nodes that their flavors would open to them."""

from __future__ import annotations

from policycheck.app import Sources, load
from policycheck.app.simulate import first_come
from policycheck.lint.settings import Settings
from policycheck.model.placement import Toleration
from policycheck.model.workload import PodSet
from policycheck.simulate.job import Arrivals, Job
from policycheck.source.tree import Listing
from policycheck.systems.kueue.drive.tolerating import tolerating
from policycheck.systems.kueue.opening import opening

TEXT = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec:
  nodeLabels: {gpu: h100}
  tolerations: [{key: gpu, operator: Exists}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: a}
spec:
  namespaceSelector: {}
  resourceGroups:
  - coveredResources: ["nvidia.com/gpu"]
    flavors: [{name: h100, resources: [{name: "nvidia.com/gpu", nominalQuota: 8}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: main, namespace: team}
spec: {clusterQueue: a}
---
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {gpu: h100, kubernetes.io/hostname: n1}}
spec: {taints: [{key: gpu, effect: NoSchedule}]}
status:
  allocatable: {"nvidia.com/gpu": "8", pods: "10"}
  conditions: [{type: Ready, status: "True"}]
"""
SETS = (PodSet("main", 1, {"nvidia.com/gpu": 4}),)


def cluster():
    files = {"all.yaml": TEXT}
    (found,) = load(
        Sources(tuple(files), read=lambda name: files[name].encode(), tree=Listing(files), in_memory=True),
        Settings(),
    )
    return found


def test_podsets_get_the_tolerations_of_their_queue_and_stay_one():
    jobs = [Job(f"team/{n}", "main", n, 1000, SETS) for n in range(3)]
    other = Job("team/lost", "elsewhere", 0, 1000, SETS)
    made = tolerating(opening(cluster(), None).objects, [*jobs, other])
    assert made[0].pod_sets[0].tolerations == (Toleration("gpu", "Exists"),)
    assert made[0].pod_sets is made[1].pod_sets
    assert made[3] is other
    again = tolerating(opening(cluster(), None).objects, made)
    assert again[0].pod_sets[0].tolerations == (Toleration("gpu", "Exists"),)


def test_first_come_first_served_runs_on_tainted_nodes():
    found = cluster()
    jobs = tuple(Job(f"team/{n}", "main", n, 1000, SETS) for n in range(2))
    made = first_come(found, opening(found, None), Arrivals(jobs))
    assert [life.state for life in made.lives] == ["finished", "finished"]
    assert {life.queue for life in made.lives} == {"a"}
