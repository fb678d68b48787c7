"""Claims for devices in the shape of another version of resource.k8s.io.

Source: the Kubernetes documentation page "Dynamic Resource Allocation" (facts 4.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policycheck.lint.hit import Hit, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.origin import Path
from policycheck.source.document import Change
from policycheck.systems.core.podspec import items, mapping

_NESTED = ("exactly", "firstAvailable")


def request_not_nested(cluster: Cluster, params: Mapping[str, object]) -> Iterator[Hit | Skip]:  # noqa: ARG001
    """A v1 (or v1beta2) request with its fields inline, as only v1beta1 has them."""
    for kind in ("ResourceClaim", "ResourceClaimTemplate"):
        keys = cluster.index.kinds.get(("resource.k8s.io", kind), {})
        for identity in (i for key in sorted(keys) for i in keys[key]):
            facts = cluster.entries[identity].facts
            version = facts.api_version.rpartition("/")[2]
            if version not in ("v1", "v1beta2"):
                continue
            base: Path = ("spec", "spec") if kind == "ResourceClaimTemplate" else ("spec",)
            spec = mapping(facts.value.get("spec"))
            spec = mapping(spec.get("spec")) if kind == "ResourceClaimTemplate" else spec
            for n, raw in enumerate(items(mapping(spec.get("devices")).get("requests"))):
                request = mapping(raw)
                if any(field in request for field in _NESTED):
                    continue
                values = {"kind": kind, "name": facts.key.name, "version": version}
                field = next((f for f in ("deviceClassName", "count", "name") if f in request), "name")
                here: Path = (*base, "devices", "requests", n)
                inner = {key: value for key, value in request.items() if key != "name"}
                nested = Change(identity, (*here, "exactly"), "set", inner)
                changes = (nested, *(Change(identity, (*here, key), "remove") for key in inner))
                yield Hit(identity, (*here, field), values, changes=changes)
