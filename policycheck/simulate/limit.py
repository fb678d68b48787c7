"""Classes as queues and nodes can hold them: what could never run is not drawn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from policycheck.simulate.destination import Destination
from policycheck.simulate.fit import choice
from policycheck.simulate.mix import Door, Klass, Mix, Shape
from policycheck.simulate.trouble import ArrivalsError
from policycheck.wording import some

_SHOWN = 5  # queues in a sentence


class Part(NamedTuple):
    """The part of a class's jobs that one queue gets, and the class as that queue can hold it."""

    door: Door
    weight: float
    klass: Klass


def parts(
    klass: Klass, to: Sequence[Destination], mix: Mix, capacity: int, notes: list[str]
) -> tuple[Part, ...]:
    """Pods of whole jobs are cut to the largest node. With ``largest`` sizes above that share of the capacity,
    above what a queue could ever use, or with pods above any node are left out. Raises ArrivalsError when
    nothing is left.
    """
    found: list[Part] = []
    without: list[str] = []
    for one in to:
        held = _held(klass, one.door, mix, capacity)
        if held is None:
            without.append(f"{one.door.namespace}/{one.door.queue}")
        else:
            found.append(Part(one.door, one.weight, held))
    if not found:
        raise ArrivalsError([_nothing(klass, mix, capacity)])
    notes.extend(_told(klass, found, without, mix, capacity))
    total = sum(part.weight for part in found)
    return tuple(part._replace(weight=part.weight / total) for part in found)


def _held(klass: Klass, door: Door, mix: Mix, capacity: int) -> Klass | None:
    """The class as ``door`` can hold it; None when it can hold no size of it."""
    if klass.is_cut and door.per_host:
        klass = klass._replace(shapes=tuple(_cut(shape, door.per_host) for shape in klass.shapes))
    if not mix.largest:
        return klass
    bound = min(_bound(mix, capacity), door.most or math.inf)
    kept = [
        n
        for n, shape in enumerate(klass.shapes)
        if klass.units(shape, mix.resource) <= bound and not (door.per_host and shape.gpus > door.per_host)
    ]
    if len(kept) == len(klass.shapes):
        return klass
    odds = _odds(klass)
    if not sum(odds[n] for n in kept):
        return None
    shapes = tuple(klass.shapes[n] for n in kept)
    return klass._replace(shapes=shapes, odds=choice({n: odds[old] for n, old in enumerate(kept)}))


def _bound(mix: Mix, capacity: int) -> float:
    return mix.largest * capacity if capacity else math.inf


def _cut(shape: Shape, per_host: int) -> Shape:
    """The same job in smaller pods; accelerators are rounded up to a whole number for each."""
    if shape.gpus <= per_host:
        return shape
    units = shape.pods * shape.gpus
    pods = -(-units // per_host)
    return Shape(pods, -(-units // pods))


def _odds(klass: Klass) -> list[float]:
    starts = (0.0, *klass.odds.ends)
    return [end - start for start, end in zip(starts, klass.odds.ends, strict=False)]


def _nothing(klass: Klass, mix: Mix, capacity: int) -> str:
    where = f"{mix.file}:{klass.line}: class {klass.name}"
    least, bound = min(klass.units(shape, mix.resource) for shape in klass.shapes), _bound(mix, capacity)
    if least > bound:
        return (
            f"{where}: its smallest job asks for {least:g} of {mix.resource}, more than the {bound:g} that "
            f"'largest: {mix.largest:g}' of {capacity:,} allows; raise 'largest', or take the class out"
        )
    return (
        f"{where}: no queue of it could ever hold its smallest job with {least:g} of {mix.resource}; send it to "
        "others, or take the class out"
    )


def _told(
    klass: Klass, found: Sequence[Part], without: Sequence[str], mix: Mix, capacity: int
) -> Iterator[str]:
    bound = _bound(mix, capacity) if mix.largest else math.inf
    gone = [n for n, shape in enumerate(klass.shapes) if klass.units(shape, mix.resource) > bound]
    if gone:
        lost = sum(_odds(klass)[n] for n in gone)
        yield (
            f"class {klass.name}: {len(gone)} of {len(klass.shapes)} sizes ask for more than {bound:g} of "
            f"{mix.resource} ({mix.largest:.0%} of {capacity:,}) and are not drawn; they were {lost:.2%} of its jobs"
        )
    left = len(klass.shapes) - len(gone)
    fewer = [part.door for part in found if len(part.klass.shapes) < left]
    if fewer:
        names = [f"{door.namespace}/{door.queue}" for door in fewer]
        yield f"class {klass.name}: sizes that they could never hold are not drawn for {_listed(names)}"
    if without:
        yield f"class {klass.name}: nothing of it goes to {_listed(without)}, which could hold no size of it"
    whole = {part.door.per_host for part in found if part.klass.is_cut and _is_cut(part, klass)}
    if whole:
        numbers = " or ".join(str(n) for n in sorted(whole))
        yield f"class {klass.name}: pods have at most {numbers} of {mix.resource}, as the largest node of their queue"


def _is_cut(part: Part, klass: Klass) -> bool:
    return any(shape.gpus > part.door.per_host > 0 for shape in klass.shapes)


def _listed(names: Sequence[str]) -> str:
    return some(names, _SHOWN)
