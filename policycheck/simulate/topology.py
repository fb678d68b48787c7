"""How close together the pods of gangs were placed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from policycheck.simulate.passage import Passage
from policycheck.simulate.quantile import Ratio
from policycheck.simulate.timeline import Stay

NO_GANG = "no gang was placed by topology"


class LevelQuality(NamedTuple):
    """One level: ``gangs`` placed with it known; ``one``: the share of them within one domain; ``best``:
    the share that spans as few domains as was possible then; ``stretch``: domains spanned over the least
    possible, all gangs together (1 is perfect); ``most`` domains spanned by any.
    """

    level: str
    gangs: int
    one: Ratio
    best: Ratio
    stretch: Ratio
    most: int


class Topology(NamedTuple):
    """Levels from wide to narrow, as they are written with the gangs. ``unplaced``: jobs of which some
    pods had quota and no node, and those pods.
    """

    levels: tuple[LevelQuality, ...]
    unplaced_jobs: int
    unplaced_pods: int
    why: str = ""


def topology(passages: Sequence[Passage]) -> Topology:
    """Of every job with several pods, as it was placed last: one that is evicted again and again would
    else outweigh all others.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    jobs = pods = 0
    for one in passages:
        worst = max((stay.unplaced for stay in one.life.stays), default=0)
        jobs += worst > 0
        pods += worst
        if one.life.job.pods > 1:
            placed = next((stay for stay in reversed(one.life.stays) if stay.domains), None)
            if placed is not None:
                _note(placed, found)
    levels = tuple(_level(name, some) for name, some in found.items())
    return Topology(levels, jobs, pods, "" if levels else NO_GANG)


def _note(stay: Stay, found: dict[str, list[tuple[int, int]]]) -> None:
    for level, spanned, least in stay.domains:
        if spanned > 0:
            found.setdefault(level, []).append((spanned, least))


def _level(name: str, some: Sequence[tuple[int, int]]) -> LevelQuality:
    return LevelQuality(
        name,
        len(some),
        Ratio(sum(spanned == 1 for spanned, _ in some), len(some)),
        Ratio(sum(spanned <= least for spanned, least in some), len(some)),
        Ratio(sum(spanned for spanned, _ in some), sum(least for _, least in some), NO_GANG),
        max(spanned for spanned, _ in some),
    )
