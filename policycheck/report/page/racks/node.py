"""One node: its name, its cells, what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from policycheck.model.inventory import Node
from policycheck.model.placement import HARD_EFFECTS, Taint
from policycheck.report.page.colour import BAD, FOREGROUND, FREE, LINE, MUTED, OUTSIDE, Colours
from policycheck.report.page.racks.domain import model_of
from policycheck.report.page.racks.scene import Gang
from policycheck.report.page.racks.shape import NOTHING, Box, Line, Text, fit, width_of
from policycheck.report.page.racks.strip import CARD, Strip

_CELL = 15.0  # a card, with the gap after it
_MOST_CELLS = 260.0  # a node's cells; cards are narrower on a node that has very many
_HEIGHT = 20.0
_CELL_HEIGHT = 15.0
_NAME = 92.0  # at most, for a name
_NOTE = 86.0  # at most, for a note
_NARROW = 3.0  # cells below that are drawn as runs
# What the node lifecycle sets by itself, and says in another way here.
_OWN_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")


class Marks:
    """What has been drawn so far, and what all nodes are drawn from."""

    def __init__(
        self,
        colours: Colours,
        gangs: Mapping[str, Gang],
        number: Mapping[str, int],
        names: Mapping[str, str],
        strips: Mapping[str, Sequence[Strip]],
    ) -> None:
        self.colours = colours
        self.gangs = gangs
        self.number = number
        self.names = names
        self.strips = strips
        self.boxes: list[Box] = []
        self.lines: list[Line] = []
        self.texts: list[Text] = []


class Frame(NamedTuple):
    """Sizes that the nodes of a rack share. ``model`` is theirs when they have the same and not every
    node of the picture has it; ``taint`` what every node of the picture carries.
    """

    name: float
    cells: float
    note: float
    card: float
    models: int  # in the whole picture
    model: str
    taint: str
    is_sliced: bool = False
    height: float = _HEIGHT

    @property
    def width(self) -> float:
        """Of a node."""
        return self.name + self.cells + self.note

    def of(self, nodes: Sequence[Node], marks: Marks) -> Frame:
        """The frame of these nodes within the picture's."""
        models = {model_of(node) for node in nodes}
        own = self._replace(model=models.pop() if len(models) == 1 and self.models > 1 else "")
        return own._replace(
            cells=max(_cells(marks.strips[n.name], self.card) for n in nodes),
            note=max(self.note, *(_note_width(note(n, own)) for n in nodes)),
        )


def frame(racks: Sequence[Sequence[Node]], marks: Marks) -> Frame:
    """What all nodes of the picture share. Where notes are frequent all racks leave room for them, so
    that they stand in line.
    """
    nodes = [node for rack in racks for node in rack]
    most = max((sum(s.width for s in marks.strips[n.name]) for n in nodes), default=CARD) / CARD
    common = set[Taint]()
    if len(nodes) > 1:
        common = set(nodes[0].taints).intersection(*(set(n.taints) for n in nodes[1:]))
    made = Frame(
        min(_NAME, max((width_of(marks.names[n.name]) for n in nodes), default=0)) + 6,
        0,
        0,
        min(_CELL, _MOST_CELLS / max(most, 1)),
        len({model_of(n) for n in nodes}),
        "",
        ", ".join(sorted(map(_taint, common))),
        any(n.accelerators and (n.accelerators.slices or n.accelerators.shares) for n in nodes),
    )
    notes = [made.of(rack, marks).note for rack in racks]
    is_frequent = sum(wide > 0 for wide in notes) * 3 > len(notes)
    return made._replace(note=max(notes)) if is_frequent else made


def _taint(taint: Taint) -> str:
    return f"{taint.key}={taint.value}" if taint.value else taint.key


def _cells(strips: Iterable[Strip], card: float) -> float:
    return sum(s.width for s in strips) / CARD * card


def out_of_use(node: Node) -> str:
    """Why no pod may go there."""
    return "not ready" if not node.ready else "cordoned"


def note(node: Node, own: Frame) -> str:
    """What is special about a node: out of use, another model than its rack, cut cards, taints that not
    all have.
    """
    said = [] if node.usable else [out_of_use(node)]
    if own.models > 1 and not own.model:
        said.append(model_of(node) or "no model")
    found = node.accelerators
    for what, parts in (("slices", found.slices), ("shares", found.shares)) if found else ():
        if parts:
            said.append(f"{sum(parts.values())} {what}")
    said += [
        f"taint {t.key.rpartition('/')[2] or t.key}"
        for t in node.taints
        if t.effect in HARD_EFFECTS and not t.key.startswith(_OWN_TAINTS) and _taint(t) not in own.taint
    ]
    return ", ".join(dict.fromkeys(said))


def _note_width(text: str) -> float:
    return min(_NOTE, width_of(text, 9)) + 6 if text else 0.0


def node_shapes(node: Node, own: Frame, marks: Marks, at: tuple[float, float]) -> None:
    """Draw one node with its top left corner ``at``."""
    x, y = at
    middle = y + _HEIGHT / 2
    name = fit(marks.names[node.name], own.name - 6)
    marks.texts.append(Text(x, middle, name, 10, FOREGROUND if node.usable else MUTED))
    left = x + own.name
    for strip in marks.strips[node.name]:
        _strip_shapes(node, strip, own, marks, (left, y + (_HEIGHT - _CELL_HEIGHT) / 2))
        left += strip.width / CARD * own.card
    said = note(node, own)
    if said:
        colour = MUTED if node.usable else BAD
        text = fit(said, own.note - 6, 9)
        marks.texts.append(Text(x + own.name + own.cells + 5, middle, text, 9, colour))


class Run(NamedTuple):
    """Equal units side by side, each ``unit`` pixels wide."""

    units: int
    unit: float
    fill: str
    stroke: str
    tip: str
    dashed: bool = False


def _strip_shapes(node: Node, strip: Strip, own: Frame, marks: Marks, at: tuple[float, float]) -> None:
    """The cells of a strip: gangs from the left, pods outside queues at the right, free ones between."""
    x, y = at
    unit = strip.width / CARD * own.card / strip.total
    taken = 0
    for gang, units in strip.held:
        shown = min(units, strip.total - strip.outside - taken)
        if shown > 0:
            _gang_run(node, strip, gang, (shown, unit), marks, (x + taken * unit, y))
            taken += shown
    free = strip.total - strip.outside - taken
    if free > 0:
        tip = f"{node.name}: {free} of {strip.total} {strip.resource} free"
        run = Run(free, unit, FREE, LINE, tip)
        if not node.usable:
            tip = f"{node.name}: {free} {strip.resource} that can not be used, the node is {out_of_use(node)}"
            run = Run(free, unit, NOTHING, LINE, tip, dashed=True)
            right = x + (taken + free) * unit - 1
            marks.lines.append(Line(x + taken * unit, y + _CELL_HEIGHT, right, y, BAD))
        _draw(marks, (x + taken * unit, y), run, joined=strip.is_bar)
    if strip.outside:
        tip = f"{node.name}: {strip.outside} {strip.resource} held by pods outside any queue"
        run = Run(strip.outside, unit, OUTSIDE, OUTSIDE, tip)
        _draw(marks, (x + (taken + free) * unit, y), run, joined=True)


def _gang_run(
    node: Node, strip: Strip, gang: str, size: tuple[int, float], marks: Marks, at: tuple[float, float]
) -> None:
    """A gang's cells on this node with its number, and its name where there is room."""
    units, unit = size
    known = marks.gangs.get(gang)
    queue, label = (known.queue, known.label) if known else ("", gang)
    tip = f"{label} ({queue}): {units} of {strip.total} {strip.resource} on {node.name}"
    colour = marks.colours.of(queue)
    _draw(marks, at, Run(units, unit, colour, colour, tip), joined=True)
    number = str(marks.number.get(gang, ""))
    room = units * unit - 3
    text = fit(f"{number} {label}", room, 9)
    if len(text) < len(number) + 4:  # a letter or two of a name say nothing
        text = number if width_of(number, 9) <= room + 1 else ""
    if text:
        where = at[0] + units * unit / 2 - 0.5, at[1] + _CELL_HEIGHT / 2 + 0.5
        marks.texts.append(Text(*where, text, 9, marks.colours.ink(queue), "center"))


def _draw(marks: Marks, at: tuple[float, float], run: Run, *, joined: bool) -> None:
    """Free cells stand apart; those that somebody holds are joined, so that a gang is one block."""
    x, y = at
    if joined or run.unit < _NARROW:
        wide = max(run.units * run.unit - 1, 1.0)
        marks.boxes.append(Box(x, y, wide, _CELL_HEIGHT, run.fill, run.stroke, run.dashed, run.tip))
        return
    for n in range(run.units):
        left = x + n * run.unit
        marks.boxes.append(
            Box(left, y, run.unit - 1, _CELL_HEIGHT, run.fill, run.stroke, run.dashed, run.tip)
        )
