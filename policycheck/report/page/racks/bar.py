"""A rack as one bar, where there are too many nodes to draw each."""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.report.page.colour import FREE, LINE, MUTED, OUTSIDE, PAGE
from policycheck.report.page.racks.domain import Rack
from policycheck.report.page.racks.node import Marks
from policycheck.report.page.racks.shape import Box, Text, fit, width_of
from policycheck.report.page.racks.strip import Strip, shown, use_of

_WIDTH = 210.0
_PAD = 5
_HEAD = 14.0
_BAR = 12.0


def bar_rack(rack: Rack, marks: Marks, x: float, y: float, *, measure: bool = False) -> tuple[float, float]:
    """Draw the rack with its top left corner at (x, y) unless only its size is asked for."""
    size = _WIDTH, _HEAD + _BAR + 2 * _PAD
    if measure:
        return size
    usable = [node for node in rack.nodes if node.usable]
    every = [strip for node in usable for strip in marks.strips[node.name]]
    outline(marks, rack, (x, y, *size))
    use = use_of(every)
    if len(usable) < len(rack.nodes):
        use += f", {len(rack.nodes) - len(usable)} out"
    room = _WIDTH - 2 * _PAD
    label = fit(rack.label, room - width_of(use) - 4, bold=True)
    marks.texts.append(Text(x + _PAD, y + _PAD + 5, label, 10, bold=True))
    marks.texts.append(Text(x + _WIDTH - _PAD, y + _PAD + 5, use, 10, MUTED, "right"))
    _segments(marks, (x + _PAD, y + _PAD + _HEAD, room), every)
    return size


def outline(marks: Marks, rack: Rack, at: tuple[float, float, float, float]) -> None:
    """The box of a rack; dashed around nodes that lack the label and so are in no rack."""
    if rack.is_placed:
        marks.boxes.append(Box(*at, PAGE, LINE))
    else:  # dashed boxes are drawn over all others: this one must not cover its nodes
        marks.boxes.append(Box(*at, PAGE))
        marks.boxes.append(Box(*at, stroke=MUTED, dashed=True))


def _segments(marks: Marks, at: tuple[float, float, float], every: Sequence[Strip]) -> None:
    """What each queue holds of the rack, the most first, then what pods outside queues hold."""
    x, y, room = at
    marks.boxes.append(Box(x, y, room, _BAR, FREE, LINE))
    total = sum(s.counted(s.total) for s in every)
    by_queue: dict[str, int] = {}
    for strip in every:
        for gang, units in strip.held:
            queue = marks.gangs[gang].queue if gang in marks.gangs else ""
            by_queue[queue] = by_queue.get(queue, 0) + strip.counted(units)
    parts = sorted(by_queue.items(), key=lambda item: (-item[1], item[0]))
    segments = [(marks.colours.of(queue), held, queue) for queue, held in parts]
    segments.append((OUTSIDE, sum(s.counted(s.outside) for s in every), "pods outside any queue"))
    resource = next((s.resource for s in every if not s.is_card), "")
    for colour, held, who in segments:
        if held > 0:
            wide = min(held / total, 1.0) * room
            tip = f"{who}: {shown(held, resource)} {resource or 'cards'}"
            marks.boxes.append(Box(x, y, wide, _BAR, colour, colour, tip=tip))
            x += wide
