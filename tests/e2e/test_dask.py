"""Runs on a real Dask cluster: two worker processes on this machine, reached by address."""

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra 'sweep' is not installed")
pytestmark = pytest.mark.slow  # three processes that start take half a minute on a busy machine

ROOT = Path(__file__).parents[2]
PATHS = [str(ROOT / "fixtures" / "clusters" / name) for name in ("demo-bad", "demo-good")]
RUNS = ("--mix", "research", "--horizon", "6h", "--format", "json", "--target", "kueue=0.18")
CLUSTER = """
import os
import sys
from distributed import LocalCluster

def main():
    with LocalCluster(
        n_workers=int(sys.argv[1]), threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        pids = [worker.process.pid for worker in cluster.workers.values()]
        print(cluster.scheduler_address, *pids, flush=True)
        sys.stdin.read()

if __name__ == "__main__":
    main()
"""


class Cluster:
    """A cluster in processes of its own, gone at the end."""

    def __init__(self, folder, workers):
        script = folder / "cluster.py"
        script.write_text(textwrap.dedent(CLUSTER))
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(workers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.address, *self.pids = self.process.stdout.readline().split()

    def close(self):
        self.process.communicate(timeout=30)


@pytest.fixture
def cluster(tmp_path):
    made = []

    def start(workers=2):
        made.append(Cluster(tmp_path, workers))
        return made[-1]

    yield start
    for one in made:
        one.close()


def policycheck(*args):
    return subprocess.run(
        [sys.executable, "-m", "policycheck", *args], capture_output=True, text=True, timeout=100, check=False
    )


def test_a_cluster_computes_what_this_process_does(cluster):
    two = cluster()
    assert len(two.pids) == 2
    here = policycheck("simulate", *PATHS, *RUNS, "--seeds", "3")
    there = policycheck(
        "simulate", *PATHS, *RUNS, "--seeds", "3", "--backend", "dask", "--scheduler", two.address
    )
    assert (here.returncode, there.returncode) == (0, 0), there.stderr
    assert there.stdout == here.stdout
    assert len(json.loads(here.stdout)["configurations"]) == 2
    args = ("compare", *PATHS, *RUNS, "--seeds", "2")
    assert policycheck(*args, "--scheduler", two.address).stdout == policycheck(*args).stdout


def test_a_worker_that_dies_is_made_up_for(cluster):
    two = cluster()
    args = ("simulate", *PATHS, *RUNS, "--seeds", "20")
    alone = policycheck(*args)
    with subprocess.Popen(
        [sys.executable, "-m", "policycheck", *args, "--scheduler", two.address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(3)  # by then it is connected, and not done
        os.kill(int(two.pids[0]), signal.SIGKILL)
        out, err = running.communicate(timeout=100)
    assert running.returncode == 0, err
    assert out == alone.stdout


def test_a_cluster_without_workers_is_told(cluster):
    none = cluster(0)
    found = policycheck("simulate", PATHS[1], *RUNS, "--seeds", "2", "--scheduler", none.address)
    assert found.returncode == 2
    assert "has no worker; start some" in found.stderr
    assert found.stdout == ""


def test_a_scheduler_that_does_not_answer_is_told():
    found = policycheck("simulate", PATHS[1], *RUNS, "--seeds", "2", "--scheduler", "tcp://127.0.0.1:1")
    assert found.returncode == 2
    assert "no Dask scheduler answers at tcp://127.0.0.1:1" in found.stderr
    assert "Traceback" not in found.stderr
