"""What asks for hardware: pods in sets that start together, whatever controller makes them."""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.origin import DocumentId, ObjectKey, Path
from policycheck.model.placement import NodeTerm, PodAffinity, PreferredTerm, Spread, Toleration
from policycheck.record import NamedTuple


class TopologyRequest(NamedTuple):
    """What a podset asks of the network topology. Levels are node label keys.

    ``mode`` is "required", "preferred" or "unconstrained"; "" with only slices or a group.
    """

    mode: str = ""
    level: str = ""
    slice_level: str = ""
    slice_size: int = 0
    slices: tuple[tuple[str, int], ...] = ()  # (level, size), coarse to fine
    group: str = ""  # podset-group-name
    pod_index_label: str = ""


class DeviceClaim(NamedTuple):
    """Devices asked through dynamic resource allocation: how many of which class, per pod."""

    device_class: str
    devices: int
    template: str = ""  # the ResourceClaimTemplate or ResourceClaim it came from


class PodSet(NamedTuple):
    """``pods`` pods of one shape. Requests are per pod, in base units (model.amount)."""

    name: str
    pods: int
    requests: Mapping[str, int]
    min_count: int | None = None
    limits: Mapping[str, int] = {}
    node_selector: Mapping[str, str] = {}
    affinity: tuple[NodeTerm, ...] = ()  # required; any term suffices; () means no requirement
    preferred: tuple[PreferredTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    topology: TopologyRequest | None = None
    claims: tuple[DeviceClaim, ...] = ()
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    priority_class: str = ""
    scheduling_gates: tuple[str, ...] = ()
    has_affinity: bool = False  # required node affinity present, even with no usable term
    path: Path = ()  # of the pod template in its object
    containers: tuple[ContainerRequest, ...] = ()
    pod_level: Mapping[str, int] = {}  # requests stated for the pod as a whole
    overhead: Mapping[str, int] = {}  # stated in the template
    runtime_class: str = ""
    neighbours: PodAffinity | None = None  # pod affinity and anti-affinity
    spread: tuple[Spread, ...] = ()


class ContainerRequest(NamedTuple):
    """One container's requests and limits as written, for checks that speak about containers."""

    name: str
    requests: Mapping[str, int]
    limits: Mapping[str, int]
    init: bool
    path: Path
    sidecar: bool = False  # an init container that goes on running


class Workload(NamedTuple):
    """An object that makes pods: a job, a service, or a pod by itself.

    ``nature`` is "batch" (runs to an end), "service" (stays), "pod" (a lone pod) or "daemon".
    """

    key: ObjectKey
    nature: str
    pod_sets: tuple[PodSet, ...]
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    created: str = ""  # RFC 3339; "" when unknown
    uid: str = ""
    owner: ObjectKey | None = None  # its controller, when it has one
    node: str = ""  # for a lone pod: the node to which it is bound
    phase: str = ""  # for a lone pod: status.phase
    suspended: bool | None = None
    api_version: str = ""
    priority_class: str = ""  # stated for the whole job, beside those of its pods
    copies: int = 1  # the podsets divide into so many equal gangs that start independently


class PriorityClass(NamedTuple):
    """A pod priority class of the cluster."""

    name: str
    value: int
    is_default: bool = False
    preempts: bool = True  # preemptionPolicy PreemptLowerPriority


class Namespace(NamedTuple):
    """A namespace and its labels."""

    name: str
    labels: Mapping[str, str]


class Located(NamedTuple):
    """A thing of the model together with the document that says it."""

    id: DocumentId
    thing: object
