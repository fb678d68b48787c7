"""Which feature gates change what is refused, as named values: no check reads a gate by name.

Defaults: Kueue's "Installation" page, table of feature gates.
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.record import NamedTuple
from policycheck.systems.kueue import target as targets
from policycheck.systems.kueue.target import Target

# Gates that matter to validation alone: from which minor version of 0.x they are on by default.
_ON_SINCE: Mapping[str, int | None] = {
    "RejectUpdatesToCQWithInvalidOnFlavors": None,  # off everywhere so far
    "TASValidateWorkloadSliceSize": 20,
    "WorkloadValidateResourcesAreNonNegative": 20,
    "WorkloadValidationForPodSetMetadata": 20,
}


class Gates(NamedTuple):
    """What validation depends on. Defaults are those of the newest version."""

    admission_gated_by: bool = True
    concurrent: bool = False
    elastic: bool = True
    non_negative: bool = True
    pod_set_metadata: bool = True
    priority_boost: bool = False
    refuses_old_on_flavors: bool = False  # unchanged bad onFlavors are refused on update too
    slice_size: bool = True


def of_target(target: Target) -> Gates:
    """The Gates of a version with the gates that are set by hand."""
    on = targets.gates(target)

    def own(gate: str) -> bool:
        since = _ON_SINCE[gate]
        return target.gates.get(gate, since is not None and target.version >= (0, since))

    return Gates(
        admission_gated_by=on["AdmissionGatedBy"],
        concurrent=on["ConcurrentAdmission"],
        elastic=on["ElasticJobsViaWorkloadSlices"],
        non_negative=own("WorkloadValidateResourcesAreNonNegative"),
        pod_set_metadata=own("WorkloadValidationForPodSetMetadata"),
        priority_boost=on["PriorityBoost"],
        refuses_old_on_flavors=own("RejectUpdatesToCQWithInvalidOnFlavors"),
        slice_size=own("TASValidateWorkloadSliceSize"),
    )
