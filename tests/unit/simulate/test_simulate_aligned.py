"""Kubelets that hand out devices of one NUMA node alone: what would need more has no room, and it is said."""

from __future__ import annotations

import pytest

from policycheck.app import Sources, load
from policycheck.app.simulate import simulate_cluster
from policycheck.lint.settings import Settings
from policycheck.model.workload import PodSet
from policycheck.simulate.job import Arrivals, Job
from policycheck.source.tree import Listing

TEXT = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
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
metadata:
  name: n1
  labels: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3, nvidia.com/gpu.count: "8", policycheck.dev/numa-nodes: "2"}
status:
  allocatable: {"nvidia.com/gpu": "8", pods: "10"}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
topologyManagerPolicy: POLICY
"""


def timeline(policy: str, *gpus: int):
    files = {"all.yaml": TEXT.replace("POLICY", policy)}
    sources = Sources(
        tuple(files), read=lambda name: files[name].encode(), tree=Listing(files), in_memory=True
    )
    (cluster,) = load(sources, Settings())
    jobs = tuple(
        Job(f"team/{n}", "main", n, 10_000, (PodSet("main", 1, {"nvidia.com/gpu": units}),))
        for n, units in enumerate(gpus)
    )
    return simulate_cluster(cluster, None, Arrivals(jobs, horizon=5_000))


@pytest.mark.parametrize(
    ("policy", "gpus", "unplaced"),
    [
        ("none", (8,), [0]),
        ("best-effort", (8,), [0]),
        ("single-numa-node", (8,), [1]),  # four cards on each of two NUMA nodes
        ("single-numa-node", (4, 4), [0, 0]),
        ("single-numa-node", (3, 3, 2), [0, 0, 1]),  # one is left on either
    ],
)
def test_a_pod_runs_where_its_devices_are_on_one_numa_node(policy, gpus, unplaced):
    made = timeline(policy, *gpus)
    assert [life.stays[0].unplaced for life in made.lives] == unplaced
    told = any("TopologyAffinityError" in note for note in made.notes)
    assert told == (policy == "single-numa-node")
