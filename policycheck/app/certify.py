"""Promises held against a configuration: verdicts, and everything that a certificate says of what was tested.

Entry point: ``certify(sources, settings, options, watch) -> (tuple[Certified, ...], files)``, one a scope that
has queues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from policycheck import __version__
from policycheck.app.gather import Sources, accounts, gather
from policycheck.certify.certificate import Result, verdict_json
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.promise import Promises
from policycheck.certify.verdict import CERTIFIED, HOLDS, NOT_APPLICABLE, PROOF, UNKNOWN, Verdict, outcome
from policycheck.report.certify import Certified

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered
    from policycheck.app.promises import Found
    from policycheck.certify.arena import Arena, Scenario, Story
    from policycheck.certify.needed import Matter
    from policycheck.lint.settings import Settings, Target
    from policycheck.model.cluster import Cluster
    from policycheck.source.document import FileReport
    from policycheck.systems.kueue.arena.stage import KueueArena
    from policycheck.systems.kueue.opening import Opening

Watch = Callable[[str], None]  # told what is going on, for people who wait
TIME_UP = "not tried: time was up"
SCENARIOS, SEED = 50, 1
_BY_TEAM = frozenset(
    {"guarantee-honoured", "burst-usable", "gang-whole", "topology-honoured", "no-starvation"}
)
_GROWING = frozenset({"guarantee-honoured", "no-starvation"})  # wait for nodes that a check brings
_BY_CLASS = {"production-protected": "protected", "experiments-contained": "experiments"}


class Options(NamedTuple):
    """What to test, and how hard. ``claims`` by name, () for all; ``late`` says that time is up."""

    claims: tuple[str, ...] = ()
    scenarios: int = SCENARIOS
    seed: int = SEED
    accepted: frozenset[str] = frozenset()
    promises: str = ""  # a file that counts instead of those in sight
    late: Callable[[], bool] = lambda: False
    processes: int = 1  # claims are tested in so many at once; the verdicts are the same
    least: bool = False  # what is CERTIFIED is tested again on less hardware, so that the least is stated


class Prepared(NamedTuple):
    """One scope, ready to be tested."""

    scope: Gathered
    label: str
    cluster: Cluster
    said: Target | None
    opening: Opening
    arena: Arena
    promises: Promises
    doubt: Verdict | None
    delays: Mapping[str, int] = {}  # bounds of admission checks in ms, by name


class _TimeUpError(Exception):
    """No more is played."""


_STANDARD = Options()


def certify(
    sources: Sources, settings: Settings, options: Options = _STANDARD, watch: Watch = lambda _: None
) -> tuple[tuple[Certified, ...], tuple[FileReport, ...]]:
    """One Certified a scope that has queues, and the account of the files.

    Raises PromisesError, UnknownClaimError and TargetError.
    """
    watch("reading the configuration")
    sources = once(sources)
    prepared, files = prepare(sources, settings, options.promises)
    chosen = chosen_claims(options)
    return tuple(_certified(one, sources, settings, options, chosen, watch) for one in prepared), files


def once(sources: Sources) -> Sources:
    """The same, with every file read once: what is tested is what is digested."""
    return sources._replace(read=lru_cache(maxsize=None)(sources.read))


def chosen_claims(options: Options) -> tuple[Claim, ...]:
    """The claims that were asked for, in order. Raises UnknownClaimError."""
    from policycheck.certify.claims import claims, find

    wanted = {find(name).name for name in options.claims}
    return tuple(claim for claim in claims() if not wanted or claim.name in wanted)


def prepare(
    sources: Sources, settings: Settings, promises: str, *, live: bool = False
) -> tuple[tuple[Prepared, ...], tuple[FileReport, ...]]:
    """Every scope with queues, linked and with its promises. ``live``: hardware in the paths does not count, that
    of the inventory beside them does. Raises PromisesError and TargetError.
    """
    from policycheck.app.linked import linked
    from policycheck.app.target import targets_of
    from policycheck.systems.kueue.checks.common import state

    scopes = gather(sources, settings)
    with_queues = []
    for gathered in scopes:
        scope = _without_hardware(gathered) if live else gathered
        cluster = linked(scope)
        if state(cluster).objects.cluster_queues:
            with_queues.append((scope, cluster))
    named = {cluster.name for cluster in settings.clusters}
    several = len(with_queues) > 1
    made = []
    for scope, cluster in with_queues:
        label = scope.name if several or scope.name in named else ""
        said = targets_of(scope, (*scope.targets, *sources.targets)).get("kueue")
        made.append(_prepared(scope, label, cluster, said, sources, promises))
    return tuple(made), accounts(scopes)


def _without_hardware(scope: Gathered) -> Gathered:
    from policycheck.app.subjects import is_hardware

    kept = tuple(e for e in scope.entries if not (e.origin.reported and is_hardware(e)))
    return scope._replace(entries=kept)


def _prepared(
    scope: Gathered, label: str, cluster: Cluster, said: Target | None, sources: Sources, given: str
) -> Prepared:
    from policycheck.app.hall import hall_of
    from policycheck.app.promises import find
    from policycheck.app.slo import measuring
    from policycheck.app.undecided import doubts, verdict

    found = find(scope, sources, given)
    delays = dict(found.written.checks) if found else {}
    opened, played = hall_of(cluster, said, label, delays)
    played.measure = measuring(cluster, said, sources.read, found.file if found else "", delays)
    arena = cast("Arena", played)
    promises, unclear = _settled(found, arena)
    doubt = verdict(label, (*unclear, *doubts(scope, cluster, said)))
    return Prepared(scope, label, cluster, said, opened, arena, promises, doubt, delays)


def _settled(found: Found | None, arena: Arena) -> tuple[Promises, tuple[str, ...]]:
    from policycheck.certify.derive import derive
    from policycheck.certify.written import settle

    if found is None:
        return derive(arena), ()
    return settle(found.written, arena, source=found.file, digest=found.digest, at=found.at)


# -- testing ------------------------------------------------------------------------------------


class _Task(NamedTuple):
    """One claim about one subject; "" for all that it has."""

    claim: Claim
    subject: str


def verdicts_of(
    prepared: Prepared, claims: Sequence[Claim], options: Options, watch: Watch = lambda _: None
) -> tuple[Verdict, ...]:
    """The verdicts, in the order of the claims. What is not reached in time is UNKNOWN."""
    from policycheck.app.apart import done

    where = f" in {prepared.label}" if prepared.label else ""
    watch(f"testing {len(claims)} claims{where}" if len(claims) > 1 else f"testing{where}")
    tasks = [_Task(claim, subject) for claim in claims for subject in _subjects(claim, prepared.promises)]
    found = done([partial(_verdicts, task, prepared, options) for task in tasks], options.processes)
    doubt = [] if prepared.doubt is None else [prepared.doubt]
    return (*doubt, *_joined(verdict for verdicts in found for verdict in verdicts))


def _subjects(claim: Claim, promises: Promises) -> tuple[str, ...]:
    """What a claim can be tested for one by one."""
    if claim.name in _BY_TEAM:
        return tuple(team.name for team in promises.teams) or ("",)
    if claim.name in _BY_CLASS:
        return tuple(dict.fromkeys(getattr(promises.protection, _BY_CLASS[claim.name]))) or ("",)
    return ("",)


def _joined(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Without what a claim says where it has no subject, if it has one elsewhere; that once, if it has none."""
    every = list(verdicts)
    speaking = {v.claim for v in every if v.subject or v.outcome != NOT_APPLICABLE}
    silent: dict[str, Verdict] = {}
    for verdict in every:
        if verdict.claim not in speaking:
            silent.setdefault(verdict.claim, verdict)
    return [v for v in every if (v.subject or v.outcome != NOT_APPLICABLE) or silent.get(v.claim) is v]


def _verdicts(task: _Task, prepared: Prepared, options: Options) -> list[Verdict]:
    found = _tested(task, prepared, options)
    if task.claim.name not in _GROWING or all(v.outcome in (HOLDS, NOT_APPLICABLE) for v in found):
        return found
    return _grown(task, prepared, options, found)


def _tested(task: _Task, prepared: Prepared, options: Options) -> list[Verdict]:
    if options.late():
        return [_untried(task, prepared)]
    found: list[Verdict] = []
    effort = Effort(options.scenarios, options.seed, task.subject)
    arena = cast("Arena", _Timed(prepared.arena, options.late))
    try:
        found.extend(task.claim.test(arena, prepared.promises, effort))
    except _TimeUpError:
        found.append(_untried(task, prepared))
    return found


def _grown(task: _Task, prepared: Prepared, options: Options, found: list[Verdict]) -> list[Verdict]:
    """What does not hold with pools at their smallest, at their largest: for a team all of whose queues have a
    check that brings nodes. It is then an assumption.
    """
    from policycheck.app.hall import Hall, brought, hall_of, largest

    queues = [q for team in prepared.promises.teams if team.name == task.subject for q in team.queues]
    names = brought(Hall(prepared.opening, cast("KueueArena", prepared.arena)), queues)
    if not names:
        return found
    _, arena = hall_of(largest(prepared.cluster), prepared.said, prepared.label, prepared.delays)
    again = _tested(task, prepared._replace(arena=cast("Arena", arena)), options)
    if any(v.outcome != HOLDS for v in again):
        return found
    least = "; ".join(v.headline for v in found)
    note = (
        f"pools grow to their maximum when asked (admission check {', '.join(names)}); at their minimum it is "
        f"otherwise: {least}"
    )
    return [v._replace(assumptions=(*v.assumptions, note)) for v in again]


def _untried(task: _Task, prepared: Prepared) -> Verdict:
    from policycheck.certify.claims.common import required

    name = task.claim.name
    return Verdict(
        name,
        task.subject,
        prepared.label,
        UNKNOWN,
        PROOF,
        TIME_UP,
        required=required(prepared.promises, name),
    )


class _Timed:
    """An arena in which nothing is played once time is up."""

    def __init__(self, arena: Arena, late: Callable[[], bool]) -> None:
        self._arena, self._late = arena, late

    def __getattr__(self, name: str) -> Any:
        return getattr(self._arena, name)

    def play(self, scenario: Scenario) -> Story:
        """As the arena plays it."""
        if self._late():
            raise _TimeUpError
        return self._arena.play(scenario)


# -- what is said of it -------------------------------------------------------------------------


def _certified(
    one: Prepared,
    sources: Sources,
    settings: Settings,
    options: Options,
    claims: Sequence[Claim],
    watch: Watch,
) -> Certified:
    verdicts = verdicts_of(one, claims, options, watch)
    watch("writing down what was tested")
    result = result_of(one, sources, settings, options, claims, verdicts)
    if options.least and result.outcome == CERTIFIED:
        from policycheck.app.least import least

        watch("looking for the least hardware that is needed")
        needed = least(one, claims, options, verdicts, _matter(one))
        result = result._replace(inventory=needed)
    version = f"Kueue {one.said.version}" if one.said is not None else ""
    assumed = one.said is not None and one.said.assumed
    return Certified(one.label, result, verdicts, one.promises, version, assumed)


def result_of(
    one: Prepared,
    sources: Sources,
    settings: Settings,
    options: Options,
    claims: Sequence[Claim],
    verdicts: tuple[Verdict, ...],
) -> Result:
    """The Result: verdicts, and the digests of all that they rest on."""
    from policycheck.app.book import rulebook
    from policycheck.app.subjects import inputs, owners, rules, subjects
    from policycheck.certify.canonical import digest
    from policycheck.certify.needed import stated

    told = rules(rulebook(sources.rules), settings)
    inventory = stated(one.cluster.inventory, _matter(one))
    return Result(
        outcome=outcome(verdicts, options.accepted),
        scope=one.label,
        verdicts=[exact(verdict_json(verdict)) for verdict in verdicts],
        subjects=subjects(one.cluster),
        files=inputs(one.scope, sources, one.promises.source).files,
        inventory=inventory,
        rulebook=digest(told),
        target=_target(one),
        promises=_promises(one.promises),
        effort={
            "claims": [claim.name for claim in claims],
            "scenarios": options.scenarios,
            "seed": options.seed,
        },
        accepted=sorted(options.accepted),
        version=__version__,
        rules=told,
        owners=owners(one.cluster),
        hardware=digest(inventory),
    )


def _matter(one: Prepared) -> Matter:
    from policycheck.app.subjects import matter

    return matter(one.opening.objects, one.promises, one.arena.services())


def _target(one: Prepared) -> dict[str, Any]:
    target = one.opening.target
    return {
        "kueue": {
            "version": ".".join(map(str, target.version)),
            "gates": dict(sorted(target.gates.items())),
            "assumed": target.assumed,
        }
    }


def _promises(promises: Promises) -> dict[str, Any]:
    """What a certificate keeps of them. Names of files are those within the scope, or the file's own."""
    return {
        "source": promises.source.rpartition("/")[2],
        "digest": promises.digest,
        "derived": list(promises.derived),
        "owners": dict(sorted(promises.owners.items())),
        "required": list(promises.required),
    }


def exact(value: Any) -> Any:
    """The same without floats, tuples and numbers beyond 2^53, which have no canonical text."""
    if isinstance(value, Mapping):
        return {str(key): exact(held) for key, held in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [exact(held) for held in (sorted(value) if isinstance(value, (set, frozenset)) else value)]
    if isinstance(value, float) or (isinstance(value, int) and abs(value) >= 2**53):
        return repr(value)
    return value
