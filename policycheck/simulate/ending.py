"""When a run ends that nobody set an end to."""

from __future__ import annotations

from policycheck.simulate.job import Arrivals
from policycheck.simulate.period import DAY, show
from policycheck.simulate.timeline import Timeline

_LONGEST = 30 * DAY  # of work one after the other; a backlog beyond it wants a horizon


def latest(arrivals: Arrivals) -> int:
    """The horizon where none was given: time for everything to run one after the other, and a day.

    What is evicted and queued again without limit would else go on for ever: a pod that fits no node is
    evicted when it is not ready in time and waits anew, which by default never ends.
    """
    jobs = arrivals.jobs
    last = max((job.submit for job in jobs), default=0)
    longest = max((job.duration for job in jobs), default=0)
    whole = sum(job.duration + job.startup for job in jobs)
    return last + min(whole, _LONGEST + longest) + DAY


def ended(timeline: Timeline) -> Timeline:
    """The timeline up to the last thing that happened in it, for one that ran up to ``latest``; when that
    is at its very end it says that there would have been more.
    """
    last = max(
        (
            at
            for life in timeline.lives
            for at in (life.job.submit, life.finished, *(t for stay in life.stays for t in stay[:4]))
        ),
        default=0,
    )
    steps = [line.steps[-1].at for line in timeline.queues if line.steps]
    last = max(last, *steps, *(one.at for one in timeline.supply[-1:]), 0)
    if timeline.end - last >= DAY // 2:
        return timeline._replace(end=last)
    note = (
        f"something goes on for ever, such as jobs that are evicted and queued again: it was stopped after "
        f"{show(timeline.end)}, --horizon says otherwise"
    )
    return timeline._replace(notes=(*timeline.notes, note))
