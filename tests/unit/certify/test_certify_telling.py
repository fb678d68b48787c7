"""A story in ten lines."""

from __future__ import annotations

from policycheck.certify.arena import SUBMIT, Ask, Happened, Move, Scenario, Story
from policycheck.certify.promise import Shape
from policycheck.certify.telling import MOST_LINES, tell
from policycheck.model.workload import PodSet


def told(many: int) -> tuple[str, ...]:
    """So many workloads of queues of their own that all get quota in the first cycle."""
    shape = Shape("s", (PodSet("main", 1, {"nvidia.com/gpu": 1}),))
    asks = tuple(Ask(f"w{n}", f"q{n}", shape) for n in range(many))
    happened = tuple(Happened(1, "reserved", ask.name, ask.queue) for ask in asks)
    return tell(Scenario((Move(1, SUBMIT, asks),)), Story(happened, {}, {}), "the end")


def test_a_short_story_has_a_line_for_each_who_gets_quota():
    assert told(2) == (
        "cycle 1: q0 submits w0: 1 nvidia.com/gpu",
        "cycle 1: q1 submits w1: 1 nvidia.com/gpu",
        "cycle 1: q0 gets quota for w0",
        "cycle 1: q1 gets quota for w1",
        "the end",
    )


def test_a_longer_one_has_a_line_for_all_of_a_cycle():
    lines = told(5)
    assert len(lines) == 7
    assert lines[-2] == "cycle 1: q0 gets quota for w0; q1 for w1; q2 for w2; q3 for w3; q4 for w4"
    assert told(4)[-2] == "cycle 1: q3 gets quota for w3"


def test_none_has_more_than_ten():
    lines = told(30)
    assert len(lines) == MOST_LINES
    assert any(line.startswith("... ") and line.endswith(" lines more ...") for line in lines)
    assert lines[-1] == "the end"
