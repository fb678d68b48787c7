"""Resource names under which accelerators are handed out, and what one unit of each is.

Source: device plugin documentation of each vendor; for NVIDIA also k8s-device-plugin's README
(renaming of shares, the "+" of a profile becoming "." in the name).
"""

from __future__ import annotations

import re

NVIDIA = "nvidia.com/gpu"
NVIDIA_SHARED = "nvidia.com/gpu.shared"
MIG_PREFIX = "nvidia.com/mig-"

# Whole devices. The order decides which one names the node when several are offered.
WHOLE: dict[str, str] = {
    NVIDIA: "NVIDIA GPU",
    "amd.com/gpu": "AMD GPU",
    "gpu.intel.com/xe": "Intel GPU",
    "gpu.intel.com/i915": "Intel GPU",
    "habana.ai/gaudi": "Gaudi",
    "google.com/tpu": "TPU chip",
    "aws.amazon.com/neuron": "Neuron device",
    "aws.amazon.com/neurondevice": "Neuron device",
    "alibabacloud.com/gpu-count": "GPU",
}
_ASCEND = "huawei.com/Ascend"

# The same devices again in another unit: never to be added to the above.
RESTATED: dict[str, str] = {
    "alibabacloud.com/gpu-milli": "the same GPUs in thousandths",
    "alibabacloud.com/gpu-memory": "the memory of the same GPUs",
    "aliyun.com/gpu-mem": "the memory of the same GPUs",
    "aws.amazon.com/neuroncore": "the cores of the same Neuron devices",
    "nvidia.com/gpumem": "the memory of the same GPUs",
    "nvidia.com/gpucores": "the cores of the same GPUs, in hundredths",
    "volcano.sh/gpu-memory": "the memory of the same GPUs",
    "volcano.sh/vgpu-memory": "the memory of the same GPUs",
    "volcano.sh/vgpu-cores": "the cores of the same GPUs",
}
SHARES: dict[str, str] = {
    NVIDIA_SHARED: "time slices or MPS shares of GPUs",
    "volcano.sh/vgpu-number": "shares of GPUs",
    "volcano.sh/gpu-number": "shares of GPUs",
    "gpu.intel.com/sriov-gpudevice": "virtual functions of GPUs",
}
# Extended resources that a GPU node also offers and that are no accelerators.
_NETWORK = ("rdma/", "vpc.amazonaws.com/efa", "networking.gke.io", "openshift.io/", "mellanox.com/")
# What the kubelet always reports: absent from a list of amounts means not said, never none.
CORE = frozenset({"cpu", "memory", "ephemeral-storage", "pods"})


def is_network(resource: str) -> bool:
    """Whether the resource is a network device (EFA, RDMA, SR-IOV), which is no GPU."""
    return resource.startswith(_NETWORK)


def is_whole(resource: str) -> bool:
    """Whether one unit of the resource is one device (when nothing shares it)."""
    return resource in WHOLE or resource.startswith(_ASCEND)


def is_accelerator(resource: str) -> bool:
    """Whether the resource stands for accelerators in any form: whole, slice, share, restated."""
    return is_whole(resource) or resource.startswith(MIG_PREFIX) or resource in SHARES or resource in RESTATED


def title(resource: str) -> str:
    """What one unit is called in a sentence."""
    if resource.startswith(_ASCEND):
        return "Ascend NPU"
    return WHOLE.get(resource, resource)


def mig_resource(profile: str) -> str:
    """Resource name of a MIG profile: ``1g.10gb+me`` is offered as ``nvidia.com/mig-1g.10gb.me``.

    A "+" is not legal in a resource name; the device plugin writes "." in its place.
    """
    return MIG_PREFIX + profile.replace("+", ".")


_SUFFIXED = re.compile(r"(\d+g\.\d+gb)\.(me\.all|me|gfx|all)\Z")


def mig_profile(resource: str) -> str | None:
    """The profile of a MIG resource name (``+`` restored), or None when it is not one."""
    if not resource.startswith(MIG_PREFIX):
        return None
    name = resource[len(MIG_PREFIX) :]
    match = _SUFFIXED.match(name)
    return f"{match[1]}+{match[2]}" if match else name
