"""Faults in quotas: against the hardware, against each other, against what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mutate.base import Edit, Object, World
from mutate.edits import (
    CELL,
    GPU,
    Operator,
    edit,
    found,
    get,
    many,
    named,
    put,
    show,
    swap,
)

QUOTA = f"{CELL} nominalQuota"
# Flavors whose nodes are promised to the last one: anything more, or one node less, is too much.
TIGHT = ("h100-serve", "l4-serve", "l4-batch", "a100-full")


def cells(resource: str, flavors: tuple[str, ...] = ()) -> Any:
    """(object, place, cell) of a resource in every ClusterQueue."""

    def over(world: World) -> Iterator[tuple[Any, Object, tuple[Any, ...], Object]]:
        for ref, it in world.objects("ClusterQueue"):
            for at, cell in found(it, CELL):
                flavor = get(it, " ".join(map(str, at[:-2])))["name"]
                if cell["name"].startswith(resource) and (not flavors or flavor in flavors):
                    yield ref, it, at, cell

    return over


def cell(resource: str, change: Any, flavors: tuple[str, ...] = (), only: Any = None) -> Any:
    """An Edit a cell of the resource; ``change`` gets the cell."""

    def make(world: World) -> Iterator[Edit]:
        for ref, it, at, value in cells(resource, flavors)(world):
            if only is None or only(value):
                yield edit(ref, it, _at(at, change), show(it, at))

    return make


def _at(at: tuple[Any, ...], change: Any) -> Any:
    def run(it: Object) -> None:
        for key in at:
            it = it[key]
        change(it)

    return run


def times(text: Any, factor: float) -> Any:
    """A quantity of the base (a number, or a number with Gi) times a factor."""
    if isinstance(text, int):
        return int(text * factor)
    return f"{int(int(text.removesuffix('Gi')) * factor)}Gi"


def scale(factor: float) -> Any:
    return lambda c: _quota(c, times(c["nominalQuota"], factor))


def _quota(c: Object, value: Any) -> None:
    """The quota, and no lending limit that would be above it: that would be a second fault."""
    c["nominalQuota"] = value
    c.pop("lendingLimit", None)


def set_to(value: Any) -> Any:
    return lambda c: _quota(c, value)


def unit(change: Any) -> Any:
    return lambda old: change(old) if isinstance(old, str) and old.endswith("Gi") and old != "0Gi" else None


def _cohort_again(world: World) -> Iterator[Edit]:
    """The cohort is given what its queues have: it is added on top, not shared out."""
    for name, member in (
        ("training", "foundation"),
        ("interactive", "vision-dev"),
        ("batch", "vision-batch"),
    ):
        ref, it = world.one("Cohort", name)
        _, queue = world.one("ClusterQueue", member)
        groups = [
            {
                "coveredResources": list(group["coveredResources"]),
                "flavors": [
                    {
                        "name": flavor["name"],
                        "resources": [
                            {"name": c["name"], "nominalQuota": c["nominalQuota"]}
                            for c in flavor["resources"]
                        ],
                    }
                    for flavor in group["flavors"]
                ],
            }
            for group in queue["spec"]["resourceGroups"]
        ]
        yield edit(ref, it, lambda o, groups=groups: o.setdefault("spec", {}).update(resourceGroups=groups))


def _other_unit(world: World) -> Iterator[Edit]:
    """A unit that is right in one queue of a cohort is another one in its neighbour."""
    yield from put(
        "ClusterQueue", "spec resourceGroups 0 flavors 0 resources 1 nominalQuota", _as_mi, _with_peer
    )(world)


def _as_mi(old: Any) -> Any:
    return f"{old.removesuffix('Gi')}Mi" if isinstance(old, str) else None


_with_peer = named("vision", "research-dev", "vision-batch")


HARDWARE = ("guarantees-beyond-hardware",)
OPERATORS = (
    Operator(
        "gpu-quota-beyond-hardware",
        "kueue Part 2 #1",
        "12 GPUs more than the pool has left",
        HARDWARE,
        cell(GPU, lambda c: c.update(nominalQuota=c["nominalQuota"] + 12)),
        8,
    ),
    Operator(
        "gpu-quota-doubled",
        "kueue Part 2 #1",
        "twice the GPUs in a pool that is promised to the last one",
        HARDWARE,
        cell(GPU, scale(2), TIGHT),
    ),
    Operator(
        "slice-quota-doubled",
        "kueue Part 2 #1, #80",
        "twice the MIG slices",
        HARDWARE,
        cell("nvidia.com/mig-", scale(2)),
    ),
    Operator(
        "cohort-repeats-quota",
        "kueue Part 2 #7",
        "a cohort is given what a member has, on top of it",
        HARDWARE,
        _cohort_again,
    ),
    Operator(
        "cohort-quota-raised",
        "kueue Part 2 #1, #7",
        "the surge of a cohort is beyond the hardware",
        HARDWARE,
        swap("Cohort", QUOTA, lambda old: old * 5 if isinstance(old, int) and old < 10 else None),
    ),
    Operator(
        "quota-of-capacity",
        "kueue Part 2 #5",
        "cpu and memory from capacity instead of allocatable net of daemons",
        ("companions-beyond-hardware",),
        many(
            cell(
                "cpu", lambda c: c.update(nominalQuota=c["nominalQuota"] * 16 // 15), ("l4-serve", "l4-batch")
            ),
            cell(
                "memory",
                lambda c: c.update(nominalQuota=times(c["nominalQuota"], 64 / 56)),
                ("l4-serve", "l4-batch"),
            ),
        ),
    ),
    Operator(
        "companion-zero",
        "kueue Part 2 #3",
        "cpu or memory beside GPUs is 0",
        ("companions-zero",),
        many(cell("cpu", set_to(0)), cell("memory", set_to("0Gi"))),
        8,
    ),
    Operator(
        "companion-halved",
        "kueue Part 2 #4",
        "half of the cpu or memory that the GPUs need",
        ("companions-strand",),
        many(cell("cpu", scale(0.5)), cell("memory", scale(0.5))),
        8,
    ),
    Operator(
        "companion-quartered",
        "kueue Part 2 #4",
        "a quarter of the cpu or memory that the GPUs need",
        ("companions-strand",),
        many(cell("cpu", scale(0.25)), cell("memory", scale(0.25))),
        8,
    ),
    Operator(
        "quota-in-bytes",
        "kueue Part 2 #6",
        "memory 64Gi written as 64",
        ("unit-slip",),
        cell("memory", lambda c: _quota(c, int(c["nominalQuota"][:-2]))),
    ),
    Operator(
        "quota-in-Mi",
        "kueue Part 2 #6",
        "Gi slips to Mi",
        ("unit-slip", "companions-strand"),
        cell("memory", lambda c: _quota(c, f"{c['nominalQuota'][:-2]}Mi")),
    ),
    Operator(
        "quota-in-G",
        "kueue Part 2 #6",
        "Gi slips to G: 7 % less",
        ("unit-slip", "companions-strand"),
        cell("memory", lambda c: _quota(c, f"{c['nominalQuota'][:-2]}G")),
    ),
    Operator(
        "quota-in-Ti",
        "kueue Part 2 #6",
        "Gi slips to Ti",
        ("unit-slip", "companions-beyond-hardware"),
        cell("memory", lambda c: _quota(c, f"{c['nominalQuota'][:-2]}Ti")),
    ),
    Operator(
        "cpu-in-millis",
        "kueue Part 2 #6",
        "cpu 736 written as 736m",
        ("unit-slip", "companions-strand"),
        cell("cpu", lambda c: _quota(c, f"{c['nominalQuota']}m")),
    ),
    Operator(
        "quota-placeholder",
        "kueue Part 2 #1, #6",
        "a number that stands for no number, in a pool that has one",
        ("placeholder", "guarantees-beyond-hardware"),
        cell(GPU, set_to(1_000_000)),
        3,
    ),
    Operator(
        "gpu-in-millis",
        "kueue Part 2 #6",
        "GPUs 8 written as 8m: rounded up to one",
        ("unit-slip",),
        cell(GPU, lambda c: _quota(c, f"{c['nominalQuota']}m")),
    ),
    Operator(
        "mixed-units",
        "kueue Part 2 #6",
        "a queue counts memory in another unit than its cohort",
        ("unit-slip", "companions-strand"),
        _other_unit,
    ),
    Operator(
        "limit-unit-slip",
        "kueue Part 2 #6",
        "a borrowing limit in Mi beside a quota in Gi",
        ("unit-slip", "companions-strand-limits"),
        swap("ClusterQueue", f"{CELL} borrowingLimit", unit(lambda old: f"{old[:-2]}Mi")),
    ),
)
