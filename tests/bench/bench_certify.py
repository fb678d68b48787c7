"""Seconds (of the processor) to a verdict on recorded hardware: 1,213 nodes, 20 teams whose quotas sum to it, a recorded mix of jobs.

    python tests/bench/bench_certify.py                      # seconds, plays and what was searched, by claim
    python tests/bench/bench_certify.py --profile            # and where the time of playing goes
    python tests/bench/bench_certify.py --teams 5 --scenarios 10 --write DIR
    python tests/bench/bench_certify.py --seeds 20           # a line for each seed, and how the seconds vary

Teams, quotas, limits and promises are generated from a seed; nodes and the shapes of jobs (with how often each occurs)
are the recorded ones. Skips with a reason when the records are not beside the checkout.
"""

from __future__ import annotations

import argparse
import cProfile
import csv
import pstats
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from policycheck.app import Sources
from policycheck.app.certify import Options, Prepared, chosen_claims, prepare, verdicts_of
from policycheck.certify.verdict import Verdict
from policycheck.lint.settings import Settings
from policycheck.source.tree import Listing

GPU, API, HOST = "nvidia.com/gpu", "kueue.x-k8s.io/v1beta2", "kubernetes.io/hostname"
SECONDS = 30.0
CLASSES = {"production": 1000, "standard": 500, "experiment": 100}
SHAPES = 3  # of a team
LARGEST = 16  # GPUs of a job, so that it fits into every team's quota

Value = dict[str, Any]
Shape = tuple[int, int, int]  # GPUs of a pod, thousandths of a cpu, MiB


class Machine(NamedTuple):
    """One recorded node."""

    name: str
    model: str
    gpus: int
    cpu: int  # thousandths
    memory: int  # MiB


def data_folder(given: str | None) -> Path | None:
    """The recorded data, or None."""
    root = Path(__file__).resolve().parents[2]
    found = Path(given) if given else root.parent / "shared" / "data"
    return found if (found / "inventory" / "openb-nodes.csv").is_file() else None


def machines(folder: Path) -> list[Machine]:
    """Nodes with GPUs."""
    with (folder / "inventory" / "openb-nodes.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Machine(r["sn"], r["model"].lower(), int(r["gpu"]), int(r["cpu_milli"]), int(r["memory_mib"]))
        for r in rows
        if int(r["gpu"])
    ]


def shapes(folder: Path) -> Counter[Shape]:
    """How often each kind of pod with whole GPUs occurs in the recorded jobs."""
    with (folder / "traces" / "openb_default.jobs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    return Counter(
        (int(r["gpus_per_pod"]), int(r["cpu_milli_per_pod"]), int(r["mem_mib_per_pod"]))
        for r in rows
        if int(r["gpus_per_pod"] or 0) and int(r["gpu_milli_per_pod"] or 0) >= 1000
    )


def dealt(found: list[Machine], teams: int, draw: random.Random) -> list[dict[str, int]]:
    """The GPUs of each model, given out whole: every team has some of two models, and the last has the rest."""
    quota: list[dict[str, int]] = [{} for _ in range(teams)]
    total = Counter[str]()
    for machine in found:
        total[machine.model] += machine.gpus
    for place, (model, gpus) in enumerate(sorted(total.items(), key=lambda m: (-m[1], m[0]))):
        many = teams if place < 2 else max(1, min(teams // 3, gpus // LARGEST))
        chosen = range(teams) if many == teams else sorted(draw.sample(range(teams), many))
        left = gpus
        for turn, team in enumerate(chosen, 1):
            part = left if turn == many else gpus // many
            quota[team][model] = part
            left -= part
    return quota


def documents(found: list[Machine], quota: list[dict[str, int]]) -> list[Value]:
    """Queues in one cohort, a flavor for each model, classes."""
    per = Counter[str]()
    cpus, memory = Counter[str](), Counter[str]()
    for machine in found:
        per[machine.model] += machine.gpus
        cpus[machine.model] += machine.cpu // 1000
        memory[machine.model] += machine.memory // 1024
    made: list[Value] = [
        _object("ResourceFlavor", model, spec={"nodeLabels": {"gpu": model}}) for model in sorted(per)
    ]
    for number, own in enumerate(quota):
        name = f"team{number:02d}"
        flavors = [
            {
                "name": model,
                "resources": [
                    {"name": GPU, "nominalQuota": gpus},
                    {"name": "cpu", "nominalQuota": gpus * cpus[model] // per[model]},
                    {"name": "memory", "nominalQuota": f"{gpus * memory[model] // per[model]}Gi"},
                ],
            }
            for model, gpus in sorted(own.items())
        ]
        spec = {
            "cohortName": "all",
            "namespaceSelector": {},
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "resourceGroups": [{"coveredResources": [GPU, "cpu", "memory"], "flavors": flavors}],
        }
        made.append(_object("ClusterQueue", name, spec=spec))
        made.append(_object("LocalQueue", "main", name, spec={"clusterQueue": name}))
        made.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    made += [_object("WorkloadPriorityClass", name, value=value) for name, value in CLASSES.items()]
    wait = {"timeout": "5m", "requeuingStrategy": {"backoffLimitCount": 5}}
    made.append({"apiVersion": f"config.{API}", "kind": "Configuration", "waitForPodsReady": wait})
    return made


def _object(kind: str, name: str, namespace: str = "", **more: Any) -> Value:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": API, "kind": kind, "metadata": metadata, **more}


def _node(machine: Machine) -> Value:
    allocatable = {
        GPU: str(machine.gpus),
        "cpu": f"{machine.cpu}m",
        "memory": f"{machine.memory}Mi",
        "pods": "110",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": machine.name, "labels": {"gpu": machine.model, HOST: machine.name}},
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]},
    }


def promises(quota: list[dict[str, int]], known: Counter[Shape], draw: random.Random) -> Value:
    """Each team is promised its quota, and runs recorded shapes, drawn as often as they occur."""
    kinds = sorted(known)
    teams = []
    for number, own in enumerate(quota):
        chosen: dict[Shape, None] = {}
        while len(chosen) < min(SHAPES, len(kinds)):
            chosen[draw.choices(kinds, [known[kind] for kind in kinds])[0]] = None
        told = [
            {
                "name": f"job{place}",
                "pods": draw.choice([1, 1, max(1, LARGEST // gpus // 4)]),
                "gpus": gpus,
                "requests": {"cpu": f"{cpu}m", "memory": f"{memory}Mi"},
                "priorityClass": draw.choice(list(CLASSES)),
            }
            for place, (gpus, cpu, memory) in enumerate(chosen)
        ]
        teams.append(
            {
                "name": f"team{number:02d}",
                "queues": f"team{number:02d}",
                "guarantee": {GPU: sum(own.values())},
                "burst": "1%",
                "within": "10m",
                "shapes": told,
            }
        )
    protection = {"protected": ["production"], "experiments": ["experiment"]}
    head = {"apiVersion": "policycheck.dev/v1", "kind": "Promises"}
    return {**head, "teams": teams, "protection": protection, "gangs": {"wholeWithin": "10m"}}


def generate(folder: Path, teams: int, seed: int) -> dict[str, str]:
    """All files by name."""
    draw = random.Random(seed)
    found = machines(folder)
    quota = dealt(found, teams, draw)
    return {
        "queues.yaml": yaml.safe_dump_all(documents(found, quota)),
        "nodes.yaml": yaml.safe_dump_all([_node(machine) for machine in found]),
        "promises.yaml": yaml.safe_dump(promises(quota, shapes(folder), draw), sort_keys=False),
    }


def sources(files: dict[str, str]) -> Sources:
    """The files in memory."""
    return Sources(tuple(files), read=lambda n: files[n].encode(), tree=Listing(files), in_memory=True)


def _alike(verdicts: tuple[Verdict, ...]) -> str:
    """What was taken together, by claim."""
    told = [(v.claim, v.evidence["takenTogether"]) for v in verdicts if "takenTogether" in v.evidence]
    return "; ".join(f"{claim}: {one['played']} of {one['pairs']} pairs of queues" for claim, one in told)


def _searched(verdicts: tuple[Verdict, ...]) -> str:
    known = Counter(f"{v.outcome} ({v.basis})" for v in verdicts)
    return ", ".join(f"{many} {what}" for what, many in sorted(known.items()))


def measure(one: Prepared, options: Options) -> float:
    """Prints a line for each claim; seconds in all."""
    print(f"{'claim':<24}{'seconds':>9}{'plays':>8}{'ms/play':>9}  verdicts")
    total = 0.0
    for claim in chosen_claims(options):
        before = one.arena.plays  # type: ignore[attr-defined]
        begin = time.process_time()
        verdicts = verdicts_of(one, [claim], options)
        spent = time.process_time() - begin
        total += spent
        plays = one.arena.plays - before  # type: ignore[attr-defined]
        each = f"{1000 * spent / plays:.1f}" if plays else "-"
        print(f"{claim.name:<24}{spent:>9.2f}{plays:>8}{each:>9}  {_searched(verdicts)}", flush=True)
        if _alike(verdicts):
            print(f"{'':<24}{_alike(verdicts)}")
        for verdict in [v for v in verdicts if v.outcome not in ("HOLDS", "NOT_APPLICABLE")][:2]:
            print(f"{'':<24}{verdict.subject}: {verdict.headline}"[:160])
    return total


def vary(folder: Path, teams: int, scenarios: int, seeds: int) -> None:
    """A line a seed: teams, quotas, shapes and attacks are others each time; then median, 95th percentile and most."""
    spent: list[float] = []
    print(f"{'seed':<6}{'seconds':>9}{'stories':>9}  verdicts")
    for seed in range(1, seeds + 1):
        files = generate(folder, teams, seed)
        begin = time.process_time()
        (one,), _ = prepare(sources(files), Settings(), "")
        options = Options((), scenarios, seed)
        verdicts = verdicts_of(one, chosen_claims(options), options)
        spent.append(time.process_time() - begin)
        known = Counter(v.outcome for v in verdicts)
        told = ", ".join(f"{many} {what}" for what, many in sorted(known.items()))
        print(f"{seed:<6}{spent[-1]:>9.1f}{one.arena.plays:>9,}  {told}", flush=True)  # type: ignore[attr-defined]
    ranked = sorted(spent)
    late = ranked[min(len(ranked) - 1, -(-95 * len(ranked) // 100) - 1)]
    print(
        f"{seeds} seeds: median {ranked[len(ranked) // 2]:.1f} s, p95 {late:.1f} s, most {ranked[-1]:.1f} s; "
        f"goal {SECONDS:.0f} s"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", help="folder with inventory and traces")
    parser.add_argument("--teams", type=int, default=20)
    parser.add_argument("--scenarios", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=0, help="one line for each of so many seeds")
    parser.add_argument("--claim", action="append", default=[], help="only this one; may be given again")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--write", help="leave the generated files in this folder")
    given = parser.parse_args()
    folder = data_folder(given.data)
    if folder is None:
        print("skipped: no recorded data (inventory/openb-nodes.csv) beside the checkout; give --data DIR")
        return
    if given.seeds:
        vary(folder, given.teams, given.scenarios, given.seeds)
        return
    files = generate(folder, given.teams, given.seed)
    if given.write:
        Path(given.write).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (Path(given.write) / name).write_text(text)
    begin = time.process_time()
    (one,), _ = prepare(sources(files), Settings(), "")
    read = time.process_time() - begin
    nodes = len(one.cluster.inventory.nodes)
    print(
        f"{nodes} nodes, {given.teams} teams, {given.scenarios} drawn scenarios a verdict; read in {read:.1f} s"
    )
    options = Options(tuple(given.claim), given.scenarios, given.seed)
    profile = cProfile.Profile()
    if given.profile:
        profile.enable()
    total = measure(one, options)
    profile.disable()
    print(f"{'all':<24}{total:>9.2f}; with reading {total + read:.1f} s, goal {SECONDS:.0f} s")
    if given.profile:
        pstats.Stats(profile).sort_stats("cumulative").print_stats(45)


if __name__ == "__main__":
    main()
