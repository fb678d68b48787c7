"""A claim: a kind of promise, how it is tested, and the page that explains it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from policycheck.certify.arena import Arena
from policycheck.certify.promise import Promises
from policycheck.certify.verdict import Verdict


class Effort(NamedTuple):
    """How hard to look: scenarios of random search per verdict, and the seed they derive from. ``only``: the one
    subject to test; "" is all of them.
    """

    scenarios: int = 200
    seed: int = 1
    only: str = ""

    def wants(self, subject: str) -> bool:
        """Whether the subject is to be tested."""
        return not self.only or self.only == subject


class Claim(NamedTuple):
    """``test`` gives one verdict a subject, and at least one (NOT_APPLICABLE when there is no subject)."""

    name: str
    title: str
    test: Callable[[Arena, Promises, Effort], Sequence[Verdict]]
    promise: str  # what it says, in a sentence
    means: str  # what HOLDS, FAILS, UNKNOWN mean here, and on which basis
    premise: str
    enforceable: str  # what the system can and can not enforce
    remedy: str
