"""Many runs: configurations, what arrives and seeds, each with each, computed wherever there is room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from policycheck.app.arrivals import Offering, arrivals
from policycheck.app.gather import Sources
from policycheck.app.parcel import Parcel, opened, parcels, played
from policycheck.app.pool import Pool, mapped
from policycheck.app.simulate import Options
from policycheck.simulate.contrast import OWN, WHOLE, Kind, Seen, averaged, seen_queues, seen_whole
from policycheck.simulate.sweep import Swept

if TYPE_CHECKING:
    from policycheck.lint.settings import Settings
    from policycheck.simulate.contrast import Average
    from policycheck.source.document import FileReport

Watch = Callable[[str], None]
_HERE = Pool()


class Offered(NamedTuple):
    """What arrives, and where: a mix may bring queues and nodes of its own."""

    sources: Sources
    offering: Offering


class _Run(NamedTuple):
    parcel: Parcel
    offering: Offering
    options: Options


class _Ran(NamedTuple):
    """What one run came to."""

    whole: Seen
    queues: Mapping[str, Seen]
    resource: str
    jobs: int
    source: str
    until: int
    notes: tuple[str, ...]


def sweep(
    offered: Sequence[Offered],
    settings: Settings,
    seeds: Sequence[int],
    options: Options,
    watch: Watch = lambda _: None,
    pool: Pool = _HERE,
) -> tuple[tuple[Swept, ...], tuple[FileReport, ...]]:
    """One Swept for every scope and each of ``offered``, and the account of the files. ``seeds`` go in the place
    of those of the offerings and the options. The same whatever computes it.

    Raises TargetError, ArrivalsError and PoolError.
    """
    watch("reading the configuration")
    cells: list[tuple[Parcel, Offering]] = []
    files: list[FileReport] = []
    for one in offered:
        found, account = parcels(one.sources, settings)
        files.extend(account)
        cells.extend((parcel, one.offering) for parcel in found)
    runs = [
        _Run(parcel, offering._replace(seed=seed), options._replace(seed=seed))
        for parcel, offering in cells
        for seed in seeds
    ]
    done = mapped(_run, runs, pool, watch)
    size = len(seeds)
    told = tuple(
        _swept(parcel, tuple(seeds), done[n * size : (n + 1) * size]) for n, (parcel, _) in enumerate(cells)
    )
    return told, tuple(dict.fromkeys(files))


def _run(run: _Run) -> _Ran:
    from policycheck.simulate.metrics import measure

    world = opened(run.parcel)
    coming = arrivals(world.cluster, run.offering)
    timeline, until = played(world, coming, run.options)
    found = measure(timeline)
    return _Ran(
        seen_whole(found),
        seen_queues(found),
        found.resource,
        len(coming.jobs),
        coming.source,
        until,
        timeline.notes,
    )


def _swept(parcel: Parcel, seeds: tuple[int, ...], done: Sequence[_Ran]) -> Swept:
    queues = sorted({name for one in done for name in one.queues})
    said = parcel.said
    return Swept(
        scope=parcel.name,
        target=f"Kueue {said.version}" if said is not None else "",
        assumed=said is not None and said.assumed,
        source=done[0].source,
        resource=done[0].resource,
        seeds=seeds,
        horizon=done[0].until,
        jobs=tuple(one.jobs for one in done),
        figures=_averages(WHOLE, [one.whole for one in done]),
        queues=tuple((name, _averages(OWN, [one.queues.get(name) for one in done])) for name in queues),
        notes=tuple(dict.fromkeys(note for one in done for note in one.notes)),
    )


def _averages(kinds: Sequence[Kind], seen: Sequence[Seen | None]) -> tuple[Average, ...]:
    return tuple(
        averaged(kind, [None if one is None else one[n] for one in seen]) for n, kind in enumerate(kinds)
    )
