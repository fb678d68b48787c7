"""Whether queues and jobs get alike of what they are entitled to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policycheck.model.amount import UNLIMITED
from policycheck.simulate.passage import Passage
from policycheck.simulate.quantile import Number, Ratio, Spread, jain, spread
from policycheck.simulate.timeline import REFUSED, QueueLine


class Fairness(NamedTuple):
    """``jain`` over used and entitled of the ``queues`` that asked for anything they are entitled to;
    ``finish`` is finish-time fairness (Themis, NSDI'20): completion over what the job would take alone on
    the quota of its queue, taken to grow in proportion where that is smaller than the job. 1 or less is
    as good as a cluster of its own.
    """

    jain: float | None
    jain_why: str
    queues: int
    finish: Spread


def fairness(
    lines: Sequence[QueueLine], shares: Mapping[str, Ratio], passages: Sequence[Passage]
) -> Fairness:
    """From the shares of queues (``series.QueueUse.share``) and the lives of their jobs."""
    values = [v for ratio in shares.values() if (v := ratio.value) is not None]
    found = jain(values)
    why = "" if found is not None else "no queue asked for what it is entitled to, or none got any"
    return Fairness(found, why, len(values), _finish(lines, passages))


def _finish(lines: Sequence[QueueLine], passages: Sequence[Passage]) -> Spread:
    nominal = {line.name: line.nominal for line in lines}
    ended: list[Number] = []
    censored: list[Number] = []
    for one in passages:
        quota = nominal.get(one.life.queue, 0)
        if not one.is_batch or quota <= 0 or (one.life.state == REFUSED and not one.started):
            continue
        need = one.life.amount if quota < UNLIMITED else 0
        rho = one.least_span * quota / (one.own * max(need, quota))
        (ended if one.done else censored).append(rho)
    return spread(ended, censored, "no batch job belongs to a queue with quota of its own")
