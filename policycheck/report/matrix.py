"""Who can take from whom, for people and for programs.

JSON (``render_json``), additions allowed, changes raise ``schemaVersion``::

    {"schemaVersion": 1, "scopes": [{"scope", "target", "assumed", "fairSharing",
      "priorities": [{"name", "value"}], "symbolic": bool,
      "groups": [{"name", "queues": [NAME], "unknown": TEXT | null, "pairs": [
        {"taker", "victim", "takes": bool, "why": TEXT | null, "ways": [
          {"situation": "any"|"own"|"cohort"|"borrowing", "takes": bool, "reason": NAME | null, "when",
           "lowerOnly", "newerEqual", "victimAtMost": n | null, "resources": [{"flavor", "resource"}],
           "cells": [{"taker", "victim", "relation", "reason": NAME | null,
                      "checked": "agrees"|"differs"|"notRun", "ran": NAME | null}]}]}]}]}],
     "differing": n}

``situation`` is the taker's: ``any`` (its own jobs), ``own`` (it asks for no more than its own quota),
``cohort`` (for what a cohort above it lent away), ``borrowing`` (for more than that). ``resources`` are
those in which it can come to that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from policycheck.report.screen import Style, clean, hang, wrap
from policycheck.simulate.matrix import Cell, Group, Matrix, Row, Way
from policycheck.simulate.rights import Taking

SCHEMA_VERSION = 1
_READ = (
    "The policy that counts is that of the queue that takes, never of the one that loses: what a team can "
    "lose stands in the queues of the others. From another queue only what it holds beyond its own quota "
    "can be taken. Every line was tried by running the decision."
)
_EVERYONE, _ANYONE = "every other queue", "any other queue"
_NOTHING = "nothing that it could ask for is ever on loan there"
_NOT_LENT = {
    "own": "its own quota is never on loan there",
    "cohort": "what its own cohort lends is never on loan there",
    "borrowing": "nothing that it could borrow is ever on loan there",
}
Line = tuple[str, str, str]  # from whom, which jobs and when, the reason


def render_json(matrices: Sequence[Matrix]) -> str:
    """The same matrices give the same bytes."""
    found = {
        "schemaVersion": SCHEMA_VERSION,
        "scopes": [_scope(m) for m in matrices],
        "differing": sum(len(m.differing) for m in matrices),
    }
    return json.dumps(found, indent=2, ensure_ascii=True) + "\n"


def _scope(matrix: Matrix) -> dict[str, Any]:
    return {
        "scope": matrix.scope,
        "target": matrix.target,
        "assumed": matrix.assumed,
        "fairSharing": matrix.fair,
        "priorities": [{"name": p.name, "value": p.value} for p in matrix.priorities],
        "symbolic": matrix.symbolic,
        "groups": [
            {
                "name": group.name,
                "queues": list(group.queues),
                "unknown": group.unknown or None,
                "pairs": [_row(row) for row in group.rows],
            }
            for group in matrix.groups
        ],
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "taker": row.taker,
        "victim": row.holder,
        "takes": row.happens,
        "why": row.why or None,
        "ways": [_way(way) for way in row.ways],
    }


def _way(way: Way) -> dict[str, Any]:
    taking = way.taking
    return {
        "situation": way.situation,
        "takes": way.happens,
        "reason": taking.reason or None,
        "when": taking.when,
        "lowerOnly": taking.lower_only,
        "newerEqual": taking.newer_equal,
        "victimAtMost": taking.at_most,
        "resources": [{"flavor": flavor, "resource": resource} for flavor, resource in way.pairs],
        "cells": [_cell(cell) for cell in way.cells],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    checked = "notRun" if cell.ran is None else ("differs" if cell.differs else "agrees")
    return {
        "taker": cell.taker,
        "victim": cell.victim,
        "relation": cell.relation,
        "reason": cell.reason or None,
        "checked": checked,
        "ran": cell.ran or None,
    }


def render_text(matrices: Sequence[Matrix], style: Style, queue: str = "") -> str:
    """Takers one after the other, those alike together; with ``queue`` also who takes from it."""
    blocks = [_matrix(matrix, style, queue) for matrix in matrices]
    return "\n\n".join("\n".join(rows) for rows in blocks) + "\n" if blocks else ""


def _matrix(matrix: Matrix, style: Style, queue: str) -> list[str]:
    about = f"{matrix.target}{', assumed' if matrix.assumed else ''}{', fair sharing' if matrix.fair else ''}"
    title = f"Who can take running jobs from whom{f' in {matrix.scope}' if matrix.scope else ''} ({about})"
    rows = [style.paint("strong", row) for row in wrap(clean(title, ascii_only=style.ascii), style.width)]
    rows += ["", *wrap(_READ, style.width), "", *_priorities(matrix, style)]
    for group in matrix.groups:
        rows += ["", *_group(group, style, queue, fair=matrix.fair)]
    for row, way, cell in matrix.differing:
        text = (
            f"internal error: from {row.holder} ({way.situation}, {cell.victim} against {cell.taker}) policy says "
            f"{cell.reason or 'never'}, the decision {cell.ran or 'spares it'}. Please report it."
        )
        rows += ["", *(style.paint("error", r) for r in wrap(f"{row.taker}: {text}", style.width))]
    return rows


def _priorities(matrix: Matrix, style: Style) -> list[str]:
    if matrix.symbolic:
        text = "no priority classes in sight: all jobs are equal unless they say otherwise"
    else:
        text = " > ".join(f"{p.name} {p.value}" for p in matrix.priorities)
    return hang("Priorities: ", wrap(clean(text, ascii_only=style.ascii), style.width - 12))


def _group(group: Group, style: Style, queue: str, *, fair: bool) -> list[str]:
    rows = [style.paint("strong", r) for r in wrap(clean(group.name, ascii_only=style.ascii), style.width)]
    if group.unknown:
        return [*rows, *hang("  UNKNOWN: ", wrap(clean(group.unknown), style.width - 11))]
    alike: dict[tuple[Line, ...], list[str]] = {}
    takers = [queue] if queue else list(dict.fromkeys(row.taker for row in group.rows))
    for taker in takers:
        mine = [row for row in group.rows if row.taker == taker]
        alike.setdefault(tuple(_lines(mine, group, fair=fair)), []).append(taker)
    for lines, names in alike.items():
        rows.extend(_taker(names, lines, style))
    if queue:
        rows.extend(_losses([row for row in group.rows if row.holder == queue], queue, style))
    return rows


def _taker(names: Sequence[str], lines: Iterable[Line], style: Style) -> list[str]:
    head = f"  {', '.join(names)}{', each' if len(names) > 1 else ''}"
    rows = hang("  ", wrap(clean(head.strip(), ascii_only=style.ascii), style.width - 2))
    for whom, which, reason in lines:
        rows.extend(_line(whom, which, reason, style))
    return rows


def _line(whom: str, which: str, reason: str, style: Style) -> list[str]:
    text = clean(f"{whom}: {which}" if which else whom, ascii_only=style.ascii)
    folded = hang(
        "    ", [row if n == 0 else f"  {row}" for n, row in enumerate(wrap(text, style.width - 6))]
    )
    if not reason:
        return [style.paint("dim", row) for row in folded]
    gap = style.width - len(folded[-1]) - len(reason)
    if gap >= 2:
        return [*folded[:-1], folded[-1] + " " * gap + style.paint("strong", reason)]
    return [*folded, " " * (style.width - len(reason)) + style.paint("strong", reason)]


def _lines(rows: Sequence[Row], group: Group, *, fair: bool) -> list[Line]:
    """What one taker can take, victims alike together, and then what it can not."""
    gathered: dict[tuple[str, str], list[str]] = {}
    rows = sorted(rows, key=lambda row: row.taker != row.holder)  # itself first
    for row in rows:
        for way in row.ways:
            if way.happens:
                key = (_which(way, row), way.taking.reason)
                gathered.setdefault(key, []).append(_victim(row))
    found = [(f"from {_names(victims, group)}", *key) for key, victims in gathered.items()]
    spared: dict[str, list[str]] = {}
    for row in rows:
        if not row.happens:
            spared.setdefault(_why(row, fair=fair), []).append(_victim(row))
    never = (
        (f"not from {_names(victims, group).replace(_EVERYONE, _ANYONE)}", why, "")
        for why, victims in spared.items()
    )
    return [*found, *never]


def _losses(rows: Sequence[Row], queue: str, style: Style) -> list[str]:
    """Who takes from ``queue``."""
    gathered: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for way in row.ways:
            if way.happens and row.taker != queue:
                gathered.setdefault((_which(way, row), way.taking.reason), []).append(row.taker)
    head = f"what {queue} can lose to others{'' if gathered else ': nothing'}"
    out = hang("  ", wrap(clean(head, ascii_only=style.ascii), style.width - 2))
    for (which, reason), takers in gathered.items():
        out.extend(_line(f"to {', '.join(takers)}", which, reason, style))
    return out


def _victim(row: Row) -> str:
    return "itself" if row.taker == row.holder else row.holder


def _names(victims: Sequence[str], group: Group) -> str:
    others = [name for name in victims if name != "itself"]
    if len(others) == len(group.queues) - 1 and len(others) > 1:
        return ", ".join([*(["itself"] if len(others) < len(victims) else []), _EVERYONE])
    return ", ".join(victims)


def _which(way: Way, row: Row) -> str:
    taking = way.taking
    text = _priority(taking)
    if way.situation == "own":
        text += ", to get back its own quota"
    elif way.situation == "cohort":
        text += ", to get back what its own cohort lent"
    elif way.situation == "borrowing":
        text += ", even to borrow"
    if "share" in taking.when:
        text += ", while its share is the smaller"
    if len(way.pairs) < len(row.shared):
        text += f" (only {', '.join(dict.fromkeys(_pair(p, row) for p in way.pairs))})"
    return text


def _pair(pair: tuple[str, str], row: Row) -> str:
    """The flavor, with the resource when the flavor alone would say too much."""
    alone = len({resource for flavor, resource in row.shared if flavor == pair[0]}) == 1
    return pair[0] if alone else f"{pair[1]} in {pair[0]}"


def _priority(taking: Taking) -> str:
    if not taking.lower_only and not taking.newer_equal:
        text = "any priority"
    elif taking.newer_equal:
        text = "lower priority, or equal and newer"
    else:
        text = "lower priority"
    return text if taking.at_most is None else f"{text} up to {taking.at_most}"


def _why(row: Row, *, fair: bool) -> str:
    if row.why:
        return row.why
    allowed = [way for way in row.ways if way.taking.may]
    if not allowed:
        return " and ".join(dict.fromkeys(way.taking.when for way in row.ways))
    if row.taker == row.holder:
        return "it has no quota of its own to ask for"
    if not row.shared:
        return "they have no flavor and resource in common"
    if fair:  # whether shares can ever be such is tried, not proven
        return "no situation was found in which it comes to that"
    if len(allowed) == len(row.ways):
        return _NOTHING
    return " and ".join(
        dict.fromkeys(_NOT_LENT[w.situation] if w.taking.may else w.taking.when for w in row.ways)
    )
