"""How much every domain can hold: pods, whole slices, and both beside a leader.

Leaves first, then the sums upward. Source: KEP-2724 "Topology aware scheduling", phase 1 of the algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from policycheck.systems.kueue.scheduler.domains import Domains
from policycheck.systems.kueue.scheduler.wish import Wish


class Profile(NamedTuple):
    """Ways of placing that version and gates decide."""

    mixed: bool  # unconstrained pods go where least is free; else the tightest fit for all
    multi_layer: bool
    balanced: bool
    prefers: bool  # preferred node affinity is heeded
    overlapping: bool
    keeps_pod_owned: bool  # a workload owned by a single pod keeps its node
    elastic: bool
    least_free: bool = False  # all pods go where least is free (TASProfileLeastFreeCapacity, up to 0.16)


class Counts:
    """How much each domain can hold. The ``_led`` ones hold beside a leader; without a leader they are
    the very same lists. Where a slice is one pod on a leaf, ``slices`` is ``pods`` itself.
    """

    __slots__ = ("leaders", "pods", "pods_led", "score", "slices", "slices_led")

    def __init__(
        self, size: int, *, led: bool, single: bool = False, nothing: list[int] | None = None
    ) -> None:
        """``nothing`` are as many zeros to be used for leaders and scores where these never change."""
        self.pods = [0] * size
        self.slices = self.pods if single and not led else [0] * size
        self.pods_led = [0] * size if led else self.pods
        self.slices_led = [0] * size if led else self.slices
        self.leaders = [0] * size if nothing is None else nothing
        self.score = [0] * size if nothing is None else nothing

    @property
    def single(self) -> bool:
        """Whether a slice is one pod."""
        return self.slices is self.pods

    @property
    def led(self) -> bool:
        """Whether there is a leader."""
        return self.pods_led is not self.pods

    def copy(self) -> Counts:
        """An independent copy."""
        other = Counts.__new__(Counts)
        other.pods = self.pods.copy()
        other.slices = other.pods if self.single else self.slices.copy()
        other.pods_led = self.pods_led.copy() if self.led else other.pods
        other.slices_led = self.slices_led.copy() if self.led else other.slices
        other.leaders, other.score = self.leaders.copy(), self.score.copy()
        return other


def is_single(wish: Wish, levels: int) -> bool:
    """Whether slices are pods on leaves, so that nothing has to be divided."""
    return wish.slice_size == 1 and wish.slice_level == levels - 1 and not wish.inner


def roll(
    domains: Domains,
    counts: Counts,
    wish: Wish,
    begin: int,
    end: int,
    level: int,
    *,
    scored: bool,
) -> None:
    """Sum up from the leaves to the domains ``begin`` to ``end`` of ``level``; ``scored``: scores too."""
    spans = domains.spans(begin, end, level)
    last = len(domains.levels) - 1
    if wish.slice_level == last:
        cut(counts, wish.slice_size, *spans[-1])
    for at in range(last - 1, level - 1, -1):
        low, high = spans[at - level]
        add_up(domains, counts, range(low, high), wish.inner.get(at + 1, 1), scored=scored)
        if at == wish.slice_level:
            cut(counts, wish.slice_size, low, high)


def add_up(domains: Domains, counts: Counts, some: Iterable[int], unit: int, *, scored: bool) -> None:
    """Domains of one level out of their children, each of which counts in whole slices of ``unit``."""
    led = counts.led
    single, kids, pods, score = counts.single and unit == 1, domains.kids, counts.pods, counts.score
    for domain in some:
        low, high = kids[domain]
        if scored:
            score[domain] = sum(score[low:high])
        if single:
            pods[domain] = sum(pods[low:high])
            continue
        whole = pods[low:high]
        if unit > 1:
            whole = [n - n % unit for n in whole]
        pods[domain], counts.slices[domain] = sum(whole), sum(counts.slices[low:high])
        if led:
            _lead(counts, domain, whole, low, high, unit)


def _lead(counts: Counts, domain: int, whole: list[int], low: int, high: int, unit: int) -> None:
    """The same beside a leader: it goes where least is lost."""
    slices = counts.slices[low:high]
    counts.leaders[domain] = max(counts.leaders[low:high], default=0)
    able = [k for k in range(high - low) if counts.leaders[low + k] > 0]
    if not able:
        counts.pods_led[domain] = counts.slices_led[domain] = 0
        return
    pods_led = counts.pods_led[low:high]
    if unit > 1:
        pods_led = [n - n % unit for n in pods_led]
    counts.pods_led[domain] = counts.pods[domain] - min(whole[k] - pods_led[k] for k in able)
    lost = min(slices[k] - counts.slices_led[low + k] for k in able)
    counts.slices_led[domain] = counts.slices[domain] - lost


def cut(counts: Counts, size: int, low: int, high: int) -> None:
    """Slices of ``size`` in the domains ``low`` to ``high``, each by itself."""
    if size == 1 and counts.single:
        return
    counts.slices[low:high] = [n // size for n in counts.pods[low:high]]
    if counts.led:
        counts.slices_led[low:high] = [n // size for n in counts.pods_led[low:high]]
