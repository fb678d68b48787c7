"""Checks about the documents themselves, whatever they describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.origin import ObjectKey


def ambiguous_definition(cluster: Cluster, params: Mapping[str, object]) -> Iterator[Hit | Skip]:  # noqa: ARG001
    """Objects that several documents define differently: one finding for the scope.

    Which of them holds depends on the order in which they are applied; whatever sums over such an
    object is not decided. Kinds that nobody reads are left out.
    """
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
