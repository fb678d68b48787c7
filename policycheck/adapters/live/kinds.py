"""What is read of a cluster, and in which form the server has it.

Not read: Secrets, ConfigMaps outside of the scheduler's namespace, ReplicaSets and what else only repeats what
its owner says.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from policycheck.adapters.live.connect import ApiError
from policycheck.model.cluster import GroupKind
from policycheck.record import NamedTuple

KUEUE = "kueue.x-k8s.io"
SCHEDULER_NAMESPACE = "kueue-system"  # where installations of Kueue put it
VARIABLE = "POLICYCHECK_SCHEDULER_NAMESPACE"  # of the environment; says where else it is, "" for nowhere
# Hardware, and what takes from it before any queue does.
HARDWARE: tuple[GroupKind, ...] = (
    ("", "Node"),
    ("", "Pod"),
    ("", "Namespace"),
    ("apps", "DaemonSet"),
    ("resource.k8s.io", "ResourceSlice"),
)
QUEUES: tuple[GroupKind, ...] = (
    ("scheduling.k8s.io", "PriorityClass"),
    *(
        (KUEUE, kind)
        for kind in (
            "ClusterQueue",
            "Cohort",
            "LocalQueue",
            "ResourceFlavor",
            "Topology",
            "AdmissionCheck",
            "WorkloadPriorityClass",
        )
    ),
)
SHAPES: tuple[GroupKind, ...] = (
    ("", "LimitRange"),
    ("", "ResourceQuota"),
    ("", "ConfigMap"),
    ("node.k8s.io", "RuntimeClass"),
    ("resource.k8s.io", "DeviceClass"),
    ("resource.k8s.io", "ResourceClaimTemplate"),
    (KUEUE, "ProvisioningRequestConfig"),
    (KUEUE, "MultiKueueConfig"),
    (KUEUE, "MultiKueueCluster"),
    ("nvidia.com", "ClusterPolicy"),
)
JOBS: tuple[GroupKind, ...] = (
    (KUEUE, "Workload"),
    ("batch", "Job"),
    ("batch", "CronJob"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("ray.io", "RayJob"),
    ("ray.io", "RayCluster"),
    ("ray.io", "RayService"),
    ("jobset.x-k8s.io", "JobSet"),
    *(
        ("kubeflow.org", kind)
        for kind in ("PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob")
    ),
    ("trainer.kubeflow.org", "TrainJob"),
    ("trainer.kubeflow.org", "TrainingRuntime"),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
    ("workload.codeflare.dev", "AppWrapper"),
    ("sparkoperator.k8s.io", "SparkApplication"),
)
ALL: tuple[GroupKind, ...] = tuple(dict.fromkeys((*QUEUES, *HARDWARE, *SHAPES, *JOBS)))
# Without these an answer would be about another cluster: not being allowed to read them is a failure.
NEEDED = frozenset((*QUEUES, ("", "Node")))
# Kinds that are read in the scheduler's namespace alone.
NARROW: frozenset[GroupKind] = frozenset({("", "ConfigMap")})


class Served(NamedTuple):
    """A kind as the server has it."""

    group: str
    kind: str
    version: str
    plural: str
    is_namespaced: bool
    namespace: str = ""  # the one that is read; "" for all

    @property
    def group_kind(self) -> GroupKind:
        """What it is, in any version."""
        return self.group, self.kind

    @property
    def api_version(self) -> str:
        """As objects have it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """Where the server lists it."""
        base = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return (
            f"{base}/namespaces/{self.namespace}/{self.plural}" if self.namespace else f"{base}/{self.plural}"
        )


class Discovery(NamedTuple):
    """What the server has of what was asked for; ``broken`` are groups that it announces and can not tell of."""

    served: Mapping[GroupKind, Served]
    broken: Mapping[str, str] = {}  # group: why


def discover(get: Callable[[str], Any], wanted: Iterable[GroupKind] = ALL) -> Discovery:
    """Those of ``wanted`` that the server has, in the version that it prefers among those that have the kind.

    Raises what ``get`` raises, but for a group whose own server is down.
    """
    kinds = tuple(wanted)
    groups = {one["name"]: one for one in get("/apis").get("groups", ())}
    found: dict[GroupKind, Served] = {}
    broken: dict[str, str] = {}
    for group in dict.fromkeys(group for group, _ in kinds):
        names = {kind for g, kind in kinds if g == group}
        for version in ["v1"] if not group else _versions(groups.get(group)):
            if not names:
                break
            try:
                _take(get, group, version, names, found)
            except ApiError as error:
                if not group:
                    raise
                broken[group] = str(error)
    return Discovery(found, broken)


def _versions(group: Mapping[str, Any] | None) -> list[str]:
    if group is None:
        return []
    preferred = group.get("preferredVersion", {}).get("version")
    versions = [one["version"] for one in group.get("versions", ())]
    return sorted(versions, key=lambda version: version != preferred)


def _take(
    get: Callable[[str], Any], group: str, version: str, names: set[str], found: dict[GroupKind, Served]
) -> None:
    """Moves those of ``names`` that this version has to ``found``."""
    for one in get(f"/apis/{group}/{version}" if group else "/api/v1").get("resources", ()):
        kind, plural = one.get("kind", ""), one.get("name", "")
        # pods/log and the like: parts of an object.
        if kind in names and "/" not in plural and "list" in one.get("verbs", ()):
            names.discard(kind)
            key = (group, kind)
            space = os.environ.get(VARIABLE, SCHEDULER_NAMESPACE) if key in NARROW else ""
            if space or key not in NARROW:
                found[key] = Served(group, kind, version, plural, bool(one.get("namespaced")), space)
