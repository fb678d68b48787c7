"""``guarantee-honoured``: what a team was guaranteed it gets when it asks, whatever the others hold.

Arithmetic comes first: quota that is less than promised, that can not be taken back, or that waits for
something without bound, needs no search. Then others are brought to hold all they can, in many ways, and
any set of the team's shapes within its guarantee that runs when nobody else is there has to run as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policycheck.certify.arena import Arena
from policycheck.certify.attack import (
    plain,
)
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.claims.common import Bench, shapes_of
from policycheck.certify.claims.honour import NAME, Part, Trial
from policycheck.certify.promise import Promises, Shape, TeamPromise
from policycheck.certify.verdict import (
    NOT_APPLICABLE,
    PROOF,
    Verdict,
)
from policycheck.model.amount import show


def test(arena: Arena, promises: Promises, effort: Effort) -> list[Verdict]:
    """One verdict a team."""
    bench = Bench(NAME, arena, promises)
    found = [_team(bench, team, effort) for team in promises.teams if effort.wants(team.name)]
    return found or [bench.nothing("no team is promised anything")]


def _team(bench: Bench, team: TeamPromise, effort: Effort) -> Verdict:
    barred = bench.barred(team)
    if barred is not None:
        return barred
    wanted = {r: v for r, v in team.guarantee.items() if v > 0}
    if not wanted:
        return bench.verdict(
            team.name, NOT_APPLICABLE, PROOF, "it is guaranteed nothing", derived=team.derived
        )
    firm = _firm(bench.arena, team, wanted)
    parts = [_part(bench, team, queue, wanted, firm) for queue in team.queues]
    trial = Trial(bench, team, parts, effort)
    unfit = next(trial.unfit(), None)
    if unfit is not None:
        return unfit
    short = _short(bench.arena, team, wanted)
    if short:
        return trial.failed(PROOF, short)
    cramped = next(trial.cramped(), None)
    if cramped is not None:
        return cramped
    waits = _without_bound(parts)
    if waits is not None:
        return trial.failed(PROOF, waits) if waits else trial.unknown(parts)
    return trial.searched()


def _firm(arena: Arena, team: TeamPromise, wanted: Mapping[str, int]) -> frozenset[str]:
    """Resources of which the queues can enforce all that was promised, if not all of their quota."""
    sure: dict[tuple[str, str], int] = {}
    for queue in team.queues:
        at = min((shape.priority for shape in shapes_of(arena, team, queue)), default=0)
        for pair in arena.nominal(queue):
            sure[pair] = sure.get(pair, 0) + arena.enforcement(queue, *pair, at).enforced
    return frozenset(
        resource
        for resource, value in wanted.items()
        if sum(held for pair, held in sure.items() if pair[1] == resource) >= value
        and all(sure.get(pair, 0) >= told for pair, told in team.flavors.items() if pair[1] == resource)
    )


def _part(
    bench: Bench, team: TeamPromise, queue: str, wanted: Mapping[str, int], firm: frozenset[str]
) -> Part:
    """What is within the guarantee of one queue: at most its own quota, and at most what was promised."""
    arena = bench.arena
    own: dict[str, int] = {}
    own_shapes = shapes_of(arena, team, queue)
    at = min((shape.priority for shape in own_shapes), default=0)
    # What a team was promised it runs is all that it asks for; what is declared is only what it runs today.
    others = [] if team.shapes else _plain(arena, queue)
    shapes = [*own_shapes, *(one._replace(priority=at) for one in others)]
    weak = []
    for (flavor, resource), nominal in arena.nominal(queue).items():
        own[resource] = own.get(resource, 0) + nominal
        if resource in wanted and resource not in firm and nominal:
            found = arena.enforcement(queue, flavor, resource, at)
            if found.enforced < found.nominal:
                weak.append(found)
    within = {r: min(v, wanted[r]) for r, v in own.items() if r in wanted}
    return Part(queue, within, shapes, tuple(weak), arena.timing(queue))


def _plain(arena: Arena, queue: str) -> list[Shape]:
    """A pod of one unit: what a team can always ask for."""
    units = [r for _, r in arena.rights.resources(queue) if r in arena.accelerators]
    return [plain(r, 1, {}, f"one {r}") for r in dict.fromkeys(units)]


def _short(arena: Arena, team: TeamPromise, wanted: Mapping[str, int]) -> str:
    """Quota that is less than what was promised, in words."""
    own: dict[str, int] = {}
    of_flavor: dict[tuple[str, str], int] = {}
    for queue in team.queues:
        for (flavor, resource), nominal in arena.nominal(queue).items():
            own[resource] = own.get(resource, 0) + nominal
            of_flavor[flavor, resource] = of_flavor.get((flavor, resource), 0) + nominal
    for resource, value in wanted.items():
        if own.get(resource, 0) < value:
            return (
                f"{show(resource, value)} {resource} are promised, and the quota of "
                f"{', '.join(team.queues)} is {show(resource, own.get(resource, 0))}: "
                "what lies beyond it is borrowed and can not be asked back"
            )
    for (flavor, resource), value in team.flavors.items():
        if of_flavor.get((flavor, resource), 0) < value:
            have = show(resource, of_flavor.get((flavor, resource), 0))
            return (
                f"{show(resource, value)} {resource} of {flavor} are promised, and the quota there is {have}"
            )
    return ""


def _without_bound(parts: Sequence[Part]) -> str | None:
    """Why honouring it has no bound; "" when that can not be known, None when it has one."""
    for part in parts:
        if part.timing.blocked.endswith("for ever"):
            return part.timing.blocked
        if part.weak and part.timing.runs is None:
            return (
                f"{part.weak[0].why}, so {part.queue} waits for others to end, and nothing bounds "
                "how long they run (no maximum execution time)"
            )
    return "" if any(part.timing.checks is None for part in parts) else None


CLAIM = Claim(
    name=NAME,
    title="A guarantee is honoured when it is asked for",
    test=test,
    promise=(
        "From every state that the others can bring about, any set of a team's jobs within its guarantee gets "
        "quota and nodes within the time that was promised."
    ),
    means=(
        "FAILS by proof when the quota is less than what is promised, when it can not be taken back "
        "(reclaimWithinCohort Never, or LowerPriority against equals) and nothing bounds how long others run, or "
        "when admission as a whole may stand still. FAILS by search when an attack leaves the team waiting; the "
        "story is made as small as it gets. HOLDS by proof when nobody else can use the quota, else by search: "
        "so many directed attacks (every mix of priorities, large and small jobs, lost nodes, queues held and "
        "opened again) and drawn ones. UNKNOWN when an admission check has no bound, or nobody ever exceeded "
        "its own quota."
    ),
    premise="In at least one attack another team held more than its own quota when the team asked.",
    enforceable=(
        "reclaimWithinCohort Any gives back the whole nominal quota. LowerPriority gives it back only from "
        "workloads of lower priority. Never gives what the lendingLimit keeps, nothing when none is set. Quota "
        "of a Cohort above the queue belongs to nobody and can not be asked back. All resources that a job asks "
        "for have to be had, so that a companion (cpu, memory) without quota breaks it."
    ),
    remedy=(
        "Set reclaimWithinCohort: Any on the team's queue, or a lendingLimit that keeps what has to be there at "
        "once; give companions quota in proportion; bound runs with a maximum execution time."
    ),
)
