"""Preemption without fair sharing: candidates by position in the cohort tree, then by priority.

Sources: KEP-79 "Hierarchical cohorts", KEP-1337 "Preempt within cohort while borrowing"; facts 1c.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from policycheck.systems.kueue.scheduler.bound import flat
from policycheck.systems.kueue.scheduler.pool import Pool, Row
from policycheck.systems.kueue.scheduler.state import Item, Queue
from policycheck.systems.kueue.scheduler.victims import (
    IN_QUEUE,
    RECLAMATION,
    WHILE_BORROWING,
    Contest,
    Target,
    Trace,
    Use,
    Weighed,
    allowed,
    holders,
    minimal,
    sort,
)


class _Candidate(NamedTuple):
    victim: Item
    reason: str
    borrows: bool  # may be taken although the preemptor then borrows
    below: tuple[int, ...]  # nodes that must stay over their quota for it to be taken; () in own queue


def targets(contest: Contest, local_use: Use | None, trace: Trace | None = None) -> list[Target]:
    """The victims that make room for the contest's preemptor; [] when there are none."""
    if contest.pool is not None and local_use is None and trace is None and _is_plain(contest):
        return _pooled(contest, contest.pool)
    own = _own(contest)
    near, far = _others(contest)
    candidates = _ordered(contest, [far, near, own], local_use)
    if not candidates:
        return []
    for borrowing in _attempts(contest, others=bool(near or far), hierarchical=bool(far)):
        found = _try(contest, candidates, borrowing=borrowing)
        if trace is not None:
            _explain(candidates, found, trace)
        if found:
            return found
    return []


def _is_plain(contest: Contest) -> bool:
    """Whether it may take quota from anybody in a cohort without cohorts, and needs no place on nodes."""
    preemption = contest.queue.config.preemption
    if preemption.reclaim_within_cohort != "Any" or contest.land is not None:
        return False
    return flat(contest.tree, contest.queue.node)


def _pooled(contest: Contest, pool: Pool) -> list[Target]:
    """The same with candidates that all heads of the cohort share."""
    node = contest.queue.node
    advantage = _absorb(contest, node, dict(contest.amounts))
    rows = pool.rows(contest)
    others = any(row[5] != node for row in rows)
    own = [
        c for _, _, c in sort([(not c.victim.evicted, c.victim, c) for c in _own(contest)], contest.now, None)
    ]
    if not others and not own:
        return []
    for borrowing in _attempts(contest, others=others, hierarchical=others and advantage):
        found = _try(contest, _in_turn(contest, rows, own, advantage=advantage), borrowing=borrowing)
        if found:
            return found
    return []


def _in_turn(
    contest: Contest, rows: list[Row], own: list[_Candidate], *, advantage: bool
) -> Iterator[_Candidate]:
    """Candidates of other queues and of its own, each kind in order: those being evicted of both come first."""
    item, mine, members = contest.item, contest.queue.node, contest.members
    borrow = contest.queue.config.preemption.borrow_within_cohort
    threshold = borrow.max_priority_threshold
    plain = advantage or borrow.policy == "Never"
    evicted = [c for c in own if c.victim.evicted]
    told = not evicted
    for going, priority, _, _, name, node in rows:
        if going and not told:
            yield from evicted
            told = True
        queue = members[node]
        if node == mine or queue is None:
            continue
        victim = queue.holders[name]
        if plain:
            yield _Candidate(victim, RECLAMATION, advantage, (node,))
        else:
            lower = priority < item.priority and (threshold is None or priority <= threshold)
            yield _Candidate(victim, WHILE_BORROWING if lower else RECLAMATION, lower, (node,))
    yield from own if not told else own[len(evicted) :]


def _own(contest: Contest) -> list[_Candidate]:
    policy = contest.queue.config.preemption.within_cluster_queue
    if policy == "Never":
        return []
    item = contest.item
    found = holders(contest.queue, contest.columns)
    return [_Candidate(v, IN_QUEUE, True, ()) for v in found if allowed(policy, item, v)]


def _others(contest: Contest) -> tuple[list[_Candidate], list[_Candidate]]:
    """Candidates of other queues: without and with a hierarchical advantage of the preemptor.

    Walking up, as soon as a subtree's own quota would hold the request, whatever others use above it
    is used at the preemptor's expense.
    """
    near: list[_Candidate] = []
    far: list[_Candidate] = []
    queue, tree = contest.queue, contest.tree
    if queue.config.preemption.reclaim_within_cohort == "Never":
        return near, far
    rest = dict(contest.amounts)
    advantage = _absorb(contest, queue.node, rest)
    before = queue.node
    for node in tree.path(queue.node):
        for other, below in _over(contest, node, before):
            (far if advantage else near).extend(_of(contest, other, below, advantage=advantage))
        advantage = _absorb(contest, node, rest) or advantage
        before = node
    return near, far


def _absorb(contest: Contest, node: int, rest: dict[int, int]) -> bool:
    """Whether ``rest`` fits in the node's quota; what the node keeps to itself is taken off it.

    Keys are cells of the preemptor's node; the cell of another node is in the same column.
    """
    tree, shift = contest.tree, node - contest.queue.node
    fits = True
    for cell, amount in rest.items():
        at = cell + shift
        if tree.usage[at] + amount > tree.subtree[at]:
            fits = False
        rest[cell] = max(0, amount - max(0, tree.local[at] - tree.usage[at]))
    return fits


def _over(contest: Contest, top: int, skip: int) -> Iterator[tuple[Queue, tuple[int, ...]]]:
    """Queues below ``top`` (not below ``skip``) that exceed their quota, by cohorts that all do."""
    tree = contest.tree
    walk: list[tuple[int, tuple[int, ...]]] = [(top, ())]
    while walk:
        node, above = walk.pop()
        for child in tree.children[node]:
            if child == skip or contest.within_nominal(child):
                continue
            path = (*above, child)
            other = contest.members[child]
            if other is None:
                walk.append((child, path))
            else:
                yield other, path


def _of(contest: Contest, other: Queue, below: tuple[int, ...], *, advantage: bool) -> list[_Candidate]:
    preemption = contest.queue.config.preemption
    policy, borrow = preemption.reclaim_within_cohort, preemption.borrow_within_cohort
    item = contest.item
    victims = holders(other, contest.columns)
    if policy != "Any":
        victims = [v for v in victims if allowed(policy, item, v)]
    if advantage or borrow.policy == "Never":
        return [_Candidate(victim, RECLAMATION, advantage, below) for victim in victims]
    found, threshold = [], borrow.max_priority_threshold
    for victim in victims:
        lower = victim.priority < item.priority and (threshold is None or victim.priority <= threshold)
        found.append(_Candidate(victim, WHILE_BORROWING if lower else RECLAMATION, lower, below))
    return found


def _ordered(contest: Contest, kinds: list[list[_Candidate]], local_use: Use | None) -> list[_Candidate]:
    """Those already being evicted first; then by kind; then as ``victims.sort`` says."""
    numbered = [((not c.victim.evicted, kind), c.victim, c) for kind, some in enumerate(kinds) for c in some]
    return [c for _, _, c in sort(numbered, contest.now, local_use)]


def _attempts(contest: Contest, *, others: bool, hierarchical: bool) -> tuple[bool, ...]:
    """Whether borrowing is allowed, attempt by attempt."""
    never = contest.queue.config.preemption.borrow_within_cohort.policy == "Never"
    if not others or (never and not contest.under_nominal()):
        return (True,)
    return (False, True) if never and not hierarchical else (True, False)


def _valid(contest: Contest, candidate: _Candidate, *, borrowing: bool) -> bool:
    """Whether the candidate may be taken now; earlier victims may have brought it within quota."""
    if borrowing and not candidate.borrows:
        return False
    for node in candidate.below:  # noqa: SIM110 - asked a million times a run
        if contest.within_nominal(node):
            return False
    return True


def _try(contest: Contest, candidates: Iterable[_Candidate], *, borrowing: bool) -> list[Target]:
    taken: list[Target] = []
    for candidate in candidates:
        if not _valid(contest, candidate, borrowing=borrowing):
            continue
        contest.remove(candidate.victim)
        taken.append((candidate.victim, candidate.reason))
        if contest.fits(borrowing=borrowing):
            return minimal(contest, taken, borrowing=borrowing)
    for victim, _ in taken:
        contest.put_back(victim)
    return []


def _explain(candidates: list[_Candidate], found: list[Target], trace: Trace) -> None:
    trace.clear()
    reasons = {victim.id: reason for victim, reason in found}
    for candidate in candidates:
        victim = candidate.victim
        queue = victim.queue.name if victim.queue else ""
        if victim.id in reasons:
            trace.append(Weighed(victim.id, queue, True, reasons[victim.id]))
        elif not found:
            trace.append(Weighed(victim.id, queue, False, "not enough even with it"))
        else:
            trace.append(Weighed(victim.id, queue, False, "the workload fits without it"))
