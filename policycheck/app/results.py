"""From a simulation to what a report is made of: the timeline, its metrics, and what was simulated."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from policycheck.app.simulate import Options, Simulated, simulate
from policycheck.digest import sha256
from policycheck.report.simulation import Result, Scenario
from policycheck.simulate.ending import ended, latest
from policycheck.simulate.metrics import measure

if TYPE_CHECKING:
    from policycheck.app.gather import Sources
    from policycheck.lint.settings import Settings
    from policycheck.model.cluster import Cluster
    from policycheck.simulate.job import Arrivals
    from policycheck.source.document import FileReport

Watch = Callable[[str], None]  # told what is going on, for people who wait


def results(
    sources: Sources,
    settings: Settings,
    arrivals: Callable[[Cluster], Arrivals],
    options: Options,
    watch: Watch = lambda _: None,
) -> tuple[tuple[Result, ...], tuple[FileReport, ...]]:
    """One Result a scope that has queues, and the account of the files. Raises TargetError, and whatever
    ``arrivals`` raises.
    """
    seen: list[tuple[Cluster, Arrivals]] = []

    def coming(cluster: Cluster) -> Arrivals:
        watch("making the jobs")
        found = arrivals(cluster)
        seen.append((cluster, found))
        if not (options.horizon or found.horizon):
            found = found._replace(horizon=latest(found))
        what = f"simulating {len(found.jobs):,} jobs"
        watch(f"{what} in {cluster.scope}" if len(seen) > 1 else what)
        return found

    watch("reading the configuration")
    done, files = simulate(sources, settings, coming, options)
    watch("adding up")
    told = []
    for one, (cluster, found) in zip(done, seen, strict=True):
        is_open = not (options.horizon or found.horizon)
        timeline = ended(one.timeline) if is_open else one.timeline
        scenario = _scenario(one, cluster, found, options)
        told.append(Result(scenario, timeline, measure(timeline)))
    return tuple(told), files


def _scenario(one: Simulated, cluster: Cluster, arrivals: Arrivals, options: Options) -> Scenario:
    from policycheck.systems.kueue.metricnames import NAMES

    nodes = sum(node.machines for node in cluster.inventory.nodes if node.usable)
    digests = {
        "configuration": _digest(sorted(entry.origin.digest for entry in cluster.entries.values())),
        "inventory": _digest(sorted(repr(node) for node in cluster.inventory.nodes)),
        "arrivals": arrivals.digest or _digest([repr(job) for job in arrivals.jobs]),
    }
    return Scenario(
        scope=one.scope,
        target=one.target,
        assumed=one.assumed,
        source=arrivals.source,
        seed=options.seed,
        horizon=options.horizon or arrivals.horizon,
        digests=digests,
        nodes=nodes if cluster.inventory.known else None,
        names=NAMES,
    )


def _digest(parts: list[str]) -> str:
    found = sha256()
    for part in parts:
        found.update(part.encode())
        found.update(b"\n")
    return f"sha256:{found.hexdigest()}"
