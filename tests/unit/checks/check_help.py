"""Clusters made of text, and nodes made of numbers, for checks that are called directly."""

from __future__ import annotations

import textwrap

from policycheck.lint.hit import Skip
from policycheck.model.cluster import Entry, link
from policycheck.model.inventory import Inventory, Node
from policycheck.model.origin import Origin
from policycheck.source.yamldoc import parse
from policycheck.systems import registry


def make_node(name, *, cpu=None, gpus=8, most=1, machines=1, ready=True, source="node", **labels):
    allocatable = {"nvidia.com/gpu": gpus}
    if cpu is not None:
        allocatable["cpu"] = cpu * 1000
    plain = {key.replace("__", "/"): value for key, value in labels.items()}
    return Node(name, plain, (), allocatable, None, ready=ready, most=most, machines=machines, source=source)


def make_cluster(text, nodes=()):
    parsed = parse("file.yaml", textwrap.dedent(text).encode())
    entries = [
        Entry(registry.read(document.value), Origin(document.id, document.line, document.digest))
        for document in parsed.documents
    ]
    inventory = Inventory(tuple(nodes), known=bool(nodes))
    return link("test", entries, registry.linkers(), inventory)


def flavor(name, **labels):
    lines = "".join(f"\n    {key.replace('__', '/')}: {value}" for key, value in labels.items())
    spec = f"\nspec:\n  nodeLabels:{lines}" if labels else ""
    return (
        f"---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {{name: {name}}}{spec}\n"
    )


def quota(nominal, borrowing=None, lending=None):
    limits = "" if borrowing is None else f", borrowingLimit: {borrowing}"
    limits += "" if lending is None else f", lendingLimit: {lending}"
    return f"nominalQuota: {nominal}{limits}"


def queue(name, flavors, cohort="", extra=""):
    """``flavors``: {flavor: {resource: quota(...)}}, all in one resource group."""
    resources = list(next(iter(flavors.values()))) if flavors else []
    listed = "".join(
        f"\n    - name: {one}\n      resources:"
        + "".join(f"\n      - {{name: {r}, {q}}}" for r, q in held.items())
        for one, held in flavors.items()
    )
    groups = f"\n  resourceGroups:\n  - coveredResources: [{', '.join(resources)}]\n    flavors:{listed}"
    inside = f"\n  cohortName: {cohort}" if cohort else ""
    more = f"\n  {extra}" if extra else ""
    head = f"---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {{name: {name}}}\nspec:"
    return f"{head}\n  namespaceSelector: {{}}{inside}{more}{groups if flavors else ''}\n"


def gpu(nominal, borrowing=None, lending=None):
    return {"nvidia.com/gpu": quota(nominal, borrowing, lending)}


def local_queue(namespace, name, leads_to):
    return (
        f"---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {{name: {name}, "
        f"namespace: {namespace}}}\nspec: {{clusterQueue: {leads_to}}}\n"
    )


def job(namespace, name, requests, *, pods=1, labels="", annotations=""):
    listed = ", ".join(f'{r}: "{a}"' for r, a in requests.items())
    return (
        f"---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\n  namespace: {namespace}\n"
        f"  labels: {{{labels}}}\nspec:\n  parallelism: {pods}\n  completions: {pods}\n  template:\n"
        f"    metadata:\n      annotations: {{{annotations}}}\n    spec:\n      restartPolicy: Never\n"
        f"      containers:\n      - name: main\n        image: registry.example.com/train:1\n"
        f"        resources:\n          limits: {{{listed}}}\n"
    )


def run(check, text, nodes=(), **params):
    """Hits of a check, and the reasons of what it skipped."""
    found = list(check(make_cluster(text, nodes), params))
    return [one for one in found if not isinstance(one, Skip)], [
        one.why for one in found if isinstance(one, Skip)
    ]
