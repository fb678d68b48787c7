"""What the API server or Kueue's webhooks would refuse, presented by the rules that explain it.

What a rule of its own explains is left out of ``refused``, so that one fault is said once.
"""

from __future__ import annotations

from collections.abc import Iterator

from policycheck.lint.hit import Hit
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.systems.kueue import CONFIG_GROUP, GROUP
from policycheck.systems.kueue.checks.common import Found, Params, documents
from policycheck.systems.kueue.validate import problems

_KINDS = (
    "ClusterQueue",
    "Cohort",
    "LocalQueue",
    "ResourceFlavor",
    "Topology",
    "AdmissionCheck",
    "ProvisioningRequestConfig",
    "MultiKueueConfig",
    "MultiKueueCluster",
    "Workload",
    "Configuration",
)
_GROUPS = frozenset({"resource-order", "resource-count", "duplicate-flavor", "duplicate-resource"})
_ON_FLAVORS = frozenset({"unknown-on-flavor"})
_LIMITS = frozenset({"limit-outside-cohort"})
# Rules about single fields say these in expressions.
_EXPRESSIONS = frozenset(
    {"lending-over-nominal", "borrow-without-reclaim", "useless-preference", "topology-without-labels"}
)
_SPOKEN = _GROUPS | _ON_FLAVORS | _LIMITS | _EXPRESSIONS


def _hits(
    cluster: Cluster, kinds: tuple[str, ...], codes: frozenset[str], *, others: bool = False
) -> Iterator[Hit]:
    """Problems with one of ``codes``, or with ``others`` those with none of them."""
    for kind in kinds:
        group = CONFIG_GROUP if kind == "Configuration" else GROUP
        for identity, facts in documents(cluster, kind, group):
            for trouble in problems(facts):
                if (trouble.code in codes) != others:
                    values = {"message": trouble.message, "kind": kind, "name": facts.key.name or "of Kueue"}
                    yield Hit(identity, trouble.path, values, raw=True, discriminator=trouble.code)


def refused(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Everything that no other rule explains."""
    yield from _hits(cluster, _KINDS, _SPOKEN, others=True)


def group_mismatch(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Flavors that do not list exactly the covered resources in their order; things in two groups.

    One swap puts two resources out of order; it is said once a flavor.
    """
    seen: set[tuple[DocumentId, Path]] = set()
    for hit in _hits(cluster, ("ClusterQueue", "Cohort"), _GROUPS):
        flavor = (hit.id, hit.path[:-2])
        if hit.discriminator != "resource-order" or flavor not in seen:
            yield hit
        seen.add(flavor)


def check_on_foreign_flavor(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """An admission check on a flavor that its queue does not have."""
    yield from _hits(cluster, ("ClusterQueue",), _ON_FLAVORS)


def limit_on_root_cohort(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Limits on a Cohort that has no parent to borrow from or lend to."""
    yield from _hits(cluster, ("Cohort",), _LIMITS)
