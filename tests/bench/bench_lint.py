"""Speed of `policycheck lint`: many documents and a cold start, stage by stage, against yamllint and kubeconform.

Prints tables. Ratios are of medians from interleaved runs on the same files, so that what else the
machine does falls on all. README.md beside this file says how to read them, and how to get kubeconform.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

# (stage, module, attribute): the time spent inside, less that of stages called from there.
STAGES = (
    ("files and scopes", "policycheck.app", "gather"),
    ("parse", "policycheck.app.reading", "parse"),
    ("what is kept", "policycheck.app.kept", "unpacked"),
    ("read facts", "policycheck.systems.registry", "read"),
    ("rulebook", "policycheck.app", "rulebook"),
    ("link", "policycheck.app", "linked"),
    ("rules", "policycheck.lint.runner", "looked"),
    ("rules of a part", "policycheck.app.since", "since"),
    ("conclusion", "policycheck.lint.runner", "concluded"),
    ("report", "policycheck.report", "render"),
)
FLAVORS = ("h100", "a100", "l4")
CHANGES = {  # what is new, and the number that is another then
    "quota": r"borrowingLimit: \d+\n *name: nvidia.com/gpu\n *nominalQuota: (\d+)\n",
    "job": r"kind: Job\n(?:.*\n)*?  parallelism: (\d+)\n",
}


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

    gc.disable()  # as the command does
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


class Spent(NamedTuple):
    """Of one command: seconds on the clock, and of processors in it and in its processes."""

    clock: float
    processor: float


class Row(NamedTuple):
    """A command of a table, and what is done before each of its runs."""

    label: str
    command: list[str]
    before: Callable[[int], None] = lambda _: None


def run(command: list[str], **more: str) -> Spent:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False, env={**os.environ, **more}
    )
    clock = time.perf_counter() - begin
    if done.returncode not in {0, 1}:
        raise SystemExit(f"{command} exited {done.returncode}\n{done.stderr.decode(errors='replace')}")
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(clock, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime)


def compare(name: str, runs: int, seed: int, peer: Peer | None) -> None:
    size = SIZES[name]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "files"
        folder.mkdir()
        os.environ["POLICYCHECK_CACHE_DIR"] = f"{scratch}/cache"
        total = write(folder, size, seed)
        print(
            f"\n{name}: {size.documents:,} documents in {size.files} files, {total / 1e6:.2f} MB, seed {seed}"
        )
        arguments = ["lint", str(folder), "--exit-zero", "--format", "json"]
        ours = [sys.executable, "-m", "policycheck", *arguments]
        rows = [Row("policycheck, all kept", ours)]
        for jobs in ("1", "2") if name == "many" else ("1",):
            some = [*ours, "--jobs", jobs]
            for what in CHANGES:
                label = f"policycheck, one {what} new, --jobs {jobs}"
                rows.append(Row(label, some, partial(change, folder, what)))
            rows.append(Row(f"policycheck, nothing kept, --jobs {jobs}", [*some, "--no-cache"]))
        if peer is None:
            rows.append(Row("yamllint", [sys.executable, "-m", "yamllint", str(folder)]))
        else:
            rows.append(Row("kubeconform", peer.command(folder, Path(scratch))))
        table(rows, runs)
        stages([*arguments, "--jobs", "1", "--no-cache"], "nothing kept, one process")
        run([*ours, "--jobs", "1"])
        change(folder, "quota")
        stages([*arguments, "--jobs", "1"], "one quota new, one process")


def change(folder: Path, what: str, _turn: int = 0) -> None:
    """One value in one file of the folder is another, as in most pull requests."""
    pattern = re.compile(CHANGES[what])
    for file in sorted(folder.iterdir()):
        text = file.read_text(encoding="utf-8")
        found = pattern.search(text)
        if found is not None:
            value = int(found[1]) % 64 + 1
            file.write_text(f"{text[: found.start(1)]}{value}{text[found.end(1) :]}", encoding="utf-8")
            return
    raise SystemExit(f"no file has a {what}")


def table(rows: list[Row], runs: int) -> None:
    for row in rows:  # compiles rules and bytecode, and fills what is kept
        run(row.command)
    spent: dict[str, list[Spent]] = {row.label: [] for row in rows}
    for turn in range(runs):
        for row in rows:
            row.before(turn)
            spent[row.label].append(run(row.command))
    peers = [row.label for row in rows if not row.label.startswith("policycheck")]
    head = "".join(f"{f'to {peer}':>16}" for peer in peers)
    print(f"  {'':<36}{'clock':>8}{'least':>8}{'most':>8}{'processor':>11}{head}   ({runs} interleaved runs)")
    median = {
        label: Spent(*(statistics.median(column) for column in zip(*each, strict=True)))
        for label, each in spent.items()
    }
    for label, one in median.items():
        clocks = [each.clock for each in spent[label]]
        ratios = "".join(
            f"{one.clock / median[peer].clock:>8.2f}{one.processor / median[peer].processor:>8.2f}"
            for peer in peers
        )
        print(
            f"  {label:<36}{one.clock:>8.3f}{min(clocks):>8.3f}{max(clocks):>8.3f}{one.processor:>11.3f}{ratios}"
        )
    print("  seconds, medians; ratios of clock and of processor time, below 1: faster")


def stages(arguments: list[str], what: str) -> None:
    done = subprocess.run(
        [sys.executable, __file__, "--child", *arguments], capture_output=True, text=True, check=False
    )
    told = json.loads(done.stderr.strip().splitlines()[-1])
    print(f"  stages, {what} (one run, exit code {told['code']}, peak {told['peakMiB']:.0f} MiB)")
    for stage, spent in told["seconds"].items():
        print(f"    {stage:<18}{spent:>9.3f}")


class Peer(NamedTuple):
    """kubeconform, and where the schemas come from: CustomResourceDefinitions, and JSON Schemas of core kinds."""

    binary: str
    crds: Path
    core: Path

    def command(self, folder: Path, scratch: Path) -> list[str]:
        """Checks every document of the folder against a schema that lies on this machine."""
        schemas = scratch / "schemas"
        schemas.mkdir(exist_ok=True)
        self._write(schemas)
        where = f"{schemas}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"
        command = [self.binary, "-strict", "-summary", "-schema-location", where, str(folder)]
        told = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        if "Invalid: 0, Errors: 0, Skipped: 0" not in told:
            raise SystemExit(f"kubeconform does not check all files:\n{told[-600:]}")
        return command

    def _write(self, schemas: Path) -> None:
        for file in sorted(self.crds.glob("*.yaml")):
            spec = yaml.load(file.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)["spec"]
            group, kind = spec["group"].split(".")[0], spec["names"]["kind"].lower()
            for version in spec["versions"]:
                made = closed(version["schema"]["openAPIV3Schema"])
                made["properties"]["metadata"] = {"type": "object"}
                (schemas / f"{kind}-{group}-{version['name']}.json").write_text(json.dumps(made))
        for name in ("job-batch-v1", "deployment-apps-v1", "namespace-v1"):
            whole = json.loads((self.core / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
            made = json.loads((self.core / f"{name}.json").read_text(encoding="utf-8"))
            (schemas / f"{name}.json").write_text(json.dumps(inlined(made, whole)))


def closed(node: Any) -> Any:
    """A structural schema as plain JSON Schema that takes no unknown fields."""
    if isinstance(node, list):
        return [closed(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {key: closed(value) for key, value in node.items()}
    if made.get("x-kubernetes-int-or-string"):
        return {"oneOf": [{"type": "string"}, {"type": "integer"}]}
    if made.get("type") == "object" and "properties" in made:
        made.setdefault("additionalProperties", False)
    return made


def inlined(node: Any, definitions: dict[str, Any]) -> Any:
    """A schema without references into another file."""
    if isinstance(node, list):
        return [inlined(one, definitions) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return inlined(definitions[node["$ref"].rsplit("/", 1)[1]], definitions)
    return {key: inlined(value, definitions) for key, value in node.items()}


def profile(name: str, seed: int) -> None:
    """Where the time of one process goes, function by function, when all files but one are kept."""
    import cProfile
    import pstats

    from policycheck.adapters.cli import main as command

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "files"
        folder.mkdir()
        os.environ["POLICYCHECK_CACHE_DIR"] = f"{scratch}/cache"
        write(folder, SIZES[name], seed)
        lint = ["lint", str(folder), "--exit-zero", "--jobs", "1", f"--format=json={scratch}/out", "-q"]
        command(lint)
        change(folder, "quota")
        profiler = cProfile.Profile()
        profiler.runcall(command, lint)
        print(f"\n{name}: {' '.join(['policycheck', *lint[:1], '...', *lint[2:5]])}")
        pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(25)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=sorted(SIZES))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kubeconform", metavar="BIN", help="compare with it, too; with --crds and --core")
    parser.add_argument("--crds", type=Path, metavar="DIR", help="Kueue's CustomResourceDefinitions")
    parser.add_argument("--core", type=Path, metavar="DIR", help="JSON Schemas of Kubernetes' own kinds")
    parser.add_argument("--profile", action="store_true", help="functions that take the time, and stop")
    parser.add_argument("--write", metavar="DIR", help="write the files of --only there and stop")
    given = parser.parse_args()
    os.environ.pop("FORCE_COLOR", None)
    # Where bytecode is not kept, each run compiles all modules anew: that is no run of a user's.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if given.write:
        Path(given.write).mkdir(parents=True, exist_ok=True)
        write(Path(given.write), SIZES[given.only or "many"], given.seed)
        return
    peer = Peer(given.kubeconform, given.crds, given.core) if given.kubeconform else None
    for name in [given.only] if given.only else sorted(SIZES):
        if given.profile:
            profile(name, given.seed)
        else:
            compare(name, given.runs, given.seed, peer if name == "many" else None)


if __name__ == "__main__":
    main()
