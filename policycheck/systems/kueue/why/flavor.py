"""What pods would have to say so that a flavor is for them."""

from __future__ import annotations

from policycheck.model.placement import HARD_EFFECTS, Toleration
from policycheck.model.workload import PodSet, TopologyRequest
from policycheck.simulate.change import Change
from policycheck.systems.kueue.model import KueueWorkload, ResourceFlavor


def opened(
    workload: KueueWorkload, flavor: ResourceFlavor, where: str
) -> tuple[KueueWorkload, tuple[Change, ...]]:
    """The workload with what ``flavor`` wants of it, and the changes; none when it wants nothing.

    Node affinity is left as it is: what it should say instead is not for a program to guess.
    """
    sets, changes = [], dict[Change, None]()
    for spec in workload.pod_sets:
        made, said = _set(spec, flavor, where)
        sets.append(made)
        changes.update(dict.fromkeys(said))
    return workload._replace(pod_sets=tuple(sets)), tuple(changes)


def _set(spec: PodSet, flavor: ResourceFlavor, where: str) -> tuple[PodSet, list[Change]]:
    said: list[Change] = []
    spec = _tolerating(spec, flavor, where, said)
    labels = flavor.node_labels
    wrong = {k: v for k, v in spec.node_selector.items() if k in labels and labels[k] != v}
    if wrong:
        spec = spec._replace(node_selector={**spec.node_selector, **{k: labels[k] for k in wrong}})
        said.extend(Change("selector", where, f"nodeSelector {k}", v, labels[k]) for k, v in wrong.items())
    if flavor.topology and spec.topology is None:
        spec = spec._replace(topology=TopologyRequest(mode="unconstrained"))
        field = "annotation kueue.x-k8s.io/podset-unconstrained-topology"
        said.append(Change("topology", where, field, "absent", "true"))
    elif not flavor.topology and spec.topology is not None and spec.topology.mode:
        said.append(Change("topology", where, "topology request", spec.topology.mode, "none"))
        spec = spec._replace(topology=None)
    return spec, said


def _tolerating(spec: PodSet, flavor: ResourceFlavor, where: str, said: list[Change]) -> PodSet:
    have = (*spec.tolerations, *flavor.tolerations)
    for taint in flavor.node_taints:
        if taint.effect in HARD_EFFECTS and not any(t.tolerates(taint) for t in have):
            value = f"={taint.value}" if taint.value else ""
            said.append(
                Change("toleration", where, "toleration", "absent", f"{taint.key}{value}:{taint.effect}")
            )
            added = Toleration(taint.key, "Equal", taint.value, taint.effect)
            have = (*have, added)
            spec = spec._replace(tolerations=(*spec.tolerations, added))
    return spec
