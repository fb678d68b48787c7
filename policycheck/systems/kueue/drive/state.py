"""The state of some trees of a session in one canonical form, so that one that comes back is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from policycheck.digest import sha256
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.state import Item, Queue


def digest(session: Session, trees: Iterable[int]) -> str:
    """Equal for states in which ``trees``, and those that share nodes with them, decide alike from here on,
    whatever the clock says. Of reservation times only the order counts: it decides between victims.
    """
    groups = {session.group[n] for n in trees}
    numbers = [n for n, group in enumerate(session.group) if group in groups]
    queues = [q for n in numbers for q in session.members[n] if q is not None]
    held = sorted((i for q in queues for i in q.holders.values()), key=lambda i: (i.reserved_at, i.id))
    rank: dict[int, int] = {}
    for item in held:
        rank.setdefault(item.reserved_at, len(rank))
    ledger = session.ledger.state() if session.ledger is not None else ()
    text = repr(
        (
            numbers,
            [session.trees[n].usage for n in numbers],
            [(i.id, rank[i.reserved_at], i.evicted, i.ready, i.amounts, i.placed) for i in held],
            [row for q in queues for row in _waiting(session, q)],
            [(q.name, q.preemptor.id if q.preemptor else "", sorted(q.moved)) for q in queues],
            ledger,
        )
    )
    return sha256(text.encode()).hexdigest()


def _waiting(session: Session, queue: Queue) -> Iterator[tuple[object, ...]]:
    for item in sorted(queue.waiters(), key=lambda i: i.id):
        yield item.id, item.place, item.priority, item.time, _scan(item, queue), session.backs_off(item)


def _scan(item: Item, queue: Queue) -> object:
    """How far its scan of flavors is, as far as it counts."""
    if item.scan is None or item.scan_generation != queue.generation:
        return None
    return [sorted(one.items()) for one in item.scan]
