"""Memory and time of a world that watches a large cluster on a real API server.

    python tests/bench/bench_watch.py [--queues 1000 --nodes 5000 --workloads 50000]

Writes the objects to etcd and kube-apiserver on loopback (built from their Go modules: `make e2e` builds them),
then watches them from a process of its own, as a replica of the webhook does. Prints one line of JSON.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.e2e.apiserver import build, control  # noqa: E402 - needs the path
from tests.e2e.apiserver.client import Loader  # noqa: E402 - the same

SHAPES = 400  # of workloads: what jobs of one team ask for repeats
KUEUE = "kueue.x-k8s.io/v1beta2"

WATCH = """
import json, sys, time
from policycheck.adapters.live.connect import connect
from policycheck.adapters.live.watch import Feed
from policycheck.app.world import REQUIRED, WELCOME, World

def rss(what="VmRSS"):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) // 1024 for line in file if line.startswith(what))

before = rss()
world = World("live")
began, spent = time.monotonic(), time.process_time()
kinds = tuple(dict.fromkeys((*REQUIRED, *WELCOME)))
feed = Feed(connect(), world, kinds, now=time.monotonic)
feed.start()
while not all(world.synced(kind) for kind in kinds):
    time.sleep(0.2)
synced, used = time.monotonic() - began, time.process_time() - spent
held = rss()
began = time.process_time()
world.cluster()
linked = time.process_time() - began
print(json.dumps({
    "imported": before, "synced_rss": held, "linked_rss": rss(),
    "peak_rss": rss("VmHWM"),
    "objects": len(world), "sync_seconds": round(synced, 1), "sync_cpu": round(used, 1),
    "link_cpu": round(linked, 2), "failures": sum(one.failures for one in feed.status), "why": [one.why for one in feed.status if one.failures],
    "generation": world.generation,
}), flush=True)
sys.stdin.readline()
while "last" not in {e.facts.key.name for e in world.cluster().entries.values()}:
    time.sleep(0.5)
print(json.dumps({"rss_after_changes": rss(), "lists": sum(one.lists for one in feed.status)}), flush=True)
"""


def node(number):
    labels = {
        "kubernetes.io/hostname": f"gpu-{number}",
        "topology.example.com/block": f"block-{number // 320}",
        "topology.example.com/rack": f"rack-{number // 16}",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        **{f"feature.node.kubernetes.io/cpu-{i}.present": "true" for i in range(40)},
    }
    room = {"cpu": "184", "memory": "1931Gi", "nvidia.com/gpu": "8", "pods": "110"}
    image = {"names": [f"registry.example/{'x' * 60}@sha256:{'0' * 64}"], "sizeBytes": 10**9}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"gpu-{number}", "labels": labels},
        "status": {
            "allocatable": room,
            "capacity": room,
            "images": [image] * 30,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def queue(number):
    resources = [
        {"name": "cpu", "nominalQuota": "320"},
        {"name": "memory", "nominalQuota": "3200Gi"},
        {"name": "nvidia.com/gpu", "nominalQuota": "40", "borrowingLimit": "16"},
    ]
    group = {
        "coveredResources": [one["name"] for one in resources],
        "flavors": [{"name": "h100", "resources": resources}],
    }
    return {
        "apiVersion": KUEUE,
        "kind": "ClusterQueue",
        "metadata": {"name": f"team-{number}"},
        "spec": {
            "cohortName": f"group-{number // 20}",
            "namespaceSelector": {},
            "resourceGroups": [group],
            "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
        },
    }


def workload(number, queues):
    shape = number % SHAPES
    requests = {"cpu": str(8 + shape % 16), "memory": f"{64 + shape // 16}Gi", "nvidia.com/gpu": "8"}
    container = {
        "name": "main",
        "image": f"registry.example/train@sha256:{shape:064x}",
        "args": [f"--step={i}" for i in range(20)],
        "env": [{"name": f"SETTING_{i}", "value": "x" * 30} for i in range(15)],
        "resources": {"requests": requests, "limits": requests},
    }
    return {
        "apiVersion": KUEUE,
        "kind": "Workload",
        "metadata": {"name": f"job-{number}", "namespace": f"team-{number % queues}"},
        "spec": {
            "queueName": "main",
            "podSets": [
                {
                    "name": "main",
                    "count": 1 + shape % 4,
                    "template": {"spec": {"containers": [container], "restartPolicy": "Never"}},
                }
            ],
        },
    }


def objects(options):
    flavor = {
        "apiVersion": KUEUE,
        "kind": "ResourceFlavor",
        "metadata": {"name": "h100"},
        "spec": {"nodeLabels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
    }
    yield flavor
    for number in range(options.queues):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"team-{number}"}}
        yield queue(number)
        local = {"name": "main", "namespace": f"team-{number}"}
        spec = {"clusterQueue": f"team-{number}"}
        yield {"apiVersion": KUEUE, "kind": "LocalQueue", "metadata": local, "spec": spec}
    for number in range(options.nodes):
        yield node(number)
    for number in range(options.workloads):
        yield workload(number, options.queues)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, usual in (("queues", 1000), ("nodes", 5000), ("workloads", 50_000), ("changes", 2000)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plane = control.ControlPlane(build.built(), folder)
        try:
            plane.start()
            with plane.client() as client:
                control.install(client, build.kueue_definitions())
                measure(plane, client, options)
        finally:
            plane.stop()


def measure(plane, client, options):
    began = time.monotonic()
    made, left = Loader(client).create(list(objects(options)))
    assert not left, left[:3]
    count = len(made)
    del made
    print(f"{count} objects written in {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    watcher = subprocess.Popen(
        [sys.executable, "-c", WATCH],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={"KUBECONFIG": str(plane.admin), "PATH": "/usr/bin:/bin", "HOME": "/nonexistent"},
    )
    try:
        found = json.loads(watcher.stdout.readline())
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: change(client, number, options), range(options.changes)))
        client.post(f"/apis/{KUEUE}/clusterqueues", json={**queue(0), "metadata": {"name": "last"}})
        watcher.stdin.write("go\n")
        watcher.stdin.flush()
        found |= json.loads(watcher.stdout.readline())
    finally:
        watcher.kill()
        watcher.wait()
    print(
        json.dumps(
            {"queues": options.queues, "nodes": options.nodes, "workloads": options.workloads, **found}
        )
    )


def change(client, number, options):
    """Nodes and workloads change all the time; queues hardly ever."""
    patch = {"metadata": {"annotations": {"changed": str(number)}}}
    kind = {"Content-Type": "application/merge-patch+json"}
    if number % 2:
        path = f"/api/v1/nodes/gpu-{number % options.nodes}"
    else:
        job = number % options.workloads
        path = f"/apis/{KUEUE}/namespaces/team-{job % options.queues}/workloads/job-{job}"
    done = client.patch(path, content=json.dumps(patch), headers=kind)
    assert done.status_code == 200, done.text


if __name__ == "__main__":
    main()
