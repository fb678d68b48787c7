"""Load on `policycheck webhook serve` from a second process, over TLS on loopback.

Requests are sent by the clock (an open loop), and each is timed from the moment at which it was due, so that a
server that falls behind shows. Prints a table; README.md beside this file says how to read it.

    bench_webhook.py --seconds 60 --rate 200 [--mix work|mixed] [--rotate 5] [--hostile]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "webhook"))

KUEUE = "kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"
FLAVORS = ("h100", "a100", "l4")
HEADER = b"POST %s?timeout=10s HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
# What arrives, in shares of a hundred. "work": what comes by the hundred a second in a large cluster. "mixed":
# one request in twenty is about the configuration, many more than in any cluster.
MIXES = {
    "work": {"job": 80, "wrong job": 10, "pod": 5, "workload": 5},
    "mixed": {"job": 76, "wrong job": 9, "pod": 5, "workload": 5, "queue": 3, "quota": 1, "local": 1},
    "quota": {"quota": 100},
    "queue": {"queue": 100},
    "local": {"local": 100},
}


# -- the cluster ---------------------------------------------------------------------------------------


def state(folder: Path, queues: int, nodes: int) -> list[dict[str, Any]]:
    """Writes a cluster in order; gives its ClusterQueues."""
    draw = random.Random(3)
    made: list[dict[str, Any]] = []
    for name in FLAVORS:
        labels = {"nvidia.com/gpu.product": name.upper()}
        made.append(thing(KUEUE, "ResourceFlavor", name, spec={"nodeLabels": labels}))
    held = [queue(n, draw) for n in range(queues)]
    made += held
    spaces = max(1, queues // 2)
    made += [thing("v1", "Namespace", f"team-{n}") for n in range(spaces)]
    for n in range(2 * queues):
        spec = {"clusterQueue": f"queue-{n % queues}"}
        made.append(thing(KUEUE, "LocalQueue", f"local-{n}", f"team-{n % spaces}", spec=spec))
    (folder / "all.json").write_text(listed(made), encoding="utf-8")
    (folder / "nodes.json").write_text(listed([node(n) for n in range(nodes)]), encoding="utf-8")
    return held


def listed(objects: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def thing(version: str, kind: str, name: str, space: str = "", **more: Any) -> dict[str, Any]:
    meta = {"name": name, **({"namespace": space} if space else {})}
    return {"apiVersion": version, "kind": kind, "metadata": meta, **more}


def queue(n: int, draw: random.Random) -> dict[str, Any]:
    flavors = []
    for name in FLAVORS:
        gpus = draw.randint(1, 3)
        amounts = (("cpu", 16 * gpus), ("memory", f"{192 * gpus}Gi"), (GPU, gpus))
        resources = [{"name": r, "nominalQuota": a} for r, a in amounts]
        resources[2]["borrowingLimit"] = 4
        flavors.append({"name": name, "resources": resources})
    spec = {
        "cohortName": f"cohort-{n // 10}",
        "namespaceSelector": {},
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
        "resourceGroups": [{"coveredResources": ["cpu", "memory", GPU], "flavors": flavors}],
    }
    return thing(KUEUE, "ClusterQueue", f"queue-{n}", spec=spec)


def node(n: int) -> dict[str, Any]:
    amounts = {"cpu": "192", "memory": "2048Gi", GPU: "8", "pods": "110"}
    made = thing("v1", "Node", f"n{n}")
    made["metadata"]["labels"] = {
        "nvidia.com/gpu.product": FLAVORS[n % 3].upper(),
        "kubernetes.io/hostname": f"n{n}",
    }
    conditions = [{"type": "Ready", "status": "True"}]
    return {**made, "status": {"allocatable": amounts, "capacity": amounts, "conditions": conditions}}


# -- what arrives --------------------------------------------------------------------------------------


class Arrivals:
    """Bodies of reviews, and what has to come back."""

    def __init__(self, held: list[dict[str, Any]], mix: str, seed: int = 7) -> None:
        self.held = held
        self.draw = random.Random(seed)
        shares = MIXES[mix]
        self.kinds, self.weights = list(shares), list(shares.values())

    def next(self, n: int) -> tuple[str, str, bytes, bool]:
        """Kind, path, body, and whether it is to be admitted."""
        kind = self.draw.choices(self.kinds, self.weights)[0]
        value, old, allowed = self.made(kind, n)
        group, _, version = value["apiVersion"].rpartition("/")
        meta = value["metadata"]
        request = {
            "uid": f"{n:08d}",
            "kind": {"group": group, "version": version, "kind": value["kind"]},
            "resource": {"group": group, "version": version, "resource": value["kind"].lower() + "s"},
            "name": meta["name"],
            "namespace": meta.get("namespace", ""),
            "operation": "UPDATE" if old else "CREATE",
            "userInfo": {"username": "system:serviceaccount:team:runner", "groups": ["system:authenticated"]},
            "object": value,
            "oldObject": old,
            "dryRun": False,
        }
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
        critical = group.startswith("kueue") and value["kind"] != "Workload"
        path = "/validate-critical" if critical else "/validate-advisory"
        return kind, path, json.dumps(review).encode(), allowed

    def made(self, kind: str, n: int) -> tuple[dict[str, Any], dict[str, Any] | None, bool]:
        if kind in ("job", "wrong job"):
            return self.job(n, 1 if kind == "job" else 4096), None, kind == "job"
        if kind == "pod":
            pod = self.template(1)["spec"]
            return thing("v1", "Pod", f"pod-{n}", f"team-{n % 500}", spec=pod), None, True
        if kind == "workload":
            local = n % (2 * len(self.held))
            sets = [{"name": "main", "count": 1, "template": self.template(1)}]
            spec = {"queueName": f"local-{local}", "podSets": sets}
            space = f"team-{local % max(1, len(self.held) // 2)}"
            return thing(KUEUE, "Workload", f"job-{n}", space, spec=spec), None, True
        if kind == "local":
            spec = {"clusterQueue": f"queue-{n % len(self.held)}"}
            return thing(KUEUE, "LocalQueue", f"new-{n}", f"team-{n % 500}", spec=spec), None, True
        old = self.draw.choice(self.held)
        new = json.loads(json.dumps(old))
        if kind == "queue":
            new["metadata"]["labels"] = {"reviewed": str(n)}
        else:
            cell = new["spec"]["resourceGroups"][0]["flavors"][0]["resources"][2]
            cell["nominalQuota"] = 1 + cell["nominalQuota"] % 3
        return new, old, True

    def job(self, n: int, pods: int) -> dict[str, Any]:
        local = n % (2 * len(self.held))
        spec = {"parallelism": pods, "completions": pods, "suspend": True, "template": self.template(1)}
        space = f"team-{local % max(1, len(self.held) // 2)}"
        made = thing("batch/v1", "Job", f"job-{n}", space, spec=spec)
        made["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": f"local-{local}"}
        return made

    def template(self, gpus: int) -> dict[str, Any]:
        amounts = {"cpu": "8", "memory": "64Gi", GPU: str(gpus)}
        container = {
            "name": "main",
            "image": "registry.example.com/train:1",
            "command": ["python", "-m", "train"],
            "env": [{"name": f"SETTING_{n}", "value": f"value {n}"} for n in range(20)],
            "resources": {"requests": amounts, "limits": amounts},
        }
        return {
            "metadata": {"labels": {"app": "train"}},
            "spec": {"containers": [container], "restartPolicy": "Never"},
        }


# -- the client ----------------------------------------------------------------------------------------


class Client:
    """Keeps a few connections open, as the API server does."""

    def __init__(self, port: int, connections: int) -> None:
        self.port = port
        self.context = ssl.create_default_context()
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.idle: asyncio.Queue[Any] = asyncio.Queue()
        self.opened = 0
        for _ in range(connections):
            self.idle.put_nowait(None)

    async def post(self, path: str, body: bytes) -> dict[str, Any]:
        pair = await self.idle.get()
        try:
            if pair is None:
                self.opened += 1
                pair = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.context)
            reader, writer = pair
            writer.write(HEADER % (path.encode(), len(body)) + body)
            head = await reader.readuntil(b"\r\n\r\n")
            size = next(int(h[15:]) for h in head.lower().split(b"\r\n") if h.startswith(b"content-length:"))
            found = await reader.readexactly(size)
            if not head.startswith(b"HTTP/1.1 200"):
                raise OSError(head.split(b"\r\n")[0].decode())  # noqa: TRY301 - counted by the caller
            if b"connection: close" in head.lower():
                writer.close()
                pair = None
            return json.loads(found)
        except BaseException:
            pair = None
            raise
        finally:
            self.idle.put_nowait(pair)


async def load(port: int, arrivals: Arrivals, rate: float, seconds: float) -> dict[str, Any]:
    client = Client(port, 32)
    times: dict[str, list[float]] = {}
    wrong: Counter[str] = Counter()
    tasks = []

    async def one(n: int, due: float) -> None:
        kind, path, body, allowed = arrivals.next(n)
        try:
            found = await asyncio.wait_for(client.post(path, body), 10)
        except Exception as error:  # noqa: BLE001 - whatever went wrong is counted
            wrong[f"{type(error).__name__}: {error}"[:80]] += 1
            return
        times.setdefault(kind, []).append(time.perf_counter() - due)
        response = found["response"]
        if response["uid"] != f"{n:08d}":
            wrong["another's answer"] += 1
        elif response["allowed"] is not allowed:
            message = response.get("status", {}).get("message", "")
            wrong[f"{kind} allowed {response['allowed']}: {message}"[:160]] += 1

    began = time.perf_counter()
    for n in range(int(rate * seconds)):
        due = began + n / rate
        wait = due - time.perf_counter()
        if wait > 0:
            await asyncio.sleep(wait)
        tasks.append(asyncio.create_task(one(n, due)))
    await asyncio.gather(*tasks)
    return {"times": times, "wrong": wrong, "opened": client.opened, "spent": time.perf_counter() - began}


# -- the server ----------------------------------------------------------------------------------------


def usage(pid: int) -> tuple[float, float]:
    """Processor seconds of a process, and its resident MiB."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))
    ticks = os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) / ticks, resident / 1024


def serve(folder: Path, port: int, plain: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "policycheck", "webhook", "serve", str(folder / "state"), "--isolated"]
    command += ["--listen", f"127.0.0.1:{port}", "--plain", f"127.0.0.1:{plain}", "--log-level", "warning"]
    command += ["--tls-cert", str(folder / "tls.crt"), "--tls-key", str(folder / "tls.key"), "--drain", "0"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stderr=log)
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{plain}/readyz", timeout=5):
                return process
        except OSError:
            if process.poll() is not None:
                raise SystemExit("the server ended") from None
            time.sleep(0.1)
    raise SystemExit("the server is not ready after a minute")


async def rotate(folder: Path, every: float) -> int:
    """Exchanges the key pair until cancelled; gives how often."""
    from keypairs import write_pair

    done = 0
    try:
        while True:
            await asyncio.sleep(every)
            done += 1
            await asyncio.get_running_loop().run_in_executor(None, write_pair, folder, 30, done + 1)
    except asyncio.CancelledError:
        return done


async def hostile(port: int, count: int) -> Counter[str]:
    """So many random bodies over connections of their own: status by status."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "fuzz"))
    from test_review_bytes import drawn

    draw = random.Random(11)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    found: Counter[str] = Counter()

    async def one(body: bytes) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        try:
            writer.write(HEADER % (b"/validate-critical", len(body)) + body)
            head = await asyncio.wait_for(reader.readuntil(b"\r\n"), 20)
            found[head[9:12].decode()] += 1
        finally:
            writer.close()

    for start in range(0, count, 20):
        await asyncio.gather(*(one(drawn(draw, n)) for n in range(start, min(count, start + 20))))
    return found


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def report(result: dict[str, Any], before: tuple[float, float], after: tuple[float, float]) -> None:
    times, wrong = result["times"], result["wrong"]
    every = [t for some in times.values() for t in some]
    print(f"{'what':12} {'number':>7} {'p50 ms':>8} {'p90 ms':>8} {'p99 ms':>8} {'most ms':>8}")
    for name, some in [*sorted(times.items()), ("all", every)]:
        shares = (percentile(some, s) for s in (0.5, 0.9, 0.99, 1.0))
        print(f"{name:12} {len(some):7} " + " ".join(f"{value:8.2f}" for value in shares))
    spent = after[0] - before[0]
    print(f"errors {sum(wrong.values())} {wrong.most_common(3) or ''}; connections {result['opened']}")
    print(
        f"server: {spent:.1f} processor seconds in {result['spent']:.1f} s, "
        f"{1000 * spent / max(1, len(every)):.2f} ms a request, {before[1]:.0f} to {after[1]:.0f} MiB"
    )


async def measure(
    options: argparse.Namespace, folder: Path, process: subprocess.Popen[bytes], port: int
) -> None:
    held = options.held
    await load(
        port, Arrivals(held, options.mix, seed=1), options.rate, 3
    )  # rules are loaded, trees are linked
    turning = asyncio.create_task(rotate(folder, options.rotate)) if options.rotate else None
    before = usage(process.pid)
    result = await load(port, Arrivals(held, options.mix), options.rate, options.seconds)
    after = usage(process.pid)
    if turning is not None:
        turning.cancel()
        print(f"key pairs exchanged: {await turning}")
    report(result, before, after)
    if options.hostile:
        found = await hostile(port, options.hostile)
        print(f"random bodies: {dict(found)}; resident {usage(process.pid)[1]:.0f} MiB")


def memory(queues: int, nodes: int, workloads: int) -> None:
    """What a world of that size takes, fed as a watch feeds it, and what a judgement costs in it."""
    import resource

    from policycheck.app.admission import Change, Judge
    from policycheck.app.bench import Bench
    from policycheck.app.book import rulebook, systems
    from policycheck.app.world import World, read
    from policycheck.lint.settings import Settings, Target

    def resident() -> float:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return next(int(x.split()[1]) for x in status.splitlines() if x.startswith("VmRSS")) / 1024

    begin, base = time.process_time(), resident()
    world = World("cluster", required=())
    with tempfile.TemporaryDirectory() as name:
        held = state(Path(name), queues, 0)
        for one in json.loads((Path(name) / "all.json").read_text(encoding="utf-8"))["items"]:
            world.put(one)
    steps = [("queues and namespaces", resident(), time.process_time())]
    for n in range(nodes):
        world.put(live(node(n), n))
    steps.append((f"{nodes:,} nodes", resident(), time.process_time()))
    arrivals = Arrivals(held, "work")
    draw = random.Random(5)
    for n in range(workloads):
        value, _, _ = arrivals.made("workload", n)
        cell = value["spec"]["podSets"][0]
        cell["count"] = draw.randint(1, 8)
        if n % 2:  # half of them run
            value["status"] = {"admission": {"clusterQueue": "queue-1"}}
        world.put(live(value, n))
    steps.append((f"{workloads:,} workloads", resident(), time.process_time()))
    for n in range(workloads):
        pod = thing("v1", "Pod", f"pod-{n}", f"team-{n % 500}", spec=arrivals.template(1)["spec"])
        pod["metadata"]["labels"] = {"kueue.x-k8s.io/podset": "main"} if n % 4 else {}
        pod["spec"]["nodeName"] = f"n{n % max(1, nodes)}"
        if not n % 4:
            pod["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "100m", "memory": "128Mi"}}
        world.put(live({**pod, "status": {"phase": "Running"}}, n))
    steps.append((f"{workloads:,} pods, a quarter in no queue", resident(), time.process_time()))
    world.cluster()
    steps.append(("linked", resident(), time.process_time()))
    judge = Judge(Bench(world, rulebook(), systems(), Settings(), {"kueue": Target("kueue", "0.19")}))
    for n in range(3):
        judge.judge(Change(None, read(arrivals.made("job", n)[0])))
    steps.append(("first judgements", resident(), time.process_time()))
    for what, size, at in steps:
        print(f"{what:42} {size:7.0f} MiB {at - begin:7.1f} processor seconds")
    spent = time.process_time()
    for n in range(200):
        judge.judge(Change(None, read(arrivals.made("job", n + 10)[0])))
    print(f"a job: {5 * (time.process_time() - spent):.2f} ms; began at {base:.0f} MiB, ", end="")
    print(f"most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


def live(value: dict[str, Any], n: int) -> dict[str, Any]:
    """An object as the API server gives it, with what it keeps about it."""
    meta = {
        **value["metadata"],
        "uid": f"{n:032x}",
        "resourceVersion": str(n),
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    meta["managedFields"] = [{"manager": "kubectl", "fieldsV1": {f"f:{k}": {} for k in range(30)}}]
    return {**json.loads(json.dumps(value)), "metadata": meta}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queues", type=int, default=1000)
    parser.add_argument("--nodes", type=int, default=900)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--mix", choices=sorted(MIXES), default="work")
    parser.add_argument("--rotate", type=float, default=0, help="seconds between two key pairs")
    parser.add_argument("--hostile", type=int, default=0, help="random bodies afterwards")
    parser.add_argument(
        "--memory", type=int, default=0, help="instead: a world of so many workloads and pods"
    )
    options = parser.parse_args()
    if options.memory:
        memory(options.queues, options.nodes, options.memory)
        return
    from keypairs import free_port, write_pair

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "state").mkdir()
        options.held = state(folder / "state", options.queues, options.nodes)
        write_pair(folder)
        port, plain = free_port(), free_port()
        process = serve(folder, port, plain)
        print(
            f"{options.queues} queues, {options.nodes} nodes, {options.rate:g} requests/s for {options.seconds:g} s, "
            f"mix {options.mix}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"
        )
        try:
            asyncio.run(measure(options, folder, process, port))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


if __name__ == "__main__":
    main()
