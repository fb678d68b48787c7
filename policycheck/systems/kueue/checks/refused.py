"""What the API server or Kueue's webhooks would refuse, presented by the rules that explain it.

What a rule of its own explains is left out of ``refused``, so that one fault is said once. Problems
are worked out once a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policycheck.lint.hit import Hit
from policycheck.model.cluster import Cluster
from policycheck.model.facts import Facts, Trouble
from policycheck.model.origin import DocumentId, ObjectKey, Path
from policycheck.systems.kueue import CONFIG_GROUP, GROUP, OBJECTS
from policycheck.systems.kueue.checks.common import Found, Params, derived, documents
from policycheck.systems.kueue.jobs import FRAMEWORKS
from policycheck.systems.kueue.validate import problems

Kinds = Sequence[tuple[str, str]]
_QUEUE: Kinds = ((GROUP, "ClusterQueue"),)
_COHORT: Kinds = ((GROUP, "Cohort"),)
_CONFIGURATION = (CONFIG_GROUP, "Configuration")
_KINDS: Kinds = (*OBJECTS, _CONFIGURATION, *sorted(FRAMEWORKS))
_GROUPS = frozenset({"resource-order", "resource-count", "duplicate-flavor", "duplicate-resource"})
_ON_FLAVORS = frozenset({"unknown-on-flavor"})
_LIMITS = frozenset({"limit-outside-cohort"})
_RAY_SHUTDOWN = frozenset({"ray-shutdown"})
_RAY_SELECTOR = frozenset({"ray-selector"})
_RAY_AUTOSCALING = frozenset({"ray-autoscaling"})
# Rules about single fields say these in expressions.
_EXPRESSIONS = frozenset(
    {"lending-over-nominal", "borrow-without-reclaim", "useless-preference", "topology-without-labels"}
)
_SPOKEN = _GROUPS | _ON_FLAVORS | _LIMITS | _RAY_SHUTDOWN | _RAY_SELECTOR | _RAY_AUTOSCALING | _EXPRESSIONS
_RAY: Kinds = tuple(("ray.io", kind) for kind in ("RayJob", "RayCluster", "RayService"))
Told = tuple[DocumentId, ObjectKey, Trouble]


def told(cluster: Cluster) -> tuple[Told, ...]:
    """Every problem of every object, in the order of kinds and names."""
    return derived(cluster, _told)


def _told(cluster: Cluster) -> tuple[Told, ...]:
    made = []
    for group, kind in _KINDS:
        for identity, facts in documents(cluster, kind, group):
            made += [(identity, facts.key, trouble) for trouble in problems(facts) if not _is_dead(facts)]
    return tuple(made)


def _is_dead(facts: Facts) -> bool:
    """Whether the object is in a version that is served no more: what it says is not judged."""
    return any(t.code == "dead-version" for t in facts.troubles)


def _hits(cluster: Cluster, kinds: Kinds, codes: frozenset[str], *, others: bool = False) -> Iterator[Hit]:
    """Problems with one of ``codes``, or with ``others`` those with none of them."""
    wanted = frozenset(kinds)
    for identity, key, trouble in told(cluster):
        if (key.group, key.kind) in wanted and (trouble.code in codes) != others:
            values = {"message": trouble.message, "kind": key.kind, "name": key.name or "of Kueue"}
            yield Hit(identity, trouble.path, values, raw=True, discriminator=trouble.code)


def refused(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Everything that no other rule explains."""
    yield from _hits(cluster, _KINDS, _SPOKEN, others=True)


def group_mismatch(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Flavors that do not list exactly the covered resources in their order; things in two groups.

    One swap puts two resources out of order; it is said once a flavor.
    """
    seen: set[tuple[DocumentId, Path]] = set()
    for hit in _hits(cluster, (*_QUEUE, *_COHORT), _GROUPS):
        flavor = (hit.id, hit.path[:-2])
        if hit.discriminator != "resource-order" or flavor not in seen:
            yield hit
        seen.add(flavor)


def check_on_foreign_flavor(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """An admission check on a flavor that its queue does not have."""
    yield from _hits(cluster, _QUEUE, _ON_FLAVORS)


def limit_on_root_cohort(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Limits on a Cohort that has no parent to borrow from or lend to."""
    yield from _hits(cluster, _COHORT, _LIMITS)


def ray_keeps_cluster(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A RayJob in a queue that does not shut its cluster down."""
    yield from _hits(cluster, _RAY, _RAY_SHUTDOWN)


def ray_selects_cluster(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A RayJob in a queue that runs on a cluster of somebody else."""
    yield from _hits(cluster, _RAY, _RAY_SELECTOR)


def ray_autoscales(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A Ray cluster in a queue that scales itself without being elastic."""
    yield from _hits(cluster, _RAY, _RAY_AUTOSCALING)
