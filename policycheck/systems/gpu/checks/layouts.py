"""Layouts of MIG: what mig-parted is told, what the operator says of it, and what nodes ask for by name.

Sources: mig-parted's README (configuration file), the GPU operator's page on MIG, the MIG user guide.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.facts import Facts
from policycheck.model.inventory import Node
from policycheck.model.origin import DocumentId, Path
from policycheck.record import NamedTuple
from policycheck.systems.core.podspec import items, mapping, whole
from policycheck.systems.gpu import labels, mig, resources
from policycheck.systems.gpu.checks.common import (
    LABELS,
    Fault,
    Found,
    Params,
    asking,
    at_nodes,
    documents,
    near,
    node_objects,
)
from policycheck.systems.gpu.facts import DEFAULT_LAYOUTS, LAYOUT_FILE, Carried, ClusterPolicy
from policycheck.wording import join, plural

CONFIG = "nvidia.com/mig.config"
_LAYOUTS = "mig-configs"
_SHOWN = 8


class Entry(NamedTuple):
    """One entry of one layout: which cards, and what they become. ``most`` cards have it."""

    id: DocumentId
    path: Path  # of the entry, going on inside the text
    layout: str
    value: Mapping[str, Any]

    @property
    def is_enabled(self) -> bool:
        """Whether MIG is switched on by it."""
        return self.value.get("mig-enabled") is True

    @property
    def profiles(self) -> dict[str, int]:
        """Slices of one card by profile."""
        return {str(p): whole(n) for p, n in mapping(self.value.get("mig-devices")).items()}


def policies(cluster: Cluster) -> Iterator[tuple[DocumentId, ClusterPolicy]]:
    """What the operator was told; mostly by one object."""
    for identity, facts in documents(cluster, "nvidia.com", "ClusterPolicy"):
        if isinstance(facts.typed, ClusterPolicy):
            yield identity, facts.typed


def config_maps(cluster: Cluster, name: str) -> list[tuple[DocumentId, Facts]]:
    """ConfigMaps of a name; the operator's namespace is not said, so that any will do."""
    return [(i, f) for i, f in documents(cluster, "", "ConfigMap") if f.key.name == name]


def carried(cluster: Cluster) -> Iterator[tuple[DocumentId, Facts, Carried]]:
    """Every ConfigMap that holds something about GPUs."""
    for identity, facts in documents(cluster, "", "ConfigMap"):
        if isinstance(facts.typed, Carried):
            yield identity, facts, facts.typed


def entries(cluster: Cluster) -> Iterator[Entry]:
    """Every entry of every layout in sight."""
    for identity, _, held in carried(cluster):
        for key, value in held.layouts.items():
            for name, layout in mapping(value.get(_LAYOUTS)).items():
                for n, entry in enumerate(items(layout)):
                    path = ("data", key, _LAYOUTS, str(name), n)
                    yield Entry(identity, path, str(name), mapping(entry))


def _users(cluster: Cluster, layout: str) -> list[Node]:
    return [node for node in cluster.inventory.nodes if node.labels.get(CONFIG) == layout]


def strategy_mismatch(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Strategy single or none, where workloads or quotas name slices: that resource never exists."""
    told = [(i, policy) for i, policy in policies(cluster) if policy.mig_strategy in ("single", "none")]
    if not told:
        return
    wanted: dict[str, list[tuple[DocumentId, Path, str]]] = {}
    for ask in asking(cluster):
        for resource in ask.pods.requests:
            wanted.setdefault(resource, []).append((ask.id, ask.pods.path, f"{ask.name} asks for it"))
    for queue in cluster.view.queues:
        for _, resource in queue.quotas:
            wanted.setdefault(resource, []).append(
                (queue.id, ("metadata", "name"), f"{queue.name} has quota")
            )
    slices = {r: places for r, places in wanted.items() if r.startswith(resources.MIG_PREFIX)}
    if not slices:
        return
    places = [place for some in slices.values() for place in some]
    for identity, policy in told:
        values = {
            "strategy": policy.mig_strategy,
            "resources": join(sorted(slices)),
            "askers": plural(len({place[0] for place in places}), "object asks", "objects ask"),
            "instead": "one nvidia.com/gpu for each slice"
            if policy.mig_strategy == "single"
            else "none of them",
        }
        because = tuple(Related(*place) for place in places[:_SHOWN])
        yield Hit(identity, ("spec", "mig", "strategy"), values, because)


def layout_unknown(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A node that asks for a layout which the operator's ConfigMap does not have."""
    for _, policy in policies(cluster):
        for identity, facts in config_maps(cluster, policy.layouts):
            known = _names(facts)
            if not known:
                continue
            faults = []
            for node in node_objects(cluster):
                wanted = node.labels.get(CONFIG, "")
                if wanted and wanted not in known:
                    faults.append(Fault(node, (*LABELS, CONFIG), _unknown(wanted, known, facts)))
            yield from at_nodes(cluster, faults, (identity, ("data", LAYOUT_FILE)))


def _unknown(wanted: str, known: Mapping[str, Any], facts: Facts) -> str:
    other = near(wanted, known)
    hint = f"; did you mean {other!r}?" if other else f", it has {join(known)}"
    return f"asks for the MIG layout {wanted}, which ConfigMap {facts.key.name} does not have{hint}"


def _names(facts: Facts) -> Mapping[str, Any]:
    held = facts.typed
    return mapping(mapping(held.layouts.get(LAYOUT_FILE)).get(_LAYOUTS)) if isinstance(held, Carried) else {}


def layouts_incomplete(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """The ConfigMap of layouts without its file, or without the layout that nodes get by default."""
    for identity, policy in policies(cluster):
        for other, facts in config_maps(cluster, policy.layouts):
            data = mapping(facts.value.get("data"))
            if LAYOUT_FILE not in data:
                what = f"has no key {LAYOUT_FILE}, it has {join(map(str, data)) or 'none'}"
                yield Hit(other, ("data",), {"name": facts.key.name, "what": what})
                continue
            known, wanted = _names(facts), policy.default_layout or "all-disabled"
            if known and wanted not in known:
                says = (
                    "which the operator gives"
                    if policy.default_layout
                    else "which the operator gives by itself"
                )
                what = f"does not have the layout {wanted}, {says} nodes that name none; it has {join(known)}"
                place = (identity, ("spec", "migManager", "config", "default"))
                yield Hit(
                    *place, {"name": facts.key.name, "what": what}, (Related(other, ("data",), "layouts"),)
                )


def config_not_in_sight(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A ConfigMap that the operator is told of and that is not there, while others of its kind are."""
    some = any(True for _ in carried(cluster))
    for identity, policy in policies(cluster):
        for field, name, default in (
            ("migManager", policy.layouts, DEFAULT_LAYOUTS),
            ("devicePlugin", policy.plugin_config, ""),
        ):
            if not name or name == default or config_maps(cluster, name):
                continue
            if not some:
                yield Skip("no ConfigMap of the GPU operator is in sight; pass --context with its folder")
                continue
            other = near(name, [f.key.name for _, f, _ in carried(cluster)])
            values = {"name": name, "hint": f"; did you mean {other!r}?" if other else "", "field": field}
            yield Hit(identity, ("spec", field, "config", "name"), values)


def layout_impossible(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A layout that no card can have, or not the cards of the nodes that ask for it."""
    for entry in entries(cluster):
        profiles = entry.profiles
        if not entry.is_enabled or not profiles:
            continue
        users = [] if entry.value.get("device-filter") else _users(cluster, entry.layout)
        products = sorted({told.model for node in users if (told := labels.told(node.labels)).model})
        why = _misfit(profiles, [p for p in products if mig.families(p)])
        if why:
            yield Hit(
                entry.id,
                (*entry.path, "mig-devices"),
                {"layout": entry.layout, "mix": _mix(profiles), "why": why},
                discriminator=f"{entry.layout}[{entry.path[-1]}]",
            )


def _mix(profiles: Mapping[str, int]) -> str:
    return " + ".join(f"{n} x {p}" for p, n in profiles.items())


def _misfit(profiles: Mapping[str, int], products: list[str]) -> str:
    """Why such a card can not be; "" when some card of each product, or any card at all, can."""
    known = {p for family in mig.FAMILIES for p in family.profiles}
    for profile in profiles:
        if profile not in known:
            other = profile.replace(".me", "+me").replace(".gfx", "+gfx")
            hint = f"; write {other} here" if other in known else ""
            meant = near(profile, known) if not hint else ""
            return f"no GPU has the profile {profile}{hint}" + (f"; did you mean {meant!r}?" if meant else "")
    for product in products or [""]:
        among = mig.families(product) if product else mig.FAMILIES
        fitting = [mig.misfit(family, profiles) for family in among]
        if "" in fitting:
            continue
        nearest = mig.families_with(profiles, product)
        if nearest:
            # A name may stand for a large slice of a small card too: the card with room for most is meant.
            roomy = max(nearest, key=lambda f: min(f.profiles[p].most for p in profiles))
            return f"{roomy.name}: {mig.misfit(roomy, profiles)}"
        return fitting[0] if product else "no GPU has all of these profiles"
    return ""


def layout_partial(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A layout that names some cards by number and says nothing of the others."""
    by_layout: dict[tuple[DocumentId, str], list[Entry]] = {}
    for entry in entries(cluster):
        by_layout.setdefault((entry.id, entry.layout), []).append(entry)
    for (identity, layout), parts in by_layout.items():
        named = [part.value.get("devices") for part in parts]
        if not all(isinstance(devices, list) for devices in named):
            continue
        numbers = {whole(n, -1) for devices in named for n in items(devices)}
        counts = [labels.told(node.labels).count_ for node in _users(cluster, layout)]
        most = max((n for n in counts if n is not None), default=max(numbers, default=-1) + 1)
        missing = sorted(set(range(most)) - numbers)
        if missing:
            values = {
                "layout": layout,
                "named": join(map(str, sorted(numbers))),
                "missing": join(map(str, missing), 7),
            }
            yield Hit(identity, (*parts[0].path, "devices"), values, discriminator=layout)


def layout_empty(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """MIG on and no slice made: the card is neither a GPU nor slices."""
    defaults = {policy.default_layout for _, policy in policies(cluster)}
    for entry in entries(cluster):
        if not entry.is_enabled or any(n > 0 for n in entry.profiles.values()):
            continue
        users = _users(cluster, entry.layout)
        # all-enabled is the first half of a change by hand, and is among NVIDIA's own layouts.
        if entry.layout == "all-enabled" and not users and entry.layout not in defaults:
            continue
        who = f"; {plural(len(users), 'node asks', 'nodes ask')} for it" if users else ""
        values = {"layout": entry.layout, "who": who}
        yield Hit(entry.id, entry.path, values, discriminator=f"{entry.layout}[{entry.path[-1]}]")


def layout_mixed_under_single(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Strategy single, and a layout in use that gives cards different profiles, or leaves some whole."""
    single = [(i, policy) for i, policy in policies(cluster) if policy.mig_strategy == "single"]
    for identity, policy in single:
        parts: dict[str, list[Entry]] = {}
        for entry in entries(cluster):
            parts.setdefault(entry.layout, []).append(entry)
        for layout, found in parts.items():
            if not _users(cluster, layout) and layout != policy.default_layout:
                continue
            kinds = {p for entry in found if entry.is_enabled for p, n in entry.profiles.items() if n > 0}
            whole_too = any(not entry.is_enabled for entry in found) and bool(kinds)
            if len(kinds) < 2 and not whole_too:
                continue
            what = join(sorted(kinds)) + (" beside whole cards" if whole_too else "")
            because = (Related(identity, ("spec", "mig", "strategy"), "strategy single"),)
            values = {"layout": layout, "what": what}
            yield Hit(found[0].id, found[0].path[:-1], values, because, discriminator=layout)
