"""Checks about the documents themselves, whatever they describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.origin import ObjectKey


def ambiguous_definition(cluster: Cluster, params: Mapping[str, object]) -> Iterator[Hit | Skip]:  # noqa: ARG001
    """Objects that several documents of an inferred scope define differently: one finding.

    Which of them holds depends on the order in which they are applied, if they belong together at
    all; whatever sums over such an object is not decided.
    """
    return iter(()) if cluster.is_named else _one_finding(cluster)


def contradiction_in_cluster(cluster: Cluster, params: Mapping[str, object]) -> Iterator[Hit | Skip]:  # noqa: ARG001
    """The same where somebody said that the documents are one cluster, or renders them together:
    each object by itself.
    """
    if not cluster.is_named:
        return
    for key in sorted(cluster.ambiguous):
        if _is_read(cluster, key):
            ids = cluster.index.ids(key)
            because = tuple(Related(i, ("metadata", "name"), "defined here too") for i in ids[1:5])
            values = {"object": str(key), "documents": len(ids), "scope": cluster.scope}
            yield Hit(ids[0], ("metadata", "name"), values, because)


def _one_finding(cluster: Cluster) -> Iterator[Hit | Skip]:
    """The first doubtful object, with the others beside. Kinds that nobody reads are left out."""
    doubtful = [key for key in sorted(cluster.ambiguous) if _is_read(cluster, key)]
    if not doubtful:
        return
    first, *rest = doubtful
    ids = cluster.index.ids(first)
    because = tuple(Related(i, ("metadata", "name"), "defined here too") for i in ids[1:5])
    others = tuple(
        Related(
            cluster.index.ids(key)[0],
            ("metadata", "name"),
            f"{key}, in {len(cluster.index.ids(key))} documents",
        )
        for key in rest[:4]
    )
    more = f"; the same is true of {len(rest)} other object{'s' if len(rest) > 1 else ''}" if rest else ""
    values = {"object": str(first), "documents": len(ids), "more": more}
    yield Hit(ids[0], ("metadata", "name"), values, because + others)


def _is_read(cluster: Cluster, key: ObjectKey) -> bool:
    entry = cluster.index.first(key)
    return entry is not None and bool(entry.facts.system) and bool(key.name)
