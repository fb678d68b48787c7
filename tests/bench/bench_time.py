"""Speed and memory of simulated time: whole mixes, growth, depth of the backlog, a month on a large cluster.

    python tests/bench/bench_time.py                 # all tables; each row is a process of its own
    python tests/bench/bench_time.py --only mixes    # mixes | jittered | service | lockstep | growth | ...
    python tests/bench/bench_time.py --profile kueue-baseline

Seconds are of the processor for the whole process, imports included; MB is its peak. Virtual time is what
the scenario takes, and has nothing to do with either. What Kueue's own harness records is control-plane
time with API calls on a cluster: beside ours it says how much longer one waits for it, and no more.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

HARNESS = {"kueue-baseline": 351, "kueue-large-scale": 1179, "kueue-topology": 401}
RECORDED = {"small": 215.5, "medium": 76.8, "large": 16.5}  # mean s to admission, of the baseline
SERVICE = 20.12  # ms for each decision: the one parameter that is fitted, to the recorded wall time
BATCH = 1000  # ms until parked workloads return, as in Kueue from 0.16 on
Row = dict[str, Any]


class Scenario(NamedTuple):
    """A cluster with jobs, made when it is run, and how to run it."""

    make: Callable[[], tuple[Any, Any]]  # world and arrivals
    options: dict[str, Any]


# -- scenarios ---------------------------------------------------------------------------------------


def preset(name: str, batch: int, cohorts: int = 0) -> tuple[Any, Any]:
    """A mix that brings its own queues and nodes, as the command reads it; with so many cohorts of ten queues
    instead of its own, where ``cohorts`` says so.
    """
    from policycheck.app import load
    from policycheck.app.arrivals import Offering, arrivals, load_mix, with_mix
    from policycheck.app.gather import Sources
    from policycheck.app.target import ASSUMED
    from policycheck.lint.settings import Settings, Target
    from policycheck.simulate.events import Delays
    from policycheck.systems.kueue.drive.world import world
    from policycheck.systems.kueue.opening import opening

    mix = load_mix(name, lambda path: Path(path).read_bytes())
    if cohorts:
        held: dict[str, Any] = dict(mix.cluster)
        held["cohorts"] = {**held["cohorts"], "count": cohorts}
        held["queues"] = {**held["queues"], "count": 10}
        mix = mix._replace(cluster=held)
    sources = with_mix(Sources((), lambda path: Path(path).read_bytes()), mix)
    (cluster,) = load(sources, Settings())
    coming = arrivals(cluster, Offering(mix))
    opened = opening(cluster, Target("kueue", ASSUMED, assumed=True))
    return world(opened, cluster.inventory, coming.jobs, delays=Delays(batch=batch)), coming


def grown(workloads: int, *, queues: int = 0, gap: float = 0.0) -> tuple[Any, Any]:
    """Preempting queues in cohorts of ten, 50 workloads each unless ``queues`` says how many there are, that
    come out of step and keep the cohort full; ``gap`` ms between two workloads of a queue.
    """
    from policycheck.model.inventory import Inventory
    from policycheck.model.workload import PodSet
    from policycheck.simulate.draw import stream
    from policycheck.simulate.job import Arrivals, Job
    from policycheck.systems.kueue.drive.world import world

    count = queues or workloads // 50
    sizes = [PodSet("main", 1, {GPU: units}) for units in (1, 1, 1, 2, 2, 4)]
    made = []
    for number in range(workloads):
        draw = stream(1, "grown", number)
        queue = number % count
        submit = round((number // count) * (gap or 60_000) + draw.below(60_000))
        spec = sizes[draw.below(len(sizes))]
        priority = draw.below(3)
        duration = 60_000 + draw.below(400_000)
        made.append(Job(f"ns/w{number:07d}", f"q{queue:05d}", submit, duration, (spec,), priority))
    made.sort(key=lambda job: (job.submit, job.id))
    jobs = tuple(made)
    return world(queues_of(count, 8), Inventory(), jobs), Arrivals(jobs)


GPU = "nvidia.com/gpu"


def queues_of(count: int, nominal: int, topology: str = "", nodes: Any = None) -> Any:
    """So many queues of ``nominal`` GPUs, in cohorts of ten, that reclaim and preempt."""
    from policycheck.model.placement import Selector
    from policycheck.systems.kueue import model
    from policycheck.systems.kueue.opening import Opening
    from policycheck.systems.kueue.target import Target

    resources = {GPU: model.Quota(nominal)}
    group = model.ResourceGroup((GPU,), (model.FlavorQuotas("f", resources),))
    policy = model.Preemption("LowerPriority", "Any")
    names = [f"q{n:05d}" for n in range(count)]
    held = {
        name: model.ClusterQueue(name, f"co{n // 10}", (group,), Selector(), preemption=policy)
        for n, name in enumerate(names)
    }
    objects = model.KueueObjects(
        cluster_queues=held,
        local_queues={("ns", name): model.LocalQueue("ns", name, name) for name in names},
        flavors={"f": model.ResourceFlavor("f", topology=topology)},
        topologies={"t": model.Topology("t", ("block", "rack", "kubernetes.io/hostname"))},
    )
    return Opening(objects, {"ns": {}}, (), Target(), 10**9, nodes)


def month(jobs: int) -> tuple[Any, Any]:
    """A month on 6,212 GPUs in 14 blocks of racks with 8 nodes: 12 teams, gangs of up to 128 GPUs that want
    one rack or prefer it, run times of minutes to days; 85 % of what the GPUs could do.
    """
    from policycheck.model.inventory import Accelerators, Inventory, Node, Range
    from policycheck.model.workload import PodSet, TopologyRequest
    from policycheck.simulate.draw import stream
    from policycheck.simulate.job import Arrivals, Job
    from policycheck.systems.kueue.drive.world import world

    nodes = []
    for n in range(777):
        gpus = 8 if n else 4
        labels = {"block": f"b{n // 56:02d}", "rack": f"r{n // 8:03d}", "kubernetes.io/hostname": f"n{n:03d}"}
        cards = Accelerators("H100", Range(gpus, gpus), Range(gpus, gpus), resource=GPU)
        amounts = {GPU: gpus, "cpu": 128_000, "memory": 2**40, "pods": 110}
        nodes.append(Node(f"n{n:03d}", labels, allocatable=amounts, accelerators=cards))
    shapes = []
    for share, pods, gpus, mode in (
        (50, 1, 1, ""),
        (10, 1, 4, ""),
        (25, 1, 8, ""),
        (8, 2, 8, "required"),
        (5, 4, 8, "required"),
        (2, 16, 8, "preferred"),
    ):
        topology = TopologyRequest(mode, "rack") if mode else None
        shapes += [(PodSet("main", pods, {GPU: gpus}, topology=topology),)] * share
    span = 30 * 86_400_000
    made = []
    for n in range(jobs):
        draw = stream(1, "month", n)
        hours = math.exp(-0.24 + 1.9 * draw.normal())
        duration = max(60_000, min(round(hours * 3_600_000), 14 * 86_400_000))
        made.append(
            Job(
                f"ns/j{n:06d}",
                f"q{draw.below(12):05d}",
                draw.below(span),
                duration,
                shapes[draw.below(100)],
                (0, 0, 100, 1000)[draw.below(4)],
                checkpoint=3_600_000,
            )
        )
    made.sort(key=lambda job: (job.submit, job.id))
    known = tuple(nodes)
    opened = queues_of(12, 6212 // 12, "t", known)
    return world(opened, Inventory(known, known=True), tuple(made)), Arrivals(tuple(made), horizon=span)


def scenario(name: str) -> Scenario:
    """The scenario of a row."""
    kind, _, rest = name.partition(":")
    if kind == "grow":
        return Scenario(lambda: grown(int(rest)), {})
    if kind == "lockstep":
        return Scenario(lambda: preset("kueue-large-scale", 0, int(rest) // 500), {})
    if kind == "deep":
        return Scenario(lambda: grown(int(rest), queues=1, gap=1), {})
    if kind == "month":
        return Scenario(lambda: month(int(rest)), {})
    batch = BATCH if rest == "batch" else 0
    options = {"service_time": SERVICE} if rest == "service" else {}
    return Scenario(lambda: preset(kind, batch), options)


# -- measuring ---------------------------------------------------------------------------------------


def measure(name: str) -> Row:
    """One scenario, in this process."""
    gc.set_threshold(200_000, 20, 20)  # as the command does
    from policycheck.simulate.run import run

    one = scenario(name)
    world, arrivals = one.make()
    begun = time.process_time()
    made = run(world, arrivals, **one.options)
    done = time.process_time()
    stays = [stay for life in made.lives for stay in life.stays]
    waits: dict[str, list[int]] = {}
    for life in made.lives:
        if life.stays:
            waits.setdefault(life.job.klass, []).append(life.stays[-1].admitted - life.job.submit)
    return {
        "seconds": done,
        "running": done - begun,
        "mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "jobs": len(made.lives),
        "end": made.end / 1000,
        "cycles": made.cycles,
        "nominations": made.nominations / max(1, len(stays)),
        "nominated": made.nominations,
        "evicted": sum(s.ended_by not in ("", "Finished") for s in stays),
        "finished": sum(life.state == "finished" for life in made.lives),
        "means": {klass: sum(some) / len(some) / 1000 for klass, some in sorted(waits.items())},
    }


def apart(name: str) -> Row:
    """One scenario in a process of its own."""
    command = [sys.executable, __file__, "--one", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    found: Row = json.loads(done.stdout)
    return found


HEAD = f"{'':<34}{'s':>7}{'MB':>6}{'jobs':>8}{'virtual s':>11}{'cycles':>8}{'nom/adm':>9}{'evicted':>9}"


def table(names: list[str]) -> Iterator[tuple[str, Row]]:
    """Print a row for each scenario."""
    print(HEAD)
    for name in names:
        row = apart(name)
        print(
            f"{name:<34}{row['seconds']:7.1f}{row['mb']:6.0f}{row['jobs']:8,}{row['end']:11,.1f}"
            f"{row['cycles']:8}{row['nominations']:9.2f}{row['evicted']:9,}",
            flush=True,
        )
        yield name, row


def mixes() -> None:
    """The three mixes of Kueue's harness."""
    for name, row in table(list(HARNESS)):
        recorded = HARNESS[name]
        print(f"    {recorded} s recorded by Kueue's harness, {recorded / row['seconds']:.0f} times as long")


def jittered() -> None:
    """The same out of step, with parked workloads that return in batches, as Kueue does it; once without."""
    names = [f"{name}-jittered:batch" for name in HARNESS]
    list(table([*names, "kueue-baseline-jittered", "kueue-topology-jittered"]))


def service() -> None:
    """The recorded times of the baseline with the one fitted parameter."""
    for _, row in table(["kueue-baseline:service"]):
        print(f"    {SERVICE} ms a decision: wall {row['end']:.1f} s, recorded 351.1")
        for klass, mean in RECORDED.items():
            found = row["means"][klass]
            print(
                f"    {klass}: {found:.1f} s to admission in the mean, recorded {mean} ({found / mean - 1:+.1%})"
            )


def lockstep() -> None:
    """Ten times the workloads in ten times the queues, as Kueue's large-scale mix has them."""
    _growth("lockstep")


def growth() -> None:
    """The same out of step, preempting."""
    _growth("grow")


def _growth(kind: str) -> None:
    rows = [row for _, row in table([f"{kind}:{n}" for n in (1500, 15000, 150000)])]
    for less, more in itertools.pairwise(rows):
        work, running, whole = (more[k] / less[k] for k in ("nominated", "running", "seconds"))
        print(
            f"    10 times the workloads, {work:.1f} times the nominations: {running:.1f} times the time"
            f" to run, {whole:.1f} times for the whole process"
        )


def depth() -> None:
    """A backlog that gets deeper, in one queue."""
    for _, row in table([f"deep:{n}" for n in (300, 1000, 3000, 10000, 30000)]):
        print(f"    {row['running'] / row['finished'] * 1e6:.0f} us a job")


def long() -> None:
    """A month, 100,000 jobs on 6,212 GPUs."""
    list(table(["month:100000"]))


TABLES = {
    "mixes": mixes,
    "jittered": jittered,
    "service": service,
    "lockstep": lockstep,
    "growth": growth,
    "depth": depth,
    "month": long,
}


def profile(name: str) -> None:
    """Where the time goes."""
    import cProfile
    import pstats

    tool = cProfile.Profile()
    tool.enable()
    measure(name)
    tool.disable()
    pstats.Stats(tool).sort_stats("tottime").print_stats(30)


def main() -> None:
    """Parse the arguments and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=sorted(TABLES))
    parser.add_argument("--profile", metavar="SCENARIO")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
    elif options.profile:
        profile(options.profile)
    else:
        for name, make in TABLES.items():
            if options.only in (None, name):
                print(f"\n{name}: {(make.__doc__ or '').strip()}")
                make()


if __name__ == "__main__":
    main()
