"""Verdicts for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from policycheck.certify.verdict import (
    CERTIFIED,
    FAILS,
    HOLDS,
    NOT_APPLICABLE,
    REFUSED,
    UNDECIDED,
    UNKNOWN,
    Verdict,
)
from policycheck.report.certify import Certified, basis_of, counts, overall, tally
from policycheck.report.screen import Style, clean, hang, wrap
from policycheck.wording import some

_LABEL = 10
_FEW = 6  # assumptions, and names in a row
_ROLE = {FAILS: "error", UNKNOWN: "warning", HOLDS: "help", NOT_APPLICABLE: "dim"}
_OVERALL = {CERTIFIED: "help", REFUSED: "error", UNDECIDED: "warning"}
_HEADS = {FAILS: "Does not hold", UNKNOWN: "Not known", HOLDS: "Holds", NOT_APPLICABLE: "Not promised here"}


def render_text(done: Sequence[Certified], style: Style) -> str:
    """What fails with its story, what is unknown, what holds in a few lines, and what it rests on."""
    outcome = overall(done)
    rows = _filled(f"{outcome}: {tally(done)}", style, role=_OVERALL[outcome])
    for one in done:
        if len(done) > 1 and one.scope:
            rows += ["", *_filled(f"== {one.scope}: {one.result.outcome}", style, role="strong")]
        rows += _scope(one, style)
    hint = _hint(done)
    if hint and not style.quiet:
        rows += ["", *_filled(hint, style)]
    return "\n".join(rows) + "\n"


def _scope(one: Certified, style: Style) -> list[str]:
    rows: list[str] = []
    for outcome in (FAILS, UNKNOWN):
        chosen = [v for v in one.verdicts if v.outcome == outcome]
        if chosen:
            rows += ["", style.paint("strong", _HEADS[outcome])]
        for verdict in chosen:
            rows += _verdict(verdict, style)
    rows += _held(one, style)
    if not style.quiet:
        rows += _idle(one, style)
        rows += ["", style.paint("strong", "What it rests on")]
        for label, text in _grounds(one, style):
            rows += _labelled(label, text, style)
    return rows


def _verdict(verdict: Verdict, style: Style) -> list[str]:
    """A verdict with its story."""
    name = f"{verdict.claim}: {verdict.subject}" if verdict.subject else verdict.claim
    lead = _clean(name, style)
    rows = [f"  {style.paint(_ROLE[verdict.outcome], row)}" for row in wrap(lead, style.width - 2)]
    told = [basis_of(verdict)] if verdict.outcome in (FAILS, HOLDS) else []
    told += [] if verdict.required else ["not required"]
    more = f" ({'; '.join(told)})" if told else ""
    rows += _indented(f"{verdict.headline}{more}", style, 4)
    for reason in verdict.evidence.get("reasons", ())[1:]:
        rows += hang("      - ", wrap(_clean(reason, style), style.width - 8))
    found = verdict.counterexample
    if found is not None:
        for line in (line for line in found.timeline if line != verdict.headline):
            rows += [f"      {row}" for row in hang("| ", wrap(_clean(line, style), style.width - 8))]
    return rows


def _held(one: Certified, style: Style) -> list[str]:
    """What holds, claim by claim: for whom, and on which basis."""
    chosen = [v for v in one.verdicts if v.outcome == HOLDS]
    if not chosen:
        return []
    rows = ["", style.paint("strong", _HEADS[HOLDS])]
    if style.verbose:
        for verdict in chosen:
            rows += _verdict(verdict, style)
        return rows
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in chosen:
        how = verdict.basis if counts(verdict, one.result.accepted) else f"{verdict.basis}, does not count"
        groups.setdefault((verdict.claim, how), []).append(verdict)
    for (claim, how), alike in groups.items():
        rows += [f"  {style.paint('help', claim)} ({how})"]
        names = [v.subject for v in alike if v.subject]
        if names:
            rows += _indented(", ".join(names), style, 4)
    return rows


def _idle(one: Certified, style: Style) -> list[str]:
    chosen = [v for v in one.verdicts if v.outcome == NOT_APPLICABLE]
    if not chosen:
        return []
    rows = ["", style.paint("strong", _HEADS[NOT_APPLICABLE])]
    for verdict in chosen:
        name = f"{verdict.claim}: {verdict.subject}" if verdict.subject else verdict.claim
        rows += _indented(f"{name}: {verdict.headline}", style, 2)
    return rows


def _grounds(one: Certified, style: Style) -> Iterator[tuple[str, str]]:
    """What the verdicts rest on, as labels and texts."""
    result, promises = one.result, one.promises
    if promises.source:
        derived = _derived(one)
        rest = f"; derived from the configuration, since nobody wrote it: {derived}" if derived else ""
        yield "promises", f"{promises.source}{rest}"
    else:
        yield (
            "promises",
            "none written: all are derived from the configuration, and can not notice that somebody changed it",
        )
    if one.target:
        assumed = " (assumed: nothing in sight says the version)" if one.assumed else ""
        yield "target", f"{one.target}{assumed}"
    nodes = sum(group["nodes"] for group in result.inventory)
    groups = f", {len(result.inventory)} kinds" if len(result.inventory) > 1 else ""
    yield "hardware", f"{nodes} nodes{groups}" if nodes else "no inventory in sight"
    yield (
        "searched",
        f"up to {result.effort['scenarios']} random scenarios a verdict, seed {result.effort['seed']}",
    )
    notes = list(dict.fromkeys(note for v in one.verdicts for note in v.assumptions))
    shown = notes if style.verbose else notes[:_FEW]
    for number, note in enumerate(shown):
        yield ("assumed" if number == 0 else ""), note
    if len(shown) < len(notes):
        yield "", f"and {len(notes) - len(shown)} more (--verbose lists all)"


def _derived(one: Certified) -> str:
    parts = [f"{team.name} ({', '.join(team.derived)})" for team in one.promises.teams if team.derived]
    parts += [name for name in one.promises.derived if name.startswith("protection")]
    return some(parts, _FEW)


def _hint(done: Sequence[Certified]) -> str:
    """What to do next, when it is only that."""
    if overall(done) != UNDECIDED:
        return ""
    required = [(one, v) for one in done for v in one.verdicts if v.required and v.outcome != NOT_APPLICABLE]
    searched = any(v.outcome == HOLDS and not counts(v, one.result.accepted) for one, v in required)
    if searched and all(v.outcome == HOLDS for _, v in required):
        return "Everything holds, some of it by search: --accept search lets that count."
    return ""


def _labelled(label: str, text: str, style: Style) -> list[str]:
    lead = f"  {label}{' ' * (_LABEL - len(label))} "
    return hang(lead, wrap(_clean(text, style), style.width - len(lead)))


def _indented(text: str, style: Style, by: int) -> list[str]:
    return [" " * by + row for row in wrap(_clean(text, style), style.width - by)]


def _filled(text: str, style: Style, *, role: str = "") -> list[str]:
    rows: Iterable[str] = wrap(_clean(text, style), style.width)
    return [style.paint(role, row) if role else row for row in rows]


def _clean(text: str, style: Style) -> str:
    return clean(text, ascii_only=style.ascii)
