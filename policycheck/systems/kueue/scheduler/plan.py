"""A workload's podsets against one queue's resource groups: everything that does not depend on usage.

Nominating walks a plan, so that refusals, cells and amounts are worked out once per shape.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from policycheck.systems.kueue.model import FlavorFungibility, ResourceGroup
from policycheck.systems.kueue.quota import Amounts, Tree
from policycheck.systems.kueue.scheduler.shape import Shape

PODS = "pods"
Refuse = Callable[[str, int, int], str]  # (flavor, podset, resource group) -> why not, or ""


class Rules(NamedTuple):
    """What a queue's policies mean for the scan."""

    fungibility: FlavorFungibility
    may_preempt_borrowing: bool  # preemption can be simulated although the request needs borrowing
    heeds: bool = True  # the FlavorFungibility gate


def entering(resource: str) -> int:
    """The real scheduler keeps requests sorted by the 64-bit FNV-1a hash of their names."""
    value = 0xCBF29CE484222325
    for byte in resource.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


class Need(NamedTuple):
    """One resource in one flavor."""

    resource: str
    cell: int
    amount: int


class FlavorPlan(NamedTuple):
    """One flavor of a group. A refused one is never tried."""

    name: str
    refusal: str
    needs: tuple[Need, ...]


class GroupPlan(NamedTuple):
    """Podsets that share flavors against one resource group."""

    number: int
    first: str  # resource by which the group is entered; scan progress is kept under it
    flavors: tuple[FlavorPlan, ...]
    names: frozenset[str]  # of all its flavors


class SetsPlan(NamedTuple):
    """One or more podsets whose requests are summed. ``missing`` is a resource nobody covers."""

    members: tuple[int, ...]
    groups: tuple[GroupPlan, ...]
    missing: str
    wants: tuple[dict[str, int], ...]  # per member, what it asks


class Plan(NamedTuple):
    """All podsets with ``pods`` pods each. ``ways`` is what each flavor that is not refused would be asked for,
    where everything goes to one resource group; else nothing. ``plain``: that group has one flavor.
    """

    pods: tuple[int, ...]
    sets: tuple[SetsPlan, ...]
    ways: tuple[Amounts, ...] = ()
    plain: bool = False


class Ground(NamedTuple):
    """The queue that a plan is for: its resource groups, which covers what, and its node."""

    groups: tuple[ResourceGroup, ...]
    covers: Mapping[str, int]
    node: int
    tree: Tree


def covering(groups: Sequence[ResourceGroup]) -> dict[str, int]:
    """Which group covers a resource; the first, should several."""
    found: dict[str, int] = {}
    for number, group in enumerate(groups):
        for resource in group.covered:
            found.setdefault(resource, number)
    return found


def compile_plan(
    shape: Shape, pods: Sequence[int], ground: Ground, refuse: Refuse, *, ignore_undeclared: bool
) -> Plan:
    """The plan of ``shape``. Resources are entered in ``entering`` order, which shows where a workload
    fails in more than one group: only the first failure is ever seen.
    """
    sets = []
    for members in shape.groups:
        wants = tuple(_wanted(shape.sets[m].total(pods[m]), pods[m], ground) for m in members)
        total: dict[str, int] = {}
        for want in wants:
            for resource, amount in want.items():
                total[resource] = total.get(resource, 0) + amount
        missing = ""
        entered: dict[int, str] = {}
        for resource in sorted(total, key=entering):
            number = ground.covers.get(resource)
            if number is not None:
                entered.setdefault(number, resource)
            elif total[resource] != 0 and not ignore_undeclared:
                missing = resource
                break
        groups = tuple(_group(n, first, total, members, ground, refuse) for n, first in entered.items())
        sets.append(SetsPlan(members, groups, missing, wants))
    ways = _ways(sets)
    plain = bool(ways) and len(sets[0].groups[0].flavors) == 1
    return Plan(tuple(pods), tuple(sets), ways, plain)


def _ways(sets: Sequence[SetsPlan]) -> tuple[Amounts, ...]:
    if len(sets) != 1 or sets[0].missing or len(sets[0].groups) != 1:
        return ()
    flavors = sets[0].groups[0].flavors
    return tuple(tuple((need.cell, need.amount) for need in f.needs) for f in flavors if not f.refusal)


def _wanted(total: dict[str, int], pods: int, ground: Ground) -> dict[str, int]:
    if PODS in ground.covers:
        total[PODS] = pods
    return total


def _group(
    number: int, first: str, total: dict[str, int], members: Sequence[int], ground: Ground, refuse: Refuse
) -> GroupPlan:
    group, tree = ground.groups[number], ground.tree
    resources = [r for r in sorted(total) if r in group.covered]
    flavors = []
    for flavor in group.flavors:
        refusal = next(filter(None, (refuse(flavor.name, m, number) for m in members)), "")
        needs = tuple(Need(r, tree.cell(ground.node, (flavor.name, r)), total[r]) for r in resources)
        flavors.append(FlavorPlan(flavor.name, refusal, needs))
    return GroupPlan(number, first, tuple(flavors), frozenset(f.name for f in flavors))
