"""How much an answer hangs on chance: which of several equal nodes a pod goes to is drawn by lot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from policycheck.simulate.draw import Draw, mixed
from policycheck.simulate.placer import Set
from policycheck.systems.core.scheduler.placer import NodePlacer, Tie


class Span(NamedTuple):
    """Pods that found a node, at least and at most, over so many ways of breaking ties; ``whole`` is of how
    many jobs every pod found one. ``by_chance``: some tie was broken; without any the answer is exact.
    """

    asked: int
    least: int
    most: int
    whole_least: int
    whole_most: int
    tried: int
    by_chance: bool

    @property
    def is_exact(self) -> bool:
        """Whether no chance was involved."""
        return not self.by_chance


def span(
    placer: NodePlacer, jobs: Sequence[tuple[str, Sequence[Set]]], *, seed: int = 0, draws: int = 8
) -> Span:
    """Place ``jobs`` in their order on copies of ``placer``: with the first of equal nodes throughout, with the
    last, and with ``draws`` drawn ones. The true range may be wider: it is what was tried.
    """
    ways: list[Tie] = [lambda _: 0, lambda among: among - 1]
    ways += [Draw(mixed(mixed(seed) + n)).below for n in range(draws)]
    placed: list[int] = []
    whole: list[int] = []
    asked = sum(one.pods for _, sets in jobs for one in sets)
    by_chance = False
    for way in ways:
        trial = placer.fork()
        watch = _Watch(way)
        results = [trial.place(job, sets, seed, tie=watch) for job, sets in jobs]
        placed.append(asked - sum(one.waiting for result in results for one in result.sets))
        whole.append(sum(result.whole for result in results))
        by_chance = by_chance or watch.asked
        if not by_chance:
            break
    return Span(asked, min(placed), max(placed), min(whole), max(whole), len(placed), by_chance)


class _Watch:
    """A tie-break that remembers whether it was asked."""

    def __init__(self, tie: Tie) -> None:
        self._tie = tie
        self.asked = False

    def __call__(self, among: int) -> int:
        self.asked = True
        return self._tie(among)
