"""Why one workload waits, and what would let it in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policycheck.app.gather import Sources, accounts, gather

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered
    from policycheck.lint.settings import Settings
    from policycheck.model.cluster import Cluster
    from policycheck.simulate.why import Answer
    from policycheck.source.document import FileReport
    from policycheck.systems.kueue.why.find import Named


def why(
    workload: str, sources: Sources, settings: Settings, *, search: bool = True
) -> tuple[Answer | None, tuple[FileReport, ...]]:
    """The answer (None when no workload at all is in sight), and the account of the files.

    Raises UnknownWorkloadError (of systems.kueue.why.find) when the name fits none or several. Without
    ``search`` nothing is suggested.
    """
    from policycheck.app.linked import linked
    from policycheck.systems.kueue.why.find import UnknownWorkloadError, choose, known

    scopes = gather(sources, settings)
    clusters = [linked(scope) for scope in scopes]
    named = [(n, one) for n, cluster in enumerate(clusters) for one in known(*_states(cluster))]
    files = accounts(scopes)
    if not named:
        return None, files
    try:
        number, chosen = choose(workload, named)
    except UnknownWorkloadError as error:
        unread = ", ".join(file.file for file in files if file.failed)
        raise UnknownWorkloadError(
            f"{error}; could not be read: {unread}" if unread else str(error)
        ) from error
    scope = scopes[number]
    answer = _answer(scope, clusters[number], chosen, (*scope.targets, *sources.targets), search=search)
    return answer._replace(scope=scope.name if len(scopes) > 1 else ""), files


def _states(cluster: Cluster):  # type: ignore[no-untyped-def] # noqa: ANN202 - two systems' own types
    from policycheck.systems.kueue.checks.common import core, state

    return state(cluster), core(cluster)


def _answer(
    scope: Gathered, cluster: Cluster, chosen: Named, given: tuple[str, ...], *, search: bool
) -> Answer:
    from policycheck.app.target import targets_of
    from policycheck.simulate.why import UNKNOWN
    from policycheck.systems.kueue.opening import opening
    from policycheck.systems.kueue.why.ask import ask, unmanaged

    state, core = _states(cluster)
    said = targets_of(scope, given).get("kueue")
    if chosen.queued is None:
        assert chosen.job is not None  # noqa: S101 - Named has one of the two
        answer = unmanaged(chosen.job, state, core)
    else:
        world = opening(cluster, said)
        unclear = _ambiguous(cluster, chosen)
        answer = ask(world, chosen.id, search=search and not unclear)
        if unclear:
            answer = answer._replace(
                outcome=UNKNOWN, headline=f"cannot be said: {unclear}", looked=(), weighed=(), losses=()
            )
        if chosen.alike > 1:
            note = f"one of {chosen.alike} Workloads that its object becomes, each admitted by itself"
            answer = answer._replace(notes=(*answer.notes, note))
    version = f"Kueue {said.version}" if said is not None else ""
    return answer._replace(target=version, assumed=said is not None and said.assumed)


def _ambiguous(cluster: Cluster, chosen: Named) -> str:
    """What several documents define differently, so that nothing can be decided; "" for nothing."""
    from policycheck.systems.kueue.why.trial import queue_of

    state, _ = _states(cluster)
    assert chosen.queued is not None  # noqa: S101 - asked for queued workloads alone
    queue = queue_of(state.objects, chosen.queued)
    tree = state.tree(queue.name) if queue is not None else None
    keys = set(tree.ambiguous) if tree is not None else set()
    own = chosen.queued.source
    if own is not None and own in cluster.ambiguous:
        keys.add(own)
    names = ", ".join(sorted(map(str, keys)))
    return (
        f"{names} {'is' if len(keys) == 1 else 'are'} defined differently in several documents"
        if keys
        else ""
    )
