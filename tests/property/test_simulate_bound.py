"""What is told without nominating, or without a search for victims, is what would have been found."""

import json
import sys
from pathlib import Path

from hypothesis import given

from policycheck.systems.kueue.case import run
from policycheck.systems.kueue.scheduler import cycle, nominate

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


def nominating_all(play):
    """Every head is nominated, the long way."""
    hopeless, plain = cycle.hopeless, nominate.Nominator._plain
    cycle.hopeless = lambda session, item, queue: ""  # noqa: ARG005 - as it is called
    nominate.Nominator._plain = lambda self, item, queue: None  # noqa: ARG005 - as it is called
    try:
        return play()
    finally:
        cycle.hopeless, nominate.Nominator._plain = hopeless, plain


@given(worlds())
def test_runs_are_the_same_when_every_head_is_nominated(doc):
    def play():
        return json.dumps(run(expand(doc)), sort_keys=True)

    assert play() == nominating_all(play)


@given(scenes(blocking=True))
def test_time_is_the_same_when_every_head_is_nominated(scene):
    def play():
        made = scene.play(horizon=30_000, happenings=True)
        return repr(made._replace(nominations=0))

    assert play() == nominating_all(play)
