"""What a picture is made of: boxes, lines and texts in pixels, the origin at the top left."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from policycheck.report.page.colour import FOREGROUND

NOTHING = "transparent"
_WIDE = frozenset("mwMW@%&")
_THIN = frozenset("iljtfr.,:;|!'`()[]-/ I1")


class Box(NamedTuple):
    """A rectangle; ``tip`` is shown when one points at it."""

    x: float
    y: float
    width: float
    height: float
    fill: str = NOTHING
    stroke: str = NOTHING
    dashed: bool = False
    tip: str = ""


class Line(NamedTuple):
    """A straight line."""

    x: float
    y: float
    to_x: float
    to_y: float
    stroke: str


class Text(NamedTuple):
    """One line of text, its middle at ``y``; ``align`` is where in it ``x`` lies."""

    x: float
    y: float
    text: str
    size: int = 10
    colour: str = FOREGROUND
    align: str = "left"  # left | center | right
    bold: bool = False


class Drawing(NamedTuple):
    """Shapes, later ones over earlier ones of their kind, in ``width`` times ``height`` pixels.

    ``says`` is the same in words, for those who do not see it.
    """

    width: float
    height: float
    boxes: tuple[Box, ...] = ()
    lines: tuple[Line, ...] = ()
    texts: tuple[Text, ...] = ()
    says: str = ""

    def below(self, other: Drawing) -> Drawing:
        """The drawing with ``other`` beneath it."""
        down = self.height
        return Drawing(
            max(self.width, other.width),
            down + other.height,
            (*self.boxes, *(b._replace(y=b.y + down) for b in other.boxes)),
            (*self.lines, *(n._replace(y=n.y + down, to_y=n.to_y + down) for n in other.lines)),
            (*self.texts, *(t._replace(y=t.y + down) for t in other.texts)),
            f"{self.says} {other.says}".strip(),
        )


def width_of(text: str, size: int = 10, *, bold: bool = False) -> float:
    """About how wide a text is in a usual sans serif face, rather too wide than too narrow."""
    ems = sum(0.95 if c in _WIDE or c > "\u2e7f" else 0.4 if c in _THIN else 0.64 for c in text)
    return ems * size * (1.1 if bold else 1.0)


def fit(text: str, room: float, size: int = 10, *, bold: bool = False) -> str:
    """The text, or as much of its beginning as there is room for."""
    if width_of(text, size, bold=bold) <= room:
        return text
    kept = text
    while kept and width_of(kept + "…", size, bold=bold) > room:
        kept = kept[:-1]
    return kept.rstrip(" -._/") + "…" if kept else ""


def wrapped(text: str, room: float, size: int = 10, most: int = 3) -> tuple[str, ...]:
    """The text in at most ``most`` lines, broken at spaces; what is too long for the last ends in a mark."""
    lines: list[str] = []
    words = text.split()
    while words:
        line = words.pop(0)
        while words and width_of(f"{line} {words[0]}", size) <= room:
            line += f" {words.pop(0)}"
        if len(lines) == most - 1 and words:
            return (*lines, fit(" ".join([line, *words]), room, size))
        lines.append(fit(line, room, size))
    return tuple(lines)


def shortened(names: Iterable[str]) -> tuple[dict[str, str], str]:
    """Names without the beginning and end that all share, and what was left out ("" for nothing).

    Cut only after a separator, and only where that saves something: machines of one cloud differ in few
    characters of many.
    """
    every = tuple(dict.fromkeys(names))
    if len(every) < 2 or max(map(len, every)) <= 14:
        return {name: name for name in every}, ""
    head = _shared(every)
    head = head[: max(head.rfind(c) for c in "-._/") + 1]
    tail = _shared([name[len(head) :][::-1] for name in every])[::-1]
    cuts = [tail.find(c) for c in "._" if c in tail]
    tail = tail[min(cuts) :] if cuts else ""
    if len(head) + len(tail) < 4:
        return {name: name for name in every}, ""
    short = {name: name[len(head) : len(name) - len(tail)] or name for name in every}
    return short, f"{head}…{tail}"


def _shared(names: Iterable[str]) -> str:
    """The longest common beginning."""
    every = list(names)
    least, most = min(every), max(every)
    for n, char in enumerate(least):
        if n >= len(most) or most[n] != char:
            return least[:n]
    return least
