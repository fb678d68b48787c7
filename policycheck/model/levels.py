"""Node labels that place a machine in the network: which of them nodes carry, widest first.

There is no standard topology label (KEP-4962 was closed unadopted), so known keys of clouds and
tools come first and names that speak of racks, blocks and the like are taken as candidates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from policycheck.model.capacity import HOSTNAME, Domain, domains
from policycheck.model.inventory import NONE, Node
from policycheck.record import NamedTuple

# Widest to tightest. AWS counts layers from the spine (3 is nearest to the host), topograph from
# the host (tier-0 is nearest). Sources: AWS "EC2 instance topology", GKE "Topology Aware Scheduling",
# OCI and CoreWeave node label pages, topograph README.
KNOWN: tuple[str, ...] = (
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/zone",
    "topology.k8s.aws/zone-id",
    "topology.k8s.aws/network-node-layer-1",
    "topology.k8s.aws/network-node-layer-2",
    "topology.k8s.aws/network-node-layer-3",
    "topology.k8s.aws/ultraserver-id",
    "cloud.google.com/gce-topology-block",
    "cloud.google.com/gce-topology-subblock",
    "cloud.google.com/gce-topology-host",
    "oci.oraclecloud.com/rdma.hpc_island_id",
    "oci.oraclecloud.com/rdma.network_block_id",
    "oci.oraclecloud.com/rdma.local_block_id",
    "oci.oraclecloud.com/host.network_block_id",
    "oci.oraclecloud.com/host.rack_id",
    "backend.coreweave.cloud/fabric",
    "backend.coreweave.cloud/superpod",
    "backend.coreweave.cloud/leafgroup",
    "ib.coreweave.cloud/fabric",
    "ib.coreweave.cloud/superpod",
    "ib.coreweave.cloud/leafgroup",
    "ds.coreweave.com/nvlink.domain",
    "crusoe.ai/ib.partition.id",
    "crusoe.ai/pod.id",
    "network.topology.nvidia.com/core",
    "network.topology.nvidia.com/spine",
    "network.topology.nvidia.com/leaf",
    "network.topology.nvidia.com/accelerator",
    "fabric.topograph.run/tier-3",
    "fabric.topograph.run/tier-2",
    "fabric.topograph.run/tier-1",
    "fabric.topograph.run/tier-0",
    "accelerator.topograph.run/domain",
    "accelerator.topograph.run/sub-domain",
    "nvidia.com/gpu.clique",
    HOSTNAME,
)
_RANK = {key: rank for rank, key in enumerate(KNOWN)}
_NAMES = re.compile(
    r"(?:^|[./_-])(?:datacenter|row|island|fabric|superpod|spine|block|rack|leaf|subblock|switch|nvlink-domain)"
    r"(?:$|[._-]?(?:id|name|\d+)$)"
)


class Level(NamedTuple):
    """A label that may be a level: nodes that carry it, nodes that do not, and its values."""

    key: str
    carried: int
    lacking: int
    values: int
    domains: tuple[Domain, ...]  # each value with machines and free whole units of the resource


def is_candidate(key: str) -> bool:
    """Whether a label key is known or named as a place in the network."""
    return key in _RANK or bool(_NAMES.search(key))


def candidates(nodes: Iterable[Node], resource: str) -> tuple[Level, ...]:
    """The levels that nodes with accelerators carry (all nodes, when none has any), widest first.

    Unknown keys come between the known ones and the hostname, the one with fewest values first.
    """
    every = tuple(nodes)
    chosen = tuple(n for n in every if n.accelerators is not None) or every
    found = []
    for key in {key for n in chosen for key in n.labels if is_candidate(key)}:
        carriers = [n for n in chosen if key in n.labels]
        carried = sum(n.machines for n in carriers)
        values = carried if key == HOSTNAME else len({n.labels[key] for n in carriers})
        lacking = sum(n.machines for n in chosen) - carried
        found.append(Level(key, carried, lacking, values, _split(carriers, key, resource)))
    return tuple(sorted(found, key=_order))


def _split(carriers: Sequence[Node], key: str, resource: str) -> tuple[Domain, ...]:
    """Each value with what it holds; one whose nodes are all out of use holds nothing."""
    if key == HOSTNAME:
        return ()
    known = {d.values[0]: d for d in domains(carriers, (key,), resource)[0]}
    every = sorted({node.labels[key] for node in carriers})
    return tuple(known.get(value, Domain((value,), NONE, NONE)) for value in every)


def _order(level: Level) -> tuple[int, int, str]:
    if level.key == HOSTNAME:
        return (2, 0, "")
    if level.key in _RANK:
        return (0, _RANK[level.key], "")
    return (1, level.values, level.key)
