"""Topologies against flavors, nodes and what pods ask: levels that do not nest, mixed queues."""

from __future__ import annotations

from policycheck.lint.hit import Hit, Related, Skip
from policycheck.model import capacity
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Node
from policycheck.model.origin import Path
from policycheck.systems.core.podspec import mapping
from policycheck.systems.kueue.checks.ask import Ask, asks, is_refused
from policycheck.systems.kueue.checks.common import Found, Params, documents, ground, near, state, whence
from policycheck.systems.kueue.checks.matching import flavors_of, groups_of
from policycheck.systems.kueue.checks.topology import HOSTNAME
from policycheck.systems.kueue.link import elastic_flavors
from policycheck.systems.kueue.model import ClusterQueue
from policycheck.wording import join, plural

_TOPOLOGY_NAME: Path = ("spec", "topologyName")


def _wanted(ask: Ask) -> list[str]:
    request = ask.pods.topology
    if request is None:
        return []
    names = [request.level, request.slice_level, *(level for level, _ in request.slices)]
    return [name for name in names if name]


def _note_place(cluster: Cluster, ask: Ask, level: str) -> Path:
    """The annotation that asks for the topology, or the field of a written Workload."""
    for key, value in ask.pods.annotations.items():
        if key.startswith("kueue.x-k8s.io/podset-") and "topology" in key and (value == level or not level):
            return (*ask.pods.path, "metadata", "annotations", key)
    is_written = mapping(cluster.entries[ask.id].facts.value.get("spec")).get("podSets") is not None
    return (*ask.pods.path[:-1], "topologyRequest") if is_written else ask.pods.path


def level_unknown(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A level that no topology of the queue's flavors has: the workload is never placed."""
    topologies = state(cluster).objects.topologies
    for ask in asks(cluster):
        wanted = _wanted(ask)
        for group in groups_of(ask) if wanted else ():
            flavors = [f for f in flavors_of(cluster, group) or () if not is_refused(f, ask)]
            placed = [f for f in flavors if f.topology]
            if not placed or any(f.topology not in topologies for f in placed):
                continue
            known = [topologies[f.topology].levels for f in placed]
            missing = next((w for w in wanted if not any(w in levels for levels in known)), "")
            if not missing:
                continue
            levels = sorted({level for some in known for level in some})
            right, place = near(missing, levels), _note_place(cluster, ask, missing)
            hint = f"; did you mean {right!r}?" if right else f"; there are {join(levels)}"
            values = {
                "workload": ask.workload,
                "level": missing,
                "topologies": join(sorted({f.topology for f in placed})),
                "queue": ask.queue.name,
                "hint": hint,
                "right": right if place[-2:-1] == ("annotations",) else "",
            }
            first = whence(cluster, "Topology", placed[0].topology)
            because = () if first is None else (Related(first, ("spec", "levels"), "its levels"),)
            yield Hit(ask.id, place, values, because)
            break


def asked_without(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A topology asked for in a queue of which no flavor has one."""
    for ask in asks(cluster):
        request = ask.pods.topology
        if request is None or not (request.mode or request.slice_level or request.slices):
            continue
        for group in groups_of(ask):
            flavors = [f for f in flavors_of(cluster, group) or () if not is_refused(f, ask)]
            if not flavors or any(f.topology for f in flavors):
                continue
            names = [f.name for f in flavors]
            verb = "has none" if len(names) == 1 else "have none"
            values = {
                "workload": ask.workload,
                "queue": ask.queue.name,
                "flavors": f"{'flavor' if len(names) == 1 else 'flavors'} {join(names)} {verb}",
            }
            first = whence(cluster, "ResourceFlavor", names[0])
            because = () if first is None else (Related(first, _TOPOLOGY_NAME, "no topologyName"),)
            level = (_wanted(ask) or [""])[0]
            yield Hit(ask.id, _note_place(cluster, ask, level), values, because)
            break


def mixed(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A resource group of flavors with and without topology: pods get one kind or the other."""
    flavors = state(cluster).objects.flavors
    for identity, facts in documents(cluster, "ClusterQueue"):
        queue = facts.typed
        if not isinstance(queue, ClusterQueue):
            continue
        for g, group in enumerate(queue.groups):
            known = [(n, flavors[f.name]) for n, f in enumerate(group.flavors) if f.name in flavors]
            placed = [f.name for _, f in known if f.topology]
            plain = [(n, f.name) for n, f in known if not f.topology]
            if not placed or not plain:
                continue
            n, name = plain[0]
            first = whence(cluster, "ResourceFlavor", name)
            because = () if first is None else (Related(first, _TOPOLOGY_NAME, "no topologyName"),)
            values = {"queue": queue.name, "placed": join(placed), "plain": join([f for _, f in plain])}
            yield Hit(identity, ("spec", "resourceGroups", g, "flavors", n, "name"), values, because)


def _topology_nodes(cluster: Cluster) -> dict[str, tuple[Node, ...]]:
    """The nodes that a topology places, of all flavors that name it."""
    found, base = state(cluster), ground(cluster)
    nodes: dict[str, dict[str, Node]] = {}
    for name, flavor in found.objects.flavors.items():
        if flavor.topology in found.objects.topologies:
            of_one = {n.name: n for n in base.nodes.get(name, ())}
            nodes.setdefault(flavor.topology, {}).update(of_one)
    return {name: tuple(held.values()) for name, held in nodes.items()}


def levels_do_not_nest(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A value of a level that lies in several domains of the level above."""
    if not capacity.knows_labels(cluster.inventory):
        yield Skip("the inventory has no node labels")
        return
    topologies = state(cluster).objects.topologies
    for name, nodes in _topology_nodes(cluster).items():
        levels = [level for level in topologies[name].levels if level != HOSTNAME]
        odd = capacity.unnested(nodes, levels)
        identity = whence(cluster, "Topology", name)
        if not odd or identity is None:
            continue
        level, value, parents = odd[0]
        depth = topologies[name].levels.index(level)
        carried = {n.labels[level] for n in nodes if level in n.labels}
        more = len(odd) - 1
        every = len([o for o in odd if o[0] == level]) == len(carried) > 1
        hint = ": are the two levels in the wrong order?" if every else ""
        values = {
            "topology": name,
            "level": level,
            "value": value,
            "above": topologies[name].levels[depth - 1],
            "parents": join(parents),
            "more": f"; so {'does' if more == 1 else 'do'} {plural(more, 'other value')}" if more else "",
            "hint": hint,
        }
        yield Hit(identity, ("spec", "levels", depth, "nodeLabel"), values)


def scaled_to_zero(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A topology over nodes that an autoscaler may take away, and no check that asks for them."""
    found, base = state(cluster), ground(cluster)
    elastic = elastic_flavors(found.objects)
    for name, nodes in base.nodes.items():
        flavor = found.objects.flavors.get(name)
        identity = whence(cluster, "ResourceFlavor", name)
        if flavor is None or not flavor.topology or identity is None or name in elastic or not nodes:
            continue
        if any(n.machines for n in nodes) or all(n.most == 0 for n in nodes):
            continue
        values = {"flavor": name, "pools": join([n.name for n in nodes]), "most": capacity.machines(nodes)}
        yield Hit(identity, _TOPOLOGY_NAME, values)
