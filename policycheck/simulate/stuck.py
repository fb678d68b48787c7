"""Jobs that wait at the end, and jobs that waited while others went ahead of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from policycheck.simulate.passage import FLOOR, Passage
from policycheck.simulate.timeline import PENDING, REFUSED, RUNNING, Life, Timeline

STARVED = 5  # times its own run time (of 10 s at least) that a job waits before it counts as starved
_LAST = (2**63, 2**63, "")  # later, and of higher priority, than anything


class Stuck(NamedTuple):
    """A job that waits at the end, or was refused. ``waited`` is since it last had quota, or since it was
    submitted; ``overtaken`` names one that started meanwhile though it had no better right: the priority
    was lower, or the same and it came later.
    """

    job: str
    queue: str
    priority: int
    priority_class: str
    klass: str
    amount: int
    pods: int
    since: int
    waited: int
    reason: str
    why: str
    requeues: int
    starved: bool
    overtaken: str
    evicted_by: str = ""  # why it last lost its quota, when it had some
    holds: bool = False  # it has quota and is not admitted: a check or a place on nodes is missing


class Starved(NamedTuple):
    """A job that waited more than STARVED times its own run time while others went ahead of it."""

    job: str
    queue: str
    priority: int
    since: int
    waited: int
    own: int
    overtaken: str
    waits: bool  # still


class Reason(NamedTuple):
    """Jobs that wait for one reason, with quota or without. ``example`` is the one that waits longest."""

    reason: str
    holds: bool
    jobs: int
    amount: int
    example: Stuck


def by_reason(stuck: Iterable[Stuck]) -> tuple[Reason, ...]:
    """Grouped by reason, the one with most jobs first."""
    found: dict[tuple[str, bool], list[Stuck]] = {}
    for one in stuck:
        found.setdefault((one.reason, one.holds), []).append(one)
    groups = [Reason(*key, len(some), sum(s.amount for s in some), some[0]) for key, some in found.items()]
    return tuple(sorted(groups, key=lambda group: (-group.jobs, group.reason, group.holds)))


class Held(NamedTuple):
    """What did not go on: ``stuck`` waits at the end, with quota that is of no use yet or without any, ``refused`` never could; ``starved`` waited too long
    while others went ahead, whether it started in the end or not. The longest wait first.
    """

    stuck: tuple[Stuck, ...]
    refused: tuple[Stuck, ...]
    starved: tuple[Starved, ...]


def held(timeline: Timeline, passages: Sequence[Passage]) -> Held:
    """What waits, why, and who went ahead of it."""
    overtakers = {queue: _Overtakers(some) for queue, some in _by_queue(passages).items()}
    stuck, refused, starved = [], [], []
    for one in passages:
        life = one.life
        since, until = _wait(life, timeline.end)
        waited = max(0, until - since)
        who = ""
        if life.state != REFUSED and waited > STARVED * max(one.own, FLOOR) and life.queue in overtakers:
            who = overtakers[life.queue].ahead_of(life.job.priority, since, until)
        if who:
            job = life.job
            waits = life.state == PENDING or is_held_up(life)
            starved.append(Starved(job.id, life.queue, job.priority, since, waited, one.own, who, waits))
        if life.state == PENDING or is_held_up(life):
            stuck.append(_stuck(life, since, waited, who))
        elif life.state == REFUSED:
            refused.append(_stuck(life, since, waited, ""))
    return Held(
        tuple(sorted(stuck, key=lambda s: (-s.waited, s.job))),
        tuple(sorted(refused, key=lambda s: (-s.waited, s.job))),
        tuple(sorted(starved, key=lambda s: (-s.waited, s.job))),
    )


def _stuck(life: Life, since: int, waited: int, who: str) -> Stuck:
    job = life.job
    return Stuck(
        job.id,
        life.queue,
        job.priority,
        job.priority_class,
        job.klass,
        life.amount,
        job.pods,
        since,
        waited,
        life.reason,
        life.why,
        life.requeues,
        bool(who),
        who,
        next((stay.ended_by for stay in reversed(life.stays) if stay.ended >= 0), ""),
        is_held_up(life),
    )


def is_held_up(life: Life) -> bool:
    """Whether it has quota and is not admitted at the end."""
    return life.state == RUNNING and bool(life.stays) and life.stays[-1].admitted < 0


def _wait(life: Life, end: int) -> tuple[int, int]:
    """The wait that counts: the one that goes on at the end, else the first."""
    if life.state == PENDING or is_held_up(life):
        evicted = [stay.ended for stay in life.stays if stay.ended >= 0]
        return (evicted[-1] if evicted else life.job.submit), end
    first = next((stay.admitted for stay in life.stays if stay.admitted >= 0), end)
    return life.job.submit, first


def _by_queue(passages: Iterable[Passage]) -> dict[str, list[tuple[int, int, int, str]]]:
    """First starts as (when, priority, submission, job), by queue."""
    found: dict[str, list[tuple[int, int, int, str]]] = {}
    for one in passages:
        if one.started and one.life.queue:
            job = one.life.job
            found.setdefault(one.life.queue, []).append(
                (job.submit + one.wait, job.priority, job.submit, job.id)
            )
    return found


class _Overtakers:
    """The starts of one queue, to be asked who went ahead; a question costs the logarithm of their number."""

    def __init__(self, starts: Sequence[tuple[int, int, int, str]]) -> None:
        ordered = sorted(starts)
        self.times = [when for when, *_ in ordered]
        self.tree = _lowest([(priority, when, job) for when, priority, _, job in ordered])
        equals: dict[int, list[tuple[int, int, str]]] = {}
        for when, priority, submit, job in ordered:
            equals.setdefault(priority, []).append((submit, when, job))
        self.later = {priority: _later(some) for priority, some in equals.items()}

    def ahead_of(self, priority: int, since: int, until: int) -> str:
        """A job that started between ``since`` and ``until`` without a better right; "" for none."""
        low, high = bisect_right(self.times, since), bisect_left(self.times, until)
        found = _least(self.tree, low, high)
        if found[0] < priority:
            return found[2]
        submits, first = self.later.get(priority, ([], []))
        at = bisect_right(submits, since)
        return first[at][1] if at < len(submits) and first[at][0] < until else ""


def _later(some: list[tuple[int, int, str]]) -> tuple[list[int], list[tuple[int, str]]]:
    """Submissions in order, and for each the earliest start of it and all later ones."""
    some.sort()
    first: list[tuple[int, str]] = []
    best = (2**63, "")
    for _, when, job in reversed(some):
        best = min(best, (when, job))
        first.append(best)
    return [submit for submit, _, _ in some], first[::-1]


def _lowest(values: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """A tree of minima over ``values``: node n is the lesser of 2n and 2n+1."""
    size = len(values)
    tree = [_LAST] * size + list(values)
    for node in range(size - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
    return tree


def _least(tree: Sequence[tuple[int, int, str]], low: int, high: int) -> tuple[int, int, str]:
    """The least of the values from ``low`` up to ``high``, exclusive."""
    size = len(tree) // 2
    found = _LAST
    low, high = low + size, high + size
    while low < high:
        if low & 1:
            found = min(found, tree[low])
            low += 1
        if high & 1:
            high -= 1
            found = min(found, tree[high])
        low, high = low // 2, high // 2
    return found
