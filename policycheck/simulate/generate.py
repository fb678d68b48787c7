"""A mix made into jobs, services and failing nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

from policycheck.simulate.arrive import REPLAY, START, arrivals
from policycheck.simulate.destination import Destination, NoQueueError, destinations
from policycheck.simulate.draw import stream
from policycheck.simulate.failure import changes
from policycheck.simulate.fit import LogNormal
from policycheck.simulate.job import SERVICE, Arrivals, Job
from policycheck.simulate.mix import Ground, Klass, Mix, MixError, Priority
from policycheck.simulate.offer import Offer, fitting, offers
from policycheck.simulate.period import show
from policycheck.simulate.pods import Shelf
from policycheck.simulate.service import mean_replicas, replicas

MOST_JOBS = 2_000_000
_ORDER = itemgetter(2, 0)  # submit, id


class _Plan(NamedTuple):
    """What one class becomes on the ground."""

    klass: Klass
    targets: tuple[Destination, ...]
    offer: Offer = Offer()


def generate(mix: Mix, ground: Ground, seed: int, *, horizon: int = 0, load: float = 0.0) -> Arrivals:
    """Everything that arrives by ``mix`` on ``ground``; the same for the same input.

    ``horizon`` (ms) and ``load`` go before the mix's own. Raises MixError with what does not fit: a queue
    that is not in sight, a load without capacity, classes without end, more than MOST_JOBS jobs.
    """
    notes = list(mix.notes)
    end = horizon or mix.horizon
    mix = fitting(mix, ground.capacity, notes)
    plans = _plans(mix, ground, end, load)
    shelf = Shelf(mix.resource)
    jobs: list[Job] = []
    for plan in plans:
        made = _services(plan, mix, ground, shelf, end) if plan.klass.nature == SERVICE else None
        jobs.extend(_batch(plan, mix, ground, shelf, seed, end) if made is None else made)
    jobs.sort(key=_ORDER)
    notes.extend(_remarks(mix, shelf))
    nodes = changes(mix.failures, ground.machines, seed, end, notes)
    return Arrivals(tuple(jobs), nodes, end, f"mix {mix.name}", mix.digest, tuple(notes))


def _plans(mix: Mix, ground: Ground, end: int, load: float) -> list[_Plan]:
    problems: list[str] = []
    found: dict[str, tuple[Destination, ...]] = {}
    for klass in mix.classes:
        try:
            found[klass.name] = destinations(
                klass.queues or mix.queues, klass.namespace, ground.entries, mix.spread
            )
        except NoQueueError as error:
            problems.append(f"{mix.file}:{klass.line}: class {klass.name}: {error}")
    if problems:
        raise MixError(problems)
    served = sum(
        mean_replicas(k, mix.resource, ground.capacity) * k.units(k.shapes[0], mix.resource)
        for k in mix.classes
        if k.nature == SERVICE
    )
    made = offers(mix, ground.capacity, load, served, {name: len(ts) for name, ts in found.items()})
    plans = [_Plan(k, found[k.name], made.get(k.name, Offer())) for k in mix.classes]
    problems = [p for plan in plans for p in _endless(plan, mix, ground, end)]
    expected = sum(_expected(plan, end) for plan in plans)
    if not problems and expected > MOST_JOBS:
        problems.append(
            f"{mix.file}: about {expected:,.0f} jobs would arrive; up to {MOST_JOBS:,} can be simulated: choose "
            "a shorter horizon or lower rates"
        )
    if problems:
        raise MixError(problems)
    return plans


def _endless(plan: _Plan, mix: Mix, ground: Ground, end: int) -> Iterator[str]:
    klass = plan.klass
    where = f"{mix.file}:{klass.line}: class {klass.name}"
    if klass.nature == SERVICE:
        if klass.replicas is not None and klass.replicas.share and not ground.capacity:
            yield (
                f"{where}: its replicas are a share of the capacity in {mix.resource}, and nobody knows that; "
                "give an inventory, or numbers of replicas"
            )
        if not end and klass.curve.hours:
            yield f"{where}: a load curve has no end; write 'horizon: 7d' or give one"
    elif klass.process.kind not in (START, REPLAY) and not end and not plan.offer.jobs:
        yield f"{where}: it arrives without end; write 'horizon: 7d', or how many 'jobs' there are"


def _expected(plan: _Plan, end: int) -> float:
    by_rate = plan.offer.rate * end
    return min(by_rate, plan.offer.jobs) if plan.offer.jobs and by_rate else max(by_rate, plan.offer.jobs)


def _batch(plan: _Plan, mix: Mix, ground: Ground, shelf: Shelf, seed: int, end: int) -> Iterator[Job]:
    klass, offer = plan.klass, plan.offer
    numbers = _split(offer.jobs, plan.targets, each=klass.each)
    for target, number in zip(plan.targets, numbers, strict=True):
        rate = offer.rate / len(plan.targets) if klass.each else offer.rate * target.weight
        name = f"{target.entry.namespace}/{target.entry.queue}"
        draw = stream(seed, name, klass.name, "arrival")
        if offer.jobs and not number:
            continue
        gap = 1 / rate if rate else 0.0
        times = arrivals(klass.process, gap, number, end, draw, klass.curve)
        yield from _jobs(klass, times, target, mix, ground, shelf, seed)


def _split(jobs: int, to: Sequence[Destination], *, each: bool) -> list[int]:
    """``jobs`` shared out by weight to whole numbers: the largest remainders are rounded up."""
    parts = [jobs / len(to) if each else jobs * target.weight for target in to]
    whole = [int(part + 1e-9) for part in parts]
    order = sorted(range(len(parts)), key=lambda n: (whole[n] - parts[n], n))
    for n in order[: jobs - sum(whole)]:
        whole[n] += 1
    return whole


def _jobs(
    klass: Klass, times: Sequence[int], target: Destination, mix: Mix, ground: Ground, shelf: Shelf, seed: int
) -> Iterator[Job]:
    """Jobs of one class in one queue. What is the same for all of them is worked out once."""
    entry = target.entry
    who = f"{entry.namespace}/{entry.queue}"
    lengths, shapes, starts, ranks = (
        stream(seed, who, klass.name, purpose) for purpose in ("duration", "shape", "startup", "priority")
    )
    shown = entry.queue if entry.queue != entry.namespace else ""
    stem = f"{entry.namespace}/{shown}{'.' if shown else ''}{klass.name}."
    sets = [shelf.of(klass.name, klass.pods, shape, entry.levels) for shape in klass.shapes]
    millis = [shape.milli for shape in klass.shapes]
    priorities = [_priority(p, ground) for p in klass.priorities]
    origin = f"{mix.file}:{klass.line}"
    one_shape, one_priority = len(sets) == 1, len(priorities) == 1
    for number, time in enumerate(times):
        at = 0 if one_shape else int(klass.odds.take(shapes))
        rank, rank_name = priorities[0 if one_priority else int(klass.priority_odds.take(ranks))]
        yield Job(
            f"{stem}{number:06d}",
            entry.queue,
            time,
            max(int(klass.duration.take(lengths) + 0.5), 1),
            sets[at],
            rank,
            rank_name,
            klass.name,
            klass.nature,
            klass.checkpoint,
            int(klass.startup.take(starts)),
            klass.limit,
            klass.models,
            millis[at],
            origin,
            klass.labels,
            klass.annotations,
        )


def _priority(priority: Priority, ground: Ground) -> tuple[int, str]:
    value = ground.priorities.get(priority.name, 0) if priority.value is None else priority.value
    return value, priority.name


def _services(plan: _Plan, mix: Mix, ground: Ground, shelf: Shelf, end: int) -> Iterator[Job]:
    klass = plan.klass
    mean = mean_replicas(klass, mix.resource, ground.capacity)
    for target in plan.targets:
        entry = target.entry
        shown = f"{entry.queue}." if entry.queue != entry.namespace else ""
        stem = f"{entry.namespace}/{shown}{klass.name}."
        sets = shelf.of(klass.name, klass.pods, klass.shapes[0], entry.levels)
        rank, rank_name = _priority(klass.priorities[0], ground)
        part = 1.0 if klass.each else target.weight
        for replica, turn, begin, length in replicas(klass, mean * part, part, end):
            yield Job(
                f"{stem}{replica:04d}.{turn}",
                entry.queue,
                begin,
                length,
                sets,
                rank,
                rank_name,
                klass.name,
                SERVICE,
                klass.checkpoint,
                int(klass.startup.mean()),
                klass.limit,
                klass.models,
                klass.shapes[0].milli,
                f"{mix.file}:{klass.line}",
                klass.labels,
                klass.annotations,
            )


def _remarks(mix: Mix, shelf: Shelf) -> Iterator[str]:
    for klass in mix.classes:
        spread = klass.duration
        if isinstance(spread, LogNormal):
            free, bound = spread._replace(least=0.0, most=float("inf")).mean(), spread.mean()
            if abs(free - bound) > 0.01 * free:
                yield (
                    f"class {klass.name}: run times are held within {show(int(spread.least))} and "
                    f"{show(int(spread.most))}, which makes their mean {show(int(bound))} instead of {show(int(free))}"
                )
        if klass.name in shelf.lost:
            yield (
                f"class {klass.name}: asks for a topology level that its queues have not; that is left out of "
                "its jobs"
            )
