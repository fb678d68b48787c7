"""What a change does to each team: rights worked out, and the same jobs simulated on both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from policycheck.app.arrivals import Offering, arrivals
from policycheck.app.gather import Sources
from policycheck.app.parcel import Parcel, World, opened, parcels, played
from policycheck.app.pool import Pool, mapped
from policycheck.app.simulate import Options
from policycheck.simulate.comparison import Comparison, Holding, RightChange, TeamChange
from policycheck.simulate.contrast import Seen, of_queue, seen_queues, seen_whole, whole
from policycheck.simulate.matrix import Priority, Rank, allows, named

if TYPE_CHECKING:
    from policycheck.app.judged import Judged, Trial
    from policycheck.lint.settings import Settings
    from policycheck.simulate.rights import Rights, Taking
    from policycheck.simulate.timeline import Timeline
    from policycheck.source.document import FileReport

FIRST_COME = "first-come-first-served"
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
    offering: Offering
    seeds: tuple[int, ...]
    options: Options
    watch: Watch
    pool: Pool
    judged: Mapping[str, Judged]


class _Play(NamedTuple):
    """One seed in one scope."""

    old: Parcel | None
    new: Parcel
    offering: Offering
    options: Options


class _Half(NamedTuple):
    """What one side came to."""

    whole: Seen
    queues: Mapping[str, Seen]
    notes: tuple[str, ...]


class _Both(NamedTuple):
    """What one seed came to on both sides."""

    old: _Half
    new: _Half
    jobs: int
    source: str
    until: int  # ms; 0: until all was done


class Way(NamedTuple):
    """Where seeds are computed, and which promises are held against both sides; None for no promise."""

    pool: Pool = Pool()
    trial: Trial | None = None


_HERE = Way()


def compare(
    old: Side,
    new: Side,
    offering: Offering,
    seeds: Sequence[int],
    options: Options,
    watch: Watch = lambda _: None,
    way: Way = _HERE,
) -> tuple[tuple[Comparison, ...], tuple[FileReport, ...]]:
    """One Comparison for every scope that both sides have (a single scope on each side is the same one), and
    the account of the files. ``seeds`` go in the place of those of the offering and the options; with
    a ``trial`` promises are held against both sides.

    Raises TargetError, ArrivalsError and PoolError; with a ``trial`` PromisesError and UnknownClaimError, too.
    """
    assert new.sources is not None  # noqa: S101 - only the old side may be without
    watch("reading both configurations")
    after, files = parcels(new.sources, new.settings)
    before, more = parcels(old.sources, old.settings) if old.sources is not None else ((), ())
    pairs = _pairs(before, after, old, new)
    held = _judged(old, new, pairs, way.trial, watch)
    job = _Job(old, new, offering, tuple(seeds), options, watch, way.pool, held)
    found = tuple(_compared(job, was, now, notes) for was, now, notes in pairs)
    return found, (*more, *files)


def _judged(
    old: Side,
    new: Side,
    pairs: Sequence[tuple[Parcel | None, Parcel, tuple[str, ...]]],
    trial: Trial | None,
    watch: Watch,
) -> Mapping[str, Judged]:
    """Nothing is promised where no queue system is."""
    if trial is None or old.sources is None or new.sources is None:
        return {}
    from policycheck.app.judged import Sides, judged

    scopes = [(was.name, now.name) for was, now, _ in pairs if was is not None]
    sides = Sides(old.sources, old.settings, new.sources, new.settings)
    return judged(sides, scopes, trial, watch)


def _pairs(
    before: Sequence[Parcel], after: Sequence[Parcel], old: Side, new: Side
) -> list[tuple[Parcel | None, Parcel, tuple[str, ...]]]:
    if old.sources is None:
        return [(None, now, ()) for now in after]
    if len(before) == len(after) == 1:
        return [(before[0], after[0], ())]
    known = {_below(one, old): one for one in before}
    names = {_below(one, new) for one in after}
    gone = tuple(f"scope {name} is there on the old side alone" for name in sorted(known.keys() - names))
    fresh = tuple(f"scope {name} is there on the new side alone" for name in sorted(names - known.keys()))
    both = [(known.get(_below(now, new)), now) for now in after]
    return [(was, now, gone + fresh) for was, now in both if was is not None]


def _below(parcel: Parcel, side: Side) -> str:
    """The name of the scope without the folder that the side was given by."""
    for path in side.sources.paths if side.sources is not None else ():
        lead = path.rstrip("/")
        if parcel.name == lead:
            return "."
        if parcel.name.startswith(f"{lead}/"):
            return parcel.name[len(lead) + 1 :]
    return parcel.name


def _compared(job: _Job, was: Parcel | None, now: Parcel, notes: tuple[str, ...]) -> Comparison:
    plays = [
        _Play(was, now, job.offering._replace(seed=seed), job.options._replace(seed=seed))
        for seed in job.seeds
    ]
    done = mapped(_play, plays, job.pool, job.watch, "seed")
    return _told(job, None if was is None else opened(was), opened(now), done, now.name, notes)


def _play(play: _Play) -> _Both:
    """The jobs of one seed, made for the queues of the old side where there is one, on both sides."""
    now = opened(play.new)
    was = opened(play.old) if play.old is not None else None
    coming = arrivals((was or now).cluster, play.offering)
    halves = []
    until = 0
    for world in (was, now):
        timeline, until = played(world or now, coming, play.options, by_quota=world is not None)
        halves.append(_half(timeline))
    return _Both(halves[0], halves[1], len(coming.jobs), coming.source, until)


def _half(timeline: Timeline) -> _Half:
    from policycheck.simulate.metrics import measure

    found = measure(timeline)
    return _Half(seen_whole(found), seen_queues(found), timeline.notes)


def _told(
    job: _Job, was: World | None, now: World, done: Sequence[_Both], scope: str, notes: tuple[str, ...]
) -> Comparison:
    from policycheck.systems.kueue.drive.facts import principal

    resource = principal(now.opened.objects)
    teams = _teams(was, now, resource, _names(was, now))
    judged = job.judged.get(scope)
    told = (judged.note,) if judged is not None and judged.note else ()
    olds, news = [one.old.queues for one in done], [one.new.queues for one in done]
    return Comparison(
        scope=scope,
        old=job.old.label,
        new=job.new.label,
        old_target=_target(was),
        new_target=_target(now),
        resource=resource,
        seeds=job.seeds,
        horizon=done[0].until,
        jobs=done[0].jobs,
        source=done[0].source,
        teams=tuple(
            team._replace(
                figures=of_queue([m.get(team.queue) for m in olds], [m.get(team.queue) for m in news])
            )
            for team in teams
        ),
        changes=_changes(was, now) if was is not None else (),
        figures=whole([one.old.whole for one in done], [one.new.whole for one in done]),
        notes=(*notes, *told, *_notes(job, done)),
        rights=was is not None,
        verdicts=None if judged is None else judged.changes,
    )


def _notes(job: _Job, done: Sequence[_Both]) -> tuple[str, ...]:
    """What both sides say is said once."""
    olds = dict.fromkeys(note for one in done for note in one.old.notes)
    news = dict.fromkeys(note for one in done for note in one.new.notes)
    both = [note for note in olds if note in news]
    return (
        *both,
        *(f"{job.old.label}: {note}" for note in olds if note not in news),
        *(f"{job.new.label}: {note}" for note in news if note not in olds),
    )


def _target(world: World | None) -> str:
    if world is None:
        return "default scheduler"
    return f"Kueue {'.'.join(map(str, world.opened.target.version))}"


def _names(was: World | None, now: World) -> list[str]:
    names = set(now.opened.objects.cluster_queues)
    if was is not None:
        names |= set(was.opened.objects.cluster_queues)
    return sorted(names)


def _rights(world: World) -> Rights:
    from policycheck.systems.kueue.rights import KueueRights

    return KueueRights(world.opened.objects, world.opened.target)


def _teams(was: World | None, now: World, resource: str, queues: Sequence[str]) -> list[TeamChange]:
    nothing = Holding(None, None, None)
    rights = [None if world is None else (world, _rights(world)) for world in (was, now)]
    found = []
    for queue in queues:
        old, new = (nothing if one is None else _holding(*one, queue, resource) for one in rights)
        found.append(TeamChange(queue, resource, old, new))
    return found


def _holding(world: World, rights: Rights, queue: str, resource: str) -> Holding:
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


def _changes(was: World, now: World) -> tuple[RightChange, ...]:
    """Cells of who may take from whom that are others, for the queues and classes of both sides together."""
    classes = {
        name: c.value for world in (was, now) for name, c in world.opened.objects.priority_classes.items()
    }
    priorities, _ = named(classes)
    queues = sorted(set(was.opened.objects.cluster_queues) & set(now.opened.objects.cluster_queues))
    before, after = _rights(was), _rights(now)
    kinds = _kinds(priorities)
    found: list[RightChange] = []
    for taker in queues:
        for holder in queues:
            old, new = _cells(before, taker, holder, priorities), _cells(after, taker, holder, priorities)
            for situation, reason in sorted({*old, *new}):
                one, other = old.get((situation, reason), ()), new.get((situation, reason), ())
                for gained, pairs in ((True, set(other) - set(one)), (False, set(one) - set(other))):
                    if pairs:
                        told, alike = tuple(sorted(pairs)), kinds.get(frozenset(pairs), "")
                        found.append(RightChange(taker, holder, situation, reason, told, gained, alike))
    return tuple(found)


def _cells(
    rights: Rights, taker: str, holder: str, priorities: Sequence[Priority]
) -> Mapping[tuple[str, str], tuple[tuple[str, str], ...]]:
    """By (situation, reason): the pairs of classes for which the one may take from the other."""
    found: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}
    for situation, taking in rights.may_take(taker, holder).items():
        pairs = [_pair(taking, one, other) for one in priorities for other in priorities]
        kept = tuple(pair for pair in pairs if pair is not None)
        if kept:
            found[situation, taking.reason] = kept
    return found


_LATER = " that came later"


def _kinds(priorities: Sequence[Priority]) -> Mapping[frozenset[tuple[str, str]], str]:
    """Words for sets of pairs that are all of a kind."""
    pairs = [(one, other) for one in priorities for other in priorities]
    every = frozenset((a.name, b.name) for a, b in pairs)
    lower = frozenset((a.name, b.name) for a, b in pairs if b.value < a.value)
    later = frozenset((a.name, b.name + _LATER) for a, b in pairs if b.value == a.value)
    upper = frozenset((a.name, b.name) for a, b in pairs if b.value > a.value)
    equal = frozenset((a.name, b.name) for a, b in pairs if b.value == a.value)
    words = {
        later: "of the same priority that came later",
        lower: "of lower priority",
        lower | later: "of lower priority, or of the same that came later",
        upper | equal: "of the same or higher priority",
        every: "whatever the priority",
    }
    return {some: text for some, text in words.items() if some}


def _pair(taking: Taking, taker: Priority, victim: Priority) -> tuple[str, str] | None:
    """The two by name when the one may take from the other, in words when only if that came later."""
    newer, older = (allows(taking, Rank(taker.value, victim.value, late)) for late in (True, False))
    if not newer and not older:
        return None
    return taker.name, victim.name if older else victim.name + _LATER
