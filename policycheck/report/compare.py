"""Two configurations side by side: for people at a terminal, for a pull request, and for programs.

JSON (``render_json``), additions allowed, changes raise ``schemaVersion``::

    {"schemaVersion": 1, "scopes": [{"scope", "old": {"label", "target"}, "new": {...}, "resource", "seeds",
      "horizon": s | null, "jobs", "source",
      "figures": [{"name", "unit", "old", "new", "difference", "low", "high", "clear": bool, "why"}],
      "teams": [{"queue", "old": {"nominal", "guarantee", "burst"} | null, "new": {...} | null,
                 "figures": [...]}],
      "rights": [{"taker", "victim", "situation", "reason", "classes": [[TAKER, VICTIM]], "gained": bool}]
                | null,
      "verdicts": [{"claim", "subject", "required", "old": {"outcome", "headline"} | null, "new": {...} | null}]
                | null, "notes": [...]}]}

Times in seconds, amounts as people count them; "unlimited" where there is no limit.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from policycheck.model.amount import UNLIMITED, show
from policycheck.report.amounts import written
from policycheck.report.markdown import escape
from policycheck.report.screen import Style, clean, hang, wrap
from policycheck.report.simulation_words import listed, span
from policycheck.simulate.comparison import Comparison, Holding, RightChange, TeamChange, VerdictChange
from policycheck.simulate.contrast import HONOURED, HOURS, JOBS, P90, PREEMPTED, SECONDS, Figure
from policycheck.wording import some

SCHEMA_VERSION = 1
MARKDOWN_LINES = 60
_ROWS = 16  # of teams in Markdown
_CHANGES = 8  # of rights and notes in Markdown
_WIDTH = 80
_SITUATIONS = {
    "own": "within its own quota",
    "cohort": "for what its cohort lends",
    "borrowing": "while it borrows",
}


# -- programs -----------------------------------------------------------------------------------------


def render_json(found: Sequence[Comparison]) -> str:
    """The same comparisons give the same bytes."""
    value = {"schemaVersion": SCHEMA_VERSION, "scopes": [_scope(one) for one in found]}
    return json.dumps(value, indent=2, ensure_ascii=True) + "\n"


def _scope(one: Comparison) -> dict[str, Any]:
    return {
        "scope": one.scope,
        "old": {"label": one.old, "target": one.old_target},
        "new": {"label": one.new, "target": one.new_target},
        "resource": one.resource,
        "seeds": list(one.seeds),
        "horizon": one.horizon / 1000 if one.horizon else None,
        "jobs": one.jobs,
        "source": one.source,
        "figures": [_figure(f) for f in one.figures],
        "teams": [
            {
                "queue": team.queue,
                "old": _holding(team.old, one.resource),
                "new": _holding(team.new, one.resource),
                "figures": [_figure(f) for f in team.figures],
            }
            for team in one.teams
        ],
        "rights": [_right(r) for r in one.changes] if one.rights else None,
        "verdicts": None if one.verdicts is None else [_verdict(v) for v in one.verdicts],
        "notes": list(one.notes),
    }


def _verdict(one: VerdictChange) -> dict[str, Any]:
    def side(outcome: str, headline: str) -> dict[str, str] | None:
        return {"outcome": outcome, "headline": headline} if outcome else None

    return {
        "claim": one.claim,
        "subject": one.subject,
        "required": one.required,
        "old": side(one.old, one.old_headline),
        "new": side(one.new, one.new_headline),
    }


def _figure(one: Figure) -> dict[str, Any]:
    def rounded(value: float | None) -> float | None:
        return None if value is None else round(value, 6)

    return {
        "name": one.name,
        "unit": one.unit,
        "old": rounded(one.old),
        "new": rounded(one.new),
        "difference": rounded(one.difference),
        "low": rounded(one.low),
        "high": rounded(one.high),
        "clear": one.is_clear,
        "why": one.why or None,
    }


def _holding(one: Holding, resource: str) -> dict[str, Any] | None:
    if one.nominal is None:
        return None
    scale = 1000 if resource == "cpu" else 1

    def amount(value: int | None) -> int | float | str | None:
        if value is None or value >= UNLIMITED:
            return None if value is None else "unlimited"
        return value // scale if value % scale == 0 else value / scale

    return {"nominal": amount(one.nominal), "guarantee": amount(one.guarantee), "burst": amount(one.burst)}


def _right(one: RightChange) -> dict[str, Any]:
    return {
        "taker": one.taker,
        "victim": one.holder,
        "situation": one.situation,
        "reason": one.reason,
        "classes": [list(pair) for pair in one.pairs],
        "gained": one.gained,
    }


# -- words --------------------------------------------------------------------------------------------


def value(figure: Figure, number: float | None) -> str:
    """A number in its unit; a dash for none."""
    return "-" if number is None else written(figure.unit, number)


def change(figure: Figure) -> str:
    """The difference with its interval: ``-4.2 points (-5.0 to -3.4)``; "" without one."""
    if figure.difference is None:
        return ""

    def told(number: float) -> str:
        return written(figure.unit, number, signed=True, percent=False)

    points = " points" if figure.unit not in (SECONDS, HOURS, JOBS) else ""
    text = f"{told(figure.difference)}{points}"
    if figure.low is not None and figure.high is not None:
        text += f" ({told(figure.low)} to {told(figure.high)})"
    return text


def verdict(figure: Figure) -> str:
    """One of better, worse, same, or unclear when chance may do as much; "" when it can not be said."""
    if figure.difference is None:
        return ""
    if figure.difference == 0 and (figure.low is None or figure.low == figure.high):
        return "same"
    if figure.low is not None and not figure.is_clear:
        return "unclear"
    return "better" if figure.difference * figure.better > 0 else "worse"


def amounts(holding: Holding, resource: str) -> str:
    """``16 + 24``: guarantee and burst."""
    if holding.nominal is None:
        return "not there"
    guarantee, burst = holding.guarantee or 0, holding.burst or 0
    return f"{show(resource, guarantee)} + {show(resource, burst)}"


def _rights(one: Comparison) -> list[str]:
    """Changes of who may take from whom; those that are alike but for whom they are about are one."""
    alike: dict[tuple[object, ...], list[RightChange]] = {}
    for right in one.changes:
        key = (right.taker, right.taker == right.holder, right._replace(taker="", holder=""))
        alike.setdefault(key, []).append(right)
    return [_right_words(rights) for rights in alike.values()]


def _right_words(alike: Sequence[RightChange]) -> str:
    one = alike[0]
    holders = [right.holder for right in alike]
    whom = "its own jobs" if one.taker == one.holder else f"jobs of {listed(holders)}"
    pairs = [f"{a or 'no class'} from {b or 'no class'}" for a, b in one.pairs]
    which = one.relation or some(pairs, 3)
    verb = "may now take" if one.gained else "may no longer take"
    when = "" if one.situation == "any" else f" {_SITUATIONS.get(one.situation, one.situation)}"
    return f"{one.taker} {verb} {whom}{when} ({one.reason}): {which}"


def _promise(one: VerdictChange, arrow: str = "->") -> str:
    """``burst-usable: speech: HOLDS -> FAILS``."""
    name = f"{one.claim}: {one.subject}" if one.subject else one.claim
    return f"{name}: {one.old or 'nothing to hold'} {arrow} {one.new or 'nothing to hold'}"


def _worst_first(verdicts: Sequence[VerdictChange]) -> list[VerdictChange]:
    """Those that changed; first what fails now."""
    return sorted((v for v in verdicts if v.differs), key=lambda v: (v.new != "FAILS", not v.required))


def _unchanged(verdicts: Sequence[VerdictChange]) -> str:
    """How many verdicts are the same, and how many of these fail."""
    same = [v for v in verdicts if not v.differs]
    failing = sum(v.new == "FAILS" for v in same)
    told = f"{len(same)} verdict{'s are' if len(same) != 1 else ' is'} the same on both sides"
    return told + (f", {failing} of them {'fail' if failing != 1 else 'fails'}" if failing else "")


def _sides(one: Comparison) -> str:
    return f"{one.old} ({one.old_target}) and {one.new} ({one.new_target})"


def _basis(one: Comparison) -> str:
    seeds = (
        f"{len(one.seeds)} seeds"
        if len(one.seeds) > 1
        else f"seed {one.seeds[0]}"
        if one.seeds
        else "no seed"
    )
    until = f", {span(one.horizon)}" if one.horizon else ""
    text = f"{one.jobs:,} jobs of {one.source}{until}, {seeds}"
    if len(one.seeds) == 1:
        text += "; with more seeds differences have an interval"
    return text


# -- a terminal ---------------------------------------------------------------------------------------


def render_text(found: Sequence[Comparison], style: Style) -> str:
    """Everything within 80 columns, teams that changed first."""
    lines: list[str] = []
    for one in found:
        lines += _text(one, style)
    return "\n".join(lines) + ("\n" if lines else "")


def _text(one: Comparison, style: Style) -> list[str]:
    title = f"{one.scope}: {_sides(one)}" if one.scope not in ("", one.new) else _sides(one)
    lines = [style.paint("strong", clean(line)) for line in wrap(title, _WIDTH)]
    lines += [clean(line) for line in wrap(_basis(one), _WIDTH)]
    lines += ["", f"{'':27}{'old':>9}{'new':>9}  difference"]
    for figure in one.figures:
        if figure.old is not None or figure.new is not None:
            lines.append(_row(figure, style))
    if one.teams:
        lines += ["", f"teams, {clean(one.resource)}: guarantee + burst, and waits"]
    ordered = sorted(one.teams, key=lambda t: (not t.differs, -_weight(t), t.queue))
    for team in ordered:
        lines += _team(team, one, style)
    if one.rights:
        lines += ["", "who may take from whom"]
        for text in _rights(one) or ["nothing changed"]:
            lines += hang("  ", wrap(clean(text), _WIDTH - 4))
    if one.verdicts is not None:
        lines += ["", "promises"]
        for held in _worst_first(one.verdicts):
            lines += hang("  ", wrap(clean(_promise(held)), _WIDTH - 4))
            lines += [f"    {row}" for row in wrap(clean(held.new_headline), _WIDTH - 4)]
        lines += hang("  ", wrap(_unchanged(one.verdicts), _WIDTH - 4))
    if any(verdict(f) == "unclear" for f in (*one.figures, *(f for t in one.teams for f in t.figures))):
        lines += ["", "? chance may do as much: the interval at 95 % holds no difference as well"]
    if one.notes:
        lines += ["", "assumed or not simulated"]
        for note in one.notes:
            lines += hang("  ", wrap(clean(note), _WIDTH - 4))
    return lines


def _row(figure: Figure, style: Style, indent: str = "  ") -> str:
    name = f"{indent}{figure.name}"
    text = f"{name:27}{value(figure, figure.old):>9}{value(figure, figure.new):>9}  {change(figure)}"
    word = {"better": "better", "worse": "worse", "unclear": "?"}.get(verdict(figure), "")
    if len(text) + 1 + len(word) > _WIDTH:  # the interval in a line of its own
        text = text.replace(" (", f"\n{'':47}(", 1)
    role = {"better": "help", "worse": "error"}.get(word, "")
    return f"{text} {style.paint(role, word) if role else word}".rstrip()


def _weight(team: TeamChange) -> float:
    """How much its waits changed, for the order."""
    found = next((f for f in team.figures if f.name == P90.name), None)
    return abs(found.difference or 0.0) if found is not None else 0.0


def _team(team: TeamChange, one: Comparison, style: Style) -> list[str]:
    before, after = amounts(team.old, one.resource), amounts(team.new, one.resource)
    rights = before if before == after else f"{before} -> {after}"
    lines = [f"  {style.paint('strong', clean(team.queue))}: {rights}"]
    kept = [f for f in team.figures if f.old is not None or f.new is not None]
    shown = [f for f in kept if f.name == P90.name or verdict(f) != "same"]
    lines += [_row(figure, style, "    ") for figure in shown]
    return lines


# -- a pull request -----------------------------------------------------------------------------------


def render_markdown(found: Sequence[Comparison]) -> str:
    """At most 60 lines: the whole in one table, the teams that changed in another, rights and notes below."""
    blocks: list[str] = []
    for one in found:
        blocks += _markdown(one)
    lines = "\n".join(blocks).splitlines()
    if len(lines) > MARKDOWN_LINES:
        left = len(lines) - MARKDOWN_LINES + 2
        lines = [
            *lines[: MARKDOWN_LINES - 2],
            "",
            f"{left} lines more: `policycheck compare` shows all of it.",
        ]
    return "\n".join(lines) + ("\n" if lines else "")


def _markdown(one: Comparison) -> list[str]:
    title = f"### {escape(one.scope)}: " if one.scope not in ("", one.new) else "### "
    lines = [f"{title}{escape(_sides(one))}", "", escape(_basis(one)), ""]
    lines += ["| | old | new | difference | |", "|---|---:|---:|---|---|"]
    for figure in one.figures:
        if figure.old is not None or figure.new is not None:
            lines.append(_cells(figure, figure.name))
    changed = sorted(
        (t for t in one.teams if t.differs or any(verdict(f) in ("better", "worse") for f in t.figures)),
        key=lambda t: (not t.differs, -_weight(t), t.queue),
    )
    if changed:
        lines += [
            "",
            f"| team | {escape(one.resource)}: guarantee + burst | wait p90 | guarantee honoured | preempted |",
        ]
        lines.append("|---|---|---|---|---|")
        lines += [_team_row(team, one) for team in changed[:_ROWS]]
        if len(changed) > _ROWS:
            lines.append(f"| and {len(changed) - _ROWS} more | | | | |")
    elif one.teams:
        lines += ["", f"Nothing changed for any of the {len(one.teams)} teams."]
    if one.rights and one.changes:
        lines += ["", "Who may take from whom:", ""]
        lines += _few([f"- {escape(text)}" for text in _rights(one)])
    if one.verdicts is not None:
        told = [
            f"- {escape(_promise(v, '→'))}" + (f": {escape(v.new_headline)}" if v.new_headline else "")
            for v in _worst_first(one.verdicts)
        ]
        lines += ["", "Promises:", "", *_few(told), f"- {_unchanged(one.verdicts)}"]
    if one.notes:
        lines += ["", "Assumed or not simulated:", "", *_few([f"- {escape(note)}" for note in one.notes])]
    return [*lines, ""]


def _few(told: Sequence[str]) -> list[str]:
    more = [f"- and {len(told) - _CHANGES} more"] if len(told) > _CHANGES else []
    return [*told[:_CHANGES], *more]


def _cells(figure: Figure, name: str) -> str:
    cells = (name, value(figure, figure.old), value(figure, figure.new), change(figure), verdict(figure))
    return "| " + " | ".join(_number(cell) for cell in cells) + " |"


def _number(text: str) -> str:
    """Figures hold nothing that Markdown takes for markup but the sign of less than."""
    return text.replace("<", "&lt;")


def _team_row(team: TeamChange, one: Comparison) -> str:
    before, after = amounts(team.old, one.resource), amounts(team.new, one.resource)
    cells = [escape(team.queue), before if before == after else f"{before} → {after}"]
    for name in (P90.name, HONOURED.name, PREEMPTED.name):
        figure = next((f for f in team.figures if f.name == name), None)
        cells.append(_number(_short(figure)))
    return "| " + " | ".join(cells) + " |"


def _short(figure: Figure | None) -> str:
    if figure is None or (figure.old is None and figure.new is None):
        return "-"
    word = verdict(figure)
    told = f" {word}" if word in ("better", "worse") else ""
    return f"{value(figure, figure.old)} → {value(figure, figure.new)}{told}"
