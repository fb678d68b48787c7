"""Flavor assignment: which flavor each podset gets, and what that would take.

Order of modes, stopping rules and scan progress: KEP-582 "Flavor fungibility", KEP-2941 and the
field documentation of flavorFungibility; facts 1c. Where the two descriptions of ``preference``
differ the decisions recorded of the real scheduler are followed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from policycheck.systems.kueue.model import TopologyAssignment
from policycheck.systems.kueue.quota import Amounts, Tree
from policycheck.systems.kueue.scheduler.grant import Given
from policycheck.systems.kueue.scheduler.land import Claim
from policycheck.systems.kueue.scheduler.plan import FlavorPlan, GroupPlan, Plan, Rules, SetsPlan

NO_FIT, NO_CANDIDATES, PREEMPT, RECLAIM, FIT = range(5)
MODES = ("NoFit", "Preempt", "Preempt", "Preempt", "Fit")  # as Kueue prints them

NO_MATCHING, EXCEEDS, WAITING, TOPOLOGY = (
    "NoMatchingFlavor",
    "ExceedsMaxQuota",
    "WaitingForQuota",
    "TopologyPlacementFailed",
)
_SEVERITY: Mapping[str, int] = {"": 0, TOPOLOGY: 1, WAITING: 2, EXCEEDS: 3, NO_MATCHING: 4}

Oracle = Callable[[int, int], tuple[int, int]]  # (cell, amount) -> (mode, height after preemption)
Scan = tuple[dict[str, int], ...]  # per podset, by resource: the flavor tried last; -1 when all were


class Chosen(NamedTuple):
    """The flavor of one resource."""

    flavor: str
    mode: int
    height: int
    cell: int
    amount: int


class Short(NamedTuple):
    """Why one resource does not simply fit: ``limit`` is free quota, or the most there can ever be."""

    resource: str
    reason: str
    assumed: int  # asked before by podsets of the same workload
    amount: int
    limit: int


class Attempt(NamedTuple):
    """One flavor that was looked at, for reasons."""

    members: tuple[int, ...]
    group: int
    flavor: str
    mode: int
    height: int
    refusal: str
    shorts: tuple[Short, ...]


class SetResult(NamedTuple):
    """What one podset was given; ``clean`` says that nothing stood in the way."""

    member: int
    pods: int
    flavors: dict[str, Chosen]
    asks: dict[str, int]
    clean: bool
    failed: str  # reason when no flavor was found
    # Per resource group: its flavors, and the least severe reason of those that do not fit.
    groups: Sequence[tuple[frozenset[str], str]] = ()


_NO_COLUMNS: frozenset[int] = frozenset()


class Assignment:
    """The outcome for a workload. ``mode`` is NO_FIT, PREEMPT or FIT."""

    __slots__ = (
        "amounts",
        "claims",
        "columns",
        "delayed",
        "given",
        "height",
        "mode",
        "pinned",
        "reason",
        "scan",
        "sets",
        "size",
        "topology",
        "trouble",
        "usage",
    )

    def __init__(self) -> None:
        self.sets: list[SetResult] = []
        self.usage: dict[int, int] = {}
        self.amounts: Amounts = ()
        self.height = 0
        self.mode = FIT
        self.reason = ""
        self.columns = _NO_COLUMNS  # contested: those in which preemption is needed
        self.scan: Scan | None = None
        self.pinned: dict[tuple[int, str], str] | None = None
        self.size = 1  # nodes of the tree: cell // size is a column
        self.topology: dict[int, TopologyAssignment] = {}  # by podset
        self.delayed: dict[int, str] = {}  # podsets that are placed later: Pending | Ready
        self.claims: list[Claim] = []  # what the placement takes of nodes
        self.trouble = ""  # why no place was found
        self.given: Given | None = None  # what is given by it, once somebody was

    def contest(self) -> None:
        """Work out in which columns preemption is needed."""
        self.columns = frozenset(
            c.cell // self.size for r in self.sets for c in r.flavors.values() if c.mode != FIT
        )


class _Group(NamedTuple):
    """Best flavor of one group."""

    chosen: dict[str, Chosen]
    mode: int
    tried: int
    reason: str  # least severe of the flavors that do not fit
    looked: bool  # whether any flavor was


def worse_reason(a: str, b: str) -> str:
    """The more severe of two reasons."""
    return a if _SEVERITY[a] >= _SEVERITY[b] else b


class Assigner:
    """Assigns flavors in one tree under one queue's rules."""

    __slots__ = ("attempts", "oracle", "rules", "tree")

    def __init__(
        self, tree: Tree, rules: Rules, oracle: Oracle, attempts: list[Attempt] | None = None
    ) -> None:
        self.tree = tree
        self.rules = rules
        self.oracle = oracle
        self.attempts = attempts  # filled when reasons are wanted

    def assign(
        self,
        plan: Plan,
        scan: Scan | None = None,
        pinned: Mapping[tuple[int, str], str] | None = None,
        allowed: frozenset[str] | None = None,
    ) -> Assignment:
        """The assignment of ``plan``, the scan going on from ``scan``.

        ``pinned`` confines each resource of a podset to one flavor, ``allowed`` all to some.
        """
        out = Assignment()
        progress: list[dict[str, int]] = []
        for sets in plan.sets:
            if not self._sets(plan, sets, out, progress, scan, pinned, allowed):
                break
        self._conclude(out, progress)
        return out

    def _sets(
        self,
        plan: Plan,
        sets: SetsPlan,
        out: Assignment,
        progress: list[dict[str, int]],
        scan: Scan | None,
        pinned: Mapping[tuple[int, str], str] | None,
        allowed: frozenset[str] | None,
    ) -> bool:
        """Assign podsets that go together; False when that ends the assignment."""
        merged: dict[str, Chosen] = {}
        tried: dict[str, int] = {}
        reason, clean, failed, looked = "", True, bool(sets.missing), False
        groups: list[tuple[frozenset[str], str]] = []
        for group in sets.groups:
            best = self._group(sets, group, out.usage, scan, pinned, allowed)
            groups.append((group.names, best.reason))
            reason = worse_reason(reason, best.reason)
            looked = looked or best.looked
            if not best.chosen:
                failed = True
                break
            clean = clean and best.mode == FIT
            merged.update(best.chosen)
            tried.update(dict.fromkeys(best.chosen, best.tried))
        if failed:
            clean, merged = False, {}
        again = True
        for member, asks in zip(sets.members, sets.wants, strict=True):
            flavors = {r: c._replace(amount=asks[r]) for r, c in merged.items() if r in asks}
            why = reason if looked else NO_MATCHING
            out.sets.append(SetResult(member, plan.pods[member], flavors, asks, clean, why, groups))
            progress.append({r: tried[r] for r in flavors})
            for chosen in flavors.values():
                out.usage[chosen.cell] = out.usage.get(chosen.cell, 0) + chosen.amount
                out.height = max(out.height, chosen.height)
            if asks and not flavors:
                again = False
        return again

    def _group(
        self,
        sets: SetsPlan,
        group: GroupPlan,
        assumed: Mapping[int, int],
        scan: Scan | None,
        pinned: Mapping[tuple[int, str], str] | None,
        allowed: frozenset[str] | None,
    ) -> _Group:
        lead = sets.members[0]
        start = scan[lead].get(group.first, -1) + 1 if scan and lead < len(scan) else 0
        best: dict[str, Chosen] = {}
        best_mode, best_height = NO_FIT, 0
        tried, least, looked = -1, "", False
        flavors = group.flavors
        for number in range(start, len(flavors)):
            flavor = flavors[number]
            tried = number
            if pinned is not None and all(pinned.get((m, group.first)) != flavor.name for m in sets.members):
                continue
            if allowed is not None and flavor.name not in allowed:
                continue
            looked = True
            mode, height, why, chosen = self._flavor(sets, group, flavor, assumed)
            if why and mode == NO_FIT and (not least or _SEVERITY[why] < _SEVERITY[least]):
                least = why
            if self.rules.heeds:
                if not self._goes_on(mode, height):
                    best, best_mode = chosen, mode
                    break
                if self._prefers(mode, height, best_mode, best_height):
                    best, best_mode, best_height = chosen, mode, height
            elif mode > best_mode:
                best, best_mode = chosen, mode
                if mode == FIT:
                    break
        if not self.rules.heeds or tried == len(flavors) - 1:
            tried = -1 if self.rules.heeds else 0
        return _Group(best, best_mode, tried, least, looked)

    def _flavor(
        self, sets: SetsPlan, group: GroupPlan, flavor: FlavorPlan, assumed: Mapping[int, int]
    ) -> tuple[int, int, str, dict[str, Chosen]]:
        """Mode and height of one flavor (its worst resource), the reason, and what it would give."""
        if flavor.refusal:
            self._note(sets, group, flavor, NO_FIT, 0, ())
            return NO_FIT, 0, NO_MATCHING, {}
        worst_mode, worst_height = FIT, 0
        why, chosen = "", {}
        shorts: list[Short] = []
        for resource, cell, amount in flavor.needs:
            before = assumed.get(cell, 0)
            mode, height, reason, limit = self._quota(cell, before + amount)
            if mode != FIT:
                shorts.append(Short(resource, reason or WAITING, before, amount, limit))
                why = worse_reason(why, reason)
            if self._prefers(worst_mode, worst_height, mode, height):
                worst_mode, worst_height = mode, height
            if worst_mode != NO_FIT:
                chosen[resource] = Chosen(flavor.name, mode, height, cell, amount)
        self._note(sets, group, flavor, worst_mode, worst_height, tuple(shorts))
        return worst_mode, worst_height, why, chosen

    def _quota(self, cell: int, amount: int) -> tuple[int, int, str, int]:
        """(mode, height, reason, limit) of ``amount`` in one cell."""
        tree = self.tree
        most = tree.ceiling[cell]
        if amount > most:
            return NO_FIT, 0, EXCEEDS, most
        height, may_reclaim = tree.reach(cell, amount)
        free = tree.free(cell)
        if amount <= free:
            return FIT, height, "", free
        if tree.nominal[cell] >= amount or may_reclaim or self.rules.may_preempt_borrowing:
            mode, height = self.oracle(cell, amount)
            return mode, height, "", free
        return NO_FIT, height, WAITING, free

    def _goes_on(self, mode: int, height: int) -> bool:
        """Whether the next flavor is tried after one of this mode."""
        if mode in (NO_FIT, NO_CANDIDATES):
            return True
        policy = self.rules.fungibility
        if mode != FIT and policy.when_can_preempt == "TryNextFlavor":
            return True
        return height > 0 and policy.when_can_borrow == "TryNextFlavor"

    def _prefers(self, mode: int, height: int, other: int, other_height: int) -> bool:
        """Whether (mode, height) is better than the other."""
        if mode == NO_FIT:
            return False
        if other == NO_FIT:
            return True
        if (mode == NO_CANDIDATES) != (other == NO_CANDIDATES):
            return other == NO_CANDIDATES
        if self.rules.fungibility.preference == "PreemptionOverBorrowing":
            return height < other_height if height != other_height else mode > other
        return mode > other if mode != other else height < other_height

    def _note(
        self,
        sets: SetsPlan,
        group: GroupPlan,
        flavor: FlavorPlan,
        mode: int,
        height: int,
        shorts: tuple[Short, ...],
    ) -> None:
        if self.attempts is not None:
            self.attempts.append(
                Attempt(sets.members, group.number, flavor.name, mode, height, flavor.refusal, shorts)
            )

    def _conclude(self, out: Assignment, progress: list[dict[str, int]]) -> None:
        """Overall mode, reason and contested columns."""
        out.size = self.tree.size
        for result in out.sets:
            if not result.clean:
                stuck = any(c.mode != FIT for c in result.flavors.values())
                mode = (PREEMPT if stuck else FIT) if result.flavors else NO_FIT
                out.mode = min(out.mode, mode)
                if mode == NO_FIT:
                    out.reason = worse_reason(out.reason, result.failed)
        if out.mode != NO_FIT:
            out.reason = ""
        if out.mode != FIT:
            out.contest()
        out.amounts = tuple(out.usage.items())
        if any(tried != -1 for sets in progress for tried in sets.values()):
            out.scan = tuple(progress)
