"""Sources of a command in which clusters are named: each is read once, at the start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from policycheck.adapters.live.snapshot import PREFIX, Clusters, snapshot

if TYPE_CHECKING:
    from policycheck.app import Sources


def with_clusters(
    sources: Sources, beside: Iterable[str], devices: Iterable[str], say: Callable[[str], None]
) -> Sources:
    """``sources`` with what the named clusters hold. ``beside`` and ``devices`` are what settings name more.

    A cluster that is asked about whole brings its hardware along: it is no inventory by itself then.
    Raises LiveError.
    """
    asked = _contexts((*sources.paths, *sources.context, *beside))
    others = [context for context in _contexts((*sources.inventory, *devices)) if context not in asked]
    found = [snapshot(context) for context in asked]
    found.extend(snapshot(context, is_hardware=True) for context in others)
    for one in found:
        if one.note:
            say(f"{one.note}\n")
    clusters = Clusters(found)
    whole = {f"{PREFIX}{context}" for context in asked}
    return sources._replace(
        read=clusters.reader(sources.read),
        tree=clusters,
        inventory=tuple(path for path in sources.inventory if path not in whole),
    )


def hardware(clusters: Iterable[str], say: Callable[[str], None]) -> Clusters:
    """The hardware of clusters, each named ``cluster:CONTEXT``. Raises LiveError."""
    found = [snapshot(context, is_hardware=True) for context in _contexts(clusters)]
    for one in found:
        if one.note:
            say(f"{one.note}\n")
    return Clusters(found)


def _contexts(paths: Iterable[str]) -> list[str]:
    named = (path.removeprefix(PREFIX) for path in paths if path.startswith(PREFIX))
    return list(dict.fromkeys(named))
