"""Where the promises of one scope are attacked: on the hardware in sight, and on other hardware.

Entry points: ``hall_of(cluster, said, label, delays) -> Hall``, ``largest(cluster) -> Cluster``,
``brought(hall, queues) -> names``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from policycheck.lint.settings import Target
    from policycheck.model.cluster import Cluster
    from policycheck.systems.kueue.arena.stage import KueueArena
    from policycheck.systems.kueue.opening import Opening


class Hall(NamedTuple):
    """What is opened, and the arena on it; pools that grow on demand are at their smallest."""

    opening: Opening
    arena: KueueArena


def hall_of(cluster: Cluster, said: Target | None, label: str, delays: Mapping[str, int]) -> Hall:
    """The arena of a scope that is called ``label``. ``delays`` bound admission checks, in ms."""
    from policycheck.systems.kueue.arena.stage import KueueArena
    from policycheck.systems.kueue.opening import opening

    opened = opening(cluster, said)
    arena = KueueArena(cluster, opened.smallest(), delays)
    arena.scope = label
    if opened.pools is not None:
        names = ", ".join(opened.pools.names)
        arena.notes = (*arena.notes, f"pools that grow on demand have their least nodes: {names}")
    return Hall(opened, arena)


def largest(cluster: Cluster) -> Cluster:
    """The cluster with all pools as large as they may be."""
    from policycheck.systems.kueue.arena.ground import grown

    inventory = cluster.inventory
    return cluster.with_inventory(inventory._replace(nodes=grown(inventory.nodes)))


def brought(hall: Hall, queues: Iterable[str]) -> tuple[str, ...]:
    """Admission checks that bring nodes for each of ``queues``; () where one of them has none, or where no pool
    grows.
    """
    known = hall.opening.objects.cluster_queues
    bring = set(hall.arena.provisioning()) if hall.opening.pools is not None else set()
    each = [bring & {rule.name for rule in known[q].checks} for q in queues if q in known]
    return tuple(sorted(set().union(*each))) if each and all(each) else ()
