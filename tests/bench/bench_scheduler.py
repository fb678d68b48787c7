"""Speed of the simulated scheduler: whole runs on generated clusters, growth, cost of a nomination.

    python tests/bench/bench_scheduler.py                      # generated clusters of 2,000 to 20,000 workloads
    python tests/bench/bench_scheduler.py --case FILE.json.gz  # recorded situations, against known seconds

Prints a table. `reading` is text to typed objects, `compiling` objects to a session, `deciding` the
cycles. Growth is the ratio of deciding times per workload between the smallest and the largest.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from pathlib import Path
from typing import Any

from policycheck.systems.kueue.cases.world import open_session, read_world
from policycheck.systems.kueue.scheduler import nominate
from policycheck.systems.kueue.scheduler.run import until_stable

API = "kueue.x-k8s.io/v1beta2"
POLICIES: dict[str, dict[str, Any]] = {
    "plain": {},
    "preempting": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
    "fair": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
}


def generate(kind: str, workloads: int, seed: int = 1) -> dict[str, Any]:
    """A cluster with a queue for every 20 workloads, cohorts of ten queues, and four flavors."""
    draw = random.Random(seed)
    flavors = ["f0", "f1", "f2", "f3"]
    objects: list[dict[str, Any]] = [
        {"apiVersion": API, "kind": "ResourceFlavor", "metadata": {"name": f}, "spec": {}} for f in flavors
    ]
    count = max(1, workloads // 20)
    for n in range(count):
        quotas = [{"name": f, "resources": [{"name": "cpu", "nominalQuota": "8"}]} for f in flavors]
        spec = {
            "namespaceSelector": {},
            "cohortName": f"co{n // 10}",
            "preemption": POLICIES[kind],
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": quotas}],
        }
        objects.append(
            {"apiVersion": API, "kind": "ClusterQueue", "metadata": {"name": f"q{n:05d}"}, "spec": spec}
        )
        meta = {"name": f"q{n:05d}", "namespace": "ns"}
        objects.append(
            {"apiVersion": API, "kind": "LocalQueue", "metadata": meta, "spec": {"clusterQueue": f"q{n:05d}"}}
        )
    for n in range(workloads):
        requests = {"cpu": str(draw.choice([1, 1, 2, 4, 8]))}
        pods = {
            "name": "main",
            "count": draw.choice([1, 1, 2]),
            "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": requests}}]}},
        }
        meta = {
            "name": f"w{n:06d}",
            "namespace": "ns",
            "uid": f"u{n:06d}",
            "creationTimestamp": f"2026-01-01T{n // 3600 % 24:02d}:{n // 60 % 60:02d}:{n % 60:02d}Z",
        }
        spec = {
            "queueName": f"q{draw.randrange(count):05d}",
            "priority": draw.choice([0, 0, 10]),
            "podSets": [pods],
        }
        objects.append({"apiVersion": API, "kind": "Workload", "metadata": meta, "spec": spec})
    configuration = {"fairSharing": kind == "fair", "maxCycles": 50}
    return {
        "suite": "bench",
        "name": kind,
        "now": "2026-02-01T00:00:00Z",
        "objects": objects,
        "configuration": configuration,
    }


def measure(case: dict[str, Any]) -> dict[str, float]:
    """Seconds of each stage, and how much was done."""
    made = 0
    nominate_one = nominate.Nominator.nominate

    def counted(self: Any, *args: Any) -> Any:
        nonlocal made
        made += 1
        return nominate_one(self, *args)

    nominate.Nominator.nominate = counted  # type: ignore[method-assign]
    try:
        at = [time.perf_counter()]
        world = read_world(case)
        at.append(time.perf_counter())
        session = open_session(world)
        at.append(time.perf_counter())
        run = until_stable(session, world.now, case["configuration"].get("maxCycles", 50))
        at.append(time.perf_counter())
    finally:
        nominate.Nominator.nominate = nominate_one  # type: ignore[method-assign]
    return {
        "reading": at[1] - at[0],
        "compiling": at[2] - at[1],
        "deciding": at[3] - at[2],
        "cycles": run.ran,
        "nominations": made,
        "reserved": sum(len(c.reserved) for c in run.cycles),
        "evictions": sum(len(d.victims) for c in run.cycles for d in c.preempting),
    }


def show(name: str, row: dict[str, float]) -> None:
    """One line of the table."""
    each = row["deciding"] / max(1, row["nominations"]) * 1e6
    print(
        f"{name:<22} {row['reading']:8.2f} {row['compiling']:9.2f} {row['deciding']:9.2f} {row['cycles']:6.0f}"
        f" {row['nominations']:11.0f} {each:8.1f} {row['reserved']:9.0f} {row['evictions']:9.0f}"
    )


def main() -> None:
    """Parse the arguments and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--case", action="append", default=[], help="a recorded situation to time instead")
    parser.add_argument("--sizes", default="2000,20000", help="numbers of workloads to generate")
    options = parser.parse_args()
    print(
        f"{'':<22} {'reading':>8} {'compiling':>9} {'deciding':>9} {'cycles':>6} {'nominations':>11} {'us each':>8} {'reserved':>9} {'evictions':>9}"
    )
    for path in options.case:
        data = Path(path).read_bytes()
        text = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        for line in text.splitlines():
            case = json.loads(line)
            show(case["name"], measure(case))
    if options.case:
        return
    sizes = [int(s) for s in options.sizes.split(",")]
    for kind in POLICIES:
        rows = [measure(generate(kind, size)) for size in sizes]
        for size, row in zip(sizes, rows, strict=True):
            show(f"{kind} {size}", row)
        each = [row["deciding"] / size for size, row in zip(sizes, rows, strict=True)]
        print(f"{kind}: {each[-1] / each[0]:.2f} times the time per workload at {sizes[-1]} as at {sizes[0]}")


if __name__ == "__main__":
    main()
