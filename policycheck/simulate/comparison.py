"""What comparing two configurations comes to, as values for reports. Times in ms, amounts in base units."""

from __future__ import annotations

from typing import NamedTuple

from policycheck.simulate.contrast import Figure


class Holding(NamedTuple):
    """What a queue has of one accelerator: in units, None where it is not there. Guarantee is what it gets
    whenever it asks, burst what it can use beyond while others are idle.
    """

    guarantee: int | None
    burst: int | None
    nominal: int | None


class TeamChange(NamedTuple):
    """One queue on both sides."""

    queue: str
    resource: str
    old: Holding
    new: Holding
    figures: tuple[Figure, ...] = ()

    @property
    def differs(self) -> bool:
        """Whether its rights are others."""
        return self.old != self.new


class RightChange(NamedTuple):
    """Who may take what from whom, on one side and not on the other. Classes are by name; ``relation`` says in
    words which pairs those are, where it is all of a kind.
    """

    taker: str
    holder: str
    situation: str
    reason: str
    pairs: tuple[tuple[str, str], ...]  # (class that takes, class that loses)
    gained: bool
    relation: str = ""


class VerdictChange(NamedTuple):
    """One promise on both sides: outcomes ("" where it has no subject there), and a sentence for each."""

    claim: str
    subject: str
    old: str
    new: str
    old_headline: str = ""
    new_headline: str = ""
    required: bool = True

    @property
    def differs(self) -> bool:
        """Whether the outcome is another."""
        return self.old != self.new


class Comparison(NamedTuple):
    """One scope. ``rights`` tells whether both sides have rights to compare at all; ``verdicts`` is None where
    promises were not held against them.
    """

    scope: str
    old: str
    new: str
    old_target: str
    new_target: str
    resource: str
    seeds: tuple[int, ...]
    horizon: int
    jobs: int  # of the first seed
    source: str
    teams: tuple[TeamChange, ...]
    changes: tuple[RightChange, ...]
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()
    rights: bool = True
    verdicts: tuple[VerdictChange, ...] | None = None
