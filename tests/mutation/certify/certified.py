"""A certified cluster, small enough to be tested in a moment: what is mutated while its promises stay.

Eight nodes in two racks for training and two for serving; two production teams and two of research in a tree of
cohorts; a team that lends nothing; serving that is apart. ``world`` gives fresh documents by kind and name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import yaml

from policycheck.app import Sources
from policycheck.app.certify import Options, chosen_claims, prepare, verdicts_of
from policycheck.certify.verdict import CERTIFIED, FAILS, HOLDS, SEARCH, Verdict, outcome
from policycheck.lint.settings import Settings
from policycheck.source.tree import Listing

GPU = "nvidia.com/gpu"
API = "kueue.x-k8s.io/v1beta2"
HOST = "kubernetes.io/hostname"
ANY = {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"}

GROUPED = "no-thrash"  # its subjects are groups

Value = dict[str, Any]
World = dict[tuple[str, str], Value]

PROMISES = """
apiVersion: policycheck.dev/v1
kind: Promises
teams:
- name: search
  queues: search
  guarantee: {nvidia.com/gpu: {h100: 16}}
  burst: 75%
  within: 1m
  shapes:
  - {name: index, pods: 2, gpus: 8, requests: {cpu: 16}, topology: {required: rack}, priorityClass: production, podPriorityClass: pods}
- name: ads
  queues: ads
  guarantee: {nvidia.com/gpu: {h100: 16}}
  burst: 75%
  within: 1m
  shapes:
  - {name: rank, pods: 1, gpus: 8, requests: {cpu: 16}, topology: {required: kubernetes.io/hostname}, priorityClass: production, podPriorityClass: pods}
- name: vision
  queues: vision
  guarantee: {nvidia.com/gpu: {h100: 16}}
  burst: 63%
  within: 1m
  shapes:
  - {name: detect, pods: 1, gpus: 8, requests: {cpu: 16}, topology: {required: kubernetes.io/hostname}, priorityClass: experiment, podPriorityClass: pods}
  - {name: probe, pods: 4, gpus: 2, requests: {cpu: 4}, topology: {required: kubernetes.io/hostname}, priorityClass: experiment, podPriorityClass: pods}
- name: speech
  queues: speech
  guarantee: {nvidia.com/gpu: {h100: 8}}
  burst: 87%
  within: 1m
  shapes:
  - {name: voice, pods: 1, gpus: 8, requests: {cpu: 16}, topology: {required: kubernetes.io/hostname}, priorityClass: experiment, podPriorityClass: pods}
- name: serving
  queues: serving
  isolated: it has hardware of its own
  guarantee: {nvidia.com/gpu: {l4: 8}}
  within: 1m
  shapes:
  - {name: chat, pods: 1, gpus: 2, requests: {cpu: 8}, priorityClass: serving, podPriorityClass: serving-pods}
protection:
  protected: [serving, production]
  experiments: [experiment]
  serving: [serving]
  while: within-guarantee
losses: {nodes: 1}
gangs: {wholeWithin: 10m}
topology: {maxDomains: 1}
thrash: {preemptions: 3}
"""


def _queue(name: str, flavor: str, gpus: int, cohort: str = "", **limits: int) -> list[Value]:
    resources = [
        {"name": GPU, "nominalQuota": gpus, **limits},
        {"name": "cpu", "nominalQuota": 4 * gpus},
    ]
    spec: Value = {
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "stopPolicy": "None",
        "preemption": dict(ANY),
        "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
        "resourceGroups": [
            {"coveredResources": [GPU, "cpu"], "flavors": [{"name": flavor, "resources": resources}]}
        ],
    }
    if cohort:
        spec["cohortName"] = cohort
    return [
        _object("ClusterQueue", name, spec=spec),
        {
            "apiVersion": API,
            "kind": "LocalQueue",
            "metadata": {"name": "main", "namespace": f"team-{name}"},
            "spec": {"clusterQueue": name},
        },
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{name}"}},
    ]


def _object(kind: str, name: str, api: str = API, **more: Any) -> Value:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, **more}


def _flavor(name: str, **spec: Any) -> Value:
    toleration = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
    return _object(
        "ResourceFlavor", name, spec={"nodeLabels": {"gpu": name}, "tolerations": [toleration], **spec}
    )


def _node(name: str, flavor: str, gpus: int, rack: str) -> Value:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"gpu": flavor, "rack": rack, HOST: name}},
        "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {GPU: str(gpus), "cpu": "64", "memory": "512Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def world() -> World:
    """The documents of the certified cluster, anew."""
    wait = {
        "timeout": "5m",
        "recoveryTimeout": "3m",
        "blockAdmission": False,
        "requeuingStrategy": {"backoffLimitCount": 5},
    }
    documents = [
        *_queue("search", "h100", 16, "production"),
        *_queue("ads", "h100", 16, "production"),
        *_queue("vision", "h100", 16, "research"),
        *_queue("speech", "h100", 8, "research", lendingLimit=0),
        *_queue("serving", "l4", 8),
        _object("Cohort", "production", spec={"parentName": "all"}),
        _object("Cohort", "research", spec={"parentName": "all"}),
        _object("Cohort", "all", spec={}),
        _flavor("h100", topologyName="net"),
        _flavor("l4"),
        _object("Topology", "net", spec={"levels": [{"nodeLabel": "rack"}, {"nodeLabel": HOST}]}),
        *(_node(f"h{n}", "h100", 8, f"r{n % 2 + 1}") for n in range(8)),
        *(_node(f"l{n}", "l4", 4, "r1") for n in range(3)),
        *(_object("WorkloadPriorityClass", name, value=value) for name, value in CLASSES.items()),
        *(_object("PriorityClass", n, "scheduling.k8s.io/v1", **spec) for n, spec in POD_CLASSES.items()),
        {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "waitForPodsReady": wait},
    ]
    return {(d["kind"], d.get("metadata", {}).get("name", "")): d for d in _named(documents)}


CLASSES = {"serving": 2000, "production": 1000, "experiment": 100}
POD_CLASSES: dict[str, Value] = {
    "serving-pods": {"value": 1000},
    "pods": {"value": 10, "preemptionPolicy": "Never"},
}


def _named(documents: list[Value]) -> list[Value]:
    """LocalQueues of one name lie in several namespaces: they are called by those."""
    for document in documents:
        if document["kind"] == "LocalQueue":
            document["metadata"]["name"] = document["metadata"]["namespace"].removeprefix("team-")
    return documents


class Trial(NamedTuple):
    """Verdicts by (claim, subject), and how many stories were played."""

    verdicts: dict[tuple[str, str], Verdict]
    plays: int

    def kept(self) -> set[tuple[str, str]]:
        """What holds, and counts towards a certificate that accepts search."""
        return {key for key, verdict in self.verdicts.items() if verdict.outcome == HOLDS}


def sources(made: World, promises: str = PROMISES) -> Sources:
    """The documents as two files in memory, and the promises beside them."""
    nodes = [d for (kind, _), d in made.items() if kind == "Node"]
    others = [d for (kind, _), d in made.items() if kind != "Node"]
    files = {
        "cluster.yaml": yaml.safe_dump_all(others),
        "nodes.yaml": yaml.safe_dump_all(nodes),
        "promises.yaml": promises,
    }
    return Sources(tuple(files), read=lambda n: files[n].encode(), tree=Listing(files), in_memory=True)


def trial(made: World, claims: tuple[str, ...] = (), scenarios: int = 10) -> Trial:
    """These claims, or all of them, with so many drawn scenarios a verdict."""
    (one,), _ = prepare(sources(made), Settings(), "")
    options = Options(claims, scenarios)
    found = verdicts_of(one, chosen_claims(options), options)
    # A group of queues is called by its first, however many there are.
    return Trial({(v.claim, v.subject.partition(" and ")[0]): v for v in found}, one.arena.plays)  # type: ignore[attr-defined]


def outcome_of(made: Trial) -> str:
    """Whether it is certified when search counts."""
    return outcome(tuple(made.verdicts.values()), frozenset({SEARCH}))


def killers(base: Trial, mutant: Trial) -> dict[str, str]:
    """Claims that held and do not hold any more, with what became of them; and claims that now fail. Of claims
    that were not tested nothing is said.
    """
    asked = {claim for claim, _ in mutant.verdicts}
    found = {}
    for key in sorted(base.kept() - mutant.kept()):
        verdict = mutant.verdicts.get(key)
        # Groups of queues that can take from one another are others when cohorts are.
        if key[0] in asked and not (verdict is None and key[0] == GROUPED):
            found[f"{key[0]} {key[1]}"] = "gone" if verdict is None else verdict.outcome
    for key, verdict in sorted(mutant.verdicts.items()):
        if verdict.outcome == FAILS or verdict.claim == "state-known":
            found[f"{key[0]} {key[1]}"] = verdict.outcome
    return found


__all__ = ["CERTIFIED", "PROMISES", "Trial", "killers", "outcome_of", "sources", "trial", "world"]
