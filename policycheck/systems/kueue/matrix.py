"""Who can take from whom: the policies of every queue towards every other, checked by deciding.

``Takings`` is what rules may ask as well: it is pure, and works each question out once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policycheck.simulate.matrix import Group, Priority, Row, Way, cells
from policycheck.simulate.rights import Taking
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.contest import Arena
from policycheck.systems.kueue.model import ClusterQueue, KueueObjects
from policycheck.systems.kueue.scheduler.compile import inactive
from policycheck.systems.kueue.state import FlavorResource, KueueState, Tree, quotas
from policycheck.systems.kueue.taking import ways
from policycheck.systems.kueue.target import Target, strategy

_LATEST = Target()


class Takings:
    """What queues of one tree can take from each other."""

    def __init__(self, objects: KueueObjects, queues: Iterable[str], target: Target = _LATEST) -> None:
        self.queues = tuple(sorted(queues))
        self._objects = objects
        self._target = target
        self._rules = strategy(target)
        self._arenas: dict[FlavorResource, Arena] = {}

    def row(self, taker: str, holder: str, priorities: Sequence[Priority], *, run: bool = True) -> Row:
        """All ways from ``taker`` to ``holder``. Without ``run`` the cells are the policy's alone."""
        found = ways(self._objects, self._rules, taker, holder)
        if not found:
            return Row(taker, holder, (), self._why(taker, holder))
        return Row(
            taker,
            holder,
            tuple(
                self._way(taker, holder, situation, taking, priorities, run=run)
                for situation, taking in found.items()
            ),
            shared=tuple(self._shared(taker, holder)),
        )

    def pairs(self, taker: str, holder: str, situation: str) -> tuple[FlavorResource, ...]:
        """The (flavor, resource) in which ``taker`` can be short of what ``holder`` has on loan."""
        return tuple(
            pair for pair in self._shared(taker, holder) if self._contested(pair, taker, holder, situation)
        )

    def _way(
        self,
        taker: str,
        holder: str,
        situation: str,
        taking: Taking,
        priorities: Sequence[Priority],
        *,
        run: bool,
    ) -> Way:
        pairs = self.pairs(taker, holder, situation)
        arena = self._arena(pairs[0]) if pairs else None
        contest = arena.contest(taker, holder, situation) if arena is not None and run else None
        if arena is None or contest is None:
            return Way(situation, taking, pairs, cells(taking, priorities, None))
        stage = arena.stage(contest, taker, holder)
        made = cells(taking, priorities, stage.run)
        stage.close()
        return Way(situation, taking, pairs, made)

    def _arena(self, pair: FlavorResource) -> Arena:
        found = self._arenas.get(pair)
        if found is None:
            found = self._arenas[pair] = Arena(self._objects, self.queues, pair, self._target)
        return found

    def _contested(self, pair: FlavorResource, taker: str, holder: str, situation: str) -> bool:
        return self._arena(pair).contest(taker, holder, situation) is not None

    def _shared(self, taker: str, holder: str) -> list[FlavorResource]:
        """What both have a quota for; accelerators alone where there are any."""
        queues = self._objects.cluster_queues
        mine, theirs = _pairs(queues[taker]), _pairs(queues[holder])
        shared = [pair for pair in mine if pair in theirs]
        return [pair for pair in shared if is_accelerator(pair[1])] or shared

    def _why(self, taker: str, holder: str) -> str:
        reason = inactive(self._objects.cluster_queues[taker], self._objects)
        if reason:
            return f"{taker} admits nothing: {reason}"
        return f"{taker} and {holder} have no cohort in common"


def _pairs(queue: ClusterQueue) -> list[FlavorResource]:
    return list(quotas(queue.groups))


def groups(
    state: KueueState, target: Target, priorities: Sequence[Priority], *, queue: str = ""
) -> tuple[Group, ...]:
    """Every tree with its rows; with ``queue`` only its tree, and only rows that it takes part in."""
    trees = [t for t in state.trees.values() if t.queues and (not queue or queue in t.queues)]
    return tuple(_group(state, tree, target, priorities, queue) for tree in trees)


def _group(
    state: KueueState, tree: Tree, target: Target, priorities: Sequence[Priority], queue: str
) -> Group:
    name = tree.id.replace(":", " ", 1)
    unknown = _unknown(tree)
    if unknown:
        return Group(name, tree.queues, (), unknown)
    takings = Takings(state.objects, tree.queues, target)
    rows = tuple(
        takings.row(taker, holder, priorities)
        for taker in tree.queues
        for holder in tree.queues
        if not queue or queue in (taker, holder)
    )
    return Group(name, tree.queues, rows)


def _unknown(tree: Tree) -> str:
    if tree.ambiguous:
        names = ", ".join(sorted(str(key) for key in tree.ambiguous))
        return f"defined differently in several documents: {names}"
    if tree.cycle:
        return f"cohorts are each other's parents: {', '.join(tree.cycle)}"
    return ""
