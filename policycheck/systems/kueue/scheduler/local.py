"""Admission fair sharing: what LocalQueues of one ClusterQueue have used.

Source: KEP-4136 "Admission fair sharing": consumed = (1-a)*consumed + a*usage at every sampling, with
a = 1 - 0.5^(sampling / half-life); a reservation is charged a*request at once. In doubles, as the
real one computes it; cpu counts in cores, everything else in base units.
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.systems.kueue.model import AdmissionFairSharing, LocalQueue

Amounts = Mapping[str, float]


def unit(resource: str, amount: int) -> float:
    """An amount in base units as the usage formula counts it."""
    return amount / 1000 if resource == "cpu" else float(amount)


def share_of(sampling: float, half_life: float) -> float:
    """How much of the present one sampling takes over; 0 without a half-life."""
    return 1.0 - 0.5 ** (sampling / half_life) if half_life > 0 else 0.0


class Ledger:
    """Use by LocalQueue."""

    __slots__ = ("_config", "_consumed", "_penalty", "_weight")

    def __init__(self, config: AdmissionFairSharing, queues: Mapping[str, LocalQueue]) -> None:
        self._config = config
        self._consumed: dict[str, dict[str, float]] = {}
        self._penalty: dict[str, dict[str, float]] = {}
        self._weight = {
            key: 1.0 if q.fair_weight is None else q.fair_weight / 1000 for key, q in queues.items()
        }

    def copy(self) -> Ledger:
        """An independent copy."""
        other = Ledger(self._config, {})
        other._consumed = {k: dict(v) for k, v in self._consumed.items()}
        other._penalty = {k: dict(v) for k, v in self._penalty.items()}
        other._weight = self._weight
        return other

    def set_consumed(self, queue: str, amounts: Amounts) -> None:
        """What ``queue`` has consumed so far."""
        self._consumed[queue] = dict(amounts)

    def charge(self, queue: str, requests: Mapping[str, int]) -> None:
        """A reservation in ``queue``: its share is counted before the next sampling sees it."""
        part = share_of(self._config.sampling, self._config.half_life)
        owed = self._penalty.setdefault(queue, {})
        for resource, amount in requests.items():
            owed[resource] = owed.get(resource, 0.0) + part * unit(resource, amount)

    def sample(self, usage: Mapping[str, Mapping[str, int]]) -> None:
        """One sampling: what is used now flows into what was consumed, and penalties are settled."""
        part = share_of(self._config.sampling, self._config.half_life)
        for queue in sorted({*self._consumed, *self._penalty, *usage}):
            now, before = usage.get(queue, {}), self._consumed.get(queue, {})
            self._consumed[queue] = {
                r: (1.0 - part) * before.get(r, 0.0) + part * unit(r, now.get(r, 0))
                for r in sorted({*now, *before})
            }
        self._penalty.clear()

    def use(self, queue: str) -> float:
        """Weighted use of ``queue``; infinite for a weight of 0."""
        weight = self._weight.get(queue, 1.0)
        if weight <= 0:
            return float("inf")
        consumed, owed = self._consumed.get(queue, {}), self._penalty.get(queue, {})
        total = sum(
            self._config.weights.get(r, 1.0) * (consumed.get(r, 0.0) + owed.get(r, 0.0))
            for r in sorted({*consumed, *owed})
        )
        return total / weight

    def state(self) -> tuple[object, ...]:
        """What decisions can see of it."""
        return tuple((q, self.use(q)) for q in sorted({*self._consumed, *self._penalty}))
