"""A story as the lives of its workloads, so that it is drawn as simulations are. A cycle is taken as a second."""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.certify.arena import FINISH, SUBMIT, Ask, Scenario, Story
from policycheck.certify.attack import main_resource, size
from policycheck.simulate.job import Job
from policycheck.simulate.timeline import (
    DONE,
    FINISHED,
    OPEN,
    PENDING,
    RUNNING,
    Life,
    QueueLine,
    Stay,
    Timeline,
)

CYCLE = 1000  # what one cycle is on the clock of a drawn story
_BEFORE = 400  # what happens before a cycle is drawn so much earlier
_REST = 2  # cycles after the last thing that happened, in which one sees how it ends


def lives(scenario: Scenario, story: Story, accelerators: Sequence[str]) -> Timeline:
    """The story, in the resource that most of its workloads are about."""
    resource = _about(scenario.asks, accelerators)
    last = max([h.cycle for h in story.happened] + [move.cycle for move in scenario.moves], default=0)
    made = [
        _life(ask, move.cycle, scenario, story, resource)
        for move in scenario.moves
        if move.what == SUBMIT
        for ask in move.asks
    ]
    made.sort(key=lambda life: life.job.submit)  # within a cycle in the order in which they came
    queues = tuple(
        QueueLine(name, "", 0, 0, CYCLE, ()) for name in sorted({ask.queue for ask in scenario.asks})
    )
    return Timeline(resource, (last + _REST) * CYCLE, tuple(made), queues, (), cycles=story.cycles)


def _about(asks: Sequence[Ask], accelerators: Sequence[str]) -> str:
    """The accelerator that most workloads ask for; where none does, what the first one asks for."""
    asked = [main_resource(ask.shape, accelerators) for ask in asks]
    known = [r for r in asked if r in accelerators] or asked
    return max(dict.fromkeys(known), key=known.count, default="")


def _life(ask: Ask, cycle: int, scenario: Scenario, story: Story, resource: str) -> Life:
    stays = _stays(ask, scenario, story)
    holds = ask.name in story.holding
    done = bool(stays) and stays[-1].ended_by == DONE
    return Life(
        Job(
            ask.name,
            ask.queue,
            cycle * CYCLE - _BEFORE,
            0,
            ask.shape.pod_sets,
            ask.priority,
            ask.priority_class,
        ),
        ask.queue,
        size(ask.shape, resource),
        RUNNING if holds else FINISHED if done else PENDING,
        stays,
        stays[-1].ended if done else -1,
        story.waiting.get(ask.name, ""),
    )


def _stays(ask: Ask, scenario: Scenario, story: Story) -> tuple[Stay, ...]:
    """Every time that it held quota. Pods without a node are never ready."""
    happened = [(h.cycle * CYCLE, h.what, h.reason, h.by) for h in story.happened if h.name == ask.name]
    happened += [
        (move.cycle * CYCLE - _BEFORE, "finished", "", "")
        for move in scenario.moves
        if move.what == FINISH and ask.name in move.names
    ]
    made: list[Stay] = []
    for at, what, reason, by in sorted(happened, key=lambda one: one[0]):
        is_open = bool(made) and made[-1].ended < 0
        if what == "reserved":
            made.append(Stay(at, at, at))
        elif is_open and what == "finished":
            made[-1] = made[-1]._replace(ended=at, ended_by=DONE)
        elif is_open:
            made[-1] = made[-1]._replace(
                ended=at, ended_by="Preempted" if by else reason, cause=reason, by=by
            )
    if made and made[-1].ended_by == OPEN and ask.name in story.unplaced:
        made[-1] = made[-1]._replace(ready=-1)
    return tuple(made)
