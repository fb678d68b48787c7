"""Where everything goes: nodes in racks in groups, as wide as there is room."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from policycheck.report.page.colour import CARD as GROUND
from policycheck.report.page.colour import LINE, MUTED, Colours
from policycheck.report.page.racks.bar import bar_rack, outline
from policycheck.report.page.racks.domain import Group, Plan, Rack, plan
from policycheck.report.page.racks.node import Frame, Marks, frame, node_shapes
from policycheck.report.page.racks.scene import Gang, Scene, numbered
from policycheck.report.page.racks.shape import Box, Drawing, Text, fit, shortened, width_of
from policycheck.report.page.racks.strip import shown, strips, use_of

_GAP = 10
_PAD = 7
_HEAD = 17  # of a rack
_GROUP_HEAD = 19
_ROWS = 16  # nodes in one column of a rack
_MOST_MORE = 48  # pixels that a rack is wider for the sake of its head


class Piece(NamedTuple):
    """Something of known size that draws itself at a place."""

    width: float
    height: float
    draw: Callable[[Marks, float, float], None]


class Layout(NamedTuple):
    """The drawing, and the words that belong beside it."""

    drawing: Drawing
    plan: Plan
    notes: tuple[str, ...]
    total: str  # on nodes that can be used
    used: str


def layout(scene: Scene, width: float, colours: Colours) -> Layout:
    """The racks of ``scene`` in a drawing of at most ``width`` pixels, unless one node needs more."""
    made = plan(scene.nodes, scene.levels, scene.resource)
    held = _by_node(scene)
    machines = [node for group in made.groups for rack in group.racks for node in rack.nodes]
    names, cut = shortened(node.name for node in machines)
    gangs = numbered(scene.gangs)
    own = {node.name: strips(node, held, scene.resource) for node in machines}
    marks = Marks(colours, {g.id: g for g in gangs}, {g.id: n for n, g in enumerate(gangs, 1)}, names, own)
    shape = frame([rack.nodes for group in made.groups for rack in group.racks], marks)
    pieces = [_group(group, shape, marks, width, made) for group in made.groups]
    places, total_width, height = pack([(p.width, p.height) for p in pieces], width)
    for piece, (x, y) in zip(pieces, places, strict=True):
        piece.draw(marks, x, y)
    every = [strip for node in machines if node.usable for strip in own[node.name]]
    total, used = sum(s.counted(s.total) for s in every), sum(s.counted(s.used) for s in every)
    drawing = Drawing(
        total_width,
        height,
        tuple(marks.boxes),
        tuple(marks.lines),
        tuple(marks.texts),
        _says(scene, made, len(machines), (shown(total, scene.resource), shown(used, scene.resource))),
    )
    notes = _notes(scene, made, len(machines), cut, shape)
    return Layout(drawing, made, notes, shown(total, scene.resource), shown(used, scene.resource))


def _by_node(scene: Scene) -> Mapping[tuple[str, str], Sequence[tuple[str, int]]]:
    """What gangs hold of each node, larger gangs first so that a gang lies alike on all its nodes."""
    rank = {gang.id: n for n, gang in enumerate(numbered(scene.gangs))}
    found: dict[tuple[str, str], dict[str, int]] = {}
    for one in scene.held:
        at = found.setdefault((one.node, one.resource), {})
        at[one.gang] = at.get(one.gang, 0) + one.units
    return {
        key: sorted(at.items(), key=lambda item: (rank.get(item[0], len(rank)), item[0]))
        for key, at in found.items()
    }


def pack(
    sizes: Sequence[tuple[float, float]], width: float, gap: float = _GAP
) -> tuple[list[tuple[float, float]], float, float]:
    """Places on shelves from left to right, in the order given; width and height of the whole."""
    places: list[tuple[float, float]] = []
    x = y = shelf = widest = 0.0
    for wide, high in sizes:
        if x and x + wide > width:
            x, y, shelf = 0.0, y + shelf + gap, 0.0
        places.append((x, y))
        widest = max(widest, x + wide)
        x, shelf = x + wide + gap, max(shelf, high)
    return places, widest, y + shelf


def _group(group: Group, shape: Frame, marks: Marks, width: float, made: Plan) -> Piece:
    """A box around the racks of a group; a group without a name is its racks alone."""
    edge = _PAD if group.label else 0
    head = _GROUP_HEAD if group.label else 0
    pieces = [
        _rack(rack, shape, marks, width - 2 * edge) if made.is_exact else _bar(rack, marks)
        for rack in group.racks
    ]
    places, wide, high = pack([(p.width, p.height) for p in pieces], width - 2 * edge)
    wide = max(wide, min(width_of(group.label, 12, bold=True), width - 2 * edge))

    def draw(marks: Marks, x: float, y: float) -> None:
        if group.label:
            marks.boxes.append(Box(x, y, wide + 2 * edge, high + head + 2 * edge, GROUND, LINE))
            label = fit(group.label, wide, 12, bold=True)
            marks.texts.append(Text(x + edge, y + edge + head / 2 - 3, label, 12, bold=True))
        for piece, (px, py) in zip(pieces, places, strict=True):
            piece.draw(marks, x + edge + px, y + edge + head + py)

    return Piece(wide + 2 * edge, high + head + 2 * edge, draw)


def _bar(rack: Rack, marks: Marks) -> Piece:
    wide, high = bar_rack(rack, marks, 0, 0, measure=True)

    def draw(marks: Marks, x: float, y: float) -> None:
        bar_rack(rack, marks, x, y)

    return Piece(wide, high, draw)


def _rack(rack: Rack, shape: Frame, marks: Marks, width: float) -> Piece:
    """Nodes below one another, in several columns when there are many."""
    own = shape.of(rack.nodes, marks)
    columns = max(1, min(-(-len(rack.nodes) // _ROWS), int((width - 2 * _PAD) // (own.width + _GAP)) or 1))
    rows = -(-len(rack.nodes) // columns)
    wide = columns * own.width + (columns - 1) * _GAP + 2 * _PAD
    wide = max(wide, min(_head_width(rack, own, marks) + 2 * _PAD, wide + _MOST_MORE))
    high = _HEAD + rows * own.height + _PAD + 2

    def draw(marks: Marks, x: float, y: float) -> None:
        outline(marks, rack, (x, y, wide, high))
        _rack_head(rack, own, marks, (x + _PAD, y + _HEAD / 2 + 2, wide - 2 * _PAD))
        for number, node in enumerate(rack.nodes):
            column, row = divmod(number, rows)
            at = x + _PAD + column * (own.width + _GAP), y + _HEAD + 2 + row * own.height
            node_shapes(node, own, marks, at)

    return Piece(wide, high, draw)


def _head_width(rack: Rack, own: Frame, marks: Marks) -> float:
    """Room for the whole head of a rack."""
    use = use_of([s for node in rack.nodes if node.usable for s in marks.strips[node.name]])
    model = width_of(own.model) + 6 if own.model and rack.label != own.model else 0
    return width_of(rack.label, 11, bold=True) + model + 8 + width_of(use)


def _rack_head(rack: Rack, own: Frame, marks: Marks, at: tuple[float, float, float]) -> None:
    """The rack's name and model at the left, how much of it is in use at the right."""
    x, y, room = at
    use = use_of([s for node in rack.nodes if node.usable for s in marks.strips[node.name]])
    room -= width_of(use) + 6
    label = fit(rack.label, room, 11, bold=True)
    marks.texts.append(Text(x, y, label, 11, bold=True))
    model = fit(own.model, room - width_of(label, 11, bold=True) - 6)
    if model and rack.label != own.model:
        marks.texts.append(Text(x + width_of(label, 11, bold=True) + 6, y, model, 10, MUTED))
    marks.texts.append(Text(x + at[2], y, use, 10, MUTED, "right"))


def _notes(scene: Scene, made: Plan, machines: int, cut: str, shape: Frame) -> tuple[str, ...]:
    said = []
    if not made.is_exact:
        said.append(
            f"{machines:,} nodes are too many to draw one by one: each bar is one {made.unit}, "
            "its nodes together"
        )
    if cut and made.is_exact:
        said.append(f"node names are shortened: {cut}")
    if made.left_out:
        plural = "node has" if made.left_out == 1 else "nodes have"
        said.append(f"{made.left_out:,} {plural} no {scene.resource or 'accelerators'} and are not drawn")
    if made.elastic:
        said.append(
            f"{made.elastic:,} pool{'s' * (made.elastic > 1)} may grow; drawn at the least that there is"
        )
    if shape.taint:
        said.append(f"all nodes carry the taint {shape.taint}")
    if shape.is_sliced:
        said.append("slices and shares are drawn, and counted, as their part of a card")
    if made.is_exact and scene.held and not scene.resource:
        said.append("which cards of a node a gang has is not decided here: cells fill from the left")
    return (*scene.notes, *said)


def _says(scene: Scene, made: Plan, machines: int, sums: tuple[str, str]) -> str:
    placed: list[Gang] = [g for g in scene.gangs if g.state == "placed"]
    return (
        f"{scene.title}. {machines:,} nodes in {made.racks:,} boxes; {sums[1]} of {sums[0]} "
        f"{scene.resource or 'cards'} on usable nodes are held, by {len(placed):,} jobs."
    )
