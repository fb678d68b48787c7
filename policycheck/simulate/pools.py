"""Elastic pools: nodes are ordered when pods wait for room that an empty one would have, and go when idle.

A simple model: the first pool whose nodes hold such pods gets as many nodes as those pods would fill by
themselves, once for each job that waits; nobody bins pods of several jobs together beforehand, so it may
order a node too many, which then goes again. Real autoscalers are slower and cleverer in ways of their own.
"""

from __future__ import annotations

from policycheck.simulate.agenda import NODE_IDLE, NODE_MADE, Agenda
from policycheck.simulate.events import Pool
from policycheck.simulate.fleet import Fleet
from policycheck.simulate.live import Live

_GONE, _ORDERED, _THERE = range(3)


class Pools:
    """The pools of one run. Nodes are numbered through all pools."""

    def __init__(self, pools: tuple[Pool, ...], fleet: Fleet, agenda: Agenda) -> None:
        self._pools = pools
        self._fleet = fleet
        self._agenda = agenda
        self.names = [node for pool in pools for node in pool.nodes]
        self._number = {name: n for n, name in enumerate(self.names)}
        self._pool = [pool for pool in pools for _ in pool.nodes]
        self._state = [_GONE] * len(self.names)
        self._ticket = [0] * len(self.names)
        self._served: set[str] = set()  # jobs for which nodes are under way

    def order(self, now: int) -> None:
        """Order nodes for jobs that wait for room and for which none are under way."""
        if not self._pools:
            return
        short = self._fleet.short
        self._served &= short.keys()
        for name, live in short.items():
            if name not in self._served and self._order_for(live, now):
                self._served.add(name)

    def _order_for(self, live: Live, now: int) -> bool:
        ordered = False
        for one, waiting in zip(self._fleet.sets(live), live.waiting, strict=True):
            for pool in self._pools if waiting else ():
                holds = pool.holds(one)
                free = [n for n in map(self._number.__getitem__, pool.nodes) if self._state[n] == _GONE]
                if holds <= 0 or not free:
                    continue
                for number in free[: -(-waiting // holds)]:
                    self._state[number] = _ORDERED
                    self._agenda.add(now + (0 if live.provided else pool.delay), NODE_MADE, number, 0)
                ordered = True
                break
        return ordered

    def made(self, number: int, now: int) -> str:
        """An ordered node can be used; its name."""
        self._state[number] = _THERE
        self._fleet.switch(self.names[number], up=True)
        self._served.clear()
        self._watch(number, now)
        return self.names[number]

    def _watch(self, number: int, now: int) -> None:
        """From now on without pods, unless some come."""
        self._ticket[number] += 1
        idle = self._pool[number].idle
        if idle > 0:
            self._agenda.add(now + idle, NODE_IDLE, number, self._ticket[number])

    def emptied(self, now: int) -> None:
        """Nodes whose last pod is gone begin to be idle."""
        gone, self._fleet.emptied = self._fleet.emptied, []
        for name in gone:
            number = self._number[name]
            if self._state[number] == _THERE and not self._fleet.pods.get(name):
                self._watch(number, now)

    def idle(self, number: int, ticket: int) -> str:
        """A node has had no pods for so long that it goes; its name, "" when some have come since."""
        name = self.names[number]
        if self._ticket[number] != ticket or self._fleet.pods.get(name) or self._state[number] != _THERE:
            return ""
        self._state[number] = _GONE
        self._fleet.switch(name, up=False)
        return name
