"""Every operator, and the mutants that they make of the base."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mutate import (
    asks,
    checks,
    configuration,
    devices,
    fields,
    flavors,
    hardware,
    matching,
    preemption,
    quota,
    requests,
    schema,
    sharing,
    topology,
    versions,
    workloads,
)
from mutate.base import Edit, World
from mutate.edits import Operator

MODULES = (
    quota,
    requests,
    sharing,
    preemption,
    matching,
    workloads,
    flavors,
    topology,
    checks,
    configuration,
    hardware,
    devices,
    asks,
    schema,
    fields,
    versions,
)
OPERATORS: tuple[Operator, ...] = tuple(operator for module in MODULES for operator in module.OPERATORS)


class Mutant(NamedTuple):
    """One fault in one place. The name is stable: operator and place."""

    name: str
    operator: Operator
    edit: Edit


def spread(edits: list[Edit], most: int) -> list[Edit]:
    """At most so many of them, the first one and then evenly over the rest."""
    if len(edits) <= most:
        return edits
    return [edits[n * len(edits) // most] for n in range(most)]


def mutants(world: World, *, everywhere: bool = False) -> Iterator[Mutant]:
    """The mutants in the order of the catalogue; ``everywhere`` tries every place there is."""
    for operator in OPERATORS:
        edits = numbered(list(operator.make(world)))
        for edit in edits if everywhere else spread(edits, operator.most):
            yield Mutant(f"{operator.id} @ {edit.place}", operator, edit)


def numbered(edits: list[Edit]) -> list[Edit]:
    """Several edits of one place are told apart by a number."""
    seen: dict[str, int] = {}
    made = []
    for edit in edits:
        count = seen[edit.place] = seen.get(edit.place, 0) + 1
        made.append(edit if count == 1 else edit._replace(place=f"{edit.place} ({count})"))
    return made


def sample(names: Sequence[str], size: int, seed: int) -> list[str]:
    """So many of the names, in their order; the same for the same seed."""
    picked = set(random.Random(seed).sample(names, min(size, len(names))))
    return [name for name in names if name in picked]
