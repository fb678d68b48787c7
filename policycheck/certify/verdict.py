"""What testing a promise comes to: a verdict, with what it rests on and, when it fails, the story.

HOLDS and FAILS are the only outcomes that say something of the promise. A premise that never occurred
is UNKNOWN ("vacuous"), an empty subject NOT_APPLICABLE; neither counts as HOLDS.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from policycheck.simulate.timeline import Timeline

HOLDS, FAILS, UNKNOWN, NOT_APPLICABLE = "HOLDS", "FAILS", "UNKNOWN", "NOT_APPLICABLE"
# What an outcome rests on, strongest first.
PROOF, EXHAUSTIVE, SEARCH, MEASURED = "proof", "exhaustive", "search", "measured"
CERTIFIED, REFUSED, UNDECIDED = "CERTIFIED", "REFUSED", "UNDECIDED"


class Counterexample(NamedTuple):
    """The smallest story that breaks a promise. ``case`` is a situation that ``simulate --case`` replays,
    or {} where none can be written; ``end`` the part of its answer that shows the break; ``timeline`` at
    most ten lines for people; ``workloads`` how many it takes. ``drawn`` are the lives of its workloads, for
    pictures; a cycle is taken as a second.
    """

    case: Mapping[str, Any]
    timeline: tuple[str, ...]
    workloads: int
    end: Mapping[str, Any] = {}
    drawn: Timeline | None = None


class Verdict(NamedTuple):
    """One claim about one subject (a team, a class, or "" for the whole scope).

    ``premise`` counts what had to occur for the claim to mean anything; all zero: UNKNOWN. ``evidence``
    are the figures behind it (bounds, counts tried, seeds), JSON values. ``derived`` names the parts of the
    promise that were read off the configuration. ``required``: it counts towards a certificate.
    """

    claim: str
    subject: str
    scope: str
    outcome: str
    basis: str
    headline: str  # a sentence
    premise: Mapping[str, int] = {}
    assumptions: tuple[str, ...] = ()
    evidence: Mapping[str, Any] = {}
    counterexample: Counterexample | None = None
    derived: tuple[str, ...] = ()
    required: bool = True


def outcome(verdicts: tuple[Verdict, ...], accepted: frozenset[str]) -> str:
    """CERTIFIED when every required verdict HOLDS on a basis that counts; REFUSED when one FAILS.

    ``accepted`` are the bases that count beside proof and exhaustive. With no required verdict that says
    anything, nothing is certified: UNDECIDED.
    """
    required = [v for v in verdicts if v.required]
    if any(v.outcome == FAILS for v in required):
        return REFUSED
    counting = {PROOF, EXHAUSTIVE} | accepted
    said = [v for v in required if v.outcome != NOT_APPLICABLE]
    if said and all(v.outcome == HOLDS and v.basis in counting for v in said):
        return CERTIFIED
    return UNDECIDED
