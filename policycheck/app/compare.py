"""What a change does to each team: rights worked out, and the same jobs simulated on both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from policycheck.app.gather import Sources, accounts, gather
from policycheck.app.simulate import Options
from policycheck.simulate.comparison import Comparison, Holding, RightChange, TeamChange
from policycheck.simulate.contrast import Figure, of_queue, whole
from policycheck.simulate.job import Arrivals
from policycheck.simulate.matrix import Priority, Rank, allows, named

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered
    from policycheck.lint.settings import Settings, Target
    from policycheck.model.cluster import Cluster
    from policycheck.simulate.metrics import Metrics, QueueMetrics
    from policycheck.simulate.rights import Rights
    from policycheck.simulate.timeline import Timeline
    from policycheck.source.document import FileReport
    from policycheck.systems.kueue.opening import Opening

FIRST_COME = "first-come-first-served"
Coming = Callable[["Cluster", int], Arrivals]  # of a linked cluster and a seed
Watch = Callable[[str], None]


class Side(NamedTuple):
    """One side. ``sources`` None: first come, first served under the default scheduler, on the nodes of the
    other side.
    """

    label: str
    sources: Sources | None
    settings: Settings


class _Job(NamedTuple):
    """What is the same for all scopes."""

    old: Side
    new: Side
    coming: Coming
    seeds: tuple[int, ...]
    options: Options
    watch: Watch


class _World(NamedTuple):
    scope: Gathered
    cluster: Cluster
    opened: Opening
    said: Target | None


def compare(
    old: Side,
    new: Side,
    coming: Coming,
    seeds: Sequence[int],
    options: Options,
    watch: Watch = lambda _: None,
) -> tuple[tuple[Comparison, ...], tuple[FileReport, ...]]:
    """One Comparison for every scope that both sides have (a single scope on each side is the same one).

    Raises TargetError, and what ``coming`` raises.
    """
    watch("reading both configurations")
    after, files = _worlds(new)
    before, more = _worlds(old) if old.sources is not None else ([], ())
    job = _Job(old, new, coming, tuple(seeds), options, watch)
    found = tuple(_compared(job, was, now, notes) for was, now, notes in _pairs(before, after, old))
    return found, (*more, *files)


def _worlds(side: Side) -> tuple[list[_World], tuple[FileReport, ...]]:
    from policycheck.app.linked import linked
    from policycheck.app.target import targets_of
    from policycheck.systems.kueue.opening import opening

    assert side.sources is not None  # noqa: S101 - asked for sides with sources alone
    scopes = gather(side.sources, side.settings)
    found = []
    for scope in scopes:
        cluster = linked(scope)
        said = targets_of(scope, (*scope.targets, *side.sources.targets)).get("kueue")
        opened = opening(cluster, said)
        if opened.objects.cluster_queues:
            found.append(_World(scope, cluster, opened, said))
    return found, accounts(scopes)


def _pairs(
    before: Sequence[_World], after: Sequence[_World], old: Side
) -> list[tuple[_World | None, _World, tuple[str, ...]]]:
    if old.sources is None:
        return [(None, now, ()) for now in after]
    if len(before) == len(after) == 1:
        return [(before[0], after[0], ())]
    known = {one.scope.name: one for one in before}
    names = {one.scope.name for one in after}
    gone = tuple(f"scope {name} is there on the old side alone" for name in sorted(known.keys() - names))
    fresh = tuple(f"scope {name} is there on the new side alone" for name in sorted(names - known.keys()))
    return [(known[n.scope.name], n, gone + fresh) for n in after if n.scope.name in known]


def _compared(job: _Job, was: _World | None, now: _World, notes: tuple[str, ...]) -> Comparison:
    from policycheck.simulate.metrics import measure
    from policycheck.systems.kueue.drive.facts import principal

    # Jobs are made once a seed, of the side whose queues they were made for, and fall upon both.
    home = was or now
    olds: list[Metrics] = []
    news: list[Metrics] = []
    first: Arrivals | None = None
    told: dict[str, None] = dict.fromkeys(notes)
    for number, seed in enumerate(job.seeds, 1):
        job.watch(f"simulating seed {number} of {len(job.seeds)}")
        arrivals = _bounded(job.coming(home.cluster, seed), job.options)
        first = first or arrivals
        how = job.options._replace(seed=seed)
        for world, side, metrics in ((was, job.old, olds), (now, job.new, news)):
            timeline = _simulated(world or now, arrivals, how, by_quota=world is not None)
            told.update(dict.fromkeys(f"{side.label}: {note}" for note in timeline.notes))
            metrics.append(measure(timeline))
    resource = principal(now.opened.objects)
    queues = _names(was, now)
    teams = _teams(was, now, resource, queues)
    return Comparison(
        scope=now.scope.name,
        old=job.old.label,
        new=job.new.label,
        old_target=_target(was),
        new_target=_target(now),
        resource=resource,
        seeds=job.seeds,
        horizon=job.options.horizon or (first.horizon if first else 0),
        jobs=len(first.jobs) if first else 0,
        source=first.source if first else "",
        teams=tuple(team._replace(figures=_figures(team.queue, olds, news)) for team in teams),
        changes=_changes(was, now) if was is not None else (),
        figures=whole(olds, news) if olds else (),
        notes=tuple(told),
        rights=was is not None,
    )


def _bounded(arrivals: Arrivals, options: Options) -> Arrivals:
    from policycheck.simulate.ending import latest

    if options.horizon or arrivals.horizon:
        return arrivals
    return arrivals._replace(horizon=latest(arrivals))


def _simulated(world: _World, arrivals: Arrivals, options: Options, *, by_quota: bool) -> Timeline:
    from policycheck.app.simulate import first_come, simulate_cluster

    if by_quota:
        return simulate_cluster(world.cluster, world.said, arrivals, options)
    return first_come(world.cluster, world.opened, arrivals, options)


def _target(world: _World | None) -> str:
    if world is None:
        return "default scheduler"
    return f"Kueue {'.'.join(map(str, world.opened.target.version))}"


def _names(was: _World | None, now: _World) -> list[str]:
    names = set(now.opened.objects.cluster_queues)
    if was is not None:
        names |= set(was.opened.objects.cluster_queues)
    return sorted(names)


def _figures(queue: str, olds: Sequence[Metrics], news: Sequence[Metrics]) -> tuple[Figure, ...]:
    def of(found: Metrics) -> QueueMetrics | None:
        return next((q for q in found.queues if q.name == queue), None)

    return of_queue([of(m) for m in olds], [of(m) for m in news])


def _rights(world: _World) -> Rights:
    from policycheck.systems.kueue.rights import KueueRights

    return KueueRights(world.opened.objects, world.opened.target)


def _teams(was: _World | None, now: _World, resource: str, queues: Sequence[str]) -> list[TeamChange]:
    nothing = Holding(None, None, None)
    rights = [None if world is None else (world, _rights(world)) for world in (was, now)]
    found = []
    for queue in queues:
        old, new = (nothing if one is None else _holding(*one, queue, resource) for one in rights)
        found.append(TeamChange(queue, resource, old, new))
    return found


def _holding(world: _World, rights: Rights, queue: str, resource: str) -> Holding:
    from policycheck.model.amount import add
    from policycheck.systems.kueue.state import quotas

    config = world.opened.objects.cluster_queues.get(queue)
    if config is None:
        return Holding(None, None, None)
    guarantee = burst = nominal = 0
    for pair, quota in quotas(config.groups).items():
        if pair[1] == resource:
            guarantee = add(guarantee, rights.guarantee(queue, *pair))
            burst = add(burst, rights.burst(queue, *pair))
            nominal = add(nominal, quota.nominal)
    return Holding(guarantee, burst, nominal)


def _changes(was: _World, now: _World) -> tuple[RightChange, ...]:
    """Cells of who may take from whom that are others, for the queues and classes of both sides together."""
    classes = {
        name: c.value for world in (was, now) for name, c in world.opened.objects.priority_classes.items()
    }
    priorities, _ = named(classes)
    queues = sorted(set(was.opened.objects.cluster_queues) & set(now.opened.objects.cluster_queues))
    before, after = _rights(was), _rights(now)
    found: list[RightChange] = []
    for taker in queues:
        for holder in queues:
            old, new = _cells(before, taker, holder, priorities), _cells(after, taker, holder, priorities)
            for situation, reason in sorted({*old, *new}):
                one, other = old.get((situation, reason), ()), new.get((situation, reason), ())
                for gained, pairs in ((True, set(other) - set(one)), (False, set(one) - set(other))):
                    if pairs:
                        told = tuple(sorted(pairs))
                        found.append(RightChange(taker, holder, situation, reason, told, gained))
    return tuple(found)


def _cells(
    rights: Rights, taker: str, holder: str, priorities: Sequence[Priority]
) -> Mapping[tuple[str, str], tuple[tuple[str, str], ...]]:
    """By (situation, reason): the pairs of classes for which the one may take from the other."""
    found: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
    for situation, taking in rights.may_take(taker, holder).items():
        pairs = tuple(
            (one.name, other.name)
            for one in priorities
            for other in priorities
            if any(allows(taking, Rank(one.value, other.value, newer)) for newer in (True, False))
        )
        if pairs:
            found[situation, taking.reason] = pairs
    return found
