"""Speed of `policycheck lint`: many documents and a cold start, stage by stage, against yamllint.

Prints tables. Ratios are of medians from interleaved runs on the same files, so that what else the
machine does falls on both. README.md beside this file says how to read them.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

# (stage, module, attribute): the time spent inside, less that of stages called from there.
STAGES = (
    ("files and scopes", "policycheck.app", "gather"),
    ("parse", "policycheck.app.gather", "load_file"),
    ("read facts", "policycheck.systems.registry", "read"),
    ("rulebook", "policycheck.app", "rulebook"),
    ("link", "policycheck.app", "linked"),
    ("rules", "policycheck.lint.runner", "run"),
    ("report", "policycheck.report", "render"),
)
FLAVORS = ("h100", "a100", "l4")


class Size(NamedTuple):
    """How much is generated, in documents of each kind; ranges are in the generator."""

    files: int
    queues: int
    locals: int
    cohorts: int
    jobs: int
    deployments: int
    namespaces: int

    @property
    def documents(self) -> int:
        return sum(self[1:]) + len(FLAVORS)


MANY = Size(files=200, queues=1500, locals=3000, cohorts=197, jobs=3000, deployments=1600, namespaces=700)
COLD = Size(files=10, queues=4, locals=4, cohorts=1, jobs=4, deployments=2, namespaces=2)
SIZES = {"many": MANY, "cold": COLD}


def documents(size: Size, seed: int) -> Iterator[dict[str, Any]]:
    """A believable cluster of that size: 8 to 64 GPUs a queue, 1 to 16 pods of 1 to 8 GPUs a job."""
    draw = random.Random(seed)
    kueue = "kueue.x-k8s.io/v1beta2"
    for flavor in FLAVORS:
        labels = {"nvidia.com/gpu.product": flavor.upper()}
        yield {
            "apiVersion": kueue,
            "kind": "ResourceFlavor",
            "metadata": {"name": flavor},
            "spec": {"nodeLabels": labels},
        }
    for n in range(size.cohorts):
        yield {"apiVersion": kueue, "kind": "Cohort", "metadata": {"name": f"cohort-{n}"}, "spec": {}}
    for n in range(size.namespaces):
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": f"team-{n}", "labels": {"team": f"t{n}"}},
        }
    for n in range(size.queues):
        yield cluster_queue(kueue, n, size, draw)
    for n in range(size.locals):
        queue = {"clusterQueue": f"queue-{draw.randrange(size.queues)}"}
        meta = {"name": f"local-{n}", "namespace": f"team-{n % size.namespaces}"}
        yield {"apiVersion": kueue, "kind": "LocalQueue", "metadata": meta, "spec": queue}
    for n in range(size.jobs):
        yield workload("batch/v1", "Job", n, size, draw)
    for n in range(size.deployments):
        yield workload("apps/v1", "Deployment", n, size, draw)


def cluster_queue(version: str, n: int, size: Size, draw: random.Random) -> dict[str, Any]:
    flavors = [
        {
            "name": flavor,
            "resources": [
                {"name": "cpu", "nominalQuota": draw.randint(64, 512)},
                {"name": "memory", "nominalQuota": f"{draw.randint(256, 4096)}Gi"},
                {
                    "name": "nvidia.com/gpu",
                    "nominalQuota": draw.randint(8, 64),
                    "borrowingLimit": draw.randint(0, 16),
                },
            ],
        }
        for flavor in FLAVORS
    ]
    covered = ["cpu", "memory", "nvidia.com/gpu"]
    spec = {
        "cohortName": f"cohort-{n % size.cohorts}",
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
        "resourceGroups": [{"coveredResources": covered, "flavors": flavors}],
    }
    return {"apiVersion": version, "kind": "ClusterQueue", "metadata": {"name": f"queue-{n}"}, "spec": spec}


def workload(version: str, kind: str, n: int, size: Size, draw: random.Random) -> dict[str, Any]:
    amounts = {"cpu": str(draw.randint(4, 32)), "memory": f"{draw.randint(16, 256)}Gi"}
    amounts["nvidia.com/gpu"] = str(draw.choice((1, 2, 4, 8)))
    container = {
        "name": "main",
        "image": "registry.example.com/train:1",
        "resources": {"requests": amounts, "limits": amounts},
    }
    template = {
        "metadata": {"labels": {"app": f"{kind.lower()}-{n}"}},
        "spec": {"containers": [container], "restartPolicy": "Never" if kind == "Job" else "Always"},
    }
    meta = {
        "name": f"{kind.lower()}-{n}",
        "namespace": f"team-{n % size.namespaces}",
        "labels": {"kueue.x-k8s.io/queue-name": f"local-{n % size.locals}"},
    }
    copies = draw.randint(1, 16)
    if kind == "Job":
        spec: dict[str, Any] = {"parallelism": copies, "completions": copies, "template": template}
    else:
        spec = {
            "replicas": copies,
            "selector": {"matchLabels": template["metadata"]["labels"]},
            "template": template,
        }
    return {"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec}


def write(folder: Path, size: Size, seed: int) -> int:
    """Writes the files; returns their bytes. The documents are dealt out in order."""
    every = list(documents(size, seed))
    share = -(-len(every) // size.files)
    total = 0
    for number in range(size.files):
        text = yaml.dump_all(
            every[number * share : (number + 1) * share], explicit_start=True, Dumper=yaml.CSafeDumper
        )
        total += (folder / f"part-{number:03}.yaml").write_bytes(text.encode())
    return total


def child(arguments: list[str]) -> None:
    """In a process of its own: lints with a clock around each stage and prints the seconds as JSON."""
    spent: dict[str, float] = {}
    stack: list[float] = []
    begin = time.perf_counter()
    for stage, module, attribute in STAGES:
        wrap(importlib.import_module(module), attribute, stage, spent, stack)
    from policycheck.adapters.cli import main

    loaded = time.perf_counter()
    code = main(arguments)
    whole = time.perf_counter() - loaded
    spent = {"imports": loaded - begin, **spent, "everything else": whole - sum(spent.values())}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stderr.write("\n" + json.dumps({"code": code, "seconds": spent, "peakMiB": peak}) + "\n")


def wrap(module: Any, attribute: str, stage: str, spent: dict[str, float], stack: list[float]) -> None:
    inner: Callable[..., Any] = getattr(module, attribute)

    def timed(*args: Any, **options: Any) -> Any:
        stack.append(0.0)
        begin = time.perf_counter()
        try:
            return inner(*args, **options)
        finally:
            whole = time.perf_counter() - begin
            within = stack.pop()
            spent[stage] = spent.get(stage, 0.0) + whole - within
            if stack:
                stack[-1] += whole

    setattr(module, attribute, timed)


def seconds(command: list[str]) -> float:
    begin = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    spent = time.perf_counter() - begin
    if done.returncode not in {0, 1}:
        raise SystemExit(f"{command} exited {done.returncode}\n{done.stderr.decode(errors='replace')}")
    return spent


def compare(name: str, runs: int, seed: int) -> None:
    size = SIZES[name]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        total = write(folder, size, seed)
        print(
            f"\n{name}: {size.documents:,} documents in {size.files} files, {total / 1e6:.2f} MB, seed {seed}"
        )
        arguments = ["lint", str(folder), "--exit-zero", "--format", "json"]
        ours = [sys.executable, "-m", "policycheck", *arguments]
        peer = [sys.executable, "-m", "yamllint", str(folder)]
        seconds(ours)  # compiles the rules and the bytecode
        seconds(peer)
        pairs = [(seconds(ours), seconds(peer)) for _ in range(runs)]
        report(pairs)
        stages(arguments)


def report(pairs: list[tuple[float, float]]) -> None:
    print(f"  {'':<18}{'median':>9}{'least':>9}{'most':>9}   (s, {len(pairs)} interleaved runs)")
    medians = []
    for label, column in (("policycheck", 0), ("yamllint", 1)):
        times = [pair[column] for pair in pairs]
        medians.append(statistics.median(times))
        print(f"  {label:<18}{medians[-1]:>9.3f}{min(times):>9.3f}{max(times):>9.3f}")
    print(f"  ratio to yamllint {medians[0] / medians[1]:>9.2f}   (below 1: faster)")


def stages(arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, __file__, "--child", *arguments], capture_output=True, text=True, check=False
    )
    told = json.loads(done.stderr.strip().splitlines()[-1])
    print(f"  stages (one run, exit code {told['code']}, peak {told['peakMiB']:.0f} MiB)")
    for stage, spent in told["seconds"].items():
        print(f"    {stage:<18}{spent:>9.3f}")


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted(SIZES))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", metavar="DIR", help="write the files of --only there and stop")
    given = parser.parse_args()
    os.environ.pop("FORCE_COLOR", None)
    # Where bytecode is not kept, each run compiles all modules anew: that is no run of a user's.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if given.write:
        Path(given.write).mkdir(parents=True, exist_ok=True)
        write(Path(given.write), SIZES[given.only or "many"], given.seed)
        return
    for name in [given.only] if given.only else sorted(SIZES):
        compare(name, given.runs, given.seed)


if __name__ == "__main__":
    main()
