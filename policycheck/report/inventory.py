"""An inventory for people and for programs.

JSON (``render_json``), additions allowed, changes raise ``schemaVersion``::

    {"schemaVersion": 1, "known": true, "dated": "2026-11-29" | null, "sources": [FILE],
     "totals": {"nodes": RANGE, "usable": RANGE, "physical": RANGE, "schedulable": RANGE,
                "slices": {NAME: n}, "shares": {NAME: n}, "free": {RESOURCE: RANGE}},
     "models": [{"model": NAME | null, "resource", "nodes": RANGE, "physical": RANGE,
                 "schedulable": RANGE, "slices": {}, "shares": {}}],
     "nodes": [{"name", "machines": RANGE, "model": NAME | null, "modelSource": NAME | null,
                "resource": NAME | null, "physical": RANGE, "schedulable": RANGE, "slices": {},
                "shares": {}, "sharing": NAME | null, "profile": NAME | null, "replicas": n,
                "ready": bool, "cordoned": bool, "taints": [TEXT], "labels": {},
                "allocatable": {RESOURCE: n} | null, "committed": {RESOURCE: n}, "source", "oddities": [TEXT]}],
     "levels": [{"key", "nodes": n, "lacking": n, "values": n,
                 "domains": [{"value", "nodes": RANGE, "free": RANGE}]}],
     "taints": [{"taint": TEXT, "nodes": n}],
     "oddities": [{"text", "nodes": n, "examples": [NAME]}],
     "files": [{"file", "state", "line": n | null, "why"}]}

RANGE is ``{"low": n, "high": n | null, "known": bool, "why": TEXT}``: known when low equals high; a known
number with a ``why`` is assumed. GPU amounts are GPUs, cpu thousandths of a core, others base units.
``physical`` counts cards; ``schedulable`` whole GPUs that can be handed out now, neither slices nor shares.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policycheck.model import amount, capacity, levels
from policycheck.model.inventory import NONE, Inventory, Node, Range
from policycheck.record import NamedTuple
from policycheck.report.screen import Style, clean, hang, width, wrap
from policycheck.source.document import FileReport
from policycheck.wording import some

SCHEMA_VERSION = 1
_EXAMPLES = 3
_NAMES_WIDEST = 26  # of the names of alike nodes in one row
_SHORT = 40  # rows and domains that the text shows before it says how many more there are


def render_json(inventory: Inventory, files: Sequence[FileReport] = ()) -> str:
    """The same inventory gives the same bytes."""
    return json.dumps(as_dict(inventory, files), indent=2, ensure_ascii=True) + "\n"


def as_dict(inventory: Inventory, files: Sequence[FileReport] = ()) -> dict[str, Any]:
    """What ``render_json`` writes, as plain values."""
    nodes = inventory.nodes
    resource = main_resource(nodes)
    return {
        "schemaVersion": SCHEMA_VERSION,
        "known": inventory.known,
        "dated": inventory.dated or None,
        "sources": list(inventory.sources),
        "totals": _totals(nodes),
        "models": [_model(g) for g in capacity.by_model(nodes)],
        "nodes": [_node(node) for node in nodes],
        "levels": [_level(level) for level in levels.candidates(nodes, resource)],
        "taints": [{"taint": text, "nodes": n} for text, n in taints(nodes).items()],
        "oddities": [
            {"text": odd.text, "nodes": odd.machines, "examples": list(odd.names[:_EXAMPLES])}
            for odd in oddities(inventory)
        ],
        "files": [{"file": f.file, "state": f.state, "line": f.line, "why": f.why} for f in files],
    }


def main_resource(nodes: Iterable[Node]) -> str:
    """The resource that most GPUs of the inventory go by; "" without any."""
    found: dict[str, int] = {}
    for node in nodes:
        if node.accelerators is not None:
            found[node.accelerators.resource] = found.get(node.accelerators.resource, 0) + max(
                1, node.machines
            )
    return max(sorted(found), key=lambda name: found[name], default="")


def _range(value: Range) -> dict[str, Any]:
    return {"low": value.low, "high": value.high, "known": value.is_exact, "why": value.why}


def _totals(nodes: Sequence[Node]) -> dict[str, Any]:
    models = capacity.by_model(nodes)
    names = sorted({g.resource for g in models if g.resource} | {"cpu", "memory"})
    return {
        "nodes": _range(capacity.machines(nodes)),
        "usable": _range(capacity.machines(capacity.usable(nodes))),
        "physical": _range(capacity.physical(nodes)),
        "schedulable": _range(capacity.schedulable(nodes)),
        "slices": _summed(g.slices for g in models),
        "shares": _summed(g.shares for g in models),
        "free": {name: _range(capacity.total(nodes, name)) for name in names},
    }


def _summed(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in parts:
        for name, number in part.items():
            found[name] = found.get(name, 0) + number
    return dict(sorted(found.items()))


def _model(gpus: capacity.Gpus) -> dict[str, Any]:
    return {
        "model": gpus.model or None,
        "resource": gpus.resource,
        "nodes": _range(gpus.machines),
        "physical": _range(gpus.physical),
        "schedulable": _range(gpus.schedulable),
        "slices": dict(sorted(gpus.slices.items())),
        "shares": dict(sorted(gpus.shares.items())),
    }


def _node(node: Node) -> dict[str, Any]:
    found = node.accelerators
    return {
        "name": node.name,
        "machines": _range(Range(node.machines, node.most)),
        "model": (found.model or None) if found else None,
        "modelSource": (found.model_source or None) if found else None,
        "resource": (found.resource or None) if found else None,
        "physical": _range(found.physical if found else NONE),
        "schedulable": _range(found.schedulable if found else NONE),
        "slices": dict(sorted(found.slices.items())) if found else {},
        "shares": dict(sorted(found.shares.items())) if found else {},
        "sharing": (found.sharing or None) if found else None,
        "profile": (found.profile or None) if found else None,
        "replicas": found.replicas if found else 1,
        "ready": node.ready,
        "cordoned": node.unschedulable,
        "taints": [_taint(node, n) for n in range(len(node.taints))],
        "labels": dict(sorted(node.labels.items())),
        "allocatable": None if node.allocatable is None else dict(sorted(node.allocatable.items())),
        "committed": dict(sorted(node.committed.items())),
        "source": node.source,
        "oddities": list(node.oddities),
    }


def _taint(node: Node, number: int) -> str:
    taint = node.taints[number]
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _level(level: levels.Level) -> dict[str, Any]:
    return {
        "key": level.key,
        "nodes": level.carried,
        "lacking": level.lacking,
        "values": level.values,
        "domains": [
            {"value": d.values[0], "nodes": _range(d.machines), "free": _range(d.free)} for d in level.domains
        ],
    }


def taints(nodes: Iterable[Node]) -> dict[str, int]:
    """Taints as ``key=value:effect`` and how many machines carry each, the most frequent first."""
    found: dict[str, int] = {}
    for node in nodes:
        for text in dict.fromkeys(_taint(node, n) for n in range(len(node.taints))):
            found[text] = found.get(text, 0) + node.machines
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


class Oddity(NamedTuple):
    """One sentence and the nodes that it is about; none when it is about the inventory."""

    text: str
    machines: int
    names: tuple[str, ...]


def oddities(inventory: Inventory) -> tuple[Oddity, ...]:
    """What is odd, alike sentences together, those about the whole inventory first."""
    found: dict[str, list[Node]] = {}
    for node in inventory.nodes:
        for text in node.oddities:
            found.setdefault(text, []).append(node)
    whole = [Oddity(text, 0, ()) for text in inventory.oddities]
    return (*whole, *_collected(found))


def doubts(nodes: Iterable[Node]) -> tuple[Oddity, ...]:
    """Why numbers are not known, or on what they are assumed, alike reasons together."""
    found: dict[str, list[Node]] = {}
    for node in nodes:
        if node.accelerators is None:
            continue
        for name in ("physical", "schedulable"):
            why = getattr(node.accelerators, name).why
            if why:
                found.setdefault(f"{name}: {why}", []).append(node)
    return tuple(_collected(found))


def _collected(found: Mapping[str, Sequence[Node]]) -> list[Oddity]:
    made = [
        Oddity(text, sum(n.machines for n in at), tuple(n.name for n in at)) for text, at in found.items()
    ]
    return sorted(made, key=lambda odd: (-len(odd.names), odd.text))


def render_text(inventory: Inventory, files: Sequence[FileReport], style: Style) -> str:
    """The inventory for people, within the width of the style."""
    nodes = inventory.nodes
    parts = [_head(inventory, style)]
    parts += [_models(nodes, style), _nodes(nodes, style), _held(nodes, style)]
    parts += [_levels(nodes, style), _taint_list(nodes, style)]
    parts.append(_sentences("Not known, or assumed", doubts(nodes), style))
    parts.append(_sentences("Odd", oddities(inventory), style))
    parts.append(_files(files, style))
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def number(value: Range) -> str:
    """A range as people read it: ``8``, ``1 assumed``, ``?``, ``? at most 8``, ``? 2 to 4``."""
    if value.is_exact:
        return f"{value.low:,} assumed" if value.why else f"{value.low:,}"
    if value.high is None:
        return f"? at least {value.low:,}" if value.low else "?"
    return f"? {value.low:,} to {value.high:,}" if value.low else f"? at most {value.high:,}"


def _head(inventory: Inventory, style: Style) -> list[str]:
    nodes = inventory.nodes
    machines = capacity.machines(nodes)
    count = f"{machines.low:,}" if machines.is_exact else number(machines).removeprefix("? ")
    title = (
        f"{count} node{'' if machines.high == 1 else 's'}, GPUs: {number(capacity.physical(nodes))} physical, "
        f"{number(capacity.schedulable(nodes))} schedulable as whole GPUs"
    )
    lines = [style.paint("strong", line) for line in wrap(title, style.width)]
    said = [f"taken {inventory.dated}"] if inventory.dated else []
    if inventory.sources:
        more = f" and {len(inventory.sources) - 1} more" if len(inventory.sources) > 1 else ""
        said.append(f"from {clean(inventory.sources[0], ascii_only=style.ascii)}{more}")
    return lines + wrap(style.dot.join(said), style.width) if said else lines


def _rows(rows: Sequence[Sequence[str]], style: Style) -> list[list[str]]:
    """The lines of each row, columns as wide as they need to be; a first cell too long for its column
    takes a line of its own.
    """
    shown = [[clean(cell, ascii_only=style.ascii) for cell in row] for row in rows]
    widths = [max(width(row[n]) for row in shown) for n in range(len(shown[0]))]
    room = style.width - 2 - sum(widths[1:]) - 2 * (len(widths) - 1)
    widths[0] = max(8, min(widths[0], room))
    made = []
    for row in shown:
        cells = [cell + " " * (size - width(cell)) for cell, size in zip(row, widths, strict=True)]
        lines = []
        if width(row[0]) > widths[0]:
            lines.append(f"  {row[0]}")
            cells[0] = " " * widths[0]
        made.append([*lines, "  " + "  ".join(cells).rstrip()])
    return made


def _table(rows: Sequence[Sequence[str]], style: Style) -> list[str]:
    return [line for lines in _rows(rows, style) for line in lines]


def _models(nodes: Sequence[Node], style: Style) -> list[str]:
    models = capacity.by_model(nodes)
    if not models:
        return [style.paint("strong", "GPUs"), "  none in sight"]
    rows = [["model", "nodes", "physical", "schedulable"]]
    rows += [
        [g.model or "(no label says)", number(g.machines), number(g.physical), number(g.schedulable)]
        for g in models
    ]
    lines = [style.paint("strong", "GPUs by model"), *_table(rows, style)]
    parts = [("slices", _summed(g.slices for g in models)), ("shares", _summed(g.shares for g in models))]
    for what, found in parts:
        if found:
            text = ", ".join(f"{n:,} x {name}" for name, n in found.items())
            lines += hang(
                f"  {what}: ", wrap(clean(f"{text} (not whole GPUs, not added up)"), style.width - 10)
            )
    return lines


def _nodes(nodes: Sequence[Node], style: Style) -> list[str]:
    """Alike nodes in one row, in the order of the first of them, slices and shares beneath it."""
    groups: dict[tuple[str, ...], list[Node]] = {}
    for node in nodes:
        if node.accelerators is not None:
            groups.setdefault(_row(node), []).append(node)
    shown = list(groups.items()) if style.verbose else list(groups.items())[:_SHORT]
    lines: list[str] = []
    if shown:
        head = ["node", "model", "schedulable", "physical", "state"]
        table = _rows([head, *([_which(members), *row[:4]] for row, members in shown)], style)
        lines = [style.paint("strong", "Nodes with GPUs"), *(style.paint("dim", line) for line in table[0])]
        for (row, _), row_lines in zip(shown, table[1:], strict=True):
            lines += row_lines
            lines += hang("    ", wrap(clean(row[4]), style.width - 4)) if row[4] else []
    if len(groups) > len(shown):
        lines.append(f"  and {len(groups) - len(shown)} more kinds of node (--verbose shows all)")
    plain = sum(n.machines for n in nodes if n.accelerators is None)
    if plain:
        lines.append(f"  {plain:,} node{'' if plain == 1 else 's'} without GPUs")
    return lines


def _row(node: Node) -> tuple[str, ...]:
    found = node.accelerators
    assert found is not None  # noqa: S101 - the caller has looked
    state = "not ready" if not node.ready else "cordoned" if node.unschedulable else ""
    if node.most != node.machines:
        state = "elastic"
    beside = [f"{n:,} x {name}" for name, n in found.slices.items()]
    beside += [f"{n:,} shares of {name}" for name, n in found.shares.items()]
    note = ", ".join(beside)
    if note and (found.profile or found.sharing):
        note += f" ({' '.join(x for x in (found.sharing, found.profile) if x)})"
    return (
        found.model or "(no label says)",
        number(found.schedulable),
        number(found.physical),
        state,
        note,
    )


def _which(members: Sequence[Node]) -> str:
    first = members[0]
    total = capacity.machines(members)
    names = ", ".join(node.name for node in members)
    if total == Range(len(members), len(members)) and len(names) <= _NAMES_WIDEST:
        return names
    how_many = number(total).removeprefix("? ").removesuffix(" assumed")
    return f"{how_many} x {first.name}" if len(members) == 1 else f"{how_many} like {first.name}"


def _held(nodes: Sequence[Node], style: Style) -> list[str]:
    held: dict[str, int] = {}
    for node in nodes:
        for resource, n in node.committed.items():
            held[resource] = held.get(resource, 0) + n * node.machines
    text = ", ".join(f"{amount.show(r, n)} {r}" for r, n in sorted(held.items()) if n)
    if not text:
        return []
    title = style.paint("strong", "Held by daemons and pods outside queues")
    return [title, *(f"  {line}" for line in wrap(clean(text), style.width - 2))]


def _levels(nodes: Sequence[Node], style: Style) -> list[str]:
    found = levels.candidates(nodes, main_resource(nodes))
    title = style.paint("strong", "Labels that can be topology levels, widest first")
    if not found:
        return [title, "  none on any node"] if nodes else []
    lines = [title]
    for level in found:
        lack = f", {level.lacking:,} lack it" if level.lacking else ""
        text = f"on {level.carried:,} node{'' if level.carried == 1 else 's'}{lack}, {level.values:,} "
        text += f"domain{'' if level.values == 1 else 's'}"
        shown = [
            f"{d.values[0]} ({number(d.machines)} node{'' if d.machines.high == 1 else 's'}, {number(d.free)} free)"
            if d.machines.high != 0
            else f"{d.values[0]} (no usable node)"
            for d in level.domains
        ]
        limit = len(shown) if style.verbose else 4
        if shown and level.values > 1:
            text += f": {some(shown, limit)}"
        lines.append(f"  {clean(level.key, ascii_only=style.ascii)}")
        lines += [f"    {line}" for line in wrap(clean(text, ascii_only=style.ascii), style.width - 4)]
    return lines


def _taint_list(nodes: Sequence[Node], style: Style) -> list[str]:
    found = taints(nodes)
    if not found:
        return []
    rows = [[text, f"{n:,} node{'' if n == 1 else 's'}"] for text, n in found.items()]
    return [style.paint("strong", "Taints"), *_table(rows, style)]


def _sentences(title: str, found: Sequence[Oddity], style: Style) -> list[str]:
    lines = [style.paint("strong", title)] if found else []
    for odd in found:
        text = odd.text
        if odd.names:
            limit = len(odd.names) if style.verbose else _EXAMPLES
            text += f" [{some(odd.names, limit)}]"
        lines += hang("  - ", wrap(clean(text, ascii_only=style.ascii), style.width - 4))
    return lines


def _files(files: Sequence[FileReport], style: Style) -> list[str]:
    bad = [f for f in files if f.state == "partly" or f.failed or (f.state != "checked" and style.verbose)]
    others = sum(f.state != "checked" for f in files) - len(bad)
    lines = [style.paint("strong", "Not read, or in part")] if bad or others else []
    for file in bad:
        place = f"{file.file}:{file.line}" if file.line else file.file
        lines += hang("  - ", wrap(clean(f"{place}: {file.why}", ascii_only=style.ascii), style.width - 4))
    if others:
        lines.append(f"  {others:,} file{'s' * (others > 1)} without inventory (--verbose lists all)")
    return lines
