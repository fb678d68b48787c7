"""All nodes in the order in which one shape of pod prefers them, kept up as nodes change.

A node is looked at again only when it changed; equal nodes are looked at once. So a gang of 512 pods on
10,000 nodes asks some 500 questions about nodes and not five million.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator, Sequence

from policycheck.simulate.placement import Ground, Load
from policycheck.systems.core.scheduler.reach import Reach

Key = tuple[int, float]  # grade of the static filters, score of what is free
_MEMO = 50_000


class Ranking:
    """Nodes with room, in buckets of equal keys; each bucket in the order of nodes.

    ``score`` is asked once for every state; it must be a function of state and load alone.
    """

    __slots__ = ("_at", "_epoch", "_ground", "_memo", "_score", "buckets", "combos", "load", "place", "reach")

    def __init__(self, ground: Ground, load: Load, reach: Reach, score: Callable[[int, Load], float]) -> None:
        self._ground, self._score = ground, score
        self.load, self.reach = load, reach
        self._memo: dict[int, float | None] = {}
        self.place: list[Key | None] = []
        self.buckets: dict[Key, list[int]] = {}
        self.combos: dict[int, int] = {}  # grade -> nodes with room
        self._at, self._epoch = 0, -1

    def refresh(self) -> None:
        """Follow what happened to nodes since it was looked at last."""
        ground = self._ground
        behind = len(ground.log) - self._at
        if self._epoch != ground.epoch or behind > len(ground.nodes):
            self._build()
        elif behind:
            for n in dict.fromkeys(ground.log[self._at :]) if behind > 1 else ground.log[self._at :]:
                self._move(n, self._key(n))
        self._at, self._epoch = len(ground.log), ground.epoch

    def _build(self) -> None:
        if self._epoch != self._ground.epoch:
            self._memo = {}
        self.place = [self._key(n) for n in range(len(self._ground.nodes))]
        self.buckets, self.combos = {}, {}
        for n, key in enumerate(self.place):
            if key is not None:
                self.buckets.setdefault(key, []).append(n)
                self.combos[key[0]] = self.combos.get(key[0], 0) + 1

    def _key(self, n: int) -> Key | None:
        grade = self.reach.grade[n]
        if grade < 0 or self._ground.closed[n]:
            return None
        state = self._ground.state[n]
        try:
            score = self._memo[state]
        except KeyError:
            if len(self._memo) > _MEMO:
                self._memo = {}
            has_room = self._ground.has_room(state, self.load)
            score = self._memo[state] = self._score(state, self.load) if has_room else None
        return None if score is None else (grade, score)

    def _move(self, n: int, key: Key | None) -> None:
        old = self.place[n]
        if old == key:
            return
        self.place[n] = key
        if old is not None:
            bucket = self.buckets[old]
            if len(bucket) == 1:
                del self.buckets[old]
            else:
                del bucket[bisect_left(bucket, n)]
            self._count(old[0], -1)
        if key is not None:
            there = self.buckets.get(key)
            if there is None:
                self.buckets[key] = [n]
            else:
                insort(there, n)
            self._count(key[0], 1)

    def _count(self, grade: int, by: int) -> None:
        left = self.combos.get(grade, 0) + by
        if left:
            self.combos[grade] = left
        else:
            del self.combos[grade]

    def feasible(self) -> Iterator[int]:
        """Nodes with room, bucket by bucket."""
        for bucket in self.buckets.values():
            yield from bucket

    def best(self) -> Sequence[int]:
        """The nodes with the highest score, in order; () when none has room. Only where all nodes with room
        are of one grade.
        """
        return self.buckets[max(self.buckets)] if self.buckets else ()
