"""ResourceQuotas of namespaces on accelerators: keys that count nothing, resources that go past them.

Source: the Kubernetes documentation page "Resource Quotas" (quota for extended resources).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.lint.hit import Hit, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId
from policycheck.model.workload import Workload
from policycheck.systems.core.podspec import mapping
from policycheck.systems.gpu.resources import is_accelerator

Found = Iterator[Hit | Skip]
_REQUESTS = "requests."


def _quotas(cluster: Cluster) -> Iterator[tuple[DocumentId, str, str, Mapping[str, Any]]]:
    keys = cluster.index.kinds.get(("", "ResourceQuota"), {})
    for key in sorted(keys):
        for identity in keys[key]:
            spec = mapping(cluster.entries[identity].facts.value.get("spec"))
            yield identity, key.namespace, key.name, mapping(spec.get("hard"))


def key_without_prefix(cluster: Cluster, params: Mapping[str, object]) -> Found:  # noqa: ARG001
    """An accelerator as a quota key without ``requests.``: it limits nothing."""
    for identity, _, name, hard in _quotas(cluster):
        for key in hard:
            resource = key.removeprefix("limits.")
            if is_accelerator(resource):
                values = {"quota": name, "key": key, "meant": _REQUESTS + resource}
                yield Hit(identity, ("spec", "hard", key), values, on_key=True)


def quota_bypassed(cluster: Cluster, params: Mapping[str, object]) -> Found:  # noqa: ARG001
    """GPUs of a namespace are limited, and its pods ask for them under another name."""
    asked: dict[str, dict[str, str]] = {}
    for entry in cluster.entries.values():
        typed = entry.facts.typed
        if not isinstance(typed, Workload) or typed.owner is not None:
            continue
        for pods in typed.pod_sets:
            for resource, amount in pods.requests.items():
                if amount and is_accelerator(resource):
                    asked.setdefault(typed.key.namespace, {}).setdefault(resource, str(typed.key))
    for identity, namespace, name, hard in _quotas(cluster):
        counted = {key.removeprefix(_REQUESTS) for key in hard if key.startswith(_REQUESTS)}
        held = sorted(r for r in counted if is_accelerator(r))
        beside = [(r, w) for r, w in sorted(asked.get(namespace, {}).items()) if r not in counted]
        if held and beside:
            values = {"quota": name, "held": held[0], "resource": beside[0][0], "workload": beside[0][1]}
            yield Hit(identity, ("spec", "hard", _REQUESTS + held[0]), values)
