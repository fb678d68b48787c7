"""Recorded jobs sent to the queues in sight, at their own times or in order of arrival."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from policycheck.simulate.draw import Draw, stream
from policycheck.simulate.fit import Choice, choice
from policycheck.simulate.job import Arrivals, Job
from policycheck.simulate.mix import Door, Pods, Shape, Site
from policycheck.simulate.pods import Sets, Shelf
from policycheck.simulate.trace import (
    BY_ARRIVAL,
    BY_NAME,
    SPREAD,
    SPREAD_JOBS,
    Replaying,
    Row,
    Size,
    Trace,
)
from policycheck.simulate.trouble import ArrivalsError
from policycheck.wording import some

_SHOWN = 8  # names in a sentence
MOST_JOBS = 2_000_000
_STANDARD = Replaying()
Way = tuple[tuple[Door, ...], Choice]  # where the jobs of one recorded queue go, with odds


def replay(
    trace: Trace,
    site: Site,
    resource: str,
    seed: int,
    how: Replaying = _STANDARD,
    *,
    horizon: int = 0,
) -> Arrivals:
    """The rows of ``trace`` as jobs. ``resource`` is what its accelerators are called here.

    Raises ArrivalsError for priorities that have no value here, for queues that are not in sight, and for an
    order by arrival where nobody knows the capacity.
    """
    notes = list(trace.notes)
    rows = trace.rows
    routes = _Routes(_ways(trace, site.doors, how.queues, notes), _ranks(trace, site, how.priorities))
    if how.order == BY_ARRIVAL:
        rows = _in_arrival_order(trace, site.capacity, seed, how, notes)
    elif how.compress != 1:
        rows = tuple(row._replace(submit=round(row.submit / how.compress)) for row in rows)
        notes.append(f"{trace.file}: arrivals are {how.compress:g} times as dense as recorded")
    jobs = sorted(
        _jobs(trace.file, rows, routes, Shelf(resource), how, seed), key=lambda job: (job.submit, job.id)
    )
    return Arrivals(tuple(jobs), (), horizon, f"trace {trace.file}", trace.digest, tuple(notes))


# -- order ----------------------------------------------------------------------------------------


def _in_arrival_order(
    trace: Trace, capacity: int, seed: int, how: Replaying, notes: list[str]
) -> tuple[Row, ...]:
    """Rows shuffled, then drawn with replacement, until enough was asked for; one every ``step``."""
    if not capacity:
        what = (
            "the order of arrival goes on until a share of the capacity was asked for, and nobody knows that"
        )
        raise ArrivalsError([f"{trace.file}: {what}; give an inventory, or quotas for its resource"])
    wanted, asked = how.until * capacity, 0.0
    mean = sum(row.size.units for row in trace.rows) / len(trace.rows)
    if not mean:
        raise ArrivalsError([f"{trace.file}: no job asks for an accelerator: they never fill the capacity"])
    if wanted / mean > MOST_JOBS:
        what = f"about {wanted / mean:,.0f} jobs are needed to ask for {how.until:.0%} of {capacity:,}"
        raise ArrivalsError(
            [f"{trace.file}: {what}; up to {MOST_JOBS:,} can be simulated: choose a smaller 'until'"]
        )
    draw = stream(seed, "trace", "arrival order")
    found: list[Row] = []
    times: dict[str, int] = {}
    for row in _endlessly(trace.rows, draw):
        if asked >= wanted:
            break
        asked += row.size.units
        again = times.get(row.id, 0)
        times[row.id] = again + 1
        name = f"{row.id}.{again}" if again else row.id
        found.append(row._replace(id=name, submit=len(found) * how.step))
    repeated = len(found) - len(times)
    notes.append(
        f"{trace.file}: {len(found):,} jobs in random order, {repeated:,} of them drawn again, until {asked:,.0f} of "
        f"{capacity:,} ({how.until:.0%}) were asked for; none of them ends"
    )
    return tuple(found)


def _endlessly(rows: Sequence[Row], draw: Draw) -> Iterator[Row]:
    shuffled = list(rows)
    draw.shuffle(shuffled)
    yield from shuffled
    while True:
        yield rows[draw.below(len(rows))]


# -- queues ---------------------------------------------------------------------------------------


def _ways(trace: Trace, doors: Sequence[Door], wanted: Mapping[str, str], notes: list[str]) -> dict[str, Way]:
    """Where each recorded queue goes."""
    serving = tuple(d for d in doors if d.serves)
    if not serving:
        raise ArrivalsError([f"{trace.file}: no queue in sight has quota for what the trace asks for"])
    work: dict[str, float] = {}
    for row in trace.rows:
        work[row.queue] = work.get(row.queue, 0.0) + row.size.units * max(row.duration, 1)
    chosen = {name: _chosen(name, wanted) or _usual(work, doors) for name in work}
    found: dict[str, Way] = {}
    missing: list[str] = []
    spread: list[str] = []
    for name in sorted(work):
        way = chosen[name]
        if way == SPREAD:
            spread.append(name)
            continue
        to = serving if way == SPREAD_JOBS else _named(name if way == BY_NAME else way, doors)
        if to:
            found[name] = to, _odds(to)
        else:
            missing.append(name if way == BY_NAME else way)
    if missing:
        raise ArrivalsError([_absent(trace, missing, doors)])
    found.update(_shared_out(spread, work, serving))
    notes.extend(_told(trace, found, chosen))
    return found


def _chosen(name: str, wanted: Mapping[str, str]) -> str:
    return wanted.get(name) or wanted.get("*", "")


def _usual(work: Mapping[str, float], doors: Sequence[Door]) -> str:
    """By name when every recorded queue is in sight; whole queues spread when there are several."""
    if all(_named(name, doors) for name in work):
        return BY_NAME
    return SPREAD if len(work) > 1 else SPREAD_JOBS


def _named(pattern: str, doors: Sequence[Door]) -> tuple[Door, ...]:
    """Doors that a name or pattern means: of a LocalQueue, with or without namespace, or of what is behind."""
    if not pattern:
        return ()
    names = [(f"{d.namespace}/{d.queue}", d.queue, d.holder) for d in doors]
    exact = tuple(d for d, known in zip(doors, names, strict=True) if pattern in known)
    if exact:
        return exact
    return tuple(d for d in doors if d.serves and fnmatchcase(f"{d.namespace}/{d.queue}", pattern))


def _odds(doors: Sequence[Door]) -> Choice:
    parts = [float(d.guarantee) for d in doors]
    return choice(dict(enumerate(parts if any(parts) else [1.0] * len(parts))))


def _shared_out(names: Sequence[str], work: Mapping[str, float], doors: Sequence[Door]) -> dict[str, Way]:
    """Whole recorded queues, the largest first, each to the queue that then has least for its guarantee."""
    promised = [float(d.guarantee) for d in doors]
    if not any(promised):
        promised = [1.0] * len(doors)
    held = [0.0] * len(doors)
    open_to = [n for n, part in enumerate(promised) if part > 0]
    found: dict[str, Way] = {}
    for name in sorted(names, key=lambda n: (-work[n], n)):
        best = min(open_to, key=lambda n: ((held[n] + work[name]) / promised[n], n))
        held[best] += work[name]
        found[name] = (doors[best],), choice({0: 1.0})
    return found


def _told(trace: Trace, ways: Mapping[str, Way], chosen: Mapping[str, str]) -> Iterator[str]:
    """Where the recorded queues went, in a sentence for each way."""
    moved = [name for name in sorted(ways) if chosen[name] != BY_NAME]
    whole = [
        f"{name or 'no queue'} -> {to[0].namespace}/{to[0].queue}"
        for name in moved
        for to in [ways[name][0]]
        if len(to) == 1
    ]
    if whole:
        yield f"{trace.file}: jobs of recorded queues go to {some(whole, _SHOWN)}"
    single = [name for name in moved if len(ways[name][0]) > 1]
    if single:
        yield (
            f"{trace.file}: jobs of {', '.join(n or 'no queue' for n in single[:_SHOWN])} are spread one by one over "
            f"{len(ways[single[0]][0])} queues, by what these are guaranteed"
        )


def _absent(trace: Trace, missing: Sequence[str], doors: Sequence[Door]) -> str:
    names = sorted({f"{d.namespace}/{d.queue}" for d in doors})
    shown = some(names, _SHOWN)
    what = ", ".join(repr(name) for name in missing[:_SHOWN])
    return (
        f"{trace.file}: no queue {what} is in sight; there are {shown}. Map the recorded ones "
        f"(queues: {{{missing[0] or '*'}: {names[0]}}}), or spread them (queues: {{'*': spread}})"
    )


# -- jobs -----------------------------------------------------------------------------------------


def _ranks(trace: Trace, site: Site, values: Mapping[str, int]) -> dict[str, tuple[int, str]]:
    """The value and the class of every priority that the trace has."""
    found: dict[str, tuple[int, str]] = {"": (0, "")}
    problems: list[str] = []
    for row in trace.rows:
        text = row.priority
        if text in found:
            continue
        if text in values:
            found[text] = values[text], ""
        elif text in site.priorities:
            found[text] = site.priorities[text], text
        elif text.removeprefix("-").isdecimal() and abs(int(text)) < 2**31:
            found[text] = int(text), ""
        else:
            found[text] = 0, ""
            known = ", ".join(sorted(site.priorities)) or "none"
            problems.append(
                f"{trace.file}:{row.line}: priority {text[:60]!r} is neither a whole number nor a priority class in "
                f"sight (there are: {known}); map it (priorities: {{{text[:60]}: 100}})"
            )
    if problems:
        raise ArrivalsError(problems)
    return found


class _Routes(NamedTuple):
    """Where jobs go, and with which priority."""

    ways: Mapping[str, Way]
    ranks: Mapping[str, tuple[int, str]]


def _jobs(
    file: str, rows: Sequence[Row], routes: _Routes, shelf: Shelf, how: Replaying, seed: int
) -> Iterator[Job]:
    ways, ranks = routes
    endless = how.order == BY_ARRIVAL
    draws = {name: stream(seed, "trace", name, "queue") for name in ways}
    shapes: dict[tuple[Size, tuple[str, ...]], tuple[Sets, str]] = {}
    for row in rows:
        doors, odds = ways[row.queue]
        door = doors[0] if len(doors) == 1 else doors[int(odds.take(draws[row.queue]))]
        known = shapes.get((row.size, door.levels))
        if known is None:
            known = shapes[row.size, door.levels] = _shape(row.size, shelf, how, door.levels)
        rank, rank_name = ranks[row.priority]
        yield Job(
            f"{door.namespace}/{row.id}",
            door.queue,
            row.submit,
            0 if endless else max(row.duration, 1),
            known[0],
            rank,
            rank_name,
            known[1],
            checkpoint=how.checkpoint,
            startup=how.startup,
            models=row.models,
            milli=row.size.milli,
            origin=f"{file}:{row.line}",
        )


def _shape(size: Size, shelf: Shelf, how: Replaying, levels: tuple[str, ...]) -> tuple[Sets, str]:
    requests = {"cpu": size.cpu, "memory": size.memory}
    pods = Pods({name: amount for name, amount in requests.items() if amount}, topology=how.topology)
    klass = class_of(size)
    return shelf.of(klass, pods, Shape(size.pods, size.gpus, size.milli), levels), klass


def class_of(size: Size) -> str:
    """What jobs of a trace are grouped by: how many accelerators they have."""
    if not size.gpus:
        return "no GPU"
    if size.milli < 1000 and size.pods == 1:
        return "part of a GPU"
    units = size.pods * size.gpus
    for most, name in ((1, "1 GPU"), (7, "2-7 GPUs"), (8, "8 GPUs"), (63, "9-63 GPUs")):
        if units <= most:
            return name
    return "64 GPUs or more"
