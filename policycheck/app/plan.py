"""Which files belong to which scope, with bundles rendered: what is to be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from policycheck.lint.select import is_named
from policycheck.record import NamedTuple
from policycheck.source.document import FileReport
from policycheck.source.files import UNMATCHED, expand
from policycheck.source.scope import ScopePlan, plan, render_bundles

if TYPE_CHECKING:
    from policycheck.app.gather import Sources
    from policycheck.lint.settings import Settings

_HARDWARE_FILES = (".yaml", ".yml", ".json", ".csv")


class Part(NamedTuple):
    """One scope before reading; ``rendered`` are texts that are no files."""

    name: str
    files: tuple[str, ...]
    context: tuple[str, ...] = ()
    inventory: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    reports: tuple[FileReport, ...] = ()
    rendered: Mapping[str, bytes] = {}
    is_named: bool = False


def parts(sources: Sources, settings: Settings) -> tuple[Part, ...]:
    """Every scope of the run. Context and inventory of the command line go to all of them; a cluster of
    the settings that has an inventory of its own keeps to that.
    """
    context = expand(sources.context, tree=sources.tree)
    inventory = expand(sources.inventory, _HARDWARE_FILES, sources.tree)
    loose = tuple(
        FileReport(argument, "notChecked", None, "no such file", failed=True)
        for argument in (*context.unmatched, *inventory.unmatched)
    )
    shared = (*context.troubles, *inventory.troubles, *loose)
    made = []
    for scope in plan(sources.paths, settings.clusters, sources.read, sources.tree):
        hardware = scope.inventory or inventory.files
        own = _part(scope, sources, frozenset(hardware), settings)
        more = tuple(f for f in context.files if f not in own.files and f not in own.context)
        reports = _once((*own.reports, *shared))
        made.append(own._replace(inventory=hardware, context=(*own.context, *more), reports=reports))
    used = {file for part in made for file in (*part.inventory, *part.files)}
    idle = tuple(
        FileReport(file, "notChecked", None, "each cluster of the settings has an inventory of its own")
        for file in inventory.files
        if file not in used and made
    )
    if idle:
        made[0] = made[0]._replace(reports=_once((*made[0].reports, *idle)))
    unmatched = expand(sources.paths, tree=sources.tree).unmatched
    if unmatched:
        missing = tuple(FileReport(a, "notChecked", None, UNMATCHED, failed=True) for a in unmatched)
        first = made.pop(0) if made else Part("", ())
        made.insert(0, first._replace(reports=_once((*first.reports, *missing))))
    return tuple(made)


def _part(scope: ScopePlan, sources: Sources, beside: frozenset[str], settings: Settings) -> Part:
    rendered = render_bundles(scope, sources.render)
    left_out = tuple(f for f in scope.files if settings.exclude and is_named(f, settings.exclude, settings))
    excluded = tuple(FileReport(f, "notChecked", None, "excluded by the settings") for f in left_out)
    files = tuple(f for f in scope.files if f not in beside and f not in left_out)
    return Part(
        scope.name,
        (*files, *rendered.texts),
        scope.context,
        scope.inventory,
        scope.target,
        (*scope.reports, *rendered.reports, *excluded),
        rendered.texts,
        scope.is_named,
    )


def _once(reports: tuple[FileReport, ...]) -> tuple[FileReport, ...]:
    return tuple(dict.fromkeys(reports))
