"""Bounds on what preemption can free never hide a victim."""

import json
import sys
from pathlib import Path

from hypothesis import given

from policycheck.systems.kueue.case import run
from policycheck.systems.kueue.scheduler import nominate

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from conformance.compact import expand  # noqa: E402 - tests are no package
from simulator_worlds import worlds  # noqa: E402
from time_worlds import scenes  # noqa: E402


def without_bounds(play):
    kept = nominate.may_find
    nominate.may_find = lambda contest, *, classical: True  # noqa: ARG005 - as it is called
    try:
        return play()
    finally:
        nominate.may_find = kept


@given(worlds())
def test_runs_are_the_same_without_bounds(doc):
    def play():
        return json.dumps(run(expand(doc)), sort_keys=True)

    assert play() == without_bounds(play)


@given(scenes())
def test_time_is_the_same_without_bounds(scene):
    def play():
        made = scene.play(horizon=30_000)
        return repr(made._replace(nominations=0))

    assert play() == without_bounds(play)
