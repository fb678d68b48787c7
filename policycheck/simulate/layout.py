"""What the classes of a mix become on the site: which queues, how many jobs, and whether that has an end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from policycheck.simulate.arrive import REPLAY, START
from policycheck.simulate.destination import NoQueueError, destinations
from policycheck.simulate.job import SERVICE
from policycheck.simulate.limit import Part, parts
from policycheck.simulate.mix import Klass, Mix, Site
from policycheck.simulate.offer import Offer, offers
from policycheck.simulate.service import mean_replicas
from policycheck.simulate.trouble import ArrivalsError

MOST_JOBS = 2_000_000
_MORE_THAN_SAID = 10**12  # a number of jobs that tells nobody anything
MOST_REPLICAS = 100_000


class Plan(NamedTuple):
    """What one class becomes: the part of every queue, and how many jobs there are."""

    klass: Klass
    parts: tuple[Part, ...]
    offer: Offer = Offer()


def plan(mix: Mix, site: Site, end: int, load: float, notes: list[str]) -> list[Plan]:
    """What each class becomes on the site until ``end`` (ms; 0: no end). Raises ArrivalsError with everything
    that does not fit.
    """
    problems: list[str] = []
    shared: dict[str, tuple[Part, ...]] = {}
    for klass in mix.classes:
        problems.extend(_unknown(klass, mix, site))
        try:
            to = destinations(klass.queues or mix.queues, klass.namespace, site.doors, mix.spread)
            shared[klass.name] = parts(klass, to, mix, site.capacity, notes)
        except ArrivalsError as error:
            problems.extend(error.problems)
        except NoQueueError as error:
            problems.append(f"{mix.file}:{klass.line}: class {klass.name}: {error}")
    if problems:
        raise ArrivalsError(problems)
    served = sum(
        mean_replicas(k, mix.resource, site.capacity) * k.units(k.shapes[0], mix.resource)
        for k in mix.classes
        if k.nature == SERVICE
    )
    made = offers(mix, site.capacity, load, served, shared)
    plans = [Plan(k, shared[k.name], made.get(k.name, Offer())) for k in mix.classes]
    problems = [p for one in plans for p in _endless(one, mix, site, end)]
    expected = sum(_expected(one, end) for one in plans)
    if not problems and expected > MOST_JOBS:
        told = f"about {expected:,.0f}" if expected < _MORE_THAN_SAID else "far more"
        problems.append(too_many(mix, told))
    if problems:
        raise ArrivalsError(problems)
    return plans


def too_many(mix: Mix, number: str) -> str:
    """What is said of a mix that makes more jobs than can be simulated."""
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


def _endless(plan: Plan, mix: Mix, site: Site, end: int) -> Iterator[str]:
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


def _expected(plan: Plan, end: int) -> float:
    by_rate = plan.offer.rate * end
    return min(by_rate, plan.offer.jobs) if plan.offer.jobs and by_rate else max(by_rate, plan.offer.jobs)
