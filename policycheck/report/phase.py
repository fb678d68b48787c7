"""Where clusters stand in their rollout, for people and for programs.

JSON, additions allowed, changes raise ``schemaVersion``::

    {"schemaVersion": 1, "failOn": SEVERITY, "scopes": [{"scope", "stands": PHASE | null, "next": PHASE | null,
      "phases": [{"phase", "state": "clean"|"open"|"undecided"|"absent", "present": TEXT, "rules": n,
                  "errors": n, "warnings": n, "infos": n, "knownBefore": n, "suppressed": n,
                  "obstacles": [{"rule", "name", "title", "severity", "findings": n, "knownBefore": n,
                                 "at": [{"file", "line", "column"}]}],
                  "notRun": [{"rule", "why"}]}]}]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from policycheck.lint.phase import ABSENT, CLEAN, OPEN, Obstacle, Standing, Step
from policycheck.report.screen import Style, clean, wrap
from policycheck.wording import plural

SCHEMA_VERSION = 1
_SHOWN = 3  # places of an obstacle
_PHASE, _STATE = 10, 11  # widths of the first two columns
_ROLE = {CLEAN: "help", OPEN: "error", ABSENT: "dim"}
_NEXT = {
    "observe": "give PATH the manifests and --inventory the nodes",
    "pilot": "a first team's queue: a LocalQueue, its ClusterQueue and a ResourceFlavor",
    "queues": "queues for more than one team, with quotas that they share in a cohort",
    "topology": "a Topology that a flavor names, for jobs that have to lie close together",
}


def render_json(standings: Sequence[Standing], fail_on: str) -> str:
    """The same standing, the same bytes."""
    plain = {
        "schemaVersion": SCHEMA_VERSION,
        "failOn": fail_on,
        "scopes": [
            {
                "scope": one.scope,
                "stands": one.stands or None,
                "next": one.next or None,
                "phases": [_step(step) for step in one.steps],
            }
            for one in standings
        ],
    }
    return json.dumps(plain, indent=2, ensure_ascii=True) + "\n"


def _step(step: Step) -> dict[str, Any]:
    return {
        "phase": step.phase,
        "state": step.state,
        "present": step.presence.words,
        "rules": step.rules,
        **{f"{severity}s": amount for severity, amount in step.counts.items()},
        "knownBefore": step.known,
        "suppressed": step.suppressed,
        "obstacles": [
            {
                "rule": one.rule,
                "name": one.name,
                "title": one.title,
                "severity": one.severity,
                "findings": len(one.findings),
                "knownBefore": one.known,
                "at": [
                    {"file": f.place.file, "line": f.place.span.line, "column": f.place.span.column}
                    for f in one.findings
                ],
            }
            for one in step.obstacles
        ],
        "notRun": [{"rule": skip.rule, "why": skip.why} for skip in step.not_run],
    }


def render_text(standings: Sequence[Standing], style: Style) -> str:
    """A table of the steps, and what stands in the way of the next one."""
    return "\n".join(
        "".join(f"{line}\n" for line in _standing(one, len(standings), style)) for one in standings
    )


def _standing(one: Standing, many: int, style: Style) -> Iterator[str]:
    name = clean(one.scope, ascii_only=style.ascii) if one.scope and many > 1 else "This repository"
    for step in one.steps:
        state = style.paint(_ROLE.get(step.state, "warning"), f"{_state(step):<{_STATE}}")
        first, *rest = wrap(_detail(step), max(20, style.width - _PHASE - _STATE))
        yield style.paint("strong", f"{step.phase:<{_PHASE}}") + state + first
        yield from (" " * (_PHASE + _STATE) + line for line in rest)
    yield ""
    if one.stands:
        yield from wrap(f"{name} stands at {one.stands}: {_clean(one)}.", style.width)
    else:
        yield from wrap(f"{name} stands before the first step.", style.width)
    if not one.next:
        yield from wrap("There is no step after it.", style.width)
        return
    yield from _way(next(step for step in one.steps if step.phase == one.next), style)


def _clean(one: Standing) -> str:
    before = [step.phase for step in one.steps][: [step.phase for step in one.steps].index(one.stands) + 1]
    return f"nothing stands against {' or '.join(before) if len(before) < 3 else 'any step up to it'}"


def _state(step: Step) -> str:
    return {OPEN: "not clean", ABSENT: "not begun"}.get(step.state, step.state)


def _detail(step: Step) -> str:
    named = (("error", "error"), ("warning", "warning"))
    parts = [plural(step.counts[key], noun) for key, noun in named if step.counts[key]]
    if step.counts["info"]:
        parts.append(f"{step.counts['info']:,} info")
    if step.known:
        parts.append(f"{step.known:,} of them known")
    if step.suppressed:
        parts.append(f"{step.suppressed:,} suppressed")
    return " | ".join((", ".join(parts) or "no findings", step.presence.words))


def _way(step: Step, style: Style) -> Iterator[str]:
    if step.state == ABSENT:
        yield from wrap(
            f"{step.phase} has not begun ({step.presence.words}). It takes {_NEXT[step.phase]}.", style.width
        )
    elif step.obstacles:
        total = sum(len(one.findings) for one in step.obstacles)
        yield f"In the way of {step.phase}, {plural(total, 'finding')} of {plural(len(step.obstacles), 'rule')}:"
        for one in step.obstacles:
            yield ""
            yield from _obstacle(one, style)
    if step.not_run:
        yield ""
        verb = "rule" if len({skip.rule for skip in step.not_run}) == 1 else "rules"
        yield f"Of {step.phase} these {verb} could not run, or not on everything:"
        for why, rules in _by_reason(step):
            yield from _hanging(f"{', '.join(rules)}: {clean(why, ascii_only=style.ascii)}", style, 2)


def _by_reason(step: Step) -> Iterable[tuple[str, list[str]]]:
    groups: dict[str, list[str]] = {}
    for skip in step.not_run:
        rules = groups.setdefault(skip.why, [])
        if skip.rule not in rules:
            rules.append(skip.rule)
    return groups.items()


def _obstacle(one: Obstacle, style: Style) -> Iterator[str]:
    known = f", {one.known:,} known" if one.known else ""
    head = f"{one.rule} {one.severity}, {len(one.findings):,} x{known}: {one.title}"
    first, *rest = _hanging(head, style, 2)
    yield "  " + style.paint(one.severity, first.strip())
    yield from rest
    shown = one.findings if style.verbose else one.findings[:_SHOWN]
    for finding in shown:
        span = finding.place.span
        yield f"    {clean(finding.place.file, ascii_only=style.ascii)}:{span.line}:{span.column}"
    if len(shown) < len(one.findings):
        yield f"    and {len(one.findings) - len(shown):,} more"


def _hanging(text: str, style: Style, lead: int) -> list[str]:
    """Wrapped lines behind ``lead`` blanks, those after the first further in."""
    lines = wrap(text, style.width - lead - 2)
    return [" " * (lead + (2 if at else 0)) + line for at, line in enumerate(lines)]
