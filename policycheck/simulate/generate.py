"""A mix made into jobs, services and failing nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import itemgetter

from policycheck.simulate.arrive import arrivals
from policycheck.simulate.draw import stream
from policycheck.simulate.failure import changes
from policycheck.simulate.job import SERVICE, Arrivals, Job
from policycheck.simulate.layout import MOST_JOBS, Plan, plan, too_many
from policycheck.simulate.limit import Part
from policycheck.simulate.mix import Mix, Priority, Site
from policycheck.simulate.period import show
from policycheck.simulate.pods import Shelf
from policycheck.simulate.service import mean_replicas, replicas
from policycheck.simulate.trouble import ArrivalsError

_ORDER = itemgetter(2, 0)  # submit, id


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
    plans = plan(mix, site, end, load, notes)
    shelf = Shelf(mix.resource)
    jobs: list[Job] = []
    for one in plans:
        is_service = one.klass.nature == SERVICE
        made = (
            _services(one, mix, site, shelf, end) if is_service else _batch(one, mix, site, shelf, seed, end)
        )
        jobs.extend(islice(made, MOST_JOBS + 1 - len(jobs)))
        if len(jobs) > MOST_JOBS:
            raise ArrivalsError([too_many(mix, "more than that")])
    jobs.sort(key=_ORDER)
    if load or mix.load:
        notes.append(_drawn(jobs, mix, site, end))
    notes.extend(_remarks(mix, shelf))
    nodes = changes(mix.failures, site.hosts, seed, end, notes)
    return Arrivals(tuple(jobs), nodes, end, f"mix {mix.name}", mix.digest, tuple(notes))


def _batch(plan: Plan, mix: Mix, site: Site, shelf: Shelf, seed: int, end: int) -> Iterator[Job]:
    klass, offer = plan.klass, plan.offer
    numbers = _split(offer.jobs, plan.parts, each=klass.each)
    for part, number in zip(plan.parts, numbers, strict=True):
        rate = offer.rate / len(plan.parts) if klass.each else offer.rate * part.weight
        name = f"{part.door.namespace}/{part.door.queue}"
        draw = stream(seed, name, klass.name, "arrival")
        if offer.jobs and not number:
            continue
        gap = 1 / rate if rate else 0.0
        times = arrivals(klass.process, gap, number, end, draw, klass.curve)
        yield from _jobs(times, part, mix, site, shelf, seed)


def _split(jobs: int, to: Sequence[Part], *, each: bool) -> list[int]:
    """``jobs`` shared out by weight to whole numbers: the largest remainders are rounded up."""
    parts = [jobs / len(to) if each else jobs * part.weight for part in to]
    whole = [int(part + 1e-9) for part in parts]
    order = sorted(range(len(parts)), key=lambda n: (whole[n] - parts[n], n))
    for n in order[: jobs - sum(whole)]:
        whole[n] += 1
    return whole


def _jobs(times: Sequence[int], part: Part, mix: Mix, site: Site, shelf: Shelf, seed: int) -> Iterator[Job]:
    """Jobs of one class in one queue. What is the same for all of them is worked out once."""
    klass, door = part.klass, part.door
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


def _services(plan: Plan, mix: Mix, site: Site, shelf: Shelf, end: int) -> Iterator[Job]:
    klass = plan.klass
    mean = mean_replicas(klass, mix.resource, site.capacity)
    for part in plan.parts:
        door = part.door
        shown = f"{door.queue}." if door.queue != door.namespace else ""
        stem = f"{door.namespace}/{shown}{klass.name}."
        shape = part.klass.shapes[0]
        sets = shelf.of(klass.name, klass.pods, shape, door.levels)
        rank, rank_name = _priority(klass.priorities[0], site)
        weight = 1.0 if klass.each else part.weight
        for replica, turn, begin, length in replicas(klass, mean * weight, weight, end):
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
                shape.milli,
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
