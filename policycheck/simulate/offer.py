"""How many jobs of each class there are: rates out of load, shares and numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policycheck.simulate.arrive import REPLAY
from policycheck.simulate.job import SERVICE
from policycheck.simulate.limit import Part
from policycheck.simulate.mix import Klass, Mix
from policycheck.simulate.trouble import ArrivalsError


class Offer(NamedTuple):
    """Jobs of a class in a ms over all queues (0: their number alone says it), and their number (0: open)."""

    rate: float = 0.0
    jobs: int = 0


def offers(
    mix: Mix, capacity: int, load: float, served: float, shared: Mapping[str, Sequence[Part]]
) -> dict[str, Offer]:
    """The offer of every batch class, by name.

    ``load`` (0: the mix's own) is of all work, of which services take ``served`` units in the mean;
    ``shared`` are the queues of each class. Raises ArrivalsError when a load is asked for and nobody knows the
    capacity, or when there is no work to scale.
    """
    batch = [k for k in mix.classes if k.nature != SERVICE]
    work = {k.name: _work(k, shared[k.name], mix.resource) for k in batch}
    fixed = {k.name: _fixed(k, len(shared[k.name])) for k in batch}
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
    settled = sum(fixed[k.name].rate * work[k.name] for k in batch if not k.share)
    movable = sum(k.share * work[k.name] for k in sharing)
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


def _work(klass: Klass, shared: Sequence[Part], resource: str) -> float:
    """What one job of a class asks for in the mean, over all its queues."""
    if klass.each:
        return sum(part.klass.work(resource) for part in shared) / len(shared)
    return sum(part.weight * part.klass.work(resource) for part in shared)


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
