"""Configurations of the device plugin: sharing that it ignores, refuses, or was never told of.

Source: the README of the k8s-device-plugin ("Shared Access to GPUs", "Configuration Option Details"),
the GPU operator's page on time slicing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.lint.hit import Hit
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.record import NamedTuple
from policycheck.systems.core.podspec import items, mapping, text, whole
from policycheck.systems.gpu import resources
from policycheck.systems.gpu.checks.common import (
    LABELS,
    Fault,
    Found,
    Params,
    at_nodes,
    documents,
    near,
    node_objects,
)
from policycheck.systems.gpu.checks.layouts import carried, config_maps, policies
from policycheck.wording import join

CONFIG = "nvidia.com/device-plugin.config"
_KINDS = ("timeSlicing", "mps")
# Words in the image of a daemon that hands out NVIDIA's GPUs.
_PLUGINS = ("nvidia-device-plugin", "k8s-device-plugin")


class Setting(NamedTuple):
    """One configuration of the device plugin: a key of a ConfigMap."""

    id: DocumentId
    map_name: str
    key: str
    value: Mapping[str, Any]

    @property
    def path(self) -> Path:
        """Of the text."""
        return ("data", self.key)

    @property
    def sharing(self) -> Mapping[str, Any]:
        """Its part about sharing."""
        return mapping(self.value.get("sharing"))

    def shares(self, kind: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
        """The resources that are shared in one way, with their places."""
        for n, one in enumerate(items(mapping(self.sharing.get(kind)).get("resources"))):
            yield (*self.path, "sharing", kind, "resources", n), mapping(one)


def settings(cluster: Cluster) -> Iterator[Setting]:
    """Every configuration of the device plugin in sight."""
    for identity, facts, held in carried(cluster):
        for key, value in held.plugins.items():
            yield Setting(identity, facts.key.name, key, value)


def in_use(cluster: Cluster, setting: Setting) -> bool:
    """Whether the operator or a node in sight refers to it."""
    told = [policy for _, policy in policies(cluster) if policy.plugin_config == setting.map_name]
    return any(policy.default_plugin == setting.key for policy in told) or (
        bool(told) and any(node.labels.get(CONFIG) == setting.key for node in cluster.inventory.nodes)
    )


def rename_ignored(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A name or a choice of devices for one shared resource: parsed, and ignored."""
    for setting in settings(cluster):
        for kind in _KINDS:
            for path, one in setting.shares(kind):
                for field in ("rename", "devices"):
                    told = one.get(field)
                    if told in (None, "", "all"):
                        continue
                    values = {
                        "field": field,
                        "told": str(told)[:60],
                        "resource": text(one.get("name")),
                        "shared": f"{text(one.get('name'))}.shared",
                    }
                    at = f"{setting.key} {kind} {path[-1]} {field}"
                    yield Hit(setting.id, (*path, field), values, discriminator=at)


def sharing_refused(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Sharing with which the device plugin does not start."""
    mixed = any(policy.mig_strategy == "mixed" for _, policy in policies(cluster))
    for setting in settings(cluster):
        for path, what in _refused(setting, is_mixed=mixed):
            values = {"map": setting.map_name, "key": setting.key, "what": what}
            yield Hit(setting.id, path, values, discriminator=f"{setting.key} {what}")


def _refused(setting: Setting, *, is_mixed: bool) -> Iterator[tuple[Path, str]]:
    at: Path = (*setting.path, "sharing")
    kinds = [kind for kind in _KINDS if any(True for _ in setting.shares(kind))]
    if len(kinds) == 2:
        yield at, "timeSlicing and mps exclude each other; keep one"
    for kind in kinds:
        for path, one in setting.shares(kind):
            replicas = one.get("replicas")
            if whole(replicas, 0) < 2:
                yield (
                    (*path, "replicas"),
                    f"{text(one.get('name'))} has {replicas} replicas; sharing begins at 2",
                )
    strategy = text(mapping(setting.value.get("flags")).get("migStrategy"))
    if "mps" in kinds and (strategy == "mixed" or (is_mixed and not strategy)):
        yield (*at, "mps"), "MPS does not go with MIG strategy mixed; use timeSlicing, or single or none"


def config_unknown(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A configuration that the operator or a node names and that the ConfigMap does not have."""
    for identity, policy in policies(cluster):
        for other, facts in config_maps(cluster, policy.plugin_config):
            known = [str(key) for key in mapping(facts.value.get("data"))]
            wanted = policy.default_plugin
            if wanted and wanted not in known:
                what = f"the operator gives nodes the device plugin configuration {_of(wanted, facts.key.name, known)}"
                yield Hit(identity, ("spec", "devicePlugin", "config", "default"), {"what": what})
            faults = [
                Fault(node, (*LABELS, CONFIG), f"asks for {_of(name, facts.key.name, known)}")
                for node in node_objects(cluster)
                if (name := node.labels.get(CONFIG, "")) and name not in known
            ]
            for hit in at_nodes(cluster, faults, (other, ("data",))):
                if isinstance(hit, Hit):
                    values = {"what": f"{hit.values['nodes']}: {hit.values['what']}"}
                    yield hit._replace(values=values)


def _of(wanted: str, name: str, known: list[str]) -> str:
    other = near(wanted, known)
    hint = f"; did you mean {other!r}?" if other else f", it has {join(known) or 'none'}"
    return f"{wanted}, which ConfigMap {name} does not have{hint}"


def config_unreferenced(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Sharing that is configured, and that nothing in sight tells the device plugin of."""
    daemons = [facts.value for _, facts in documents(cluster, "apps", "DaemonSet")]
    plugins = [value for value in daemons if _is_plugin(value)]
    told = [policy for _, policy in policies(cluster)]
    if not told and not plugins:
        return
    named = {policy.plugin_config for policy in told}
    for value in daemons:
        named |= set(_mounted(value))
    for setting in settings(cluster):
        if setting.sharing and setting.map_name not in named:
            who = "the ClusterPolicy" if told else "the DaemonSet of the device plugin"
            values = {"map": setting.map_name, "key": setting.key, "who": who}
            yield Hit(setting.id, setting.path, values, discriminator=setting.key)


def _pod_spec(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return mapping(mapping(mapping(value.get("spec")).get("template")).get("spec"))


def _is_plugin(value: Mapping[str, Any]) -> bool:
    images = [text(mapping(c).get("image")) for c in items(_pod_spec(value).get("containers"))]
    return any(word in image for image in images for word in _PLUGINS)


def _mounted(value: Mapping[str, Any]) -> Iterator[str]:
    """Names of ConfigMaps that a DaemonSet mounts, or takes its environment from."""
    for volume in items(_pod_spec(value).get("volumes")):
        yield text(mapping(mapping(volume).get("configMap")).get("name"))
        for source in items(mapping(mapping(volume).get("projected")).get("sources")):
            yield text(mapping(mapping(source).get("configMap")).get("name"))


def plugin_oversells(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """The device plugin is told to share GPUs under their own name, and quotas count that name as GPUs.

    Silent once nodes show it: then the rule about nodes speaks, with numbers.
    """
    promised: dict[str, int] = {}
    for queue in cluster.view.queues:
        for (_, resource), quota in queue.quotas.items():
            promised[resource] = promised.get(resource, 0) + quota.nominal
    if any(n.accelerators is not None and n.accelerators.shares for n in cluster.inventory.nodes):
        return
    for setting in settings(cluster):
        if not in_use(cluster, setting):
            continue
        for kind in _KINDS:
            if mapping(setting.sharing.get(kind)).get("renameByDefault") is True:
                continue
            for path, one in setting.shares(kind):
                name, replicas = text(one.get("name")), whole(one.get("replicas"), 1)
                if name != resources.NVIDIA or replicas < 2 or not promised.get(name):
                    continue
                values = {
                    "key": setting.key,
                    "resource": name,
                    "replicas": replicas,
                    "promised": f"{promised[name]:,}",
                    "cards": f"{promised[name] / replicas:,.1f}".removesuffix(".0"),
                }
                yield Hit(setting.id, path, values, discriminator=f"{setting.key} {kind} {path[-1]}")
