"""The answer to one question: what is decided about a workload, why, and what would change it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from policycheck.model.workload import Workload
from policycheck.simulate import why
from policycheck.simulate.change import Budget, ExhaustedError, Remedy, turn
from policycheck.simulate.scheduler import RESERVED, Explanation, Grant
from policycheck.simulate.why import Answer, End, SetAsked, Suggestion
from policycheck.systems.core.link import CoreState
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.model import KueueWorkload
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.scheduler.shape import per_pod
from policycheck.systems.kueue.state import KueueState
from policycheck.systems.kueue.why import around, find, options, own, quota, reasons
from policycheck.systems.kueue.why.places import Places, places
from policycheck.systems.kueue.why.routes import routes
from policycheck.systems.kueue.why.trial import (
    Trial,
    alone,
    blocked,
    displaced,
    losses,
    narrowed,
    next_decision,
    queue_of,
    restricted,
    run,
    settle,
    workload_of,
)

_RUNS = 600  # of the decision at most, for one search
_FEWEST = 12
_WORK = 8_000_000  # runs x cycles of one x workloads: some ten seconds
NO_PLACE = "no place on nodes: "  # how the decision's notes on placement begin
_NO_REASONS = Explanation((), (), ())


def unmanaged(job: Workload, state: KueueState, core: CoreState) -> Answer:
    """The answer about an object that no Workload is made of."""
    held, text = find.unmanaged(job, state, core)
    name = f"{job.key.namespace}/{job.key.name}"
    asks = tuple(SetAsked(s.name, s.pods, s.requests) for s in job.pod_sets)
    head = f"never starts: {text}" if held else f"starts without any quota: {text}"
    return Answer(
        name, f"{job.key.kind} {job.key.name}", why.BLOCKED if held else why.UNMANAGED, "", head, asks=asks
    )


def ask(opening: Opening, name: str, *, search: bool = True) -> Answer:
    """Why the workload with this id waits, or that it does not. Where pools grow on demand it is answered
    for their minimum, and for their maximum too where that makes a difference.
    """
    if opening.pools is None:
        return _ask(opening, name, search=search)
    least = _ask(opening.smallest(), name, search=search)
    most = _ask(opening.largest(), name, search=False)
    if (least.outcome, least.reason, least.headline) == (most.outcome, most.reason, most.headline):
        return least
    only_small = least.outcome == why.NEVER and most.outcome not in (why.NEVER, why.BLOCKED)
    return least._replace(
        outcome=why.WAITS if only_small else least.outcome,
        headline=f"at the pools' minimum: {least.headline}; with all pools at their maximum: {most.headline}",
        notes=(*least.notes, f"pools that grow: {', '.join(opening.pools.names)}"),
        ends=(
            End("minimum", least.outcome, least.headline),
            End("maximum", most.outcome, most.headline),
        ),
    )


def _ask(opening: Opening, name: str, *, search: bool) -> Answer:
    workload = workload_of(opening, name)
    answer = _about(opening, workload)
    block = blocked(opening, workload)
    if block is not None:
        answer = answer._replace(
            outcome=why.BLOCKED, reason=block.reason, headline=f"never starts: {block.text}"
        )
        return _with_suggestions(answer, opening, None, ()) if search and not workload.finished else answer
    trial = settle(opening, name)
    answer = answer._replace(notes=_assumed(opening, answer))
    if trial.holds:
        return _admitted(answer, trial)
    answer, short = _waiting(answer, opening, trial)
    return _with_suggestions(answer, opening, trial, short) if search else answer


def _about(opening: Opening, workload: KueueWorkload) -> Answer:
    queue = queue_of(opening.objects, workload)
    configuration = opening.objects.configuration
    made_of = f"{workload.source.kind} {workload.source.name}" if workload.source else ""
    return Answer(
        workload.id,
        made_of or ", ".join(f"{kind} {name}" for kind, name in workload.owners[:3]),
        why.UNKNOWN,
        "",
        "",
        queue.name if queue else "",
        workload.queue,
        queue.cohort if queue else "",
        workload.priority,
        workload.priority_class,
        tuple(SetAsked(s.name, s.pods, per_pod(s, configuration)) for s in workload.pod_sets),
        options.total(opening, workload),
    )


def _assumed(opening: Opening, answer: Answer) -> tuple[str, ...]:
    """Amounts of nodes that nobody tells and that the workload asks for."""
    asked = {r for one in answer.asks for r, amount in one.each.items() if amount}
    lacking = sorted(asked & opening.untold) if opening.nodes is not None else []
    return (f"nothing says what nodes have of {', '.join(lacking)}: taken as enough",) if lacking else ()


# -- it has quota ------------------------------------------------------------------------------------


def _admitted(answer: Answer, trial: Trial) -> Answer:
    item = trial.session.items[trial.id]
    grant = trial.session.holding()[trial.id]
    flavors = sorted({f for s in grant.sets for f in s.flavors.values()})
    held = not trial.mine
    cost = displaced(trial)
    checks = () if item.admitted else _checks(trial, grant)
    where = f" on {', '.join(flavors)}" if flavors else ""
    head = f"{'holds its quota' if held else 'is given its quota'}{where}"
    if cost:
        head += f", once {len(cost)} running job{'s' * (len(cost) > 1)} made room"
    found = None if checks else places(trial)
    if found is not None and found.sets:
        head += f", and {_running(found)}"
    if checks:
        head += f"; it starts when {', '.join(checks)} passed"
    return answer._replace(
        outcome=why.HOLDS if held else why.ADMITTED,
        headline=head,
        grant=grant,
        checks=checks,
        placement=_placement(trial, grant),
        losses=cost,
        notes=(*_fewer(answer, grant), *_left(found), *answer.notes),
        unplaced=found.sets if found is not None else (),
    )


def _running(found: Places) -> str:
    if found.running != "0":
        return f"{found.running} of its {found.pods} pods find{'s' * (found.running == '1')} a node"
    return "its pod finds no node" if found.pods == 1 else f"none of its {found.pods} pods finds a node"


def _left(found: Places | None) -> tuple[str, ...]:
    """Which pods wait, and why, as the default scheduler says it."""
    if found is None:
        return ()
    told = []
    for one in found.sets:
        number = str(one.most) if one.least == one.most else f"{one.least} to {one.most}"
        of = f"{number} of {one.pods} pods stay" if one.pods > 1 else "its pod stays"
        told.append(f"{one.name}: {of} Pending: {one.why}")
    if any(one.least != one.most for one in found.sets):
        told.append(
            "which of several equal nodes a pod goes to is drawn by lot: the numbers are what was tried"
        )
    return tuple(told)


def _fewer(answer: Answer, grant: Grant) -> tuple[str, ...]:
    asked = {s.name: s.pods for s in answer.asks}
    less = [
        f"{s.name}: {s.pods} of {asked[s.name]} pods" for s in grant.sets if s.pods < asked.get(s.name, 0)
    ]
    return (f"with fewer pods than it asks for ({', '.join(less)})",) if less else ()


def _checks(trial: Trial, grant: Grant) -> tuple[str, ...]:
    item = trial.session.items[trial.id]
    queue = trial.session.queues[grant.queue]
    flavors = {f for s in grant.sets for f in s.flavors.values()}
    ready = {c.name for c in item.workload.check_states if c.state == "Ready"}
    wanted = [
        rule.name
        for rule in queue.config.checks
        if not rule.on_flavors or not flavors.isdisjoint(rule.on_flavors)
    ]
    return tuple(f"admission check {name}" for name in wanted if name not in ready)


def _placement(trial: Trial, grant: Grant) -> str:
    """Why the nodes are not known, when the flavor has a topology and none were chosen."""
    objects = trial.opening.objects
    if not trial.session.world.strategy.topology:
        return ""
    found = {
        objects.flavors[f].topology
        for s in grant.sets
        if s.placement is None
        for f in s.flavors.values()
        if f in objects.flavors and objects.flavors[f].topology
    }
    if not found:
        return ""
    specs = {s.name: s for s in workload_of(trial.opening, trial.id).pod_sets}
    asked = sorted(
        f"{t.mode} {t.level}".strip()
        for s in grant.sets
        if s.name in specs and (t := specs[s.name].topology) is not None and t.mode
    )
    request = f" ({', '.join(dict.fromkeys(asked))})" if asked else ""
    return (
        f"topology {', '.join(sorted(found))}{request} is not decided; quota alone says nothing of free nodes"
    )


# -- it has none -------------------------------------------------------------------------------------


def _waiting(answer: Answer, opening: Opening, trial: Trial) -> tuple[Answer, tuple[str, ...]]:
    """The answer about a workload without quota, and what it is short of."""
    decision = next_decision(trial)
    item = trial.session.items[trial.id]
    explanation = decision.explain() if decision is not None else _NO_REASONS
    queue = trial.session.queues[item.queue.name] if item.queue is not None else None
    looked = reasons.looked(trial.session, queue, explanation) if queue is not None else ()
    free_now = decision is not None and decision.outcome == RESERVED
    reason = item.reason or (decision.reason if decision is not None else "") or "PendingEvaluation"
    before = reasons.before(trial, item)
    unplaced = any(note.startswith(NO_PLACE) for note in explanation.notes)
    outcome, head = _verdict(trial, opening, free_now=free_now)
    if unplaced and not any(one.shorts for one in looked):
        head += ": its quota is there, and its pods find no place on the nodes"
    answer = answer._replace(
        outcome=outcome,
        reason=reason,
        headline=head,
        looked=looked,
        weighed=explanation.weighed,
        nobody=reasons.nobody(queue, explanation) if queue is not None else "",
        before=before,
        notes=(*explanation.notes, *_loop(trial), *answer.notes),
    )
    return answer, _short(answer)


def _verdict(trial: Trial, opening: Opening, *, free_now: bool) -> tuple[str, str]:
    workload = workload_of(opening, trial.id)
    if workload.has("QuotaReserved") and workload.admission is not None:
        takers = sorted(
            {
                f"{d.workload} ({v.reason})"
                for log in trial.run.cycles
                for d in log.preempting
                for v in d.victims
                if v.workload == trial.id
            }
        )
        return why.DISPLACED, f"holds quota now and is preempted by {', '.join(takers) or 'others'}"
    if not alone(opening, trial.id).holds:
        return why.NEVER, "can never be admitted as things stand, not even alone in the cluster"
    if free_now:
        return why.WAITS, "waits although there is room for it now: others stand before it"
    return why.WAITS, "waits; alone in the cluster it would be admitted"


def _loop(trial: Trial) -> tuple[str, ...]:
    loop = trial.run.loop
    if loop is None:
        return ()
    mine = trial.run.evictions.get(trial.id, 0)
    about = f"; it is itself preempted {mine} times" if mine else ""
    return (f"the cluster does not settle: the state comes back after {loop.period} cycles{about}",)


def _short(answer: Answer) -> tuple[str, ...]:
    """Resources that are short in some flavor, accelerators first."""
    names = {s.resource for one in answer.looked for s in one.shorts}
    return tuple(sorted(names, key=lambda r: (not is_accelerator(r), r)))


# -- what would let it in ----------------------------------------------------------------------------


class _Search(NamedTuple):
    """One search under way."""

    works: Budget[Opening]
    found: list[Remedy[Opening]]
    kinds: dict[str, None]

    def try_all(self, choices: Iterator[options.Choice]) -> None:
        """Try every one of ``choices``. Raises ExhaustedError."""
        for choice in choices:
            self.kinds[choice.kind] = None
            remedy = turn(choice, self.works)
            if remedy is not None:
                self.found.append(remedy)

    def try_first(self, choices: Sequence[options.Choice]) -> bool:
        """Try ``choices`` until one helps. Raises ExhaustedError."""
        for choice in choices:
            self.kinds[choice.kind] = None
            remedy = turn(choice, self.works)
            if remedy is not None:
                self.found.append(remedy)
                return True
        return False


def lets_in(name: str) -> Callable[[Opening], bool]:
    """Whether the workload ends up with quota: nothing else blocks it, and the decision says so."""

    def works(opening: Opening) -> bool:
        small = narrowed(opening, name)
        return blocked(small, workload_of(small, name)) is None and settle(small, name).holds

    return works


def remedies(
    opening: Opening, answer: Answer, trial: Trial | None, short: Sequence[str]
) -> tuple[list[Remedy[Opening]], tuple[str, ...], bool]:
    """Changes that let it in, smallest first; the kinds that were tried; whether the search was cut."""
    name = answer.workload
    small = narrowed(opening, name)
    cost = (1 + trial.run.ran if trial is not None else 1) * (1 + len(small.objects.workloads))
    runs = max(_FEWEST, min(_RUNS, _WORK // cost))
    search = _Search(Budget(lets_in(name), runs), [], {})
    cut = False
    try:
        search.try_all(routes(opening, name))
        at = options.place(small, name)
        if at is not None and trial is not None:
            _try(search, at, answer, trial, short)
    except ExhaustedError:
        cut = True
    return sorted(search.found, key=lambda r: r.size), tuple(search.kinds), cut


def _try(search: _Search, at: options.Place, answer: Answer, trial: Trial, short: Sequence[str]) -> None:
    flavors = [one for one in answer.looked if not one.refusal]
    search.try_all(own.fewer_pods(at))
    search.try_all(own.less_per_pod(at, short))
    search.try_all(own.higher_priority(at))
    for one in answer.looked:
        if one.refusal:
            search.try_all(own.open_flavor(at, one.flavor))
    for one in flavors:
        names = [s.resource for s in one.shorts]
        search.try_all(quota.more_borrowing(at, one.flavor, names))
        search.try_all(quota.more_nominal(at, one.flavor, names))
    search.try_all(around.policies(at))
    if answer.outcome != why.NEVER:
        ahead = reasons.before_in_queue(trial, trial.session.items[trial.id])
        search.try_first(around.withdrawals(at, [item.id for item in ahead]))
        if not search.try_first(around.endings(at, trial, short)):
            search.try_all(around.all_endings(at, trial, short))
    for one in flavors:
        names = [s.resource for s in one.shorts]
        search.try_all(quota.cohort_limits(at, one.flavor, names))
        search.try_all(quota.more_lending(at, one.flavor, names))


def _with_suggestions(answer: Answer, opening: Opening, trial: Trial | None, short: Sequence[str]) -> Answer:
    found, kinds, cut = remedies(opening, answer, trial, short)
    suggestions = []
    for remedy in found:
        after = settle(remedy.state, answer.workload)
        suggestions.append(Suggestion(remedy.changes, losses(_base(opening, trial, after), after)))
    return answer._replace(suggestions=tuple(suggestions), searched=kinds, exhausted=cut)


def _base(opening: Opening, trial: Trial | None, after: Trial) -> Trial:
    """What holds without the change, in all queues that the change has to do with."""
    queues = after.session.queues.keys() | (trial.session.queues.keys() if trial is not None else set())
    if trial is not None and len(queues) == len(trial.session.queues):
        return trial
    return run(restricted(opening, queues, after.id), after.id)
