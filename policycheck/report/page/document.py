"""Pages that hold one picture."""

from __future__ import annotations

from policycheck.report.page.colour import Colours
from policycheck.report.page.html import Markup
from policycheck.report.page.racks.layout import layout
from policycheck.report.page.racks.picture import counted
from policycheck.report.page.racks.scene import Scene
from policycheck.report.page.section.moment import racks_section
from policycheck.report.page.shell import page


def render_racks(scene: Scene) -> str:
    """Racks as a page: for narrow windows drawn anew, with what one points at told. Raises MissingExtraError."""
    colours = Colours(scene.queues())
    made = layout(scene, 0, colours)
    said = counted(scene, made.total, made.used)
    return page(scene.title, Markup(), (racks_section(scene, colours, said),))
