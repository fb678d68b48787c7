"""Who can take from whom, scope by scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policycheck.app.gather import Sources, accounts, gather
from policycheck.simulate.matrix import Matrix, named

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered
    from policycheck.lint.settings import Settings
    from policycheck.model.cluster import Cluster
    from policycheck.source.document import FileReport
    from policycheck.systems.kueue.state import KueueState


class UnknownQueueError(ValueError):
    """The queue that was asked for is in no scope; the message says what is near."""


def matrix(
    sources: Sources, settings: Settings, *, queue: str = ""
) -> tuple[tuple[Matrix, ...], tuple[FileReport, ...]]:
    """One Matrix a scope that has queues, and the account of the files. Raises UnknownQueueError."""
    scopes = gather(sources, settings)
    found = []
    names: set[str] = set()
    for scope in scopes:
        _, state = _state(scope)
        names.update(state.objects.cluster_queues)
        if state.objects.cluster_queues and (not queue or queue in state.objects.cluster_queues):
            found.append(_matrix(scope, state, (*scope.targets, *sources.targets), queue))
    if queue and not found:
        raise UnknownQueueError(_no_queue(queue, sorted(names)))
    return tuple(found), accounts(scopes)


def _state(scope: Gathered) -> tuple[Cluster, KueueState]:
    from policycheck.app.linked import linked
    from policycheck.systems.kueue.checks.common import state

    cluster = linked(scope)
    return cluster, state(cluster)


def _matrix(scope: Gathered, state: KueueState, given: tuple[str, ...], queue: str) -> Matrix:
    from policycheck.app.target import targets_of
    from policycheck.systems.kueue.matrix import groups
    from policycheck.systems.kueue.opening import target_of

    known = targets_of(scope, given).get("kueue")
    target = target_of(known, state.objects.configuration)
    classes = {name: c.value for name, c in state.objects.priority_classes.items()}
    priorities, symbolic = named(classes)
    return Matrix(
        scope.name,
        priorities,
        symbolic,
        state.objects.configuration.fair_sharing is not None,
        groups(state, target, priorities, queue=queue),
        f"Kueue {'.'.join(map(str, target.version))}",
        target.assumed,
    )


def _no_queue(queue: str, known: list[str]) -> str:
    import difflib

    near = difflib.get_close_matches(queue, known, n=1)
    if near:
        return f"no ClusterQueue {queue!r} in sight; did you mean {near[0]!r}?"
    if not known:
        return f"no ClusterQueue {queue!r} in sight, nor any other; does PATH hold the queues?"
    return f"no ClusterQueue {queue!r} in sight; there are {', '.join(known[:10])}"
