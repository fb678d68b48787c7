"""Timelines written by hand: jobs of 8 units unless said otherwise, times in seconds."""

from policycheck.model.amount import UNLIMITED
from policycheck.model.workload import PodSet
from policycheck.simulate.job import Job
from policycheck.simulate.timeline import DONE, FINISHED, OPEN, Life, QueueLine, Stay, Step, Supply, Timeline

GPU = "nvidia.com/gpu"


def ms(seconds):
    return seconds if seconds == -1 else round(seconds * 1000)


def stay(reserved, ended=-1, by="", **given):
    """From ``reserved`` on admitted and ready; ``by`` preempted it."""
    how = {
        "admitted": given.pop("admitted", reserved),
        "ready": given.pop("ready", reserved),
        "lost": given.pop("lost", 0),
        "idle": given.pop("idle", 0),
    }
    ended_by = given.pop("ended_by", "Preempted" if by else (DONE if ended >= 0 else OPEN))
    cause = given.pop("cause", "InCohortReclamation" if by else "")
    times = {name: ms(value) for name, value in how.items()}
    return Stay(ms(reserved), ended=ms(ended), ended_by=ended_by, cause=cause, by=by, **times, **given)


def life(name, submit, duration, *stays, state=FINISHED, queue="a", amount=8, **given):
    """A job of ``queue``; finished at the end of its last stay unless said otherwise."""
    own = {key: given.pop(key) for key in ("reason", "why", "requeues") if key in given}
    pods = given.pop("pods", 1)
    job = Job(
        id=f"team/{name}",
        queue=queue,
        submit=ms(submit),
        duration=ms(duration),
        pod_sets=(PodSet("main", pods, {GPU: amount // pods}),),
        **given,
    )
    finished = stays[-1].ended if state == FINISHED else -1
    return Life(job, queue, amount, state, stays, finished, **own)


def step(at, used, waiting=0, fitting=0, jobs=None, running=0):
    return Step(ms(at), used, waiting, fitting, (waiting > 0) if jobs is None else jobs, running)


def line(name, *steps, nominal=8, limit=UNLIMITED, cohort="all"):
    return QueueLine(name, cohort, nominal, limit, 1000, steps or (step(0, 0),))


def supply(at, total, free, largest=-1, allowed=-1, fragment=-1):
    return Supply(ms(at), total, free, largest, allowed, fragment)


def timeline(end, lives=(), queues=(), supplies=(), **given):
    ordered = sorted(lives, key=lambda one: (one.job.submit, one.job.id))
    return Timeline(GPU, ms(end), tuple(ordered), tuple(queues), tuple(supplies), **given)
