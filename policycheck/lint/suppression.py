"""Findings ignored on purpose: applied, accounted for, and themselves reported when they are idle.

A suppression names its rules. Ones that are malformed, at an end, or that ignore nothing become
findings of the rules for ``suppression-malformed``, ``suppression-expired`` and
``suppression-unused``; these can not be suppressed.
"""

from __future__ import annotations

from policycheck.lint.finding import Finding, Place, Suppressed
from policycheck.lint.message import MessageError, render
from policycheck.lint.place import fingerprint
from policycheck.lint.rule import Rule
from policycheck.lint.rulebook import Rulebook
from policycheck.lint.select import choose, severity_of
from policycheck.lint.settings import Settings
from policycheck.model.origin import ObjectKey
from policycheck.model.schema import suggest
from policycheck.record import NamedTuple

_LONGEST = 80  # characters of a rule's name
_MOST_GUESSED = 50  # words for which the rule that may be meant is looked for: each takes 4 ms
MALFORMED, EXPIRED, UNUSED = "suppression-malformed", "suppression-expired", "suppression-unused"


class Suppression(NamedTuple):
    """One ``policycheck: ignore[...]`` comment or its twin among the annotations.

    It covers findings in ``place.file`` that begin on ``lines`` (first and last; None: any) and are
    about ``object`` (None: any). ``wrong`` says why it can not be read; then it covers nothing.
    """

    rules: tuple[str, ...]
    place: Place
    lines: tuple[int, int] | None = None
    object: ObjectKey | None = None
    api_version: str = ""
    scope: str = ""  # to which its own findings are counted
    until: str = ""  # ISO date: the last day on which it holds; "" is without end
    owner: str = ""
    reason: str = ""
    wrong: str = ""

    def covers(self, finding: Finding) -> bool:
        """Whether ``finding`` is one that this ignores."""
        if finding.place.file != self.place.file:
            return False
        if self.object is not None and finding.object != self.object:
            return False
        line = finding.place.span.line
        if self.lines is not None and not self.lines[0] <= line <= self.lines[1]:
            return False
        return finding.rule in self.rules or finding.name in self.rules


class Applied(NamedTuple):
    """Findings that stay (with those about suppressions), and those that are ignored."""

    findings: list[Finding]
    suppressed: list[Suppressed]


def apply(
    findings: list[Finding],
    suppressions: tuple[Suppression, ...],
    ran: frozenset[str],
    rulebook: Rulebook,
    settings: Settings,
    today: str,
) -> Applied:
    """``findings`` with ``suppressions`` applied.

    ``ran`` are the rules that looked at everything: a suppression of another one is not called
    unused. ``today`` is an ISO date; without it nothing is at an end.
    """
    if not suppressions:
        return Applied(findings, [])
    names = _Names(rulebook)
    active: dict[tuple[str, str], list[Suppression]] = {}
    for one in suppressions:
        if not _fault(one, names) and not _is_over(one, today):
            for word in dict.fromkeys(one.rules):
                active.setdefault((one.place.file, word), []).append(one)
    used: set[Suppression] = set()
    kept: list[Finding] = []
    suppressed: list[Suppressed] = []
    for finding in findings:
        near = [
            one for word in (finding.rule, finding.name) for one in active.get((finding.place.file, word), ())
        ]
        by = [one for one in near if one.covers(finding)]
        used.update(by)
        if by:
            first = by[0]
            suppressed.append(Suppressed(finding, first.reason, first.owner, first.until, first.place))
        else:
            kept.append(finding)
    reporting = _reporting(rulebook, settings)
    own: list[Finding] = []
    for one in suppressions:
        code, what = _complaint(one, names, today, is_used=one in used, ran=ran)
        own.extend(_finding(one, rule, what, settings) for rule in reporting.get(code, []))
    return Applied([*kept, *dict.fromkeys(own)], suppressed)


def _complaint(
    one: Suppression, names: _Names, today: str, *, is_used: bool, ran: frozenset[str]
) -> tuple[str, str]:
    """The code of what is wrong with a suppression, and the words; ("", "") when nothing is."""
    fault = _fault(one, names)
    if fault:
        return MALFORMED, fault
    if _is_over(one, today):
        owner = f"; its owner is {one.owner}" if one.owner else ""
        return EXPIRED, f"it held until {one.until} and ignores nothing any more{owner}"
    ids = {names.ids[name] for name in one.rules}
    if not is_used and ids <= ran:
        return UNUSED, f"nothing is found here by {', '.join(one.rules)}; take it away"
    return "", ""


class _Names:
    """What rules are called: ids by id and name."""

    def __init__(self, rulebook: Rulebook) -> None:
        self.ids = {word: rule.id for rule in rulebook.rules for word in (rule.id, rule.name)}
        self._said: dict[str, str] = {}

    def unknown(self, name: str) -> str:
        """That there is no such rule; worked out once, as a word may stand in thousands of comments."""
        if name not in self._said:
            shown = name if len(name) <= _LONGEST else name[:_LONGEST] + "..."
            is_guessed = len(name) <= _LONGEST and len(self._said) < _MOST_GUESSED
            near = suggest(name, list(self.ids)) if is_guessed else ""
            self._said[name] = f"there is no rule {shown!r}{near}"
        return self._said[name]


def _fault(one: Suppression, names: _Names) -> str:
    """Why a suppression can not be read; "" when it can."""
    if one.wrong:
        return one.wrong
    for name in one.rules:
        if name not in names.ids:
            return names.unknown(name)
    return "" if one.rules else "it names no rule; write ignore[RULE]: reason"


def _is_over(one: Suppression, today: str) -> bool:
    # ISO dates sort as text
    return bool(one.until and today and one.until < today)


def _reporting(rulebook: Rulebook, settings: Settings) -> dict[str, list[Rule]]:
    by_code: dict[str, list[Rule]] = {}
    for rule in choose(rulebook, settings).rules:
        for code in rule.troubles:
            by_code.setdefault(code, []).append(rule)
    return by_code


def _finding(one: Suppression, rule: Rule, what: str, settings: Settings) -> Finding:
    values = {"message": what, "rules": ", ".join(one.rules), "until": one.until, "owner": one.owner}
    return Finding(
        rule=rule.id,
        name=rule.name,
        severity=severity_of(rule, settings),
        confidence=rule.confidence,
        message=_filled(rule.message, values, what),
        help=_filled(rule.remediation, values, rule.remediation),
        scope=one.scope,
        place=one.place,
        path="",
        object=one.object,
        api_version=one.api_version,
        fingerprint=fingerprint(rule.id, one.object, "", ",".join(one.rules)),
        fix=rule.fix,
    )


def _filled(template: str, values: dict[str, str], otherwise: str) -> str:
    try:
        return render(template, values, {})
    except MessageError:
        return otherwise
