"""Dividing pods among domains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from policycheck.systems.kueue.scheduler.counts import Counts, Profile
from policycheck.systems.kueue.scheduler.wish import Wish


class Share(NamedTuple):
    """What one domain is given."""

    domain: int
    pods: int
    leaders: int


class Deal:
    """Gives pods to domains in an order, the last of them the tightest that holds the rest."""

    def __init__(self, counts: Counts, wish: Wish, profile: Profile) -> None:
        self.counts = counts
        self.least_free = profile.least_free or (wish.spread and profile.mixed)
        self._prefers = profile.prefers

    @property
    def plain(self) -> bool:
        """Whether slices are pods, the fullest domain goes first, and nothing else has a say."""
        return self.counts.single and not self.least_free and not self._prefers

    def straight(
        self, kids: Sequence[tuple[int, int]], domain: int, pods: int, level: int, last: int
    ) -> tuple[int, int]:
        """How far down from ``domain`` one child holds all ``pods``: that child, the tightest each time,
        and its level. As ``out`` of one domain would have it when ``plain``.
        """
        held = self.counts.pods
        while level < last and pods > 0:
            low, high = kids[domain]
            enough = [n for n in held[low:high] if n >= pods]
            if not enough:
                break
            domain = held.index(min(enough), low, high)
            level += 1
        return domain, level

    def ordered(self, among: Iterable[int]) -> list[int]:
        """Domains of one level, most slices (or where least is free, fewest) first."""
        counts, sign = self.counts, 1 if self.least_free else -1
        if counts.single and not self._prefers:
            return sorted(sorted(among), key=counts.pods.__getitem__, reverse=not self.least_free)
        return sorted(among, key=lambda d: (-counts.score[d], sign * counts.slices[d], counts.pods[d], d))

    def ordered_led(self, among: Iterable[int]) -> list[int]:
        """The same with those first that can take a leader, by what they hold beside it."""
        counts, sign = self.counts, 1 if self.least_free else -1
        return sorted(
            among,
            key=lambda d: (
                -counts.leaders[d],
                -counts.score[d],
                sign * counts.slices_led[d],
                counts.pods_led[d],
                d,
            ),
        )

    def tightest(self, among: Sequence[int], amounts: list[int], wanted: int, leaders: int) -> int:
        """The domain that holds ``wanted`` with the least to spare, the first of equals; among those
        that preferences put first. The first domain when none does.
        """
        counts = self.counts
        best = -1
        for domain in among:
            if self._prefers and counts.score[domain] != counts.score[among[0]]:
                break
            fits = counts.leaders[domain] >= leaders and amounts[domain] >= wanted
            if fits and (best < 0 or amounts[domain] < amounts[best]):
                best = domain
        return best if best >= 0 else among[0]

    def out(self, among: Sequence[int], pods: int, leaders: int, size: int, *, slices: bool) -> list[Share]:
        """Shares of ``pods`` and ``leaders``; [] when the domains do not hold them after all."""
        counts = self.counts
        unit = size if slices else 1
        held, held_led = (counts.slices, counts.slices_led) if slices else (counts.pods, counts.pods_led)
        left = pods // unit
        among = self.leader_first(among, held, held_led, left, leaders)
        shares: list[Share] = []
        for number, domain in enumerate(among):
            room = held_led if leaders else held
            if room[domain] >= left and counts.leaders[domain] >= leaders:
                if not self.least_free:
                    domain = self.tightest(among[number:], room, left, leaders)  # noqa: PLW2901 - the last one
                shares.append(Share(domain, left * unit, leaders))
                return shares
            given, led = min(room[domain], left), min(counts.leaders[domain], leaders)
            shares.append(Share(domain, given * unit, led))
            left -= given
            leaders -= led
        return []

    def leader_first(
        self, among: Sequence[int], held: list[int], held_led: list[int], wanted: int, leaders: int
    ) -> Sequence[int]:
        """``among`` with a domain in front that can take the leader without all of them together
        holding too little for the workers.
        """
        if not leaders or len(among) < 2:
            return among
        total = sum(held[d] for d in among)
        for number, domain in enumerate(among):
            lost = held[domain] - held_led[domain]
            if self.counts.leaders[domain] >= leaders and total - lost >= wanted:
                return [domain, *among[:number], *among[number + 1 :]] if number else among
        return among
