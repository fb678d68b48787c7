"""Allocation of openb's pods on openb's nodes against the recorded results of the FGD study, and seconds.

    python tests/bench/bench_packing.py                            # ../shared/data beside the checkout
    python tests/bench/bench_packing.py --data DIR --seeds 10 --policies Random,BestFit,FGD
    python tests/bench/bench_packing.py --ties                     # what the rule for equal nodes is worth

Prints a table: the mean over seeds at 100 and 130 % arrived, the recorded mean (tune 1.3, ten seeds), the
difference, the fragment at 130 %, and seconds a run. The exit code is 1 when Random or BestFit is off by more
than a point, or a run of BestFit takes over 20 s.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import sys
import time
from pathlib import Path

from policycheck.model.workload import PodSet
from policycheck.simulate.job import Job
from policycheck.systems.core.inventory import load
from policycheck.systems.core.scheduler.packing import EXACT_FIT, POLICIES, TIES, Policy, Study, pack
from policycheck.systems.gpu.device import devices_of

RECORDED = {"Random": "01-Random", "BestFit": "05-BestFit", "FGD": "06-FGD"}
POINT = 1.0  # by which Random and BestFit may be off
SECONDS = 20.0
GPU = "nvidia.com/gpu"
FIRST_SEED = 42


def data_folder(given: str | None) -> Path | None:
    """The recorded data, or None."""
    root = Path(__file__).resolve().parents[2]
    found = Path(given) if given else root.parent / "shared" / "data"
    return found if (found / "inventory" / "openb-nodes.csv").is_file() else None


def read_jobs(path: Path) -> list[Job]:
    """One job a row of a normalised trace; pods of one shape share their podset."""
    sets: dict[tuple, PodSet] = {}
    jobs = []
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            cards = int(row["gpus_per_pod"])
            requests = {
                "cpu": int(row["cpu_milli_per_pod"]),
                "memory": int(row["mem_mib_per_pod"]) << 20,
                **({GPU: cards} if cards else {}),
            }
            spec = sets.setdefault(tuple(requests.items()), PodSet("main", 1, requests))
            models = tuple(filter(None, row["gpu_models"].split("|")))
            milli = int(row["gpu_milli_per_pod"]) if cards else 1000
            jobs.append(Job(f"openb/{row['job_id']}", "", 0, 1, (spec,), models=models, milli=milli))
    return jobs


def recorded(folder: Path, kind: str, workload: str, policy: str) -> dict[int, float]:
    """The recorded mean over seeds by percent arrived."""
    path = folder / "baselines" / f"fgd_analysis_{kind}_discrete.csv"
    with path.open(newline="") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if (row["workload"], row["sc_policy"], row["tune"]) == (workload, RECORDED[policy], "1.3")
        ]
    return {at: statistics.fmean(float(row[str(at)]) for row in rows) for at in (50, 80, 100, 130)}


def run(study: Study, policy: Policy, seeds: int) -> tuple[dict[str, float], list[float]]:
    """Means over seeds, and seconds of each run."""
    runs, seconds = [], []
    for seed in range(FIRST_SEED, FIRST_SEED + seeds):
        begin = time.perf_counter()
        runs.append(pack(study, policy, seed))
        seconds.append(time.perf_counter() - begin)
    means = {f"a{at}": statistics.fmean(r.allocated[at] for r in runs) for at in (100, 130)}
    means["deviation"] = statistics.pstdev([r.allocated[130] for r in runs])
    if study.fragment:
        means["f130"] = statistics.fmean(r.fragment[130] for r in runs)
    return means, seconds


def compare(folder: Path, names: list[str], seeds: int, *, fragment: bool) -> bool:
    """Print the table; whether everything required holds."""
    nodes = load(
        [str(folder / "inventory" / "openb-nodes.csv")], lambda p: Path(p).read_bytes()
    ).inventory.nodes
    print(
        f"{len(nodes)} nodes; seeds {FIRST_SEED} to {FIRST_SEED + seeds - 1}; equal nodes: see the column ties"
    )
    print(
        "workload    policy   ties    100 %  recorded   diff   130 %  recorded   diff   sd   frag  rec.   s/run"
    )
    fine = True
    for trace in ("default", "gpuspec33"):
        jobs = read_jobs(folder / "traces" / f"openb_{trace}.jobs.csv")
        study = Study(nodes, devices_of, jobs, fragment=fragment)
        for name in names:
            means, seconds = run(study, POLICIES[name], seeds)
            known = recorded(folder, "allo", f"openb_pod_list_{trace}", name)
            lost = recorded(folder, "frag", f"openb_pod_list_{trace}", name)
            off = [means[f"a{at}"] - known[at] for at in (100, 130)]
            frag = f"{means['f130']:6.2f}" if fragment else "     -"
            print(
                f"{trace:11} {name:8} {POLICIES[name].ties:6} {means['a100']:6.2f} {known[100]:8.2f} {off[0]:+7.2f}"
                f" {means['a130']:7.2f} {known[130]:8.2f} {off[1]:+7.2f} {means['deviation']:5.2f}"
                f" {frag} {lost[130]:5.2f} {statistics.median(seconds):7.2f}"
            )
            if name != "FGD":
                fine = fine and max(map(abs, off)) <= POINT
            if name == "BestFit":
                fine = fine and max(seconds) <= SECONDS
    return fine


def ties(folder: Path, seeds: int) -> None:
    """Print what the rule for equal nodes, and rounding the score, are worth."""
    nodes = load(
        [str(folder / "inventory" / "openb-nodes.csv")], lambda p: Path(p).read_bytes()
    ).inventory.nodes
    jobs = read_jobs(folder / "traces" / "openb_default.jobs.csv")
    print("policy                ties      100 %   130 %")
    for policy in (POLICIES["BestFit"], EXACT_FIT, POLICIES["FGD"]):
        for rule in TIES:
            means, _ = run(Study(nodes, devices_of, jobs), policy._replace(ties=rule), seeds)
            print(f"{policy.name:21} {rule:7} {means['a100']:7.2f} {means['a130']:7.2f}")


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder with inventory, traces and baselines")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--policies", default="Random,BestFit,FGD")
    parser.add_argument("--ties", action="store_true", help="compare the rules for equal nodes instead")
    parser.add_argument("--fragment", action="store_true", help="measure the fragment too")
    asked = parser.parse_args()
    folder = data_folder(asked.data)
    if folder is None:
        print("skipped: no recorded data (inventory/openb-nodes.csv) beside the checkout; give --data DIR")
        return 0
    if asked.ties:
        ties(folder, asked.seeds)
        return 0
    return 0 if compare(folder, asked.policies.split(","), asked.seeds, fragment=asked.fragment) else 1


if __name__ == "__main__":
    sys.exit(main())
