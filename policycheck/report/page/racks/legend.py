"""What stands beneath a picture of racks: colours, gangs by number, what waits and why."""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.report.page.colour import (
    BAD,
    FREE,
    LINE,
    MUTED,
    OTHERS,
    OUTSIDE,
    Colours,
)
from policycheck.report.page.racks.scene import PLACED, UNPLACED, WAITING, Gang, Scene, numbered
from policycheck.report.page.racks.shape import Box, Drawing, Line, Text, fit, width_of, wrapped
from policycheck.report.page.racks.strip import units_of

_ROW = 15.0
_MOST_GANGS = 48
_MOST_WAITING = 12
_COLUMN = 340.0  # at least, for one gang


def key(scene: Scene, colours: Colours) -> tuple[tuple[str, str, str], ...]:
    """What each look means: (fill, stroke, words)."""
    holding = {gang.queue for gang in scene.gangs if gang.state != WAITING}
    made = [(colours.of(q), colours.of(q), q or "(no queue)") for q in colours.own if q in holding]
    if any(colours.of(queue) == OTHERS for queue in holding):
        made.append((OTHERS, OTHERS, f"{colours.others:,} other queues"))
    resources = {name for node in scene.nodes for name in units_of(node, scene.resource)}
    if any(node.committed.get(name) for node in scene.nodes for name in resources):
        made.append((OUTSIDE, OUTSIDE, "pods outside queues"))
    made.append((FREE, LINE, "free"))
    if any(not node.usable for node in scene.nodes):
        made.append((FREE, BAD, "not usable"))
    return tuple(made)


def heading(text: str, below: str, width: float) -> Drawing:
    """A title with lines of text beneath it."""
    texts = [Text(0, 11, fit(text, width, 16, bold=True), 16, bold=True)]
    y = 31.0
    for line in wrapped(below, width, 11) if below else ():
        texts.append(Text(0, y, line, 11, MUTED))
        y += 15
    return Drawing(width, y, texts=tuple(texts))


def legend(scene: Scene, colours: Colours, width: float, notes: Sequence[str]) -> Drawing:
    """All of it, in a drawing of ``width`` pixels."""
    made = _key(key(scene, colours), width)
    made = made.below(_gangs(scene, colours, width))
    made = made.below(_without(scene, colours, width))
    texts = []
    y = 10.0
    for line in (part for note in notes for part in wrapped(note, width, 10)):
        texts.append(Text(0, y, line, 10, MUTED))
        y += 13
    return made.below(Drawing(width, y, texts=tuple(texts)))


def _key(rows: Sequence[tuple[str, str, str]], width: float) -> Drawing:
    boxes: list[Box] = []
    lines: list[Line] = []
    texts: list[Text] = []
    x, y = 0.0, 14.0
    for fill, stroke, words in rows:
        shown = fit(words, width - 20, 11)
        room = 18 + width_of(shown, 11) + 16
        if x and x + room > width:
            x, y = 0.0, y + 18
        is_broken = stroke == BAD
        boxes.append(Box(x, y, 13, 13, fill, LINE if is_broken else stroke, dashed=is_broken))
        if is_broken:
            lines.append(Line(x, y + 13, x + 13, y, BAD))
        texts.append(Text(x + 18, y + 7, shown, 11))
        x += room
    return Drawing(width, y + 18, tuple(boxes), tuple(lines), tuple(texts))


def asks(scene: Scene, gang: Gang) -> str:
    """How much a gang is: "64 in 8 pods"."""
    return f"{scene.size(gang.units)} in {gang.pods:,} pod{'s' * (gang.pods != 1)}"


def _gangs(scene: Scene, colours: Colours, width: float) -> Drawing:
    """The gangs that hold nodes by number, in columns read downwards."""
    gangs = numbered(scene.gangs)
    if not gangs:
        return Drawing(width, 0)
    shown = gangs[:_MOST_GANGS]
    columns = max(1, int(width // _COLUMN))
    rows = -(-len(shown) // columns)
    room = width / columns
    boxes: list[Box] = []
    texts = [Text(0, 14, f"On nodes ({len(gangs):,})", 12, bold=True)]
    for n, gang in enumerate(shown):
        column, row = divmod(n, rows)
        x, y = column * room, 32 + row * _ROW
        boxes.append(Box(x, y - 5, 10, 10, colours.of(gang.queue), colours.of(gang.queue)))
        size = asks(scene, gang)
        words = f"{gang.label} ({gang.queue})" if gang.queue else gang.label
        texts.append(Text(x + 32, y, str(n + 1), 11, MUTED, "right"))
        shown_words = fit(words, room - 38 - width_of(size, 10) - 22, 11)
        texts.append(Text(x + 38, y, shown_words, 11))
        texts.append(Text(x + 44 + width_of(shown_words, 11) * 0.92, y, size, 10, MUTED))
    high = 32 + rows * _ROW
    if len(gangs) > len(shown):
        texts.append(Text(38, high, f"and {len(gangs) - len(shown):,} smaller ones", 11, MUTED))
        high += _ROW
    return Drawing(width, high, tuple(boxes), texts=tuple(texts))


def lacking(scene: Scene) -> list[Gang]:
    """What has quota, and no node for some or all of its pods."""
    return [g for g in scene.gangs if g.state == UNPLACED or (g.state == PLACED and g.why)]


def _without(scene: Scene, colours: Colours, width: float) -> Drawing:
    """What has no nodes, with the reason: what waits for quota, and what has it and is not placed."""
    made = Drawing(width, 0)
    waiting = [g for g in scene.gangs if g.state == WAITING]
    for title, some in (("Waiting", waiting), ("Admitted, not or not wholly on nodes", lacking(scene))):
        chosen = sorted(some, key=lambda g: (-g.units, g.id))
        if not chosen:
            continue
        boxes: list[Box] = []
        texts = [Text(0, 14, f"{title} ({len(chosen):,})", 12, bold=True)]
        y = 32.0
        for gang in chosen[:_MOST_WAITING]:
            boxes.append(Box(0, y - 5, 10, 10, "transparent", colours.of(gang.queue)))
            words = f"{gang.label} ({gang.queue or 'no queue'}), asks {asks(scene, gang)}"
            texts.append(Text(18, y, fit(words, width - 18, 11), 11))
            y += 14
            for line in wrapped(gang.why, width - 18, 10, most=2) if gang.why else ():
                texts.append(Text(18, y, line, 10, MUTED))
                y += 13
            y += 3
        if len(chosen) > _MOST_WAITING:
            texts.append(Text(18, y, f"and {len(chosen) - _MOST_WAITING:,} more", 11, MUTED))
            y += _ROW
        made = made.below(Drawing(width, y, tuple(boxes), texts=tuple(texts)))
    return made
