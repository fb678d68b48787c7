"""One change held against a cluster: which findings there would be that were not there before.

The same rules, words and suppressions as everywhere. Not everything is asked again: what a change can reach is
in ``reach`` (rules) and ``systems.kueue.focus`` (objects). That the answer is what linting the whole cluster
before and after would give, is held by a property test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from policycheck.app.bench import Bench, Change, TooLateError, state_of
from policycheck.app.hardware import classes
from policycheck.app.novelty import Judgement, judged
from policycheck.app.sides import Run
from policycheck.model.capacity import HOSTNAME
from policycheck.model.cluster import Cluster
from policycheck.model.facts import Facts
from policycheck.model.workload import Workload
from policycheck.record import NamedTuple
from policycheck.systems import registry
from policycheck.systems.kueue.checks.settling import settle
from policycheck.systems.kueue.model import KueueWorkload

if TYPE_CHECKING:
    from policycheck.app.world import Picture

__all__ = ["Change", "Judge", "Judgement", "TooLateError"]


class _Plain(NamedTuple):
    """A cluster with alike nodes as one, and what of nodes it can not tell any more."""

    cluster: Cluster
    dropped: frozenset[str]


class Judge:
    """Judges changes of the world of a bench. Not for several threads at once."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def judge(
        self, change: Change, *, today: str = "", late: Callable[[], bool] = lambda: False
    ) -> Judgement:
        """What ``change`` adds. ``today`` is an ISO date, for suppressions that end. Raises TooLateError."""
        picture = self.bench.world.picture()
        change = self._with_transitions(change)
        found = self._first(change, picture, today, late)
        if found is None or found.new:
            rules = None if found is None else frozenset(finding.rule for finding in found.new)
            errors = () if found is None else found.errors
            found = self._on(picture.cluster, change, picture.generation, today, late, rules)
            found = found._replace(errors=tuple(dict.fromkeys((*errors, *found.errors))))
        return found._replace(generation=picture.generation)

    def _first(
        self, change: Change, picture: Picture, today: str, late: Callable[[], bool]
    ) -> Judgement | None:
        """Whether there is anything new, told with alike nodes as one; the words need all nodes.

        None when it has to be looked at on all nodes from the start.
        """
        if not picture.cluster.inventory.known:
            return None
        plain = self._without_names(picture.cluster)
        asked = {key for facts in (change.old, change.new) for key in _node_keys(facts)}
        if not asked.isdisjoint(plain.dropped):
            return None
        return self._on(plain.cluster, change, (picture.generation, "plain"), today, late, None)

    def _without_names(self, cluster: Cluster) -> _Plain:
        kept: _Plain | None = cluster.__dict__.get("_plain")  # one for all who judge this cluster
        if kept is None:
            objects = state_of(cluster).objects
            names = {key for flavor in objects.flavors.values() for key in flavor.node_labels}
            names |= {level for t in objects.topologies.values() for level in t.levels if level != HOSTNAME}
            made = classes(cluster.inventory, frozenset(names))
            kept = _Plain(cluster.with_inventory(made.inventory), made.dropped)
            cluster.__dict__["_plain"] = kept
        return kept

    def _on(
        self,
        cluster: Cluster,
        change: Change,
        generation: object,
        today: str,
        late: Callable[[], bool],
        rules: frozenset[str] | None,
    ) -> Judgement:
        run = Run(self.bench, change, generation, late, rules, today)
        try:
            sides = run.sides(cluster)
            found = judged(self.bench, change, sides, run.pairs(sides), today)
        finally:
            run.close()
        return found._replace(errors=tuple(dict.fromkeys((*run.errors, *found.errors))))

    def warm(self) -> None:
        """Works out what any judgement of the cluster as it is needs, before one waits for it. From any thread."""
        picture = self.bench.world.picture()
        for cluster in (picture.cluster, self._without_names(picture.cluster).cluster):
            settle(cluster)

    def _with_transitions(self, change: Change) -> Change:
        """What an update is refused for where creating the object would not be, among its troubles."""
        if change.old is None or change.new is None:
            return change
        spoken = {trouble.path for trouble in change.new.troubles}
        more = registry.transitions(change.new, change.old, self.bench.targets)
        fresh = tuple(trouble for trouble in more if trouble.path not in spoken)
        if not fresh:
            return change
        return change._replace(new=change.new._replace(troubles=(*change.new.troubles, *fresh)))


def _node_keys(facts: Facts | None) -> Iterable[str]:
    """Labels by which a workload picks its nodes; the hostname for a pick by name."""
    typed = facts.typed if facts is not None else None
    if isinstance(typed, (Workload, KueueWorkload)):
        for pods in typed.pod_sets:
            yield from pods.node_selector
            for term in (*pods.affinity, *(p.term for p in pods.preferred)):
                yield from (r.key for r in term.expressions)
                if term.fields:
                    yield HOSTNAME
            yield from (one.topology_key for one in pods.spread)
            if pods.neighbours is not None:
                yield HOSTNAME  # whatever it is of: which pods are where matters
