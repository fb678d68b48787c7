"""Findings ignored on purpose: applied, accounted for, and themselves reported when they are idle.

A suppression names its rules. Ones that are malformed, that the settings refuse (no reason, too long, a
rule that nothing may suppress), at an end, or that ignore nothing become findings of the rules for
``suppression-malformed``, ``-refused``, ``-expired`` and ``-unused``; these can not be suppressed.
"""

from __future__ import annotations

from policycheck.lint import day
from policycheck.lint.finding import Finding, Place, Suppressed
from policycheck.lint.message import MessageError, render
from policycheck.lint.place import fingerprint
from policycheck.lint.rule import Rule
from policycheck.lint.rulebook import Rulebook
from policycheck.lint.select import choose, ignored_in, is_firm, severity_of
from policycheck.lint.settings import Acceptance, PathOverride, Settings
from policycheck.model.origin import ObjectKey
from policycheck.model.schema import suggest
from policycheck.record import NamedTuple
from policycheck.source.document import Change, Span

_LONGEST = 80  # characters of a rule's name
_MOST_GUESSED = 50  # words for which the rule that may be meant is looked for: each takes 4 ms
MALFORMED, EXPIRED, UNUSED = "suppression-malformed", "suppression-expired", "suppression-unused"
REFUSED = "suppression-refused"


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
    cuts: tuple[Change, ...] = ()  # what takes it away

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
    names = _Names(rulebook, settings)
    active: dict[tuple[str, str], list[Suppression]] = {}
    for one in suppressions:
        if not _fault(one, names) and not _refusal(one, names, today) and not _is_over(one.until, today):
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
    refusal = _refusal(one, names, today)
    if refusal:
        return REFUSED, refusal
    if _is_over(one.until, today):
        return EXPIRED, _ended(one)
    ids = {names.ids[name] for name in one.rules}
    if not is_used and ids <= ran:
        return UNUSED, f"nothing is found here by {', '.join(one.rules)}; take it away"
    return "", ""


def _ended(one: Suppression | PathOverride) -> str:
    owner = f"; its owner is {one.owner}" if one.owner else ""
    return f"it held until {one.until} and ignores nothing any more{owner}"


class _Names:
    """What rules are called (ids by id and name), and which of them nothing may suppress."""

    def __init__(self, rulebook: Rulebook, settings: Settings) -> None:
        self.ids = {word: rule.id for rule in rulebook.rules for word in (rule.id, rule.name)}
        self.asked = settings.suppressions
        own = frozenset((MALFORMED, EXPIRED, UNUSED, REFUSED))
        self.own = {rule.id for rule in rulebook.rules if own & set(rule.troubles)}
        self.firm = (
            {rule.id for rule in rulebook.rules if is_firm(rule, settings)} if self.asked.never else set()
        )
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


def _refusal(one: Suppression, names: _Names, today: str) -> str:
    """Why the settings refuse a suppression that can be read; "" when they do not."""
    for name in one.rules:
        if names.ids[name] in names.own:
            return (
                f"{name} is about suppressions and can not be suppressed itself; the settings can ignore it"
            )
        if names.ids[name] in names.firm:
            return f"{name} can not be suppressed, the settings say so (suppressions.never); repair what it finds"
    return lacking(names.asked, one) or too_long(names.asked, one.until, today)


def lacking(asked: Acceptance, one: Suppression | PathOverride) -> str:
    """What the settings require of a suppression and it does not have; "" when nothing."""
    lacks = [word for word in asked.require if not getattr(one, word)]
    if not lacks:
        return ""
    return f"it has no {' and no '.join(lacks)}; the settings ask for {', '.join(asked.require)}"


def too_long(asked: Acceptance, until: str, today: str) -> str:
    """That a suppression holds longer than the settings allow; "" when it does not."""
    if not asked.max_days or not today:
        return ""
    last = day.later(today, asked.max_days)
    allowed = f"at most {asked.max_days} days are allowed, until={last} from today on"
    if not until:
        return f"it has no end; {allowed}"
    return f"it holds until {until}; {allowed}" if until > last else ""


def _is_over(until: str, today: str) -> bool:
    # ISO dates sort as text
    return bool(until and today and until < today)


def by_path(findings: list[Finding], rulebook: Rulebook, settings: Settings, today: str) -> Applied:
    """``findings`` apart from those that the settings ignore in their file."""
    if not settings.per_path:
        return Applied(findings, [])
    place = Place(settings.file, Span(1, 1, 1, 1))
    holding: list[PathOverride] = []
    idle: list[tuple[str, str, PathOverride]] = []
    for override in settings.per_path:
        code, what = _idle(override, settings.suppressions, today)
        if code:
            idle.append((code, what, override))
        else:
            holding.append(override)
    counting = settings._replace(per_path=tuple(holding))
    kept, ignored = [], []
    for finding in findings:
        rule = rulebook.find(finding.rule)
        by = ignored_in(rule, finding.place.file, counting) if rule else None
        if by is None:
            kept.append(finding)
        else:
            why = by.reason or "ignored in these files by the settings"
            ignored.append(Suppressed(finding, why, by.owner, by.until, place))
    reporting = _reporting(rulebook, settings) if idle else {}
    own: list[Finding] = []
    for code, what, override in idle:
        one = Suppression(
            override.ignore or override.select, place, until=override.until, owner=override.owner
        )
        about = f"in {', '.join(override.paths)} {what}"
        own.extend(_finding(one, rule, about, settings) for rule in reporting.get(code, []))
    return Applied([*kept, *dict.fromkeys(own)], ignored)


def _idle(override: PathOverride, asked: Acceptance, today: str) -> tuple[str, str]:
    """The code of why an override of the settings ignores nothing, and the words; ("", "") when it does."""
    if not (override.ignore or override.select):
        return "", ""
    refusal = too_long(asked, override.until, today)
    if refusal:
        return REFUSED, refusal
    return (EXPIRED, _ended(override)) if _is_over(override.until, today) else ("", "")


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
        fix=rule.fix if one.cuts else "manual" if rule.fix else None,
        changes=one.cuts if rule.fix else (),
    )


def _filled(template: str, values: dict[str, str], otherwise: str) -> str:
    try:
        return render(template, values, {})
    except MessageError:
        return otherwise
