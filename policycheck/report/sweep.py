"""Many runs side by side: means over seeds with the interval of the mean at 95 %.

JSON (``render_json``), additions allowed, changes raise ``schemaVersion``::

    {"schemaVersion": 1, "seeds": [1, ..], "configurations": [{"scope", "target", "assumed": bool, "source",
      "resource", "horizon": s | null, "jobs": [n by seed], "figures": [FIGURE], "queues": {NAME: [FIGURE]},
      "notes": [TEXT]}]}

FIGURE is ``{"name", "unit", "mean", "low", "high", "values": [by seed], "why"}``: times in seconds, shares as
part of one, null where there was nothing to measure. CSV (``render_csv``) has a line for every figure; the
queue is empty for those of the whole cluster.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from policycheck.report.amounts import written
from policycheck.report.screen import Style, clean, hang, wrap
from policycheck.report.simulation_words import span
from policycheck.simulate.contrast import ALLOCATED, P90, PREEMPTED, WAITING, Average
from policycheck.simulate.sweep import Swept

SCHEMA_VERSION = 1
_DIGITS = 6
_WIDTH = 80
_SHOWN = (ALLOCATED.name, P90.name, PREEMPTED.name, WAITING.name)  # where configurations stand side by side
COLUMNS = ("configuration", "target", "source", "queue", "figure", "unit", "mean", "low", "high", "seeds")


def render_json(found: Sequence[Swept]) -> str:
    """The same runs give the same bytes, wherever they were computed."""
    value = {
        "schemaVersion": SCHEMA_VERSION,
        "seeds": list(found[0].seeds) if found else [],
        "configurations": [_scope(one) for one in found],
    }
    return json.dumps(value, indent=2, ensure_ascii=True) + "\n"


def _scope(one: Swept) -> dict[str, Any]:
    return {
        "scope": one.scope,
        "target": one.target,
        "assumed": one.assumed,
        "source": one.source,
        "resource": one.resource,
        "horizon": one.horizon / 1000 if one.horizon else None,
        "jobs": list(one.jobs),
        "figures": [_figure(figure) for figure in one.figures],
        "queues": {name: [_figure(figure) for figure in figures] for name, figures in one.queues},
        "notes": list(one.notes),
    }


def _figure(one: Average) -> dict[str, Any]:
    return {
        "name": one.name,
        "unit": one.unit,
        "mean": _rounded(one.mean),
        "low": _rounded(one.low),
        "high": _rounded(one.high),
        "values": [_rounded(value) for value in one.values],
        "why": one.why or None,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)


def render_csv(found: Sequence[Swept]) -> str:
    """One line a configuration, queue and figure."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for one in found:
        for queue, figures in (("", one.figures), *one.queues):
            for figure in figures:
                numbers = [_rounded(value) for value in (figure.mean, figure.low, figure.high)]
                known = sum(value is not None for value in figure.values)
                labels = (one.scope, one.target, one.source, queue, figure.name, figure.unit)
                table.writerow([_harmless(label) for label in labels] + [*numbers, known])
    return out.getvalue()


def _harmless(label: str) -> str:
    """A table program takes what begins so for a formula."""
    return f"'{label}" if label[:1] in {"=", "+", "-", "@", "\t", "\r"} else label


def render_text(found: Sequence[Swept], style: Style) -> str:
    """Within 80 columns: configurations side by side when there are several, then each of them."""
    lines: list[str] = []
    if len(found) > 1:
        lines += [*_overview(found, style), ""]
    for number, one in enumerate(found, 1):
        lead = f"{number}  " if len(found) > 1 else ""
        lines += [*_text(one, lead, style), ""]
    lines += wrap("Means over seeds; in brackets the interval of the mean at 95 %.", _WIDTH)
    return "\n".join(lines) + "\n"


def _overview(found: Sequence[Swept], style: Style) -> list[str]:
    rows = [
        style.paint(
            "strong", f"{'':3} {'utilisation':>17} {'wait p90':>18} {'preempted':>17} {'waiting':>17}"
        )
    ]
    for number, one in enumerate(found, 1):
        known = {figure.name: figure for figure in one.figures}
        cells = [_short(known[name]) for name in _SHOWN]
        rows.append(f"{number:<3} {cells[0]:>17} {cells[1]:>18} {cells[2]:>17} {cells[3]:>17}".rstrip())
    return rows


def _short(one: Average) -> str:
    """The mean, and how far the truth may be from it."""
    if one.mean is None:
        return "-"
    text = written(one.unit, one.mean)
    if one.low is None or one.high is None:
        return text
    return f"{text} ±{written(one.unit, (one.high - one.low) / 2)}"


def _text(one: Swept, lead: str, style: Style) -> list[str]:
    title = one.scope or "the cluster"
    if one.target:
        title += f" as {one.target}{', assumed,' * one.assumed} does"
    lines = hang(lead, wrap(clean(title), _WIDTH - len(lead))) if lead else wrap(clean(title), _WIDTH)
    lines = [style.paint("strong", line) for line in lines]
    seeds = f"{len(one.seeds)} seeds" if len(one.seeds) > 1 else f"seed {one.seeds[0]}"
    jobs = f"{min(one.jobs):,}" + (f" to {max(one.jobs):,}" if min(one.jobs) < max(one.jobs) else "")
    until = f", {span(one.horizon)}" if one.horizon else ""
    lines += wrap(clean(f"{jobs} jobs of {one.source}{until}, {seeds}"), _WIDTH)
    lines.append("")
    lines += [_row(f"  {figure.name}", figure) for figure in one.figures if figure.mean is not None]
    busy = [(name, figures) for name, figures in one.queues if any(f.mean is not None for f in figures)]
    if busy:
        lines += [
            "",
            style.paint(
                "strong", f"  {'queue':22}{'wait p50':>9}{'p90':>9}{'honoured':>11}{'preempted':>11}"
            ),
        ]
    for name, figures in busy:
        known = {figure.name: figure for figure in figures}
        cells = [
            "-" if known[key].mean is None else written(known[key].unit, known[key].mean or 0.0)
            for key in ("wait p50", "wait p90", "guarantee honoured", "preempted jobs")
        ]
        lines.append(_queue(clean(name), cells))
    for note in one.notes if style.verbose else ():
        lines += hang("  ", wrap(clean(note), _WIDTH - 4))
    return lines


def _queue(name: str, cells: Sequence[str]) -> str:
    row = f"{cells[0]:>9}{cells[1]:>9}{cells[2]:>11}{cells[3]:>11}"
    return f"  {name:22}{row}" if len(name) <= 22 else f"  {name}\n  {'':22}{row}"


def _row(name: str, one: Average) -> str:
    text = f"{name:28}{written(one.unit, one.mean or 0.0):>12}"
    if one.low is not None and one.high is not None:
        low, high = (written(one.unit, value) for value in (one.low, one.high))
        text += f"  ({low} to {high})"
    return text
