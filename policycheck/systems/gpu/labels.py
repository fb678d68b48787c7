"""What a node's labels tell of its accelerators, and who said it.

Labels of gpu-feature-discovery are a measurement; those of a provisioner or a cloud are what was
ordered, so a number from them is an assumption until the node offers as many.
Source: k8s-device-plugin README ("Generated Labels"), Karpenter "Well-Known Labels", GKE and
CoreWeave node label pages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from policycheck.record import NamedTuple

PRODUCT = "nvidia.com/gpu.product"
COUNT = "nvidia.com/gpu.count"
REPLICAS = "nvidia.com/gpu.replicas"
STRATEGY = "nvidia.com/mig.strategy"
CAPABLE = "nvidia.com/mig.capable"
SHARING = "nvidia.com/gpu.sharing-strategy"
INSTANCE_TYPES = ("node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type")

KARPENTER = "karpenter.k8s.aws/instance-gpu-"
# Who else names a model: label key -> nothing more than its value. First found wins.
_MODELS = (
    "amd.com/gpu.product-name",
    "beta.amd.com/gpu.product-name",
    "gpu.intel.com/product",
    "habana.ai/gaudi.product",
    "alibabacloud.com/gpu-card-model",
    "aliyun.accelerator/nvidia_name",
    "gpu.nvidia.com/model",
    "gpu.nvidia.com/class",
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-tpu-accelerator",
    "k8s.amazonaws.com/accelerator",
    "accelerator",
)
_COUNTS = (
    KARPENTER + "count",
    "karpenter.k8s.aws/instance-accelerator-count",
    "cloud.google.com/gke-accelerator-count",
    "gpu.nvidia.com/count",
    "aliyun.accelerator/nvidia_count",
)
_PRESENT = (
    "nvidia.com/gpu.present",
    "feature.node.kubernetes.io/pci-10de.present",
    "feature.node.kubernetes.io/pci-0302_10de.present",
    "kubernetes.azure.com/accelerator",
)
_GKE_PARTITION = "cloud.google.com/gke-gpu-partition-size"
_GKE_SHARING = "cloud.google.com/gke-gpu-sharing-strategy"
_GKE_CLIENTS = "cloud.google.com/gke-max-shared-clients-per-gpu"
_VGPU_PRODUCT = re.compile(r"\A(?:GRID-|NVIDIA-).*-\d+[QCBA]\Z")
_MIG_SUFFIX = re.compile(r"-MIG-(INVALID|[0-9.a-z+-]+)\Z")

# Labels under nvidia.com/ that some component of NVIDIA publishes or reads (gpu-feature-discovery, the
# operator, the managers of MIG and vGPU). Keys with a profile in them are matched by their beginning.
PUBLISHED = frozenset({
    "nvidia.com/gpu.present", "nvidia.com/gpu.product", "nvidia.com/gpu.count", "nvidia.com/gpu.replicas",
    "nvidia.com/gpu.sharing-strategy", "nvidia.com/gpu.memory", "nvidia.com/gpu.family",
    "nvidia.com/gpu.machine", "nvidia.com/gpu.mode", "nvidia.com/gpu.compute.major",
    "nvidia.com/gpu.compute.minor", "nvidia.com/gpu.clique", "nvidia.com/gpu.slices.gi",
    "nvidia.com/gpu.slices.ci", "nvidia.com/gpu.multiprocessors", "nvidia.com/gpu.engines.copy",
    "nvidia.com/gpu.engines.decoder", "nvidia.com/gpu.engines.encoder", "nvidia.com/gpu.engines.jpeg",
    "nvidia.com/gpu.engines.ofa", "nvidia.com/gpu.imex-domain", "nvidia.com/gpu.workload.config",
    "nvidia.com/gpu.gpu-driver-upgrade-state", "nvidia.com/gpu-driver-upgrade-state",
    "nvidia.com/gpu-driver-upgrade.skip", "nvidia.com/gpu-driver-upgrade-drain.skip",
    "nvidia.com/gpu-driver-upgrade-enabled", "nvidia.com/mig.capable", "nvidia.com/mig.strategy",
    "nvidia.com/mig.config", "nvidia.com/mig.config.state", "nvidia.com/mps.capable",
    "nvidia.com/device-plugin.config", "nvidia.com/vgpu.present", "nvidia.com/vgpu.host-driver-version",
    "nvidia.com/vgpu.host-driver-branch", "nvidia.com/vgpu.config", "nvidia.com/vgpu.config.state",
    "nvidia.com/vfio.available", "nvidia.com/cuda.driver-version.major", "nvidia.com/cuda.driver-version.minor",
    "nvidia.com/cuda.driver-version.revision", "nvidia.com/cuda.driver-version.full",
    "nvidia.com/cuda.driver.major", "nvidia.com/cuda.driver.minor", "nvidia.com/cuda.driver.rev",
    "nvidia.com/cuda.runtime.major", "nvidia.com/cuda.runtime.minor", "nvidia.com/cuda.runtime-version.major",
    "nvidia.com/cuda.runtime-version.minor", "nvidia.com/cuda.runtime-version.full", "nvidia.com/gfd.timestamp",
    "nvidia.com/cc.capable", "nvidia.com/cc.mode.state", "nvidia.com/cc.ready.state",
    "nvidia.com/sandbox-device-plugin.config", "nvidia.com/nvlink.clique", "nvidia.com/gds.enabled",
})  # fmt: skip
_FAMILIES = tuple(
    f"nvidia.com/{name}"
    for name in ("mig-", "gpu.deploy.", "gpu.engines.", "vgpu.", "cc.", "network-", "ofed.", "dra-")
)
# Names under which people look for the model.
MODEL_GUESSES = frozenset(
    f"nvidia.com/{name}"
    for name in ("gpu.model", "gpu.name", "gpu.type", "gpu.kind", "gpu.class", "gpu-model", "gpu-type")
)
# Where publishers keep to themselves; a plain nvidia.com/gpu=true is a label that people do set.
_THEIRS = tuple(f"nvidia.com/{name}" for name in ("gpu.", "mig.", "cuda.", "mps.", "gfd.", "vgpu."))


def is_published(key: str) -> bool:
    """Whether some component of NVIDIA publishes or reads the label; True for what people set themselves."""
    if not key.startswith("nvidia.com/") or key in PUBLISHED or key.startswith(_FAMILIES):
        return True
    if key.startswith(_THEIRS) or key in MODEL_GUESSES:
        return False
    from difflib import get_close_matches

    return not get_close_matches(key, PUBLISHED, n=1, cutoff=0.95)


class Told(NamedTuple):
    """What the labels say. ``source`` names the label that gave model or number when that label
    is an order and no measurement; "" for labels of gpu-feature-discovery.
    """

    model: str = ""
    model_source: str = ""
    count_: int | None = None  # GPUs; MIG devices when ``profile`` is set
    count_source: str = ""
    replicas: int | None = None  # shares per GPU; 1 unshared; None not said
    sharing: str = ""  # time-slicing | mps | vgpu; "" none or not said
    is_shared: bool = False  # the product carries -SHARED, or replicas are above one
    profile: str = ""  # the MIG profile that the product's suffix names
    is_invalid: bool = False  # -MIG-INVALID
    strategy: str = ""  # single | mixed
    is_capable: bool = False  # mig.capable
    is_measured: bool = False  # gpu-feature-discovery has published here
    is_present: bool = False  # a label says that there is some GPU
    instance_type: str = ""


def _number(labels: Mapping[str, str], key: str) -> int | None:
    text = labels.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def tidy(model: str) -> str:
    """A cloud's accelerator name as a model: ``nvidia-tesla-t4`` is ``T4``."""
    for prefix in ("nvidia-tesla-", "nvidia-", "tesla-"):
        if model.lower().startswith(prefix) and model == model.lower():
            return model[len(prefix) :].upper().replace("-80GB", " 80GB").replace("-141GB", " 141GB")
    return model


def _karpenter_model(labels: Mapping[str, str]) -> str:
    name = labels.get(KARPENTER + "name", "")
    memory = _number(labels, KARPENTER + "memory")
    return f"{name.upper()} {round(memory / 1024)}GB" if name and memory else name.upper()


def _model(labels: Mapping[str, str]) -> tuple[str, str]:
    """Model and its source from labels other than gpu-feature-discovery's."""
    ordered = _karpenter_model(labels)
    if ordered:
        return ordered, KARPENTER + "name"
    key = next((key for key in _MODELS if labels.get(key)), "")
    return (tidy(labels[key]), key) if key else ("", "")


class _Product(NamedTuple):
    model: str
    profile: str
    is_invalid: bool
    is_shared: bool


def _product(text: str) -> _Product:
    """The product label without what the label publisher appends to it."""
    is_shared = text.endswith("-SHARED")
    model = text.removesuffix("-SHARED")
    match = _MIG_SUFFIX.search(model)
    if not match:
        return _Product(model, "", False, is_shared)
    profile = match[1] if match[1] != "INVALID" else ""
    return _Product(model[: match.start()], profile, not profile, is_shared)


def _sharing(labels: Mapping[str, str], product: str) -> tuple[str, int | None]:
    """Kind of sharing and shares per GPU, by NVIDIA's labels or GKE's."""
    kind = labels.get(SHARING, "none").lower()
    replicas = _number(labels, REPLICAS)
    gke = labels.get(_GKE_SHARING, "").lower()
    if gke and kind == "none":
        kind = gke
        replicas = _number(labels, _GKE_CLIENTS) or replicas
    if labels.get("nvidia.com/vgpu.present") == "true" or _VGPU_PRODUCT.match(product):
        kind = "vgpu"
    return {"none": "", "time-sharing": "time-slicing"}.get(kind, kind), replicas


def told(labels: Mapping[str, str]) -> Told:
    """Everything that the labels of one node say of its accelerators."""
    product = _product(labels.get(PRODUCT, ""))
    model, source = (product.model, "") if product.model else _model(labels)
    number, number_source = _number(labels, COUNT), ""
    if number is None:
        number_source = next((key for key in _COUNTS if _number(labels, key) is not None), "")
        number = _number(labels, number_source) if number_source else None
    sharing, replicas = _sharing(labels, product.model)
    return Told(
        model=model,
        model_source=source,
        count_=number,
        count_source=number_source,
        replicas=replicas,
        sharing=sharing,
        is_shared=product.is_shared or (replicas or 0) > 1,
        profile=product.profile or labels.get(_GKE_PARTITION, ""),
        is_invalid=product.is_invalid,
        strategy=labels.get(STRATEGY, ""),
        is_capable=labels.get(CAPABLE) == "true",
        is_measured=COUNT in labels or PRODUCT in labels,
        is_present=any(labels.get(key) not in (None, "", "false") for key in _PRESENT),
        instance_type=next((labels[key] for key in INSTANCE_TYPES if labels.get(key)), ""),
    )
