"""How many jobs of each class there are: rates out of load, shares and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policycheck.simulate.arrive import REPLAY
from policycheck.simulate.fit import choice
from policycheck.simulate.job import SERVICE
from policycheck.simulate.mix import Klass, Mix, Shape
from policycheck.simulate.trouble import ArrivalsError


class Offer(NamedTuple):
    """Jobs of a class in a ms over all queues (0: their number alone says it), and their number (0: open)."""

    rate: float = 0.0
    jobs: int = 0


def fitting(mix: Mix, capacity: int, notes: list[str]) -> Mix:
    """The mix without shapes larger than its ``largest`` share of the capacity. Raises ArrivalsError when a
    class has no shape left.
    """
    if not mix.largest or not capacity:
        return mix
    bound = mix.largest * capacity
    classes = []
    for klass in mix.classes:
        kept = [n for n, shape in enumerate(klass.shapes) if klass.units(shape, mix.resource) <= bound]
        if len(kept) == len(klass.shapes):
            classes.append(klass)
            continue
        if not kept:
            least = min(klass.units(shape, mix.resource) for shape in klass.shapes)
            what = (
                f"{mix.file}:{klass.line}: class {klass.name}: its smallest job asks for {least:g} of "
                f"{mix.resource}, more than the {bound:g} that 'largest: {mix.largest:g}' of {capacity:,} "
                "allows; raise 'largest', or take the class out"
            )
            raise ArrivalsError([what])
        classes.append(_without(klass, kept))
        gone = len(klass.shapes) - len(kept)
        lost = 1 - sum(_odds(klass)[n] for n in kept)
        notes.append(
            f"class {klass.name}: {gone} of {len(klass.shapes)} sizes ask for more than {bound:g} of "
            f"{mix.resource} ({mix.largest:.0%} of {capacity:,}) and are not drawn; they were {lost:.2%} "
            "of its jobs"
        )
    return mix._replace(classes=tuple(classes))


def recut(mix: Mix, per_host: int, notes: list[str]) -> Mix:
    """The mix with pods of whole jobs no larger than the largest node; the number of their accelerators is
    rounded up to a whole number for each pod.
    """
    classes = []
    for klass in mix.classes:
        wide = klass.is_cut and per_host and any(shape.gpus > per_host for shape in klass.shapes)
        if not wide:
            classes.append(klass)
            continue
        shapes = tuple(_cut(shape, per_host) for shape in klass.shapes)
        classes.append(klass._replace(shapes=shapes))
        notes.append(
            f"class {klass.name}: its pods have at most {per_host} of {mix.resource}, as the largest node"
        )
    return mix._replace(classes=tuple(classes))


def _cut(shape: Shape, per_host: int) -> Shape:
    if shape.gpus <= per_host:
        return shape
    units = shape.pods * shape.gpus
    pods = -(-units // per_host)
    return Shape(pods, -(-units // pods))


def _odds(klass: Klass) -> list[float]:
    starts = (0.0, *klass.odds.ends)
    return [end - start for start, end in zip(starts, klass.odds.ends, strict=False)]


def _without(klass: Klass, kept: list[int]) -> Klass:
    odds = _odds(klass)
    shapes = tuple(klass.shapes[n] for n in kept)
    return klass._replace(shapes=shapes, odds=choice({n: odds[old] for n, old in enumerate(kept)}))


def offers(
    mix: Mix, capacity: int, load: float, served: float, queues: Mapping[str, int]
) -> dict[str, Offer]:
    """The offer of every batch class, by name.

    ``load`` (0: the mix's own) is of all work, of which services take ``served`` units in the mean;
    ``queues`` is the number of queues of each class, for rates that count for each. Raises ArrivalsError when
    a load is asked for and nobody knows the capacity, or when there is no work to scale.
    """
    batch = [k for k in mix.classes if k.nature != SERVICE]
    fixed = {k.name: _fixed(k, queues[k.name]) for k in batch}
    wanted = load or mix.load
    sharing = [k for k in batch if k.share]
    if not wanted:
        total = mix.rate
        jobs = {k.name: round(mix.jobs * k.share) for k in sharing} if mix.jobs else {}
        return {
            **fixed,
            **{k.name: Offer(total * k.share, jobs.get(k.name, 0)) for k in sharing},
        }
    if not capacity:
        raise ArrivalsError([_no_capacity(mix)])
    room = wanted * capacity - served
    settled = sum(fixed[k.name].rate * k.work(mix.resource) for k in batch if not k.share)
    movable = sum(k.share * k.work(mix.resource) for k in sharing)
    if movable > 0:
        each = (room - settled) / movable
        if each <= 0:
            raise ArrivalsError([_no_room(mix, wanted, capacity, served + settled)])
        return {**fixed, **{k.name: Offer(each * k.share) for k in sharing}}
    if settled <= 0:
        raise ArrivalsError(
            [f"{mix.file}: a load is asked for, and no class with a rate or a share asks for {mix.resource}"]
        )
    if room <= 0:
        raise ArrivalsError([_no_room(mix, wanted, capacity, served)])
    factor = room / settled
    return {name: offer._replace(rate=offer.rate * factor) for name, offer in fixed.items()}


def _fixed(klass: Klass, queues: int) -> Offer:
    if klass.process.kind == REPLAY:
        return Offer(0.0, klass.jobs * (queues if klass.each else 1))
    times = queues if klass.each else 1
    return Offer(klass.rate * times, klass.jobs * times)


def _no_capacity(mix: Mix) -> str:
    return (
        f"{mix.file}: 'load' is a share of the capacity in {mix.resource}, and nobody knows that: give an "
        "inventory or queues with quota for it, or rates (rate: 30/h) instead of a load"
    )


def _no_room(mix: Mix, load: float, capacity: int, taken: float) -> str:
    return (
        f"{mix.file}: a load of {load:g} of {capacity:,} {mix.resource} is {load * capacity:,.0f}, and what has "
        f"its own size takes {taken:,.0f} already; raise the load or make that smaller"
    )
