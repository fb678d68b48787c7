"""The same scenario gives the same bytes, whatever the hashes of strings are in this run of the program."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SCRIPT = """
import hashlib, sys
sys.path.insert(0, {here!r})
from engine_world import job, node, play, queue
from policycheck.simulate.draw import stream
from policycheck.simulate.job import NodeChange
draw = stream(7, "jobs")
queues = [queue(n, 8, "co", within="LowerPriority", reclaim="Any") for n in "abc"] + [queue("d", 8, strict=True)]
jobs = [
    job(f"j{{n:03d}}", "abcd"[draw.below(4)], draw.below(60_000), 1 + draw.below(20_000), 1 + draw.below(4),
        1 + draw.below(3), priority=draw.below(3), checkpoint=draw.below(2) * 1_000)
    for n in range(120)
]
nodes = [node(f"n{{n}}") for n in range(4)]
changes = [NodeChange(20_000, "n1", False), NodeChange(40_000, "n1", True)]
made = play(queues, jobs, nodes=nodes, changes=changes, seed=3, happenings=True, service_time=1.7)
assert made.happenings and made.gangs and made.cycles > 100
print(hashlib.sha256(repr(made).encode()).hexdigest())
"""


def test_two_hash_seeds_give_the_same_bytes():
    found = set()
    for seed in ("0", "1"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(HERE.parents[2])}
        script = SCRIPT.format(here=str(HERE))
        done = subprocess.run(
            [sys.executable, "-c", script], env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1
