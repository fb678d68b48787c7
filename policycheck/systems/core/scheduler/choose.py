"""The node for one pod: filters, scores, and the nodes between which chance decides.

Every node is scored. A real scheduler on more than 100 nodes stops looking once it has found enough
(percentageOfNodesToScore), so that on large clusters chance has more say there than here.
"""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.simulate.placement import Ground
from policycheck.systems.core.scheduler.crowd import Crowd
from policycheck.systems.core.scheduler.ranking import Key, Ranking
from policycheck.systems.core.scheduler.reach import LOST, NOT_READY
from policycheck.systems.core.scheduler.score import DEFAULT, Profile, Scorer
from policycheck.systems.core.scheduler.shape import Shape
from policycheck.systems.core.scheduler.social import (
    Barrier,
    barriers,
    has_wishes,
    neighbour_scores,
    spread_scores,
)

_MOST_RANKINGS = 256


class Chooser:
    """Decides for pods on one ground, among one crowd."""

    __slots__ = ("_rankings", "_said", "_said_at", "_score", "crowd", "ground", "profile")

    def __init__(self, ground: Ground, crowd: Crowd, profile: Profile = DEFAULT) -> None:
        self.ground, self.crowd, self.profile = ground, crowd, profile
        self._score = Scorer(ground, profile)
        self._rankings: dict[tuple[int, int], Ranking] = {}
        self._said: dict[object, str] = {}
        self._said_at = (-1, -1)

    def ranking(self, shape: Shape) -> Ranking:
        """The ranking for pods that take and may do the same; up to date."""
        place = (shape.load.number, id(shape.reach))
        found = self._rankings.get(place)
        if found is None:
            if len(self._rankings) >= _MOST_RANKINGS:
                del self._rankings[next(iter(self._rankings))]
            found = self._rankings[place] = Ranking(self.ground, shape.load, shape.reach, self._score)
        found.refresh()
        return found

    def candidates(self, shape: Shape) -> Sequence[int]:
        """The nodes that score highest among those that pass all filters, in order; () when none does."""
        ranking = self.ranking(shape)
        if not ranking.buckets:
            return ()
        walls = barriers(self.ground, self.crowd, shape) if shape.is_social or self.crowd.social else []
        wishes = has_wishes(self.crowd, shape) if shape.is_social or self.crowd.social else False
        if len(ranking.combos) == 1 and not wishes:
            return _first(ranking, walls) if walls else ranking.best()
        nodes = [n for n in ranking.feasible() if all(wall.passes(n) for wall in walls)]
        return self._highest(shape, ranking, nodes, wishes=wishes) if nodes else ()

    def _highest(self, shape: Shape, ranking: Ranking, nodes: list[int], *, wishes: bool) -> list[int]:
        nodes.sort()
        keys = [key for n in nodes if (key := ranking.place[n]) is not None]
        grades = _grade_scores(ranking, keys, self.profile)
        scores = [key[1] + grades[key[0]] for key in keys]
        if wishes:
            weights = self.profile.weights
            near = spread_scores(self.ground, self.crowd, shape, nodes)
            kin = neighbour_scores(self.crowd, shape, nodes)
            scores = [
                score + weights.spread * a + weights.neighbours * b
                for score, a, b in zip(scores, near, kin, strict=True)
            ]
        top = max(scores)
        return [n for n, score in zip(nodes, scores, strict=True) if score == top]

    def refusal(self, shape: Shape) -> str:
        """Why no node takes the pod, as kube-scheduler says it: how many nodes for which reason."""
        version = self.ground.version
        if version != self._said_at:
            self._said, self._said_at = {}, version
        found = self._said.get(shape.key)
        if found is None:
            parts = sorted(f"{nodes} {why}" for why, nodes in self.reasons(shape).items())
            found = f"0/{self.ground.present} nodes are available: {', '.join(parts)}"
            self._said[shape.key] = found
        return found

    def reasons(self, shape: Shape) -> dict[str, int]:
        """Nodes by the reason for which they refuse the pod; a node short of several resources counts
        for each.
        """
        ground = self.ground
        walls = barriers(ground, self.crowd, shape)
        found: dict[str, int] = {}
        free: set[tuple[int, int]] = set()  # grades and states that only pods elsewhere keep it from
        for (grade, is_closed, state), nodes in ground.alike(shape.reach.grade).items():
            if is_closed:
                continue
            if grade < 0:
                said: tuple[str, ...] = (shape.reach.reasons[-1 - grade],)
            else:
                said = tuple(_short(r, shape) for r in ground.lacking(state, shape.load))
                if not said:
                    free.add((grade, state))
            for why in said:
                found[why] = found.get(why, 0) + nodes
        for n, is_closed in enumerate(ground.closed):
            why = ""
            if is_closed:
                why = (LOST if ground.nodes[n].ready else NOT_READY) if ground.is_present(n) else ""
            elif free and (shape.reach.grade[n], ground.state[n]) in free:
                why = _wall(walls, n)
            if why:
                found[why] = found.get(why, 0) + 1
        return found


def _short(resource: str, shape: Shape) -> str:
    if resource == "pods":
        return "Too many pods"
    return "cannot allocate all claims" if resource in shape.claims else f"Insufficient {resource}"


def _wall(walls: list[Barrier], n: int) -> str:
    return next((wall.why for wall in walls if not wall.passes(n)), "")


def _first(ranking: Ranking, walls: list[Barrier]) -> Sequence[int]:
    """The nodes of the highest score at which any passes."""
    for key in sorted(ranking.buckets, reverse=True):
        found = [n for n in ranking.buckets[key] if all(wall.passes(n) for wall in walls)]
        if found:
            return found
    return ()


def _grade_scores(ranking: Ranking, keys: list[Key], profile: Profile) -> dict[int, int]:
    """What preferences and soft taints add, by grade: relative to the best and the worst node in question."""
    grades = {grade: ranking.reach.grades[grade] for grade, _ in keys}
    most = max(preference for preference, _ in grades.values())
    worst = max(soft for _, soft in grades.values())
    return {
        grade: profile.weights.affinity * (100 * preference // most if most else 0)
        + profile.weights.taints * (100 - (100 * soft // worst if worst else 0))
        for grade, (preference, soft) in grades.items()
    }
