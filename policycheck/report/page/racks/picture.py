"""A picture of racks that stands alone: title, racks, legend."""

from __future__ import annotations

from typing import Any

from policycheck.report.page import engine
from policycheck.report.page.colour import Colours
from policycheck.report.page.racks.draw import picture
from policycheck.report.page.racks.layout import layout
from policycheck.report.page.racks.legend import heading, legend
from policycheck.report.page.racks.scene import PLACED, WAITING, Scene
from policycheck.report.page.racks.shape import Drawing

WIDTH = 1120.0


def racks(scene: Scene, width: float = WIDTH) -> dict[str, Any]:
    """The picture as a specification of the charting library. Raises MissingExtraError."""
    return picture(drawing(scene, width))


def drawing(scene: Scene, width: float = WIDTH) -> Drawing:
    """The whole picture as shapes; the same scene gives the same shapes."""
    colours = Colours(scene.queues())
    made = layout(scene, width, colours)
    wide = max(width, made.drawing.width)
    top = heading(scene.title, counted(scene, made.total, made.used), wide)
    body = made.drawing._replace(height=made.drawing.height + 4)
    return top.below(body).below(legend(scene, colours, wide, made.notes))


def counted(scene: Scene, total: str, used: str) -> str:
    """What the picture shows, in numbers."""
    placed = sum(g.state == PLACED for g in scene.gangs)
    waiting = sum(g.state == WAITING for g in scene.gangs)
    what = "GPUs" if any(n.accelerators for n in scene.nodes) else scene.resource
    said = f"{used} of {total} {what} on usable nodes are held, {placed:,} jobs run on them"
    return f"{said}, {waiting:,} wait{'s' * (waiting == 1)}." if waiting else f"{said}, none waits."


def svg(scene: Scene) -> str:
    """The picture as SVG text. Raises MissingExtraError."""
    return engine.svg(racks(scene))


def png(scene: Scene) -> bytes:
    """The picture as PNG, two pixels to one. Raises MissingExtraError."""
    return engine.png(racks(scene))
