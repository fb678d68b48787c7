"""One accelerator as a value: whole, in thousandths, in shares, or cut into instances with real places.

An instance has a start and a size in memory slices, so room may be broken up: with instances at slices
0, 1 and 5 of eight, no four slices in a row from 0 or from 4 are left, though five are free.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

WHOLE = 1000  # thousandths of a card
Made = tuple[tuple[str, int, bool], ...]


class Partition(NamedTuple):
    """A kind of instance that a card can be cut into: where one may start and how far it reaches, in
    memory slices; compute slices; at most so many on a card. ``excludes`` are partitions that can not be
    on the card at the same time (extra engines of which there is one set).
    """

    name: str  # the profile: "3g.20gb"
    resource: (
        str  # by which pods ask for it: "nvidia.com/mig-3g.20gb"; "class/profile" answers to "class" too
    )
    starts: tuple[int, ...]
    size: int
    compute: int
    most: int
    excludes: tuple[str, ...] = ()


class CardKind(NamedTuple):
    """What cards of one kind are: model, geometry (slices and partitions; 0 and () when it can not be cut),
    and by which resource whole cards and shares go.
    """

    model: str
    whole: str = ""  # resource of a whole card; "" when whole cards are not offered
    share: str = ""  # resource of one of ``shares`` equal shares (time slices, MPS); "" when not shared
    shares: int = 1
    slices: int = 0  # memory slices of the card
    compute: int = 0
    partitions: tuple[Partition, ...] = ()
    dynamic: bool = False  # partitions are made when asked for; else they are laid out beforehand
    limit: int = 0  # shares that one container may ask for, beyond which the node refuses it; 0 any number


class Card(NamedTuple):
    """One card now. ``milli`` is what is left of it in thousandths (1000: whole and free); ``made`` the
    instances on it as (partition, start, used), sorted; ``slots`` the free shares.
    """

    kind: CardKind
    milli: int = WHOLE
    made: Made = ()
    slots: int = 0
    numa: int = -1  # NUMA node; -1 unknown
    domain: str = ""  # NVLink domain (gpu.clique); "" unknown


def is_free(card: Card) -> bool:
    """Whether nothing at all is on it, so that it can be given as a whole."""
    return card.milli == WHOLE and not card.made and (card.slots == card.kind.shares or not card.kind.share)


def answers(partition: Partition, resource: str) -> bool:
    """Whether an ask for ``resource`` may be met with it: by its own name, or by the class before "/"."""
    own = partition.resource
    return own == resource or (own.startswith(resource) and own[len(resource) : len(resource) + 1] == "/")


def starts(card: Card, partition: Partition) -> tuple[int, ...]:
    """Where one more instance could be made on the card now; () when it is not cut on demand."""
    kind = card.kind
    if not kind.dynamic or card.milli < WHOLE or (kind.share and card.slots < kind.shares):
        return ()
    taken = compute = same = 0
    known = {p.name: p for p in kind.partitions}
    for name, start, _ in card.made:
        there = known[name]
        if name in partition.excludes or partition.name in there.excludes:
            return ()
        taken |= ((1 << there.size) - 1) << start
        compute += there.compute
        same += name == partition.name
    if same >= partition.most or compute + partition.compute > kind.compute:
        return ()
    window = (1 << partition.size) - 1
    return tuple(start for start in partition.starts if not taken & (window << start))


def cut(card: Card, name: str, start: int) -> Card:
    """The card with one more instance, in use. The caller has the start from ``starts``."""
    return card._replace(made=tuple(sorted((*card.made, (name, start, True)))))


def uncut(card: Card, name: str, start: int) -> Card:
    """The card without that instance. Raises ValueError when it is not there, in use."""
    made = list(card.made)
    made.remove((name, start, True))
    return card._replace(made=tuple(made))


def mark(card: Card, name: str, start: int, *, used: bool) -> Card:
    """The card with an instance that stays taken into use, or given up. Raises ValueError when there is none."""
    made = list(card.made)
    made.remove((name, start, not used))
    return card._replace(made=tuple(sorted((*made, (name, start, used)))))


def unused(card: Card, resource: str) -> Iterator[tuple[str, int]]:
    """Instances that are there and free for ``resource``: (partition, start)."""
    if not card.made:
        return
    fitting = {p.name for p in card.kind.partitions if answers(p, resource)}
    for name, start, used in card.made:
        if not used and name in fitting:
            yield name, start


def most_more(card: Card, resource: str) -> int:
    """How many more instances for ``resource`` could be made on the card, all at once."""
    fitting = [p for p in card.kind.partitions if answers(p, resource)]
    if not fitting or not card.kind.dynamic:
        return 0
    if len(fitting) > 1:
        return max((v[0] for v in vectors(card, (resource,))), default=0)
    partition = fitting[0]
    free, end, found = starts(card, partition), 0, 0
    for start in free:
        if start >= end:
            found, end = found + 1, start + partition.size
    if not found:
        return 0
    known = {p.name: p for p in card.kind.partitions}
    left = card.kind.compute - sum(known[name].compute for name, _, _ in card.made)
    same = sum(name == partition.name for name, _, _ in card.made)
    return min(found, partition.most - same, left // partition.compute if partition.compute else found)


def vectors(card: Card, resources: Sequence[str]) -> frozenset[tuple[int, ...]]:
    """Every way in which new instances can meet ``resources`` on this card, as numbers of each.

    Exhaustive over placements; there are some hundred states on the largest card.
    """
    zero = (0,) * len(resources)
    wanted = [(i, p) for i, r in enumerate(resources) for p in card.kind.partitions if answers(p, r)]
    seen: set[tuple[Made, tuple[int, ...]]] = {(card.made, zero)}
    todo = [(card, zero)]
    while todo:
        state, have = todo.pop()
        for i, partition in wanted:
            more = (*have[:i], have[i] + 1, *have[i + 1 :])
            for start in starts(state, partition):
                grown = cut(state, partition.name, start)
                if (grown.made, more) not in seen:
                    seen.add((grown.made, more))
                    todo.append((grown, more))
    return frozenset(have for _, have in seen)


def card_units(card: Card, resource: str) -> int:
    """Units of ``resource`` that the card could give at once, when it gives nothing else."""
    kind = card.kind
    if kind.whole == resource:
        return int(is_free(card))
    if kind.share == resource:
        return card.slots if card.milli == WHOLE and not card.made else 0
    if not kind.partitions:
        return 0
    return sum(1 for _ in unused(card, resource)) + most_more(card, resource)


def has_room(card: Card, resource: str, milli: int) -> bool:
    """Whether ``milli`` thousandths of the card are left, uncut and unshared."""
    kind = card.kind
    return (
        kind.whole == resource
        and card.milli >= milli
        and not card.made
        and (not kind.share or card.slots == kind.shares)
    )


def idle(card: Card) -> int:
    """What of the card nobody uses, in thousandths: of a shared card its free shares, of one cut beforehand its
    unused instances, of one cut on demand the slices left (of memory or of compute, whichever is less).
    """
    kind = card.kind
    if kind.share:
        return card.slots * WHOLE // kind.shares
    if not kind.partitions:
        return card.milli
    known = {p.name: p for p in kind.partitions}
    if not kind.dynamic:
        every = sum(known[name].size for name, _, _ in card.made)
        free = sum(known[name].size for name, _, used in card.made if not used)
        return free * WHOLE // every if every else 0
    held = [known[name] for name, _, used in card.made if used]
    memory = kind.slices - sum(p.size for p in held)
    compute = kind.compute - sum(p.compute for p in held)
    return min(card.milli, memory * WHOLE // kind.slices, compute * WHOLE // kind.compute)
