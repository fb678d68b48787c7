"""The workloads of the manifests as jobs of a simulation: what they ask for is written, how long they run
is in annotations, told by a class of a mix, or assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from policycheck.model.cluster import Cluster
from policycheck.model.origin import ObjectKey
from policycheck.simulate.draw import stream
from policycheck.simulate.job import BATCH, SECOND, SERVICE, Job
from policycheck.simulate.mix import Klass, Match
from policycheck.simulate.period import HOUR, PeriodError, parse, show
from policycheck.simulate.trouble import ArrivalsError
from policycheck.systems.core.link import CoreState
from policycheck.systems.kueue.doors import state_of
from policycheck.systems.kueue.model import GROUP, KueueWorkload
from policycheck.wording import some

PREFIX = "policycheck.dev/"
DURATION, SUBMIT, CHECKPOINT = f"{PREFIX}duration", f"{PREFIX}submit", f"{PREFIX}checkpoint"
STARTUP, COPIES, EVERY = f"{PREFIX}startup", f"{PREFIX}copies", f"{PREFIX}every"
ASSUMED = HOUR  # how long a job runs that nobody says it of
MOST_COPIES = 100_000
MOST_JOBS = 2_000_000
_SHOWN = 5


class Usual(NamedTuple):
    """What holds for workloads that do not say it: classes of a mix that match some, then a run time."""

    classes: Sequence[Klass] = ()
    duration: int = ASSUMED
    services_only: bool = False


class Written(NamedTuple):
    """Jobs in order of (submit, id), and what there is to say of them."""

    jobs: tuple[Job, ...]
    notes: tuple[str, ...] = ()


class _Time(NamedTuple):
    """What is known of the times of one workload, in ms."""

    duration: int
    checkpoint: int = 0
    startup: int = 0
    limit: int = 0
    klass: str = ""
    is_assumed: bool = False


def written(cluster: Cluster, seed: int, usual: Usual = Usual()) -> Written:  # noqa: B008 - immutable
    """Every unfinished, active workload of ``cluster``, submitted at once unless it says otherwise.

    Raises ArrivalsError with every annotation that can not be read.
    """
    objects, kube = state_of(cluster).objects, cluster.systems.get("core")
    problems: list[str] = []
    jobs: list[Job] = []
    assumed: list[str] = []
    left = 0
    workloads = sorted(objects.workloads.values(), key=lambda w: (w.created, w.id))
    ranks = {created: n for n, created in enumerate(sorted({w.created for w in workloads}))}
    for workload in workloads:
        nature = _nature(workload, kube)
        if workload.finished or not workload.active:
            left += 1
            continue
        if usual.services_only and nature != SERVICE:
            continue
        origin = _origin(cluster, workload)
        reader = _Annotations(workload, origin, problems)
        time = _time(workload, nature, reader, usual, seed)
        if time.is_assumed:
            assumed.append(workload.id)
        jobs.extend(_jobs(workload, nature, time, reader, ranks[workload.created]))
        if len(jobs) > MOST_JOBS:
            raise ArrivalsError(
                [f"{origin}: {workload.id}: more than {MOST_JOBS:,} jobs with its copies; ask for fewer"]
            )
    if problems:
        raise ArrivalsError(problems)
    crons = [w.id for w in workloads if _kind(w) == "CronJob" and EVERY not in w.annotations]
    notes = (*_notes(assumed, left, usual), *_unscheduled(() if usual.services_only else crons))
    return Written(tuple(sorted(jobs, key=lambda j: (j.submit, j.id))), notes)


def _kind(workload: KueueWorkload) -> str:
    return workload.owners[0][0] if workload.owners else "Workload"


def _nature(workload: KueueWorkload, kube: object) -> str:
    known = kube.workloads if isinstance(kube, CoreState) else {}
    made_of = known.get(workload.source) if workload.source is not None else None
    return SERVICE if made_of is not None and made_of.nature == SERVICE else BATCH


def _origin(cluster: Cluster, workload: KueueWorkload) -> str:
    key = workload.source or ObjectKey(GROUP, "Workload", workload.namespace, workload.name)
    entry = cluster.index.first(key)
    return f"{entry.origin.id.file}:{entry.origin.line}" if entry is not None else ""


class _Annotations:
    """Annotations of one workload; what can not be read is added to ``problems``."""

    def __init__(self, workload: KueueWorkload, origin: str, problems: list[str]) -> None:
        self._held: Mapping[str, str] = workload.annotations
        self._who = f"{origin}: {workload.id}" if origin else workload.id
        self._problems = problems
        self.origin = origin

    def period(self, name: str) -> int | None:
        """A length of time in ms; None when it is not written."""
        text = self._held.get(name)
        if text is None:
            return None
        try:
            return parse(text.strip().removeprefix("+"))
        except PeriodError as error:
            self._problems.append(f"{self._who}: annotation {name}: {error}")
            return None

    def copies(self) -> int:
        """How often the workload is submitted."""
        text = self._held.get(COPIES, "1").strip()
        if text.isdecimal() and text.isascii() and 1 <= int(text) <= MOST_COPIES:
            return int(text)
        what = f"found {text[:60]!r}; write a whole number from 1 to {MOST_COPIES:,}"
        self._problems.append(f"{self._who}: annotation {COPIES}: {what}")
        return 1


def _time(workload: KueueWorkload, nature: str, said: _Annotations, usual: Usual, seed: int) -> _Time:
    """Annotations first, then the first class that matches, then what is assumed."""
    klass = next((k for k in usual.classes if k.match is not None and _matches(k.match, workload)), None)
    limit = (workload.max_execution_seconds or 0) * SECOND
    duration, checkpoint, startup = said.period(DURATION), said.period(CHECKPOINT), said.period(STARTUP)
    found = _Time(usual.duration if nature == BATCH else 0, limit=limit, is_assumed=nature == BATCH)
    if klass is not None:
        draw = stream(seed, workload.id, klass.name, "manifest")
        drawn = max(round(klass.duration.take(draw)), 1) if nature == BATCH else 0
        found = _Time(
            drawn, klass.checkpoint, int(klass.startup.take(draw)), limit or klass.limit, klass.name
        )
    if duration is not None:
        found = found._replace(duration=duration, is_assumed=False)
    return found._replace(
        checkpoint=found.checkpoint if checkpoint is None else checkpoint,
        startup=found.startup if startup is None else startup,
    )


def _matches(match: Match, workload: KueueWorkload) -> bool:
    kind = _kind(workload)
    names = (workload.queue, f"{workload.namespace}/{workload.queue}")
    return (
        all(workload.labels.get(key) == value for key, value in match.labels.items())
        and (not match.kinds or kind in match.kinds)
        and (not match.queues or any(fnmatchcase(name, p) for p in match.queues for name in names))
    )


def _jobs(workload: KueueWorkload, nature: str, time: _Time, said: _Annotations, rank: int) -> Iterator[Job]:
    """One job for each copy. Of workloads that exist already the older one is a ms earlier."""
    start, every = said.period(SUBMIT), said.period(EVERY) or 0
    first = rank if start is None else start
    kind = _kind(workload)
    for copy in range(said.copies()):
        yield Job(
            f"{workload.id}.{copy}" if copy else workload.id,
            workload.queue,
            first + copy * every,
            time.duration,
            workload.pod_sets,
            workload.priority,
            workload.priority_class,
            time.klass or kind,
            nature,
            time.checkpoint,
            time.startup,
            time.limit,
            origin=said.origin,
            labels=workload.labels,
            annotations=workload.annotations,
        )


def _listed(names: Sequence[str]) -> str:
    return some(names, _SHOWN)


def _unscheduled(crons: Sequence[str]) -> Iterator[str]:
    if crons:
        yield (
            f"{_listed(crons)}: schedules are not simulated, it comes once; annotations {COPIES} and {EVERY} say how "
            "often and when"
        )


def _notes(assumed: Sequence[str], left: int, usual: Usual) -> Iterator[str]:
    if assumed:
        yield (
            f"{_listed(assumed)}: no run time is given, {show(usual.duration)} is assumed "
            f"(annotation {DURATION}: 4h, or a class of a mix with 'match')"
        )
    if left:
        yield f"{left} workloads that are finished or inactive are left out"
