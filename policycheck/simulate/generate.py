"""A mix made into jobs, services and failing nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from policycheck.simulate.arrive import REPLAY, START, arrivals
from policycheck.simulate.destination import Destination, NoQueueError, destinations
from policycheck.simulate.draw import stream
from policycheck.simulate.failure import changes
from policycheck.simulate.job import SERVICE, Arrivals, Job
from policycheck.simulate.mix import Klass, Mix, Priority, Site
from policycheck.simulate.offer import Offer, fitting, offers, recut
from policycheck.simulate.period import show
from policycheck.simulate.pods import Shelf
from policycheck.simulate.service import mean_replicas, replicas
from policycheck.simulate.trouble import ArrivalsError

MOST_JOBS = 2_000_000
MOST_REPLICAS = 100_000
_ORDER = itemgetter(2, 0)  # submit, id


class _Plan(NamedTuple):
    """What one class becomes on the site."""

    klass: Klass
    targets: tuple[Destination, ...]
    offer: Offer = Offer()


def generate(mix: Mix, site: Site, seed: int, *, horizon: int = 0, load: float = 0.0) -> Arrivals:
    """Everything that arrives by ``mix`` on ``site``; the same for the same input.

    ``horizon`` (ms) and ``load`` go before the mix's own. Raises ArrivalsError with what does not fit: a queue
    that is not in sight, a load without capacity, classes without end, more than MOST_JOBS jobs.
    """
    notes = list(mix.notes)
    end = horizon or mix.horizon
    mix = mix._replace(classes=tuple(k for k in mix.classes if k.arrives))
    if not mix.resource and any(shape.gpus for k in mix.classes for shape in k.shapes):
        raise ArrivalsError(
            [f"{mix.file}: what are accelerators called here? Write it, as in resource: nvidia.com/gpu"]
        )
    mix = recut(fitting(mix, site.capacity, notes), site.per_host, notes)
    plans = _plans(mix, site, end, load)
    shelf = Shelf(mix.resource)
    jobs: list[Job] = []
    for plan in plans:
        is_service = plan.klass.nature == SERVICE
        made = (
            _services(plan, mix, site, shelf, end)
            if is_service
            else _batch(plan, mix, site, shelf, seed, end)
        )
        jobs.extend(islice(made, MOST_JOBS + 1 - len(jobs)))
        if len(jobs) > MOST_JOBS:
            raise ArrivalsError([_too_many(mix, "more than that")])
    jobs.sort(key=_ORDER)
    if load or mix.load:
        notes.append(_drawn(jobs, mix, site, end))
    notes.extend(_remarks(mix, shelf))
    nodes = changes(mix.failures, site.hosts, seed, end, notes)
    return Arrivals(tuple(jobs), nodes, end, f"mix {mix.name}", mix.digest, tuple(notes))


def _plans(mix: Mix, site: Site, end: int, load: float) -> list[_Plan]:
    problems: list[str] = []
    found: dict[str, tuple[Destination, ...]] = {}
    for klass in mix.classes:
        problems.extend(_unknown(klass, mix, site))
        try:
            found[klass.name] = destinations(
                klass.queues or mix.queues, klass.namespace, site.doors, mix.spread
            )
        except NoQueueError as error:
            problems.append(f"{mix.file}:{klass.line}: class {klass.name}: {error}")
    if problems:
        raise ArrivalsError(problems)
    served = sum(
        mean_replicas(k, mix.resource, site.capacity) * k.units(k.shapes[0], mix.resource)
        for k in mix.classes
        if k.nature == SERVICE
    )
    made = offers(mix, site.capacity, load, served, {name: len(ts) for name, ts in found.items()})
    plans = [_Plan(k, found[k.name], made.get(k.name, Offer())) for k in mix.classes]
    problems = [p for plan in plans for p in _endless(plan, mix, site, end)]
    expected = sum(_expected(plan, end) for plan in plans)
    if not problems and expected > MOST_JOBS:
        problems.append(_too_many(mix, f"about {expected:,.0f}"))
    if problems:
        raise ArrivalsError(problems)
    return plans


def _too_many(mix: Mix, number: str) -> str:
    return (
        f"{mix.file}: up to {MOST_JOBS:,} jobs can be simulated, and {number} would arrive; choose a shorter horizon "
        "or lower rates"
    )


def _unknown(klass: Klass, mix: Mix, site: Site) -> Iterator[str]:
    """Priority classes that have no value here."""
    for one in klass.priorities:
        if one.value is None and one.name and one.name not in site.priorities:
            known = ", ".join(sorted(site.priorities)) or "none"
            yield (
                f"{mix.file}:{klass.line}: class {klass.name}: no priority class {one.name!r} is in sight (there "
                f"are: {known}); write its value too, as in priority: {{class: {one.name}, value: 100}}"
            )


def _endless(plan: _Plan, mix: Mix, site: Site, end: int) -> Iterator[str]:
    klass = plan.klass
    where = f"{mix.file}:{klass.line}: class {klass.name}"
    if klass.nature == SERVICE:
        if klass.replicas is not None and klass.replicas.share and not site.capacity:
            yield (
                f"{where}: its replicas are a share of the capacity in {mix.resource}, and nobody knows that; "
                "give an inventory, or numbers of replicas"
            )
        if not end and klass.curve.hours:
            yield f"{where}: a load curve has no end; write 'horizon: 7d' or give one"
        mean = mean_replicas(klass, mix.resource, site.capacity)
        if mean > MOST_REPLICAS:
            yield f"{where}: {mean:,.0f} replicas would run; up to {MOST_REPLICAS:,} can be simulated"
        steps = end // klass.replicas.period if klass.replicas is not None else 0
        if steps > MOST_JOBS:
            yield f"{where}: its load would be looked at {steps:,} times; choose a longer 'period'"
    elif klass.process.kind not in (START, REPLAY) and not end and not plan.offer.jobs:
        yield f"{where}: it arrives without end; write 'horizon: 7d', or how many 'jobs' there are"


def _expected(plan: _Plan, end: int) -> float:
    by_rate = plan.offer.rate * end
    return min(by_rate, plan.offer.jobs) if plan.offer.jobs and by_rate else max(by_rate, plan.offer.jobs)


def _batch(plan: _Plan, mix: Mix, site: Site, shelf: Shelf, seed: int, end: int) -> Iterator[Job]:
    klass, offer = plan.klass, plan.offer
    numbers = _split(offer.jobs, plan.targets, each=klass.each)
    for target, number in zip(plan.targets, numbers, strict=True):
        rate = offer.rate / len(plan.targets) if klass.each else offer.rate * target.weight
        name = f"{target.door.namespace}/{target.door.queue}"
        draw = stream(seed, name, klass.name, "arrival")
        if offer.jobs and not number:
            continue
        gap = 1 / rate if rate else 0.0
        times = arrivals(klass.process, gap, number, end, draw, klass.curve)
        yield from _jobs(klass, times, target, mix, site, shelf, seed)


def _split(jobs: int, to: Sequence[Destination], *, each: bool) -> list[int]:
    """``jobs`` shared out by weight to whole numbers: the largest remainders are rounded up."""
    parts = [jobs / len(to) if each else jobs * target.weight for target in to]
    whole = [int(part + 1e-9) for part in parts]
    order = sorted(range(len(parts)), key=lambda n: (whole[n] - parts[n], n))
    for n in order[: jobs - sum(whole)]:
        whole[n] += 1
    return whole


def _jobs(
    klass: Klass, times: Sequence[int], target: Destination, mix: Mix, site: Site, shelf: Shelf, seed: int
) -> Iterator[Job]:
    """Jobs of one class in one queue. What is the same for all of them is worked out once."""
    door = target.door
    who = f"{door.namespace}/{door.queue}"
    lengths, shapes, starts, ranks = (
        stream(seed, who, klass.name, purpose) for purpose in ("duration", "shape", "startup", "priority")
    )
    shown = door.queue if door.queue != door.namespace else ""
    stem = f"{door.namespace}/{shown}{'.' if shown else ''}{klass.name}."
    sets = [shelf.of(klass.name, klass.pods, shape, door.levels) for shape in klass.shapes]
    millis = [shape.milli for shape in klass.shapes]
    priorities = [_priority(p, site) for p in klass.priorities]
    origin = f"{mix.file}:{klass.line}"
    one_shape, one_priority = len(sets) == 1, len(priorities) == 1
    for number, time in enumerate(times):
        at = 0 if one_shape else int(klass.odds.take(shapes))
        rank, rank_name = priorities[0 if one_priority else int(klass.priority_odds.take(ranks))]
        yield Job(
            f"{stem}{number:06d}",
            door.queue,
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


def _priority(priority: Priority, site: Site) -> tuple[int, str]:
    value = site.priorities.get(priority.name, 0) if priority.value is None else priority.value
    return value, priority.name


def _services(plan: _Plan, mix: Mix, site: Site, shelf: Shelf, end: int) -> Iterator[Job]:
    klass = plan.klass
    mean = mean_replicas(klass, mix.resource, site.capacity)
    for target in plan.targets:
        door = target.door
        shown = f"{door.queue}." if door.queue != door.namespace else ""
        stem = f"{door.namespace}/{shown}{klass.name}."
        sets = shelf.of(klass.name, klass.pods, klass.shapes[0], door.levels)
        rank, rank_name = _priority(klass.priorities[0], site)
        part = 1.0 if klass.each else target.weight
        for replica, turn, begin, length in replicas(klass, mean * part, part, end):
            yield Job(
                f"{stem}{replica:04d}.{turn}",
                door.queue,
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


def _drawn(jobs: Sequence[Job], mix: Mix, site: Site, end: int) -> str:
    """What was really drawn: with rare long jobs that is far from the mean now and then."""
    asked = 0.0
    for job in jobs:
        units = sum(s.pods * s.requests.get(mix.resource, 0) for s in job.pod_sets) * job.milli / 1000
        asked += units * (job.duration if job.duration > 0 else end - job.submit)
    whole = site.capacity * end
    return (
        f"what arrives asks for {asked / 3_600_000:,.0f} hours of {mix.resource}, {asked / whole:.0%} of the capacity over "
        f"{show(end)}; run times go beyond it"
    )


def _remarks(mix: Mix, shelf: Shelf) -> Iterator[str]:
    for klass in mix.classes:
        if klass.name in shelf.lost:
            yield (
                f"class {klass.name}: asks for a topology level that its queues have not; that is left out of "
                "its jobs"
            )
