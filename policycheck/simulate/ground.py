"""Nodes during a run: who is placed where, who waits for room, which nodes are there, and the supply.

Where the admitting system chooses nodes itself it is only asked what it has. Without a placer and without
such a system nothing is known of nodes, and the supply is what queues have by quota.
"""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.simulate.draw import mixed
from policycheck.simulate.events import World
from policycheck.simulate.job import NodeChange
from policycheck.simulate.keep import Keeper
from policycheck.simulate.live import Live
from policycheck.simulate.placer import Placed, Set
from policycheck.simulate.timeline import Supply


class Ground:
    """The nodes of one run. ``short`` are admitted jobs with pods for which there is no room."""

    def __init__(self, world: World, keeper: Keeper, seed: int, sample: int) -> None:
        self._admitter = world.admitter
        self._placer = world.placer
        self._keeper = keeper
        self._seed = mixed(seed)
        self._sample = sample
        self._measured = -1
        self._measures = (-1, -1, -1)
        self._placed: set[str] = set()
        self.short: dict[str, Live] = {}

    # -- placing --------------------------------------------------------------------------------

    def place(self, live: Live) -> bool:
        """Put the job's pods on nodes, as many as there is room for; whether all of them run."""
        if self._placer is None:
            return True
        draw = mixed(self._seed ^ live.number << 16 ^ live.before << 8 ^ live.restarts)
        sets = self._sets(live)
        placed = self._placer.place(live.job.id, sets, draw)
        self._placed.add(live.job.id)
        return self._take(live, placed)

    def _sets(self, live: Live) -> Sequence[Set]:
        if live.grant is not None:
            return self._admitter.sets(live.job, live.grant)
        job = live.job
        return [Set(spec, spec.pods, job.models, job.milli) for spec in job.pod_sets]

    def _take(self, live: Live, placed: Placed) -> bool:
        """Write down where the pods are."""
        where: dict[str, int] = {}
        for one in placed.sets:
            for node, pods in one.where:
                where[node] = where.get(node, 0) + pods
        live.where = tuple(where.items())
        live.unplaced = sum(one.waiting for one in placed.sets)
        if not live.unplaced:
            self.short.pop(live.job.id, None)
            return True
        live.partial = live.partial or bool(where)
        live.lacking = next((one.why for one in placed.sets if one.waiting), "")
        self.short[live.job.id] = live
        return False

    def fill(self) -> list[Live]:
        """Try the pods that wait, higher priority and then earlier admission first; who is whole now."""
        if self._placer is None or not self.short:
            return []
        order = sorted(self.short.values(), key=lambda x: (-x.job.priority, x.admitted, x.number))
        whole = []
        for live in order:
            placed = self._placer.fill(live.job.id)
            if placed is not None and self._take(live, placed):
                whole.append(live)
        return whole

    def free(self, live: Live) -> None:
        """The job's pods are gone."""
        if self._placer is not None and live.job.id in self._placed:
            self._placer.free(live.job.id)
            self._placed.discard(live.job.id)
            self.short.pop(live.job.id, None)

    # -- nodes ----------------------------------------------------------------------------------

    def change(self, change: NodeChange, now: int) -> list[str]:
        """A node is lost or comes back: the jobs that had pods on it, by id."""
        hit = dict.fromkeys(self._admitter.node(change.node, now, up=change.up))
        if self._placer is not None:
            if change.up:
                self._placer.up(change.node)
            else:
                hit.update(dict.fromkeys(self._placer.down(change.node)))
        return list(hit)

    # -- supply ---------------------------------------------------------------------------------

    def measure(self, now: int) -> None:
        """Write down what nodes have. How broken up it is, is measured every so often only."""
        placer, keeper = self._placer, self._keeper
        if placer is not None:
            resource = self._admitter.resource
            if self._measured < 0 or now - self._measured >= self._sample:
                found = placer.measures()
                self._measured = now
                self._measures = (
                    found.get("largest", -1),
                    found.get("allowed", -1),
                    found.get("fragment", -1),
                )
            keeper.supplied(Supply(now, placer.total(resource), placer.unused(resource), *self._measures))
            return
        known = self._admitter.supply()
        if known is None:
            total = keeper.quota()
            known = (total, max(0, total - keeper.used()))
        keeper.supplied(Supply(now, *known))
