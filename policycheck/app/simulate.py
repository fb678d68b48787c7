"""Admission over virtual time: what each queue and each job of a cluster lives through.

Entry points:

``simulate(sources, settings, arrivals, options) -> (tuple[Simulated, ...], files)``: one Simulated a scope
that has queues; ``arrivals`` are Arrivals, or a function that makes them of the linked cluster.

``simulate_cluster(cluster, said, arrivals, options) -> Timeline``: one linked cluster; ``said`` is the
Target of the admitting system (``targets_of(scope, given).get("kueue")``) or None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from policycheck.app.gather import Sources, accounts, gather
from policycheck.simulate.events import Delays, World
from policycheck.simulate.job import Arrivals
from policycheck.simulate.timeline import Timeline

if TYPE_CHECKING:
    from policycheck.lint.settings import Settings, Target
    from policycheck.model.cluster import Cluster
    from policycheck.source.document import FileReport
    from policycheck.systems.kueue.opening import Opening


class Options(NamedTuple):
    """How to simulate. Times in ms; ``horizon`` 0 is that of the arrivals, or until nothing happens.

    ``placing`` False: quota alone, wherever pods may go.
    """

    seed: int = 0
    horizon: int = 0
    service_time: float = 0
    happenings: bool = False
    delays: Delays = Delays()
    placing: bool = True


class Simulated(NamedTuple):
    """What happened in one scope."""

    scope: str
    timeline: Timeline
    target: str = ""  # the system and its version, for people
    assumed: bool = False  # nothing in sight said the version


Coming = Arrivals | Callable[["Cluster"], Arrivals]
_STANDARD = Options()


def simulate(
    sources: Sources, settings: Settings, arrivals: Coming, options: Options = _STANDARD
) -> tuple[tuple[Simulated, ...], tuple[FileReport, ...]]:
    """One Simulated a scope that has queues, and the account of the files. Raises TargetError."""
    from policycheck.app.linked import linked
    from policycheck.app.target import targets_of
    from policycheck.systems.kueue.checks.common import state

    scopes = gather(sources, settings)
    found = []
    for scope in scopes:
        cluster = linked(scope)
        if not state(cluster).objects.cluster_queues:
            continue
        said = targets_of(scope, (*scope.targets, *sources.targets)).get("kueue")
        coming = arrivals if isinstance(arrivals, Arrivals) else arrivals(cluster)
        timeline = simulate_cluster(cluster, said, coming, options)
        version = f"Kueue {said.version}" if said is not None else ""
        assumed = said is not None and said.assumed
        found.append(Simulated(scope.name, timeline, version, assumed))
    return tuple(found), accounts(scopes)


def simulate_cluster(
    cluster: Cluster, said: Target | None, arrivals: Arrivals, options: Options = _STANDARD
) -> Timeline:
    """What happens to ``arrivals`` in a linked cluster. Workloads in sight are left out: those that matter
    are among the arrivals. Raises TargetError.
    """
    from policycheck.simulate.run import run
    from policycheck.systems.core.kubelet import alignment
    from policycheck.systems.kueue.drive.world import world
    from policycheck.systems.kueue.opening import opening

    opened = opening(cluster, said)
    return run(
        world(
            opened,
            cluster.inventory,
            arrivals.jobs,
            placing=options.placing,
            delays=options.delays,
            told=alignment(cluster),
        ),
        arrivals,
        seed=options.seed,
        horizon=options.horizon,
        service_time=options.service_time,
        happenings=options.happenings,
        delays=options.delays,
    )


def first_come(
    cluster: Cluster, opened: Opening, arrivals: Arrivals, options: Options = _STANDARD
) -> Timeline:
    """The same jobs without any queue: pods go straight to the default scheduler on the cluster's nodes, first
    come, first served, and may take room from pods of lower priority. Jobs are counted under the queues that
    they would have gone to.
    """
    from policycheck.simulate.run import run
    from policycheck.systems.core.kubelet import alignment
    from policycheck.systems.core.link import CoreState
    from policycheck.systems.core.scheduler.admitter import FirstComeAdmitter
    from policycheck.systems.core.scheduler.order import Priorities
    from policycheck.systems.gpu import aligned
    from policycheck.systems.kueue.drive.facts import principal
    from policycheck.systems.kueue.drive.tolerating import tolerating
    from policycheck.systems.kueue.drive.world import NO_NODES, nodes

    # Without the queue somebody else would have to let them onto tainted nodes.
    arrivals = arrivals._replace(jobs=tolerating(opened.objects, arrivals.jobs))
    core = cluster.systems.get("core")
    classes = core.priority_classes.values() if isinstance(core, CoreState) else ()
    doors = {f"{ns}/{name}": q.cluster_queue for (ns, name), q in opened.objects.local_queues.items()}
    told = alignment(cluster)
    placer, pools = nodes(cluster.inventory.nodes, arrivals.jobs, told)
    admitter = FirstComeAdmitter(
        placer,
        principal(opened.objects),
        queues=sorted(opened.objects.cluster_queues),
        queue_of=lambda job: doors.get(f"{job.namespace}/{job.queue}", ""),
        priorities=Priorities(classes),
        preempting=True,
    )
    notes = (*placer.notes, *aligned.notes(told, cluster.inventory.nodes))
    notes = notes if cluster.inventory.known else (NO_NODES,)
    return run(
        World(admitter, placer, pools, notes),
        arrivals,
        seed=options.seed,
        horizon=options.horizon,
        service_time=options.service_time,
        happenings=options.happenings,
        delays=options.delays,
    )
