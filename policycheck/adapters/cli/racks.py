"""``policycheck inventory --picture``: racks with the jobs on them, as SVG, PNG or a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from policycheck.adapters.cli import common

if TYPE_CHECKING:
    from policycheck.model.inventory import Inventory
    from policycheck.report.page.racks.scene import Scene

FORMATS = (".svg", ".png", ".html")


def suffix(picture: str) -> str:
    """The format that a file's name asks for. Raises click.UsageError."""
    found = next((s for s in FORMATS if picture.lower().endswith(s)), "")
    if not found:
        raise common.usage_error(f"--picture is {picture!r}; the name says the format: {', '.join(FORMATS)}")
    return found


def draw(picture: str, paths: tuple[str, ...], found: Inventory, read: Callable[[str], bytes]) -> None:
    """Write the picture of what PATHs hold once all jobs in them have asked for quota.

    Raises click.UsageError and click.ClickException.
    """
    form = suffix(picture)
    settings = common.load_settings(None, paths)._replace(crds=())
    common.check_targets(settings.target)
    with common.errors_of_use():
        from policycheck.app import racks as use_case

        sources = common.sources_of(paths, settings, read)
        scenes, _ = use_case.racks(sources, settings)
        if not scenes:  # nodes that are no objects of a cluster: a table, a pool file
            sources = sources._replace(inventory=(*sources.inventory, *found.sources))
            scenes, _ = use_case.racks(sources, settings)
        if len(scenes) > 1:
            names = ", ".join(name or "(no name)" for name, _ in scenes)
            raise common.usage_error(f"--picture shows one cluster; these have nodes: {names}. Give one PATH")
        scene = scenes[0][1] if scenes else use_case.bare(found)
        _write(picture, form, scene)
    common.say(f"wrote {picture}\n")


def _write(picture: str, form: str, scene: Scene) -> None:
    from policycheck.report.page.racks.picture import png, svg

    if form == ".svg":
        common.emit(svg(scene), picture)
    elif form == ".html":
        from policycheck.report.page.document import render_racks

        common.emit(render_racks(scene), picture)
    else:
        data = png(scene)
        try:
            with open(picture, "wb") as file:  # noqa: PTH123 - cold start
                file.write(data)
        except OSError as error:
            raise common.usage_error(f"can not write {picture}: {error.strerror}") from error
