"""Minimal clusters of Kueue as text, and arenas of them, for tests of what is played in them."""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.app import Sources, load
from policycheck.certify.arena import Ask
from policycheck.certify.promise import Shape
from policycheck.lint.settings import Settings, Target
from policycheck.model.workload import PodSet
from policycheck.source.tree import Listing
from policycheck.systems.kueue.arena.stage import KueueArena
from policycheck.systems.kueue.opening import opening

GPU = "nvidia.com/gpu"


def queue(name: str, nominal: int, *, cohort: str = "all", limits: str = "", **spec: object) -> str:
    """A ClusterQueue with quota of h100, its LocalQueue and namespace. ``spec`` are further fields."""
    fields = {
        "preemption": "{reclaimWithinCohort: Any, withinClusterQueue: LowerPriority}",
        "namespaceSelector": "{}",
        **({"cohortName": cohort} if cohort else {}),
        **spec,
    }
    extra = "".join(f"\n  {key}: {value}" for key, value in fields.items())
    groups = fields.get("resourceGroups")
    quota = (
        ""
        if groups
        else f"""
  resourceGroups:
  - coveredResources: ["{GPU}"]
    flavors:
    - name: h100
      resources: [{{name: "{GPU}", nominalQuota: {nominal}{limits}}}]"""
    )
    return f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {name}}}
spec:{extra}{quota}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {{name: {name}, namespace: team-{name}}}
spec: {{clusterQueue: {name}}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: team-{name}}}
---"""


FLAVOR = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec:
  nodeLabels: {gpu: h100}
  tolerations: [{key: gpu, operator: Exists}]
---"""
TOPOLOGY = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: h100}
spec:
  topologyName: net
  nodeLabels: {gpu: h100}
  tolerations: [{key: gpu, operator: Exists}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: net}
spec: {levels: [{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]}
---"""


def classes(**values: int) -> str:
    """WorkloadPriorityClasses by name."""
    return "".join(
        f"""
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {{name: {name}}}
value: {value}
---"""
        for name, value in values.items()
    )


def pod_classes(**values: str) -> str:
    """PriorityClasses by name: value, and further fields."""
    return "".join(
        f"""
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {{name: {name}}}
value: {value}
---"""
        for name, value in values.items()
    )


def node(number: int, gpus: int = 8, rack: str = "r1", labels: Mapping[str, str] | None = None) -> str:
    """A node with GPUs, tainted."""
    more = "".join(f", {k}: {v}" for k, v in (labels or {}).items())
    return f"""
apiVersion: v1
kind: Node
metadata:
  name: n{number}
  labels: {{gpu: h100, rack: {rack}, kubernetes.io/hostname: n{number}{more}}}
spec:
  taints: [{{key: gpu, effect: NoSchedule}}]
status:
  allocatable: {{"{GPU}": "{gpus}", cpu: "64", memory: 512Gi, pods: "110"}}
  conditions: [{{type: Ready, status: "True"}}]
---"""


def nodes(many: int, gpus: int = 8, racks: int = 1) -> str:
    """So many nodes, dealt to racks in turn."""
    return "".join(node(n, gpus, f"r{n % racks + 1}") for n in range(many))


def configuration(text: str) -> str:
    """Kueue's Configuration."""
    return f"""
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
{text}
---"""


def job(name: str, of: str, pods: int, gpus: int, more: str = "", pod: str = "", template: str = "") -> str:
    """A Job of the team of queue ``of``."""
    return f"""
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
  namespace: team-{of}
  labels: {{kueue.x-k8s.io/queue-name: {of}{more}}}
spec:
  parallelism: {pods}
  completions: {pods}
  suspend: true
  template:
    metadata: {{annotations: {{{template}}}}}
    spec:
      restartPolicy: Never
      {pod}
      containers:
      - {{name: m, image: x, resources: {{limits: {{"{GPU}": {gpus}}}}}}}
---"""


def arena(text: str, target: str = "", **delays: int) -> KueueArena:
    """The arena of one text. ``target`` as in 0.17; ``delays`` of checks in ms."""
    files = {"all.yaml": text}
    sources = Sources(
        ("all.yaml",), read=lambda name: files[name].encode(), tree=Listing(files), in_memory=True
    )
    (cluster,) = load(sources, Settings())
    said = Target("kueue", target) if target else None
    return KueueArena(cluster, opening(cluster, said), delays)


def ask(name: str, of: str, gpus: int, priority: int = 0, age: int = 0, pods: int = 1, **more: object) -> Ask:
    """A workload of an attack."""
    spec = PodSet("main", pods, {GPU: gpus}, **more)
    return Ask(name, of, Shape(name, (spec,), priority=priority), priority, age=age)


def shape(
    name: str, gpus: int, pods: int = 1, priority_class: str = "", priority: int = 0, **more: object
) -> Shape:
    """A job that a team runs."""
    return Shape(name, (PodSet("main", pods, {GPU: gpus}, **more),), priority_class, priority)
