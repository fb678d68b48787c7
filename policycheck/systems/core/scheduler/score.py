"""How a node is scored for a pod by what is free on it.

Sources: Kubernetes documentation, "Resource Bin Packing" (scoring strategies and their arithmetic) and
"Scheduler Configuration" (plugins and their default weights). Scores are integers from 0 to 100; shares
are cut off, not rounded, as the documentation's examples have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from policycheck.simulate.placement import Ground, Load

LEAST, MOST, RATIO = "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"
STRATEGIES = (LEAST, MOST, RATIO)

# Amounts of pods as scoring sees them: pods without a request count as these (Kubernetes documentation,
# "NodeResourcesFit": only for scoring, and only of cpu and memory). By container.
SHADOWS: Mapping[str, str] = {"cpu (score)": "cpu", "memory (score)": "memory"}
UNSAID: Mapping[str, int] = {"cpu": 100, "memory": 200 * 1024 * 1024}
_SHADOW_OF = {resource: column for column, resource in SHADOWS.items()}


class Weights(NamedTuple):
    """By how much each score counts; the defaults are those of the default profile."""

    fit: int = 1
    balanced: int = 1
    affinity: int = 2
    taints: int = 3
    spread: int = 2
    neighbours: int = 2


class Profile(NamedTuple):
    """What of a scheduler's configuration decides where pods go.

    ``points`` are (utilisation in percent, score from 0 to 10) for RequestedToCapacityRatio, utilisation
    ascending. ``pick`` is how cards are chosen on a node (see simulate.device.take). ``by_change``: balance
    is scored by what the pod changes about it, as the newest schedulers do (kubernetes#135573), and not by
    what comes out.
    """

    strategy: str = LEAST
    resources: tuple[tuple[str, int], ...] = (("cpu", 1), ("memory", 1))  # with weights
    points: tuple[tuple[int, int], ...] = ((0, 0), (100, 10))
    balanced: tuple[str, ...] = ("cpu", "memory")
    weights: Weights = Weights()
    pick: str = "best"
    by_change: bool = False


DEFAULT = Profile()


def beside(requests: Mapping[str, int], containers: int) -> dict[str, int]:
    """What a pod counts for in scoring, by shadow column."""
    return {
        column: requests.get(resource) or UNSAID[resource] * max(1, containers)
        for column, resource in SHADOWS.items()
    }


class Scorer:
    """The scores of a ground under a profile. Raises ValueError for a strategy that is none."""

    __slots__ = ("_balanced", "_fit", "_ground", "profile")

    def __init__(self, ground: Ground, profile: Profile = DEFAULT) -> None:
        if profile.strategy not in STRATEGIES:
            raise ValueError(
                f"{profile.strategy!r} is no scoring strategy; write one of {', '.join(STRATEGIES)}"
            )
        self.profile = profile
        self._ground = ground
        columns = ground.columns
        shown = {r: _SHADOW_OF.get(r, r) for r, _ in profile.resources}
        self._fit = tuple((r, columns.get(shown[r], columns.get(r, -1)), w) for r, w in profile.resources)
        self._balanced = tuple((r, columns.get(r, -1)) for r in profile.balanced)

    def __call__(self, state: int, load: Load) -> int:
        """The score of a node in ``state``, which has room, once ``load`` is on it."""
        weights = self.profile.weights
        found = 0
        if weights.fit:
            rows = [
                (used + asked, have, weight)
                for resource, column, weight in self._fit
                for used, asked, have in self._rows(resource, column, state, load)
            ]
            found += weights.fit * fit_score(self.profile, rows)
        if weights.balanced:
            found += weights.balanced * self._balance(state, load)
        return found

    def _balance(self, state: int, load: Load) -> int:
        """0 everywhere for a pod that asks nothing of what is balanced (kubernetes#130260)."""
        rows = [row for r, column in self._balanced for row in self._rows(r, column, state, load)]
        if not any(asked for _, asked, _ in rows):
            return 0
        after = [(used + asked, have) for used, asked, have in rows]
        if not self.profile.by_change:
            return balanced_score(after)
        return int(75 + 50 * (_deviation([(used, have) for used, _, have in rows]) - _deviation(after)))

    def _rows(self, resource: str, column: int, state: int, load: Load) -> Iterator[tuple[int, int, int]]:
        """(in use, asked by the pod, capacity) of a resource; nothing when it does not count."""
        kind, free, _ = self._ground.of(state)
        if resource in kind.offered:
            asked = load.ask.units.get(resource, 0) if load.ask is not None else 0
            have = kind.of(resource)
            used = have - self._ground.left(state, resource)
        elif column >= 0:
            asked, have = load.vector[column], kind.amounts[column]
            used = have - free[column]
        else:
            return
        if have and (asked or resource in UNSAID):
            yield used, asked, have


def fit_score(profile: Profile, rows: list[tuple[int, int, int]]) -> int:
    """The NodeResourcesFit score of (asked, capacity, weight) by resource; 0 without any."""
    total = sum(weight for _, _, weight in rows)
    if not total:
        return 0
    if profile.strategy == LEAST:
        return sum(w * (max(0, have - asked) * 100 // have) for asked, have, w in rows) // total
    if profile.strategy == MOST:
        return sum(w * (min(asked, have) * 100 // have) for asked, have, w in rows) // total
    scored = [(_curve(profile.points, 100 if a > h else a * 100 // h), w) for a, h, w in rows]
    weight = sum(w for score, w in scored if score > 0)
    return round(sum(score * w for score, w in scored) / weight) if weight else 0


def _curve(points: tuple[tuple[int, int], ...], used: int) -> int:
    """The score at a utilisation: straight lines between the points, flat beyond them; times ten."""
    before = points[0]
    for point in points:
        if used <= point[0]:
            if point[0] == before[0]:
                return point[1] * 10
            rise = (point[1] - before[1]) * 10
            return before[1] * 10 + int(rise * (used - before[0]) / (point[0] - before[0]))
        before = point
    return points[-1][1] * 10


def balanced_score(rows: list[tuple[int, int]]) -> int:
    """The NodeResourcesBalancedAllocation score: 100 less the standard deviation of the shares in use."""
    return int((1 - _deviation(rows)) * 100)


def _deviation(rows: list[tuple[int, int]]) -> float:
    shares = [min(1.0, asked / have) for asked, have in rows]
    if len(shares) < 2:
        return 0.0
    if len(shares) == 2:
        return abs(shares[0] - shares[1]) / 2
    mean = sum(shares) / len(shares)
    return float((sum((share - mean) ** 2 for share in shares) / len(shares)) ** 0.5)
