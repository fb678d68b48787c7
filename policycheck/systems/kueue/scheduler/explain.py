"""Reasons, worked out when they are asked for.

A cycle keeps what a tree looked like when its heads were nominated (usage and holders, once per tree
and cycle). Asked for reasons, that tree is put together again and the nomination is made once more,
this time writing down every flavor tried and every victim weighed. So reasons cost next to nothing
until somebody wants them, and they are those of the decision, whatever has happened since.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from policycheck.simulate.scheduler import Explanation, FlavorTried, Shortfall, VictimWeighed
from policycheck.systems.kueue.model import Admission, KueueWorkload
from policycheck.systems.kueue.scheduler.assign import FIT, PREEMPT, Attempt, Scan
from policycheck.systems.kueue.scheduler.domains import Domains
from policycheck.systems.kueue.scheduler.fork import with_usage
from policycheck.systems.kueue.scheduler.land import Land
from policycheck.systems.kueue.scheduler.local import Ledger
from policycheck.systems.kueue.scheduler.nominate import Nomination, Nominator, Scene
from policycheck.systems.kueue.scheduler.state import Held, Item, Queue
from policycheck.systems.kueue.scheduler.victims import Contest, Trace, Weighed, allowed

if TYPE_CHECKING:
    from policycheck.systems.kueue.scheduler.session import Session

_MODES = ("NoFit", "NoCandidates", "Preempt", "Reclaim", "Fit")


class Ground(NamedTuple):
    """Nodes at the start of one cycle: those that could be used, and who had pods on them."""

    land: Land
    fields: Mapping[str, Domains]
    holders: tuple[tuple[Held, ...], ...]

    def restore(self) -> Land:
        """The land as it was."""
        land = self.land.copy()
        land.fields = {flavor: domains.copy() for flavor, domains in self.fields.items()}
        land.usage = [0] * len(self.land.usage)
        for held in self.holders:
            for *_, placed in held:
                land.add(placed)
        return land


class Evidence(NamedTuple):
    """One tree at the start of one cycle."""

    session: Session
    number: int
    holders: tuple[tuple[Held, ...], ...]  # by node; usage is what they use
    ledger: Ledger | None
    now: int
    ground: Ground | None


def _frozen(queue: Queue) -> tuple[Held, ...]:
    """Who holds the queue's quota now; made anew only when that has changed."""
    if queue.frozen[0] != queue.version:
        queue.frozen = (queue.version, tuple([v.held or _held(v) for v in queue.holders.values()]))
    return queue.frozen[1]


def _held(item: Item) -> Held:
    """What a holder holds now; made anew only when that has changed."""
    item.held = held = (
        item,
        item.reserved_at,
        item.evicted,
        item.amounts,
        item.columns,
        item.placed,
    )
    return held


def survey(session: Session) -> Ground | None:
    """What nominations see of nodes now."""
    if session.land is None:
        return None
    return Ground(session.land, session.land.nodes(), tuple(map(_frozen, session.placing)))


def capture(session: Session, number: int, ground: Ground | None) -> Evidence:
    """What nominations of tree ``number`` see now. Where quota is all there is to see, it is kept once until
    that changes.
    """
    alone, stamp = ground is None and session.ledger is None, session.stamps[number]
    if alone:
        known = session.evidence.get(number)
        if known is not None and known[0] == stamp:
            return known[1]
    holders = tuple([() if queue is None else _frozen(queue) for queue in session.members[number]])
    ledger = session.ledger.copy() if session.ledger is not None else None
    found = Evidence(session, number, holders, ledger, session.now, ground)
    if alone:
        session.evidence[number] = stamp, found
    return found


class Asked(NamedTuple):
    """A head as it was when it was nominated."""

    item: Item
    queue: str
    priority: int
    time: int
    scan: Scan | None
    workload: KueueWorkload
    admission: Admission | None
    evidence: Evidence

    @classmethod
    def of(cls, item: Item, queue: Queue, evidence: Evidence) -> Asked:
        """``item`` as it is now."""
        return cls(
            item, queue.name, item.priority, item.time, item.scan, item.workload, item.admission, evidence
        )

    def explain(self, notes: tuple[str, ...] = ()) -> Explanation:
        """The reasons of what was decided about it."""
        scene, queues = _put_back(self.evidence)
        queue = queues[self.queue]
        item = self.item.copy()
        item.priority, item.time, item.queue = self.priority, self.time, queue
        item.workload, item.admission, item.reserved = (
            self.workload,
            self.admission,
            self.admission is not None,
        )
        attempts: list[Attempt] = []
        trace: Trace = []
        nominator = Nominator(scene, attempts=attempts, trace=trace)
        found = nominator.nominate(item, queue, self.scan, None)
        weighed = _weigh(nominator, item, queue, found, trace)
        names = [s.name for s in item.shape.sets]
        full = tuple(s.pods for s in item.shape.sets)
        given = tuple(r.pods for r in found.assignment.sets)
        if found.assignment.trouble and found.assignment.mode != FIT:
            notes = (f"no place on nodes: {found.assignment.trouble}", *notes)
        if found.assignment.mode == FIT and given != full[: len(given)]:
            notes = (f"fits with fewer pods only: {given} of {full}", *notes)
        return Explanation(
            tuple(_tried(a, names) for a in attempts),
            tuple(VictimWeighed(w.victim, w.queue, w.taken, w.why) for w in weighed),
            notes,
        )


def plain(message: str) -> Explanation:
    """The reasons of a head that was not nominated."""
    return Explanation((), (), (message,) if message else ())


def _tried(attempt: Attempt, names: list[str]) -> FlavorTried:
    shorts = tuple(Shortfall(s.resource, s.reason, s.amount, s.assumed, s.limit) for s in attempt.shorts)
    return FlavorTried(
        tuple(names[m] for m in attempt.members),
        attempt.flavor,
        _MODES[attempt.mode],
        attempt.height,
        attempt.refusal,
        shorts,
    )


def _put_back(evidence: Evidence) -> tuple[Scene, dict[str, Queue]]:
    """The tree as it was, with copies of everything that has changed since or might be changed."""
    session = evidence.session
    now = session.trees[evidence.number]
    tree = with_usage(now, [0] * len(now.up))
    members: list[Queue | None] = []
    queues: dict[str, Queue] = {}
    for queue, held in zip(session.members[evidence.number], evidence.holders, strict=True):
        if queue is None:
            members.append(None)
            continue
        other = queue.bare()
        for item, since, evicted, amounts, columns, placed in held:
            one = item.copy()
            one.reserved, one.reserved_at, one.evicted = True, since, evicted
            one.amounts, one.columns, one.placed, one.queue = amounts, columns, placed, other
            other.holders[one.id] = one
            other.count(one, 1)
            tree.add_all(amounts)
        members.append(other)
        queues[queue.name] = other
    world = session.world
    shares = world.shares[evidence.number].on(tree)
    land = evidence.ground.restore() if evidence.ground is not None else None
    scene = Scene(world, tree, members, shares, evidence.ledger, evidence.now, session.plan, land)
    return scene, queues


def _weigh(nominator: Nominator, item: Item, queue: Queue, found: Nomination, trace: Trace) -> list[Weighed]:
    """All holders of contested quota: who was taken, who could have been, who could not and why."""
    if found.assignment.mode != PREEMPT:
        return []
    contest = nominator.contest(item, queue, found.assignment.amounts, found.assignment.columns)
    taken = {victim.id: reason for victim, reason in found.targets}
    out: list[Weighed] = []
    seen: set[str] = set()
    for one in trace:
        if one.victim in seen:
            continue
        seen.add(one.victim)
        if one.victim in taken:
            out.append(one._replace(taken=True, why=taken[one.victim]))
        elif one.taken:
            out.append(one._replace(taken=False, why="the workload fits without it"))
        else:
            out.append(one)
    for other in contest.members:
        if other is None:
            continue
        out.extend(
            Weighed(v.id, other.name, False, _spared(contest, other, v))
            for v in other.holders.values()
            if v.id not in seen and not contest.columns.isdisjoint(v.columns)
        )
    return out


def _spared(contest: Contest, other: Queue, victim: Item) -> str:
    """Why ``victim`` was no candidate."""
    own = other is contest.queue
    preemption = contest.queue.config.preemption
    policy = preemption.within_cluster_queue if own else preemption.reclaim_within_cohort
    field = "withinClusterQueue" if own else "reclaimWithinCohort"
    if policy == "Never":
        return f"{field} of {contest.queue.name} is Never"
    if not allowed(policy, contest.item, victim):
        against = f"its priority {victim.priority} is not below {contest.item.priority}"
        return f"{field} of {contest.queue.name} is {policy}: {against}"
    if not own and contest.within_nominal(other.node):
        return f"{other.name} is within its nominal quota"
    if not own:
        return "a cohort above its queue is within its quota"
    return "no victims were needed in its queue"
