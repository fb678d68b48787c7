"""The second way to lose a place: pods of a higher priority class displace pods of a lower one.

Source: Kubernetes documentation "Pod Priority and Preemption": a pending pod may evict pods of lower
priority on one node, unless its class says preemptionPolicy Never; equal never preempts equal.
"""

from __future__ import annotations

from policycheck.certify.arena import Ladder
from policycheck.model.workload import PriorityClass
from policycheck.systems.core.link import CoreState

NONE = "(no class)"


def rungs(core: CoreState) -> list[Ladder]:
    """Every pair of classes that pods in sight use; pods that name none have the default class, or 0."""
    used = {spec.priority_class for w in core.workloads.values() for spec in w.pod_sets}
    default = next((c for c in sorted(core.priority_classes.values()) if c.is_default), None)
    nameless = default or PriorityClass(NONE, 0)
    found: dict[str, PriorityClass] = dict(core.priority_classes)
    if "" in used or not found:
        found.setdefault(nameless.name, nameless)
    ladder = []
    for taker in sorted(found.values(), key=lambda c: (-c.value, c.name)):
        for holder in sorted(found.values(), key=lambda c: (-c.value, c.name)):
            may = taker.preempts and taker.value > holder.value
            if not taker.preempts:
                why = f"pods of {taker.name} never preempt (preemptionPolicy Never)"
            elif may:
                why = f"{taker.name} ({taker.value}) is above {holder.name} ({holder.value})"
            else:
                why = f"{taker.name} ({taker.value}) is not above {holder.name} ({holder.value})"
            ladder.append(Ladder(taker.name, holder.name, may, why))
    return ladder
