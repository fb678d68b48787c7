"""A scope as it is sent to whoever simulates it: what was read, fit to be pickled, linked where it arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from policycheck.app.gather import Gathered, Sources, accounts, gather

if TYPE_CHECKING:
    from policycheck.app.simulate import Options
    from policycheck.lint.settings import Settings, Target
    from policycheck.model.cluster import Cluster
    from policycheck.simulate.job import Arrivals
    from policycheck.simulate.timeline import Timeline
    from policycheck.source.document import FileReport
    from policycheck.systems.kueue.opening import Opening


class Parcel(NamedTuple):
    """One scope with queues. ``said`` is the Target of the admitting system."""

    scope: Gathered
    said: Target | None

    @property
    def name(self) -> str:
        """Of the scope."""
        return self.scope.name


class World(NamedTuple):
    """The same, linked and compiled."""

    cluster: Cluster
    opened: Opening
    said: Target | None


def parcels(sources: Sources, settings: Settings) -> tuple[tuple[Parcel, ...], tuple[FileReport, ...]]:
    """Every scope that has queues, and the account of the files. Raises TargetError."""
    from policycheck.app.linked import linked
    from policycheck.app.target import targets_of
    from policycheck.systems.kueue.checks.common import state

    scopes = gather(sources, settings)
    found = []
    for scope in scopes:
        if state(linked(scope)).objects.cluster_queues:
            said = targets_of(scope, (*scope.targets, *sources.targets)).get("kueue")
            found.append(Parcel(_light(scope), said))
    return tuple(found), accounts(scopes)


def opened(parcel: Parcel) -> World:
    """Linked and compiled. Raises TargetError."""
    from policycheck.app.linked import linked
    from policycheck.systems.kueue.opening import opening

    cluster = linked(parcel.scope)
    return World(cluster, opening(cluster, parcel.said), parcel.said)


def _light(scope: Gathered) -> Gathered:
    """Without what linking does not look at: texts, and documents with their positions."""
    return scope._replace(documents={}, files=(), texts={}, parsed={}, rendered={}, crds=None)


def played(
    world: World, arrivals: Arrivals, options: Options, *, by_quota: bool = True
) -> tuple[Timeline, int]:
    """What happens to ``arrivals``, and until when it was simulated. Without a horizon until the last job is
    done. ``by_quota`` False: first come, first served under the default scheduler. Raises TargetError.
    """
    from policycheck.app.simulate import first_come, simulate_cluster
    from policycheck.simulate.ending import ended, latest

    is_open = not (options.horizon or arrivals.horizon)
    coming = arrivals._replace(horizon=latest(arrivals)) if is_open else arrivals
    if by_quota:
        timeline = simulate_cluster(world.cluster, world.said, coming, options)
    else:
        timeline = first_come(world.cluster, world.opened, coming, options)
    return (ended(timeline) if is_open else timeline), options.horizon or arrivals.horizon
