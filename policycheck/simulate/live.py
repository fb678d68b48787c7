"""One job while a simulation runs: where it is, what it has done, and the stays it has had."""

from __future__ import annotations

from typing import NamedTuple

from policycheck.simulate.events import Entry, Pair, Spread
from policycheck.simulate.job import Job
from policycheck.simulate.keep import Kind
from policycheck.simulate.scheduler import Grant
from policycheck.simulate.timeline import DONE, FINISHED, OPEN, PENDING, REFUSED, RUNNING, Life, Stay

# Phases, in the order of a life without trouble.
WAITING, CHECKING, STARTING, WORKING, STOPPING, OVER, GIVEN_UP = range(7)
HOLDING = (CHECKING, STARTING, WORKING)


class Taken(NamedTuple):
    """What a job takes of its queue's quota, ``used`` of it of the principal resource; jobs alike share it."""

    amounts: tuple[tuple[Pair, int], ...]
    own: tuple[tuple[Pair, int], ...]  # of these, the principal ones
    used: int
    flavors: tuple[tuple[str, str], ...]  # (resource, flavor), sorted


NOTHING = Taken((), (), 0, ())


class Live:
    """One job. Times of the present stay are -1 while not reached.

    ``ticket`` grows whenever what was scheduled for it is void. ``left`` is the run time still to go,
    ``mark`` since when it works without a break, ``saved`` what a checkpoint holds.
    """

    __slots__ = (
        "admitted",
        "before",
        "borrowed",
        "cause",
        "ended_by",
        "entry",
        "finished",
        "gives_up",
        "grant",
        "halted",
        "idle",
        "job",
        "kind",
        "lacking",
        "limit",
        "lost",
        "mark",
        "number",
        "outages",
        "phase",
        "provided",
        "ready",
        "reserved",
        "restarts",
        "saved",
        "spent",
        "spread",
        "stays",
        "stopped_by",
        "taken",
        "ticket",
        "tired",
        "unplaced",
        "waiting",
        "where",
    )

    def __init__(self, job: Job, number: int, entry: Entry) -> None:
        self.job = job
        self.number = number
        self.entry = entry
        self.phase = WAITING
        self.ticket = 0
        self.saved = 0
        self.spent = 0  # of the maximum execution time, in stays before this one
        self.limit = job.limit or entry.limit
        self.tired = 0  # how often others took its place soon after it had got it
        self.before = 0  # stays that ended in an eviction
        self.finished = -1
        self.stays: tuple[Stay, ...] = ()
        self.kind: Kind | None = None  # of those that wait in its queue
        self.grant: Grant | None = None
        self.gives_up = False  # after this stay it does not wait again
        self.reset()

    def reset(self) -> None:
        """No stay is open."""
        self.reserved = self.admitted = self.ready = self.mark = self.halted = -1
        self.lost = self.idle = self.restarts = 0
        self.ended_by, self.cause, self.stopped_by = OPEN, "", ""
        self.taken = NOTHING
        self.borrowed = self.unplaced = 0
        self.waiting: tuple[int, ...] = ()  # pods without a node, by podset
        self.outages: tuple[str, ...] = ()  # nodes lost with pods on them
        self.provided = False  # a check has seen to its nodes
        self.lacking = ""  # why pods wait for nodes
        self.spread: Spread = ()
        self.where: tuple[tuple[str, int], ...] = ()

    @property
    def left(self) -> int:
        """Run time to go from the last checkpoint on; of a job that ends."""
        return self.job.duration - self.saved

    def halt(self, now: int) -> None:
        """Work stops: what no checkpoint holds is lost."""
        if self.mark < 0:
            return
        reached = self.saved + now - self.mark
        step = self.job.checkpoint
        kept = max(self.saved, reached // step * step) if step > 0 else self.saved
        self.lost += reached - kept
        self.saved = kept
        self.mark = -1
        self.halted = now

    def work(self, now: int) -> None:
        """All pods run from now on."""
        if self.ready < 0:
            self.ready = now
        elif self.halted >= 0:
            self.idle += now - self.halted
        self.mark, self.halted = now, -1

    def done(self, now: int) -> None:
        """All work is done."""
        self.saved = self.job.duration
        self.mark = -1
        self.ended_by, self.finished = DONE, now

    def close(self, now: int) -> None:
        """The stay is over."""
        if self.admitted >= 0:
            self.spent += now - self.admitted
        if self.halted >= 0:
            self.idle += now - self.halted
        self.stays = (*self.stays, self.stay(now))
        self.grant = None
        self.reset()

    def stay(self, ended: int) -> Stay:
        """The present stay; ``ended`` -1: it goes on."""
        return Stay(
            self.reserved,
            self.admitted,
            self.ready,
            ended,
            self.ended_by,
            self.cause,
            self.stopped_by,
            self.lost,
            self.taken.flavors,
            self.borrowed,
            self.spread,
            self.where,
            self.unplaced,
            self.idle,
            self.restarts,
        )

    def life(self, reason: str, why: str) -> Life:
        """Everything, at the end."""
        state = {OVER: FINISHED, GIVEN_UP: REFUSED, WAITING: PENDING}.get(self.phase, RUNNING)
        stays = self.stays
        if self.reserved >= 0:
            stays = (*stays, self.stay(-1))
        return Life(
            self.job,
            self.entry.queue,
            self.entry.amount,
            state,
            stays,
            self.finished,
            reason,
            why,
            self.before,
        )
