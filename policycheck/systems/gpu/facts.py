"""One document about GPUs that is neither node nor pod to Facts.

Sources: the ClusterPolicy of the GPU operator (getting started, "Chart customization options"), the
configuration file of the k8s-device-plugin (its README), that of mig-parted (its README); the
Kubernetes API reference for ResourceQuota, DeviceClass and KubeletConfiguration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.conform import prune
from policycheck.model.facts import Facts, Trouble
from policycheck.model.origin import ObjectKey, Path
from policycheck.record import NamedTuple
from policycheck.systems.core.podspec import mapping, text

Value = Mapping[str, Any]
DEFAULT_LAYOUTS = "default-mig-parted-config"  # the operator makes it itself
LAYOUT_FILE = "config.yaml"
# Words without which a text is no such configuration; to look for them is cheaper than to parse.
_LAYOUTS = "mig-configs"
_PLUGIN = ("timeSlicing", "migStrategy", "mps:", "deviceListStrategy", "failOnInitError")
_CLUSTER_SCOPED = frozenset({"ClusterPolicy", "DeviceClass", "KubeletConfiguration"})


class ClusterPolicy(NamedTuple):
    """What the GPU operator was told. A name is "" where nothing is said."""

    mig_strategy: str = ""
    layouts: str = ""  # the ConfigMap of mig-parted's layouts
    default_layout: str = ""
    plugin_config: str = ""  # the ConfigMap of the device plugin's configurations
    default_plugin: str = ""  # its key for nodes that name none


class Carried(NamedTuple):
    """What a ConfigMap holds about GPUs, by the key of its data: values as they are written in the text."""

    layouts: Mapping[str, Value] = {}
    plugins: Mapping[str, Value] = {}


class ResourceQuota(NamedTuple):
    """The keys and amounts of ``spec.hard``, as they are written."""

    hard: Mapping[str, object] = {}


class DeviceClass(NamedTuple):
    """A class of devices, and the resource by which pods may ask for it without a claim."""

    name: str
    extended: str = ""


class Kubelet(NamedTuple):
    """What decides how a kubelet aligns CPUs and devices."""

    topology_policy: str = "none"
    topology_scope: str = "container"
    cpu_policy: str = "none"


def read(value: Value, group: str, kind: str, version: str) -> Facts | None:
    """Facts of one document; None for a ConfigMap that has nothing about GPUs in it."""
    clean = prune(value)
    meta = mapping(clean.get("metadata"))
    namespace = "" if kind in _CLUSTER_SCOPED else text(meta.get("namespace"))
    key = ObjectKey(group, kind, namespace, text(meta.get("name")))
    troubles: list[Trouble] = []
    typed = _carried(clean, troubles) if kind == "ConfigMap" else _typed(clean, key)
    if typed is None and not troubles:
        return None
    if not version:
        wanted = f"{group}/v1" if group else "v1"
        say = f"apiVersion is missing; write {wanted}, or nobody can apply this {kind}"
        troubles.append(Trouble("missing-field", ("apiVersion",), say))
    return Facts(key, text(clean.get("apiVersion")), "gpu", clean, typed, (), tuple(troubles))


def _typed(value: Value, key: ObjectKey) -> object:
    spec = mapping(value.get("spec"))
    if key.kind == "ClusterPolicy":
        layouts = mapping(mapping(spec.get("migManager")).get("config"))
        plugin = mapping(mapping(spec.get("devicePlugin")).get("config"))
        return ClusterPolicy(
            text(mapping(spec.get("mig")).get("strategy")),
            text(layouts.get("name")),
            text(layouts.get("default")),
            text(plugin.get("name")),
            text(plugin.get("default")),
        )
    if key.kind == "ResourceQuota":
        return ResourceQuota({str(k): v for k, v in mapping(spec.get("hard")).items()})
    if key.kind == "DeviceClass":
        return DeviceClass(key.name, text(spec.get("extendedResourceName")))
    return Kubelet(
        text(value.get("topologyManagerPolicy")) or "none",
        text(value.get("topologyManagerScope")) or "container",
        text(value.get("cpuManagerPolicy")) or "none",
    )


def _carried(value: Value, troubles: list[Trouble]) -> Carried | None:
    layouts: dict[str, Value] = {}
    plugins: dict[str, Value] = {}
    for key, raw in mapping(value.get("data")).items():
        if not isinstance(raw, str) or not (_LAYOUTS in raw or any(word in raw for word in _PLUGIN)):
            continue
        held = _parsed(raw, ("data", str(key)), troubles)
        if isinstance(held.get(_LAYOUTS), dict):
            layouts[str(key)] = held
        elif held.get("version") and ("sharing" in held or "flags" in held or "resources" in held):
            plugins[str(key)] = held
    return Carried(layouts, plugins) if layouts or plugins else None


def _parsed(raw: str, at: Path, troubles: list[Trouble]) -> Value:
    """The one document of a text; one that can not be read is told only when it is surely ours."""
    from policycheck.source.text import TextError
    from policycheck.source.yamldoc import load_values

    try:
        return next((mapping(value) for _, value in load_values("text", raw.encode())), {})
    except TextError as error:
        if raw.lstrip().startswith(("version:", f"{_LAYOUTS}:")):
            say = f"the configuration in it cannot be read ({error}): nothing of it is applied"
            troubles.append(Trouble("wrong-type", at, say))
        return {}
