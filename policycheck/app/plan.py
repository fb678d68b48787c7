"""Which files belong to which scope."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from policycheck.source.files import expand

if TYPE_CHECKING:
    from policycheck.app.gather import Sources, _Part
    from policycheck.lint.settings import Settings


def parts(sources: Sources, settings: Settings) -> tuple[_Part, ...]:
    """Every scope, not yet read."""
    from policycheck.app.gather import _Part

    folders = [p for p in sources.paths if os.path.isdir(p)]
    loose = [p for p in sources.paths if p not in folders]
    context = expand(sources.context)
    inventory = expand(sources.inventory, (".yaml", ".yml", ".json", ".csv"))
    made = []
    groups = [(f.rstrip("/"), [f]) for f in folders]
    if loose:
        groups.insert(0, ("", loose))
    for name, paths in groups:
        found = expand(paths)
        reports = (*found.troubles, *context.troubles, *inventory.troubles)
        own = tuple(f for f in found.files if f not in inventory.files)
        made.append(_Part(name, own, context.files, inventory.files, (), reports, {}, is_named=False))
    return tuple(made)
