"""Why a workload waits, for people and for programs.

JSON (``render_json``), additions allowed, changes raise ``schemaVersion``::

    {"schemaVersion": 1, "workload", "madeOf", "scope", "target", "assumed",
     "outcome": "holds"|"admitted"|"displaced"|"waits"|"never"|"blocked"|"unmanaged"|"unknown",
     "reason": NAME | null, "headline", "queue", "localQueue", "cohort", "priority", "priorityClass",
     "asks": [{"podSet", "pods", "each": {RESOURCE: n}}], "total": {RESOURCE: n},
     "grant": {"queue", "podSets": [{"name", "pods", "flavors": {}, "usage": {}}]} | null,
     "waitsForChecks": [NAME], "placement": {"decided": bool, "why", "podSets": [{"podSet", "levels", "domains"}],
                                            "pending": [{"podSet", "pods", "least", "most", "why"}]} | null,
     "pools": [{"at": "minimum"|"maximum", "outcome", "headline"}],
     "flavors": [{"flavor", "podSets", "mode", "refusal": TEXT | null,
                  "short": [{"resource", "asked", "limit", "missing", "final": bool, "madeOf",
                             "held": [{"queue", "used", "nominal"}]}]}],
     "victims": [{"workload", "queue", "taken": bool, "why"}], "before": [TEXT],
     "costs": [LOSS], "suggestions": [{"changes": [{"kind", "object", "field", "before", "after"}],
                                       "costs": [LOSS]}],
     "searched": [KIND], "searchCut": bool, "notes": [TEXT]}

LOSS is ``{"workload", "queue", "reason": NAME | null, "amounts": {RESOURCE: n}}``. Amounts are base units
(cpu thousandths of a core, memory bytes); 2^63-1 and above is unlimited.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policycheck.model.amount import UNLIMITED, show
from policycheck.report.screen import Style, clean, wrap
from policycheck.simulate.change import Change
from policycheck.simulate.scheduler import SetGrant, VictimWeighed
from policycheck.simulate.why import (
    ADMITTED,
    BLOCKED,
    DISPLACED,
    HOLDS,
    NEVER,
    UNMANAGED,
    WAITS,
    Answer,
    Looked,
    Loss,
    SetAsked,
    Short,
    Suggestion,
)
from policycheck.wording import some

SCHEMA_VERSION = 1
_LABEL = 11  # cells of the words on the left
_DOMAINS_SHOWN = 4
_SHOWN = 6  # suggestions, and groups of victims
_ROLE = {
    ADMITTED: "help",
    HOLDS: "help",
    WAITS: "warning",
    DISPLACED: "warning",
    NEVER: "error",
    BLOCKED: "error",
}
_GPU = ("gpu", "mig-", "tpu", "gaudi", "neuron")  # how accelerators are called; the rest comes after


def render_json(answer: Answer) -> str:
    """The same answer gives the same bytes."""
    return json.dumps(as_dict(answer), indent=2, ensure_ascii=True) + "\n"


def as_dict(answer: Answer) -> dict[str, Any]:
    """What ``render_json`` writes, as plain values."""
    return {
        "schemaVersion": SCHEMA_VERSION,
        "workload": answer.workload,
        "madeOf": answer.made_of or None,
        "scope": answer.scope,
        "target": answer.target,
        "assumed": answer.assumed,
        "outcome": answer.outcome,
        "reason": answer.reason or None,
        "headline": answer.headline,
        "queue": answer.queue or None,
        "localQueue": answer.entry or None,
        "cohort": answer.cohort or None,
        "priority": answer.priority,
        "priorityClass": answer.priority_class or None,
        "asks": [{"podSet": s.name, "pods": s.pods, "each": _sorted(s.each)} for s in answer.asks],
        "total": _sorted(answer.total),
        "grant": _grant(answer),
        "waitsForChecks": list(answer.checks),
        "placement": _placement(answer),
        "pools": [end._asdict() for end in answer.ends],
        "flavors": [_looked(one) for one in answer.looked],
        "victims": [v._asdict() for v in answer.weighed],
        "nobodyPreempted": answer.nobody or None,
        "before": list(answer.before),
        "costs": [_loss(loss) for loss in answer.losses],
        "suggestions": [
            {"changes": [_change(c) for c in s.changes], "costs": [_loss(loss) for loss in s.losses]}
            for s in answer.suggestions
        ],
        "searched": list(answer.searched),
        "searchCut": answer.exhausted,
        "notes": list(answer.notes),
    }


def _placement(answer: Answer) -> dict[str, Any] | None:
    """Null for what has no quota; not decided is UNKNOWN, never a guess."""
    if answer.grant is None:
        return None
    sets = [
        {
            "podSet": s.name,
            "levels": list(s.placement[0]),
            "domains": [{"values": list(values), "pods": pods} for values, pods in s.placement[1]],
        }
        for s in answer.grant.sets
        if s.placement
    ]
    pending = [
        {"podSet": s.name, **{k: v for k, v in s._asdict().items() if k != "name"}} for s in answer.unplaced
    ]
    why = answer.placement or None
    return {"decided": why is None, "why": why, "podSets": sets, "pending": pending}


def _placed(one: SetGrant) -> str:
    """Where a podset's pods go: the first few domains by their tightest level."""
    levels, domains = one.placement or ((), ())
    shown = [f"{values[-1]} ({pods})" for values, pods in domains[:_DOMAINS_SHOWN]]
    more = len(domains) - len(shown)
    rest = f" and {more} more" if more > 0 else ""
    return f"{one.name}: {', '.join(shown)}{rest}, by {levels[-1] if levels else 'no level'}"


def _sorted(amounts: Mapping[str, int]) -> dict[str, int]:
    return {name: min(value, UNLIMITED) for name, value in sorted(amounts.items())}


def _grant(answer: Answer) -> dict[str, Any] | None:
    grant = answer.grant
    if grant is None:
        return None
    return {
        "queue": grant.queue,
        "podSets": [
            {
                "name": s.name,
                "pods": s.pods,
                "flavors": dict(sorted(s.flavors.items())),
                "usage": _sorted(s.usage),
            }
            for s in grant.sets
        ],
    }


def _looked(one: Looked) -> dict[str, Any]:
    return {
        "flavor": one.flavor,
        "podSets": list(one.pod_sets),
        "mode": one.mode,
        "refusal": one.refusal or None,
        "short": [
            {
                "resource": s.resource,
                "asked": s.asked,
                "limit": min(s.limit, UNLIMITED),
                "missing": s.missing,
                "final": s.final,
                "madeOf": s.made_of,
                "held": [
                    {"queue": h.queue, "used": h.used, "nominal": min(h.nominal, UNLIMITED)} for h in s.held
                ],
            }
            for s in one.shorts
        ],
    }


def _loss(loss: Loss) -> dict[str, Any]:
    return {
        "workload": loss.workload,
        "queue": loss.queue,
        "reason": loss.reason or None,
        "amounts": _sorted(loss.amounts),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "kind": change.kind,
        "object": change.where,
        "field": change.field,
        "before": change.before,
        "after": change.after,
    }


def render_text(answer: Answer, style: Style) -> str:
    """About ten lines, and what would let it in."""
    rows = _head(answer, style)
    for label, text in _facts(answer):
        rows.extend(_labelled(label, text, style))
    rows.extend(_suggestions(answer, style))
    if not style.quiet and answer.target:
        assumed = " (assumed: nothing in sight says the version)" if answer.assumed else ""
        rows.extend(wrap(f"decided as {answer.target} does{assumed}", style.width))
    return "\n".join(rows) + "\n"


def _head(answer: Answer, style: Style) -> list[str]:
    made_of = f" ({answer.made_of})" if answer.made_of else ""
    scope = f" in {answer.scope}" if answer.scope else ""
    name = clean(f"{answer.workload}{made_of}{scope}", ascii_only=style.ascii)
    reason = f" [{answer.reason}]" if answer.reason else ""
    text = wrap(clean(f"{answer.headline}{reason}", ascii_only=style.ascii), style.width - 2)
    role = "warning" if answer.unplaced else _ROLE.get(answer.outcome, "strong")
    return [
        *(style.paint("strong", r) for r in wrap(name, style.width)),
        *(f"  {style.paint(role, r)}" for r in text),
    ]


def _labelled(label: str, text: str, style: Style) -> list[str]:
    """A label on the left, the text beside it; a label that is too long on a line of its own."""
    lead = clean(label, ascii_only=style.ascii)
    body = wrap(clean(text, ascii_only=style.ascii), style.width - _LABEL - 3)
    indent = " " * (_LABEL + 3)
    if len(lead) > _LABEL:
        return [f"  {style.paint('strong', lead)}", *(indent + row for row in body)]
    first = f"  {style.paint('strong', lead)}{' ' * (_LABEL + 1 - len(lead))}{body[0]}"
    return [first, *(indent + row for row in body[1:])]


def _facts(answer: Answer) -> Iterable[tuple[str, str]]:
    if answer.outcome != UNMANAGED and (answer.queue or answer.entry):
        yield "queue", _queue(answer)
    if answer.asks:
        yield "asks", _asks(answer.asks, answer.total)
    for one in answer.looked:
        for number, text in enumerate(_flavor(one)):
            yield (one.flavor if number == 0 else ""), text
    yield from _victims(answer)
    for number, text in enumerate(answer.before):
        yield ("before it" if number == 0 else ""), text
    if answer.losses:
        yield "costs", _losses(answer.losses)
    if answer.placement:
        yield "placement", f"UNKNOWN: {answer.placement}"
    elif answer.grant is not None:
        yield from (("placement", _placed(s)) for s in answer.grant.sets if s.placement)
    for number, text in enumerate(answer.notes):
        yield ("note" if number == 0 else ""), text


def _queue(answer: Answer) -> str:
    parts = [answer.queue or "none"]
    if answer.entry:
        parts.append(f"through LocalQueue {answer.entry}")
    if answer.cohort:
        parts.append(f"in cohort {answer.cohort}")
    named = f"{answer.priority_class} ({answer.priority})" if answer.priority_class else str(answer.priority)
    return f"{' '.join(parts)}; priority {named}"


def _asks(asks: Sequence[SetAsked], total: Mapping[str, int]) -> str:
    sets = []
    for one in asks:
        name = f"{one.name}: " if len(asks) > 1 else ""
        each = _amounts(one.each) or "nothing"
        sets.append(
            f"{name}{one.pods} pod{'s' * (one.pods != 1)}{' of' if one.pods != 1 else ' with'} {each}"
        )
    several = len(asks) > 1 or any(one.pods > 1 for one in asks)
    return "; ".join(sets) + (f"; {_amounts(total)} in all" if several and total else "")


def _amounts(amounts: Mapping[str, int]) -> str:
    names = sorted(amounts, key=lambda r: (not any(word in r for word in _GPU), r))
    return ", ".join(f"{show(name, amounts[name])} {name}" for name in names)


def _flavor(one: Looked) -> Iterable[str]:
    of = f" ({', '.join(one.pod_sets)})" if len(one.pod_sets) > 1 else ""
    if one.refusal:
        yield f"not for these pods{of}: {one.refusal}"
        return
    if not one.shorts:
        yield f"fits{of}" if one.mode == "Fit" else f"{one.mode}{of}"
    final = [short for short in one.shorts if short.final]
    for short in final or one.shorts:
        yield _short(short) + of
    rest = [short.resource for short in one.shorts if not short.final]
    if final and rest:
        yield f"{', '.join(rest)} {'is' if len(rest) == 1 else 'are'} short as well, for now"


def _short(short: Short) -> str:
    name = short.resource
    asked, limit = show(name, short.asked), show(name, short.limit)
    if short.final:
        return f"{asked} {name} asked, the queue may have {limit} at most = {short.made_of}"
    held = ", ".join(
        f"{h.queue} {show(name, h.used)}"
        + (f" ({show(name, h.used - h.nominal)} borrowed)" if h.used > h.nominal else "")
        for h in short.held
    )
    by = f"; held by {held}" if held else ""
    return f"{asked} {name} asked, {limit} free now ({short.made_of}){by}"


def _victims(answer: Answer) -> Iterable[tuple[str, str]]:
    if answer.nobody:
        yield "preemption", answer.nobody
    groups: dict[tuple[bool, str, str], list[VictimWeighed]] = {}
    for one in answer.weighed:
        groups.setdefault((one.taken, one.queue, one.why), []).append(one)
    label = "" if answer.nobody else "preemption"
    ordered = sorted(groups.items(), key=lambda g: not g[0][0])
    for (taken, queue, text), alike in ordered[:_SHOWN]:
        names = some([v.workload for v in alike], 3)
        yield label, f"{'takes' if taken else 'spares'} {names} of {queue}: {text}"
        label = ""
    if len(ordered) > _SHOWN:
        yield label, f"and {sum(len(s) for _, s in ordered[_SHOWN:])} more are spared (see --format json)"


def _losses(losses: Sequence[Loss]) -> str:
    """By queue: who loses, what it held, and the reason."""
    queues: dict[str, list[Loss]] = {}
    for loss in losses:
        queues.setdefault(loss.queue, []).append(loss)
    parts = []
    for queue, mine in queues.items():
        total: dict[str, int] = {}
        for loss in mine:
            for name, amount in loss.amounts.items():
                total[name] = total.get(name, 0) + amount
        names = some([s.workload for s in mine], 3)
        reasons = ", ".join(dict.fromkeys(s.reason for s in mine if s.reason))
        parts.append(f"{queue} loses {_lead(total)} ({names}{f'; {reasons}' if reasons else ''})")
    return "; ".join(parts)


def _lead(amounts: Mapping[str, int]) -> str:
    """Accelerators alone where there are any."""
    gpus = {r: v for r, v in amounts.items() if any(word in r for word in _GPU)}
    return _amounts(gpus or amounts) or "nothing"


def _suggestions(answer: Answer, style: Style) -> list[str]:
    if not answer.searched:
        unsolved = answer.outcome in (BLOCKED, WAITS, NEVER, DISPLACED)
        return (
            ["What would let it in was not searched, or nothing that is searched applies."]
            if unsolved
            else []
        )
    if not answer.suggestions:
        text = f"What would let it in: none of what was tried ({', '.join(answer.searched)})"
        return [*wrap(text + (", and the search was cut short" if answer.exhausted else ""), style.width)]
    rows = [style.paint("strong", "What would let it in, smallest first; each was tried by deciding again:")]
    shown = answer.suggestions if style.verbose else answer.suggestions[:_SHOWN]
    for number, suggestion in enumerate(shown, 1):
        rows.extend(_suggestion(number, suggestion, style))
    if len(shown) < len(answer.suggestions):
        rows.append(f"  and {len(answer.suggestions) - len(shown)} more (--verbose shows them)")
    if any(c.kind == "nominalQuota" for s in shown for c in s.changes):
        rows.extend(
            wrap(
                "  A higher nominalQuota promises GPUs and adds none: lint says what the nodes hold.",
                style.width,
            )
        )
    if answer.exhausted:
        rows.extend(wrap("The search was cut short; there may be smaller changes.", style.width))
    return rows


def _suggestion(number: int, suggestion: Suggestion, style: Style) -> list[str]:
    changes = "; ".join(_words(c) for c in suggestion.changes)
    cost = _losses(suggestion.losses) if suggestion.losses else "nobody loses anything"
    lead = f"  {number}. "
    room = style.width - len(lead)
    body = [*wrap(clean(changes, ascii_only=style.ascii), room)]
    body += [style.paint("dim", row) for row in wrap(clean(cost, ascii_only=style.ascii), room)]
    return [(lead if n == 0 else " " * len(lead)) + row for n, row in enumerate(body)]


def _words(change: Change) -> str:
    if change.kind == "end":
        return f"{change.where}, which {change.before}, {change.after}"
    return f"{change.where}: {change.field} {change.before} -> {change.after}"
