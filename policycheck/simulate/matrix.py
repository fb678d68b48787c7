"""Who can take from whom: what the policies say, held against what the decision does.

A *way* is one situation of the taker towards one holder. Its cells are relations between the two
priorities; each has a reason by policy and, where a contest could be built, the reason by decision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from policycheck.simulate.rights import Taking

LOWER, EQUAL_NEWER, EQUAL_OLDER, HIGHER = "lower", "equal and newer", "equal and older", "higher"
RELATIONS = (LOWER, EQUAL_NEWER, EQUAL_OLDER, HIGHER)


class Priority(NamedTuple):
    """A priority by name. Without classes in sight: two that are only lower or higher."""

    name: str
    value: int


class Rank(NamedTuple):
    """A taker's priority and a victim's, and which of the two waited longer."""

    taker: int
    victim: int
    is_newer: bool = False  # the victim came after the taker

    @property
    def relation(self) -> str:
        """The victim's priority as the taker sees it."""
        if self.taker != self.victim:
            return LOWER if self.victim < self.taker else HIGHER
        return EQUAL_NEWER if self.is_newer else EQUAL_OLDER


class Cell(NamedTuple):
    """One relation of priorities. ``ran`` is the reason by decision, "" when spared, None when not run."""

    taker: str
    victim: str
    relation: str
    reason: str  # by policy; "" never
    ran: str | None

    @property
    def differs(self) -> bool:
        """Whether policy and decision disagree: then one of the two is misunderstood here."""
        return self.ran is not None and self.ran != self.reason


class Way(NamedTuple):
    """One situation in which a queue may or may not take from another.

    ``pairs`` are the (flavor, resource) in which it can come to that at all; with none the policy
    has nothing to act on.
    """

    situation: str  # own | cohort | borrowing | any
    taking: Taking
    pairs: tuple[tuple[str, str], ...]
    cells: tuple[Cell, ...]

    @property
    def happens(self) -> bool:
        """Whether the policy allows it for some priorities and it can come to it."""
        return bool(self.pairs) and any(cell.reason for cell in self.cells)


class Row(NamedTuple):
    """All ways from one queue to another; ``why`` says why there is none.

    ``shared`` are the (flavor, resource) that both have quota of.
    """

    taker: str
    holder: str
    ways: tuple[Way, ...]
    why: str = ""
    shared: tuple[tuple[str, str], ...] = ()

    @property
    def happens(self) -> bool:
        """Whether the taker can take from the holder in any way."""
        return any(way.happens for way in self.ways)


class Group(NamedTuple):
    """Queues that can lend to each other."""

    name: str  # "cohort training", "queue alone"
    queues: tuple[str, ...]
    rows: tuple[Row, ...]
    unknown: str = ""  # why nothing can be said


class Matrix(NamedTuple):
    """Everything for one scope. ``fair`` when shares decide in place of borrowing policies."""

    scope: str
    priorities: tuple[Priority, ...]
    symbolic: bool  # no classes in sight: the priorities only stand for lower, equal, higher
    fair: bool
    groups: tuple[Group, ...]
    target: str = ""  # the system and its version, for people
    assumed: bool = False  # nothing in sight said the version

    @property
    def differing(self) -> tuple[tuple[Row, Way, Cell], ...]:
        """Cells in which policy and decision disagree."""
        return tuple(
            (row, way, cell)
            for group in self.groups
            for row in group.rows
            for way in row.ways
            for cell in way.cells
            if cell.differs
        )


def allows(taking: Taking, rank: Rank) -> bool:
    """Whether ``taking`` reaches a victim of this rank."""
    if not taking.may or (taking.at_most is not None and rank.victim > taking.at_most):
        return False
    relation = rank.relation
    if not taking.lower_only and not taking.newer_equal:
        return True
    return relation == LOWER or (taking.newer_equal and relation == EQUAL_NEWER)


def ranks(priorities: Iterable[Priority]) -> list[tuple[str, str, Rank]]:
    """(taker, victim, rank) for all pairs; equal priorities twice, for a newer and an older victim."""
    found = []
    known = list(priorities)
    for taker in known:
        for victim in known:
            if taker.value == victim.value:
                found.append((taker.name, victim.name, Rank(taker.value, victim.value, True)))
            found.append((taker.name, victim.name, Rank(taker.value, victim.value)))
    return found


def cells(
    taking: Taking, priorities: Iterable[Priority], run: Callable[[Rank], str | None] | None
) -> tuple[Cell, ...]:
    """All cells of one way. Ranks that no policy tells apart are run once."""
    known: dict[tuple[str, bool], str | None] = {}
    found = []
    for taker, victim, rank in ranks(priorities):
        key = rank.relation, taking.at_most is not None and rank.victim > taking.at_most
        if key not in known:
            known[key] = run(rank) if run is not None else None
        reason = taking.reason if allows(taking, rank) else ""
        found.append(Cell(taker, victim, rank.relation, reason, known[key]))
    return tuple(found)


def named(classes: Mapping[str, int]) -> tuple[tuple[Priority, ...], bool]:
    """Priorities from high to low, and whether they only stand for an order.

    Classes of a single value leave something to compare with: what has no class has priority 0.
    """
    if not classes:
        return (Priority("higher", 1), Priority("lower", 0)), True
    if set(classes.values()) == {0}:
        return named({})
    if len(set(classes.values())) == 1:
        classes = {**classes, "no class": 0}
    ordered = sorted(classes.items(), key=lambda c: (-c[1], c[0]))
    return tuple(Priority(name, value) for name, value in ordered), False
