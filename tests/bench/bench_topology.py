"""Speed of placement: gangs on a cluster of racks, through a real session until nothing changes.

    python tests/bench/bench_topology.py               # the table: nodes, gangs, pods a gang
    python tests/bench/bench_topology.py --nodes 10000 --gangs 1000
    python tests/bench/bench_topology.py --harness     # 640 nodes, 30 queues, 15,000 workloads that come and go
    python tests/bench/bench_topology.py --profile ...  # where the time goes

Each run is a process of its own, so that its peak memory is its own. Nodes are in four levels (zone,
block, rack, host: 32 hosts a rack, 16 racks a block) and have 8 GPUs each; gangs ask for 1 to 512 pods of
1 to 8 GPUs each, required, preferred or unconstrained in turn, in queues of one cohort whose quota is
the cluster's GPUs. When nothing changes any more all placed gangs end, and so on until none is left.
`compiling` is objects to a session, `deciding` the cycles, `peak` the process's resident memory at most.
"""

from __future__ import annotations

import argparse
import cProfile
import heapq
import json
import pstats
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from policycheck.model.inventory import Node
from policycheck.model.placement import Selector
from policycheck.model.workload import PodSet, TopologyRequest
from policycheck.systems.kueue.model import (
    ClusterQueue,
    FlavorQuotas,
    KueueObjects,
    KueueWorkload,
    LocalQueue,
    Preemption,
    Quota,
    ResourceFlavor,
    ResourceGroup,
    Topology,
)
from policycheck.systems.kueue.scheduler.compile import compile_session
from policycheck.systems.kueue.scheduler.moment import NANOS
from policycheck.systems.kueue.scheduler.run import until_stable
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.target import Target

GPU, HOST = "nvidia.com/gpu", "kubernetes.io/hostname"
LEVELS = ("zone", "block", "rack", HOST)
HOSTS, RACKS, ZONES = 32, 16, 4  # hosts a rack, racks a block, zones
SHAPES = ((1, 4, 64), (2, 8, 128), (4, 16, 256), (8, 32, 512))  # GPUs, cores, GiB a pod


def stamp(second: int) -> str:
    """A time as it is written in an object."""
    return f"2026-01-{1 + second // 86400:02d}T{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}Z"


def machines(count: int) -> list[Node]:
    """Nodes in racks of racks."""
    made = []
    for n in range(count):
        rack = n // HOSTS
        block = rack // RACKS
        name = f"n{n:05d}"
        labels = {"zone": f"z{block % ZONES}", "block": f"b{block:03d}", "rack": f"r{rack:04d}", HOST: name}
        made.append(Node(name, labels, (), {GPU: 8, "cpu": 96000, "memory": 2 << 40, "pods": 110}))
    return made


def gangs(count: int, most: int, queues: int, seed: int = 1) -> list[KueueWorkload]:
    """Gangs of 1 to ``most`` pods, sizes spread evenly over powers of two."""
    draw = random.Random(seed)
    made = []
    for n in range(count):
        gpus, cores, memory = draw.choice(SHAPES)
        pods = min(most, 1 << draw.randrange(most.bit_length())) if most > 1 else 1
        if pods > 1 and draw.random() < 0.3:
            pods = draw.randrange(1, pods + 1)
        mode = ("required", "preferred", "unconstrained")[n % 3]
        # What is required must be able to fit: a rack holds 256 GPUs, a block 4,096.
        level = (
            "rack" if pods * gpus <= HOSTS * 8 else "block" if pods * gpus <= RACKS * HOSTS * 8 else "zone"
        )
        if mode == "preferred":
            level = "rack"
        request = TopologyRequest(mode, "" if mode == "unconstrained" else level)
        requests = {GPU: gpus, "cpu": cores * 1000, "memory": memory << 30}
        spec = PodSet("main", pods, requests, topology=request)
        made.append(
            KueueWorkload("ns", f"w{n:05d}", f"q{n % queues:02d}", (spec,), created=stamp(n), uid=f"u{n}")
        )
    return made


def gang_cluster(nodes: int, count: int, most: int, queues: int = 20) -> Session:
    """A session of gangs in ``queues`` queues of one cohort."""
    share = nodes * 8 // queues
    infinite = Quota(1 << 60)
    quota = {GPU: Quota(share), "cpu": infinite, "memory": infinite}
    group = ResourceGroup((GPU, "cpu", "memory"), (FlavorQuotas("f", quota),))
    names = [f"q{n:02d}" for n in range(queues)]
    objects = KueueObjects(
        cluster_queues={n: ClusterQueue(n, "all", (group,), Selector()) for n in names},
        local_queues={("ns", n): LocalQueue("ns", n, n) for n in names},
        flavors={"f": ResourceFlavor("f", topology="t")},
        topologies={"t": Topology("t", LEVELS)},
        workloads={(w.namespace, w.name): w for w in gangs(count, most, queues)},
    )
    return compile_session(objects, {"ns": {}}, nodes=machines(nodes), now=0)


# -- the mix of Kueue's own performance harness, with times in milliseconds ---------------------------

CLASSES = (  # pods, cores a pod in thousandths, of each in a queue, run time, interval, priority
    ("small", 2, 500, 350, 200, 100, 50),
    ("medium", 4, 1250, 100, 500, 500, 100),
    ("large", 8, 2500, 50, 1000, 1200, 200),
)


def harness_cluster(scale: float) -> tuple[Session, list[tuple[int, KueueWorkload, int]]]:
    """A session without workloads, and (submitted, workload, run time) in order."""
    group = ResourceGroup(("cpu",), (FlavorQuotas("f", {"cpu": Quota(20000, 100000)}),))
    preemption = Preemption(within_cluster_queue="LowerPriority", reclaim_within_cohort="Any")
    names = [(f"c{c}", f"c{c}-q{q}") for c in range(5) for q in range(6)]
    nodes = []
    for n in range(640):
        name, rack = f"n{n:03d}", n // 64
        labels = {"block": "b1", "rack": f"r{rack}", HOST: name}
        nodes.append(Node(name, labels, (), {"cpu": 96000, "memory": 256 << 30, "pods": 110}))
    objects = KueueObjects(
        cluster_queues={q: ClusterQueue(q, c, (group,), Selector(), preemption=preemption) for c, q in names},
        local_queues={("ns", q): LocalQueue("ns", q, q) for _, q in names},
        flavors={"f": ResourceFlavor("f", topology="t")},
        topologies={"t": Topology("t", ("block", "rack", HOST))},
    )
    target = Target(gates={"TASBalancedPlacement": True})
    session = compile_session(objects, {"ns": {}}, target, nodes=nodes, now=0)
    stream = []
    for _, queue in names:
        for klass, pods, cores, count, run, interval, priority in CLASSES:
            for n in range(round(count * scale)):
                mode = ("required", "preferred", "preferred")[n % 3]
                slices = {"slice_level": HOST, "slice_size": 1} if n % 3 == 2 else {}
                request = TopologyRequest(mode, "rack", **slices)
                spec = PodSet("main", pods, {"cpu": cores}, topology=request)
                name = f"{queue}-{klass}-{n:03d}"
                at = (n + 1) * interval
                made = KueueWorkload(
                    "ns", name, queue, (spec,), priority, created=stamp(at // 1000), uid=name
                )
                stream.append((at, made, run))
    return session, sorted(stream, key=lambda s: (s[0], s[1].name))


def flow(session: Session, stream: list[tuple[int, KueueWorkload, int]]) -> dict[str, float]:
    """Workloads come, run and go; a cycle costs a millisecond."""
    now, at, admitted, cycles = 0, 0, 0, 0
    ends: list[tuple[int, str]] = []
    runs = {w.id: run for _, w, run in stream}
    while at < len(stream) or ends or session.has_work():
        if not session.has_work():
            nexts = [stream[at][0]] if at < len(stream) else []
            nexts += [ends[0][0]] if ends else []
            if not nexts:
                break
            now = max(now, min(nexts))
        new = []
        while at < len(stream) and stream[at][0] <= now:
            new.append(stream[at][1])
            at += 1
        session.offer(new)
        over = []
        while ends and ends[0][0] <= now:
            over.append(heapq.heappop(ends)[1])
        if over:
            session.release(over)
        for decision in session.cycle(now * NANOS // 1000):
            if decision.outcome == "reserved":
                admitted += 1
                heapq.heappush(ends, (now + runs[decision.workload], decision.workload))
        session.settle()
        cycles += 1
        now += 1
    return {"reserved": admitted, "cycles": cycles, "virtual": now / 1000}


# -- measuring --------------------------------------------------------------------------------------


def measure(options: argparse.Namespace) -> dict[str, float]:
    """One run in this process."""
    at = [time.process_time()]
    if options.harness:
        session, stream = harness_cluster(options.scale)
        decide: Callable[[], dict[str, float]] = lambda: flow(session, stream)  # noqa: E731 - either is one line
    else:
        session = gang_cluster(options.nodes, options.gangs, options.pods)

        def decide() -> dict[str, float]:
            placed = cycles = waves = 0
            while session.items:  # all that were placed end at once, and the rest goes on
                run = until_stable(session, session.now + NANOS, 100_000)
                placed += sum(len(c.reserved) for c in run.cycles)
                cycles, waves = cycles + run.ran, waves + 1
                done = list(session.holding())
                session.release(done)
                if not done:
                    break
            return {"reserved": placed, "cycles": cycles, "waves": waves}

    at.append(time.process_time())
    if options.profile:
        found: dict[str, float] = {}
        profile = cProfile.Profile()
        profile.enable()
        found = decide()
        profile.disable()
        pstats.Stats(profile).sort_stats(options.profile).print_stats(45)
    else:
        found = decide()
    at.append(time.process_time())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    times = {"compiling": at[1] - at[0], "deciding": at[2] - at[1], "peak": peak}
    return {**times, "nominations": session.nominations, **found}


def apart(**asked: Any) -> dict[str, float]:
    """The same in a process of its own."""
    words = [word for key, value in asked.items() for word in (f"--{key}", str(value))]
    made = subprocess.run(
        [sys.executable, __file__, "--json", *words], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(made.stdout)
    return found


def show(name: str, row: dict[str, float], base: dict[str, float] | None = None) -> None:
    """One line of the table, with how much longer it took than ``base``."""
    each = row["deciding"] / max(1, row["nominations"]) * 1e6
    ratio = f"{row['deciding'] / base['deciding']:8.2f}" if base else " " * 8
    print(
        f"{name:<34} {row['compiling']:9.2f} {row['deciding']:9.2f} {ratio} {row['peak']:7.0f} {row['cycles']:7.0f}"
        f" {row['nominations']:11.0f} {each:8.0f} {row['reserved']:9.0f}",
        flush=True,
    )


def table(title: str, key: str, values: list[int], **fixed: int) -> None:
    """How the time grows with one of the numbers."""
    print(f"\n{title}")
    base = None
    for value in values:
        row = apart(**{**fixed, key: value})
        show("  " + ", ".join(f"{v} {k}" for k, v in {**fixed, key: value}.items()), row, base)
        base = base or row


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--gangs", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=512, help="of the largest gang")
    parser.add_argument("--harness", action="store_true")
    parser.add_argument("--scale", type=float, default=1.0, help="of the harness's workloads")
    parser.add_argument("--profile", choices=("tottime", "cumulative"))
    parser.add_argument("--json", action="store_true", help="one run, for the table")
    parser.add_argument("--one", action="store_true", help="one run instead of the table")
    options = parser.parse_args()
    if options.json:
        print(json.dumps(measure(options)))
        return
    print(
        f"{'':<34} {'compiling':>9} {'deciding':>9} {'times':>8} {'peak MB':>7} {'cycles':>7} {'nominations':>11}"
        f" {'us each':>8} {'reserved':>9}"
    )
    if options.harness or options.one or options.profile:
        show(
            "harness" if options.harness else f"{options.nodes} nodes, {options.gangs} gangs",
            measure(options),
        )
        return
    table("against nodes", "nodes", [1250, 2500, 5000, 10_000, 20_000], gangs=1000, pods=512)
    table("against gangs", "gangs", [250, 500, 1000, 2000], nodes=10_000, pods=512)
    table("against pods a gang", "pods", [1, 8, 64, 512], nodes=10_000, gangs=1000)


if __name__ == "__main__":
    main()
