"""Nodes during a run: who is placed where, who waits for room, which nodes are there, and the supply.

Where the admitting system chooses nodes itself it is only asked what it has. Without a placer and without
such a system nothing is known of nodes, and the supply is what queues have by quota.
"""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.simulate.draw import mixed
from policycheck.simulate.events import NEVER, World
from policycheck.simulate.keep import Keeper
from policycheck.simulate.live import Live
from policycheck.simulate.placer import Placed, Set
from policycheck.simulate.timeline import Supply

_LIMITS = ("largest", "allowed", "fragment")


class Fleet:
    """The nodes of one run. ``short`` are admitted jobs with pods for which there is no room."""

    def __init__(self, world: World, keeper: Keeper, seed: int, sample: int) -> None:
        self._admitter = world.admitter
        self._placer = world.placer
        self._keeper = keeper
        self._seed = mixed(seed)
        self._sample = sample
        self._measured = NEVER
        self._measures = (-1, -1, -1)
        self._placed: dict[str, bool] = {}  # jobs on nodes: whether the system chose all of these itself
        self._total = self._admitter.total()
        self.short: dict[str, Live] = {}
        self.pods: dict[str, int] = {}  # on nodes of pools
        self.watched = frozenset(node for pool in world.pools for node in pool.nodes)
        self.emptied: list[str] = []  # nodes of pools without pods, since somebody last looked

    # -- placing --------------------------------------------------------------------------------

    def place(self, live: Live) -> bool:
        """Put the job's pods on nodes, as many as there is room for; whether all of them run."""
        if self._placer is None:
            if live.grant is not None:
                live.where = self._admitter.where(live.grant)
            return True
        draw = mixed(self._seed ^ live.number << 16 ^ live.before << 8 ^ live.restarts)
        sets = self.sets(live)
        placed = self._placer.place(live.job.id, sets, draw)
        self._placed[live.job.id] = all(one.fixed for one in sets)
        return self._take(live, placed)

    def sets(self, live: Live) -> Sequence[Set]:
        """What the job wants of nodes."""
        job = live.job
        if live.grant is not None:
            return self._admitter.sets(job, live.grant)
        return [Set(spec, spec.pods, job.models, job.milli) for spec in job.pod_sets]

    def _take(self, live: Live, placed: Placed) -> bool:
        """Write down where the pods are."""
        where: dict[str, int] = {}
        for one in placed.sets:
            for node, pods in one.where:
                where[node] = where.get(node, 0) + pods
        self._watch(live.where, -1)
        live.where = tuple(where.items())
        self._watch(live.where, 1)
        live.waiting = tuple(one.waiting for one in placed.sets)
        live.unplaced = sum(live.waiting)
        if not live.unplaced:
            self.short.pop(live.job.id, None)
            return True
        live.lacking = next((one.why for one in placed.sets if one.waiting), "")
        self.short[live.job.id] = live
        return False

    def _watch(self, where: Sequence[tuple[str, int]], sign: int) -> None:
        if not self.watched:
            return
        for node, pods in where:
            if node in self.watched:
                left = self.pods[node] = self.pods.get(node, 0) + sign * pods
                if left == 0:
                    self.emptied.append(node)

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
            del self._placed[live.job.id]
            self.short.pop(live.job.id, None)
            self._watch(live.where, -1)

    def chose(self, live: Live) -> bool:
        """Whether nodes of the job were chosen here, and not by the admitting system."""
        return not self._placed.get(live.job.id, True)

    # -- nodes ----------------------------------------------------------------------------------

    def switch(self, node: str, *, up: bool) -> None:
        """A node comes or goes. Pods on one that goes still have to be freed."""
        if self._placer is None:
            return
        if up:
            self._placer.up(node)
        else:
            self._placer.down(node)

    def recount(self) -> None:
        """Nodes on which the admitting system places have changed."""
        self._total = self._admitter.total()

    # -- supply ---------------------------------------------------------------------------------

    def measure(self, now: int) -> None:
        """Write down what nodes have. How broken up it is, is measured every so often only."""
        placer, keeper = self._placer, self._keeper
        if placer is None:
            total = keeper.quota if self._total == NEVER else self._total
            keeper.supplied(Supply(now, total, max(0, total - keeper.used)))
            return
        if self._measured in (NEVER, now) or now - self._measured >= self._sample:
            found = placer.measures()
            self._measured = now
            largest, allowed, fragment = (found.get(name, -1) for name in _LIMITS)
            self._measures = (largest, allowed, fragment)
        resource = self._admitter.resource
        keeper.supplied(Supply(now, placer.total(resource), placer.unused(resource), *self._measures))
