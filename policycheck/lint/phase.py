"""Where a cluster stands in its rollout: which steps are clean, and what stands in the way of the next.

The steps are those from which a rule matters (``phase`` in its file): observe, pilot, queues, topology.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from policycheck.lint.finding import SEVERITIES, Finding, LintResult, SkippedRule
from policycheck.lint.rule import PHASES, Rule
from policycheck.record import NamedTuple

CLEAN, OPEN, UNDECIDED, ABSENT = "clean", "open", "undecided", "absent"


class Presence(NamedTuple):
    """What of a step there is in a cluster. ``has`` is false when it has not begun; ``words`` say of what."""

    has: bool
    words: str


class Obstacle(NamedTuple):
    """A rule whose findings stand in the way. ``known`` of them are in the baseline: that is a debt, too."""

    rule: str
    name: str
    title: str
    severity: str
    findings: tuple[Finding, ...]
    known: int


class Step(NamedTuple):
    """One step: clean; open (there are obstacles); undecided (rules could not run); or absent."""

    phase: str
    state: str
    presence: Presence
    rules: int  # that ran, wholly or partly
    counts: Mapping[str, int]  # findings by severity, those known from before among them
    known: int
    suppressed: int
    obstacles: tuple[Obstacle, ...]
    not_run: tuple[SkippedRule, ...]


class Standing(NamedTuple):
    """``stands`` is the last step that is clean with all before it, ``next`` the first that is not."""

    scope: str
    stands: str
    next: str
    steps: tuple[Step, ...]


def stand(
    result: LintResult, scope: str, rules: Iterable[Rule], presence: Mapping[str, Presence], fail_on: str
) -> Standing:
    """Where ``scope`` stands. Findings from ``fail_on`` on are obstacles, whether they are known or not;
    those that are suppressed are agreed on, and are none.
    """
    by_id = {rule.id: rule for rule in rules}
    steps = tuple(_step(phase, result, scope, by_id, presence[phase], fail_on) for phase in PHASES)
    good = 0
    while good < len(steps) and steps[good].state == CLEAN:
        good += 1
    return Standing(scope, PHASES[good - 1] if good else "", PHASES[good] if good < len(steps) else "", steps)


def _step(
    phase: str,
    result: LintResult,
    scope: str,
    rules: Mapping[str, Rule],
    presence: Presence,
    fail_on: str,
) -> Step:
    own = {name for name, rule in rules.items() if rule.phase == phase}
    known = [one for one in result.before if one.scope == scope and one.rule in own]
    new = [one for one in result.findings if one.scope == scope and one.rule in own]
    counts = {severity: sum(one.severity == severity for one in (*new, *known)) for severity in SEVERITIES}
    skipped = tuple(one for one in result.skipped if one.scope in (scope, "") and one.rule in own)
    obstacles = _obstacles(new, known, rules, fail_on)
    if obstacles:
        state = OPEN
    elif not presence.has:
        state = ABSENT
    else:
        state = UNDECIDED if skipped else CLEAN
    suppressed = sum(one.finding.scope == scope and one.finding.rule in own for one in result.suppressed)
    ran = sum(name in own for name in result.ran)
    return Step(phase, state, presence, ran, counts, len(known), suppressed, obstacles, skipped)


def _obstacles(
    new: Sequence[Finding], known: Sequence[Finding], rules: Mapping[str, Rule], fail_on: str
) -> tuple[Obstacle, ...]:
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    grouped: dict[tuple[int, str], list[Finding]] = {}
    for one in sorted((*new, *known), key=lambda finding: finding.order):
        if one.severity in failing:
            grouped.setdefault((SEVERITIES.index(one.severity), one.rule), []).append(one)
    before = {id(one) for one in known}
    return tuple(
        Obstacle(
            rule,
            rules[rule].name,
            rules[rule].title,
            SEVERITIES[severity],
            tuple(found),
            sum(id(one) in before for one in found),
        )
        for (severity, rule), found in sorted(grouped.items())
    )
