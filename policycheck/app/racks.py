"""Who is on which node once everything in sight has been admitted: what a picture of racks shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from policycheck.app.gather import Sources, accounts, gather
from policycheck.app.placing import places
from policycheck.model import amount, capacity, levels
from policycheck.report.inventory import main_resource
from policycheck.report.page.racks.scene import PLACED, UNPLACED, WAITING, Gang, Held, Scene

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered
    from policycheck.lint.settings import Settings
    from policycheck.model.cluster import Cluster
    from policycheck.model.inventory import Inventory, Node
    from policycheck.simulate.placer import SetPlaced
    from policycheck.simulate.scheduler import Grant, SetGrant, Waiting
    from policycheck.simulate.why import Answer
    from policycheck.source.document import FileReport
    from policycheck.systems.kueue.model import KueueWorkload
    from policycheck.systems.kueue.opening import Opening
    from policycheck.systems.kueue.state import KueueState

_CYCLES = 10_000  # at most, of admitting what is in sight
_EXPLAINED = 12  # waiting workloads for which the whole reason is worked out


def racks(
    sources: Sources, settings: Settings
) -> tuple[tuple[tuple[str, Scene], ...], tuple[FileReport, ...]]:
    """A scene for each scope that has nodes, by the scope's name, and the account of the files."""
    scopes = gather(sources, settings)
    found = []
    for scope in scopes:
        scene = _scene(scope, (*scope.targets, *sources.targets))
        if scene is not None:
            found.append((scope.name, scene))
    return tuple(found), accounts(scopes)


def grounds(sources: Sources, settings: Settings) -> Mapping[str, tuple[tuple[Node, ...], tuple[str, ...]]]:
    """By scope, the nodes and the label keys of the topology, widest first: what pictures of a simulation
    need beside its timeline.
    """
    from policycheck.app.linked import linked

    found = {}
    for scope in gather(sources, settings):
        cluster = linked(scope)
        found[scope.name] = (cluster.inventory.nodes, _levels(cluster))
    return found


def bare(inventory: Inventory) -> Scene:
    """The nodes alone, with nobody on them but pods outside queues."""
    return Scene("Racks", inventory.nodes, (), (), _suggested(inventory.nodes), _resource(inventory))


def _scene(scope: Gathered, given: tuple[str, ...]) -> Scene | None:
    from policycheck.app.linked import linked
    from policycheck.app.target import targets_of
    from policycheck.systems.kueue.checks.common import state
    from policycheck.systems.kueue.opening import opening

    cluster = linked(scope)
    inventory = cluster.inventory
    if not inventory.known:
        return None
    objects = state(cluster).objects
    if not objects.cluster_queues:
        return Scene(
            _title(cluster, "racks"), inventory.nodes, (), (), _levels(cluster), _resource(inventory)
        )
    world = opening(cluster, targets_of(scope, given).get("kueue"))
    return _admitted(cluster, state(cluster), world)


def _title(cluster: Cluster, what: str) -> str:
    name = cluster.scope.rstrip("/").rpartition("/")[2]
    return f"{name}: {what}" if name not in ("", ".", "..") else what[:1].upper() + what[1:]


def _levels(cluster: Cluster) -> tuple[str, ...]:
    """The levels of the topology that most flavors are in; without one, those that node labels suggest.

    Hostnames are left out: nodes are drawn one by one anyway.
    """
    counted: dict[tuple[str, ...], int] = {}
    for flavor in cluster.view.flavors:
        keys = tuple(key for key in flavor.topology if key != capacity.HOSTNAME)
        if keys:
            counted[keys] = counted.get(keys, 0) + 1
    if counted:
        return max(sorted(counted), key=lambda keys: counted[keys])
    return _suggested(cluster.inventory.nodes)


def _suggested(nodes: Sequence[Node]) -> tuple[str, ...]:
    """Of labels that only suggest levels, those that nearly every node tells apart are no racks."""
    found = levels.candidates(nodes, main_resource(nodes))
    return tuple(
        level.key for level in found if level.key != capacity.HOSTNAME and level.values * 2 <= level.carried
    )


def _resource(inventory: Inventory) -> str:
    """What is drawn of nodes when none has accelerators."""
    return "" if any(node.accelerators for node in inventory.nodes) else "cpu"


def _admitted(cluster: Cluster, state: KueueState, world: Opening) -> Scene:
    from policycheck.systems.kueue.scheduler.run import until_stable

    session = world.session()
    run = until_stable(session, world.now, _CYCLES, stop_at_loop=True)
    nodes = cluster.inventory.nodes
    resource = _resource(cluster.inventory)
    drawn = frozenset(name for node in nodes for name in _drawn(node, resource))
    workloads = {w.id: w for w in state.objects.workloads.values()}
    names = {node.labels.get(capacity.HOSTNAME, node.name): node.name for node in nodes}
    where = places(session, run, nodes, workloads)
    gangs: list[Gang] = []
    held: list[Held] = []
    for name, grant in session.holding().items():
        gang, own = _holder(name, workloads.get(name), grant, where.get(name, ()), drawn)
        if gang is not None:
            gangs.append(gang)
            held.extend(one._replace(node=names.get(one.node, one.node)) for one in own)
    gangs.extend(_waiting(session.waiting(), workloads, world, drawn))
    notes = [] if run.converged else ["admission did not come to rest: this is one state of a loop"]
    if any(grant.placement is None for given in session.holding().values() for grant in given.sets):
        notes.append("where no topology chose nodes they are those that the default scheduler chooses")
    return Scene(
        _title(cluster, "racks once all jobs in sight have asked for quota"),
        nodes,
        tuple(gangs),
        tuple(held),
        _levels(cluster),
        resource,
        tuple(notes),
        tuple(sorted(state.objects.cluster_queues)),
    )


def _drawn(node: Node, resource: str) -> Iterator[str]:
    """The resources that a node is drawn by."""
    if node.accelerators is None:
        yield resource
        return
    yield node.accelerators.resource
    yield from node.accelerators.slices
    yield from node.accelerators.shares


def _label(name: str, workload: KueueWorkload | None) -> str:
    """What people call a job: the object that it was made from, with its ordinal when it has one."""
    own = name.partition("/")[2]
    if workload is None or workload.source is None:
        return own
    kind, source = workload.source.kind.lower(), workload.source.name
    return own.removeprefix(f"{kind}-") if own.startswith(f"{kind}-{source}") else own


def _per_pod(workload: KueueWorkload | None, given: SetGrant, drawn: frozenset[str]) -> Mapping[str, int]:
    """What one pod has of the resources that are drawn."""
    for spec in workload.pod_sets if workload is not None else ():
        if spec.name == given.name:
            asked = dict(spec.requests)
            for claim in spec.claims:
                asked[claim.device_class] = asked.get(claim.device_class, 0) + claim.devices
            return {r: n for r, n in asked.items() if r in drawn and n > 0}
    return {r: n // given.pods for r, n in given.usage.items() if r in drawn and n > 0 and given.pods}


def _holder(
    name: str,
    workload: KueueWorkload | None,
    grant: Grant,
    where: Sequence[SetPlaced],
    drawn: frozenset[str],
) -> tuple[Gang | None, list[Held]]:
    """A workload with quota as a gang, and what it holds of each node; None when it asks for nothing drawn."""
    each = {given.name: _per_pod(workload, given, drawn) for given in grant.sets}
    units = sum(sum(each[given.name].values()) * given.pods for given in grant.sets)
    pods = sum(given.pods for given in grant.sets if each[given.name])
    if not units:
        return None, []
    held = [
        Held(node, resource, n * count, name)
        for one in where
        for node, count in one.where
        for resource, n in each.get(one.name, {}).items()
    ]
    lacking = [one for one in where if one.waiting and each.get(one.name)]
    why = "; ".join(f"{one.waiting} pods of {one.name} have no node: {one.why}" for one in lacking)
    return Gang(
        name, _label(name, workload), grant.queue, units, pods, PLACED if held else UNPLACED, why
    ), held


def _waiting(
    waiting: Sequence[Waiting],
    workloads: Mapping[str, KueueWorkload],
    world: Opening,
    drawn: frozenset[str],
) -> list[Gang]:
    """Workloads without quota; for the largest the whole reason is worked out."""
    found = []
    for one in waiting:
        workload = workloads.get(one.workload)
        units = pods = 0
        for spec in workload.pod_sets if workload is not None else ():
            each = sum(n for r, n in spec.requests.items() if r in drawn)
            each += sum(claim.devices for claim in spec.claims if claim.device_class in drawn)
            units, pods = units + each * spec.pods, pods + (spec.pods if each else 0)
        if units:
            label = _label(one.workload, workload)
            why = one.reason or one.implied or one.state
            found.append(Gang(one.workload, label, one.queue, units, pods, WAITING, why))
    found.sort(key=lambda gang: (-gang.units, gang.id))
    return [
        gang._replace(why=_reason(world, gang)) if n < _EXPLAINED else gang for n, gang in enumerate(found)
    ]


def _reason(world: Opening, gang: Gang) -> str:
    """The reason name, and what is short or refused in words."""
    from policycheck.systems.kueue.why.ask import ask

    answer = ask(world, gang.id, search=False)
    return f"{answer.reason or gang.why}: {_detail(answer)}"


def _detail(answer: Answer) -> str:
    for looked in answer.looked:
        for short in looked.shorts:
            asked, limit = (amount.show(short.resource, n) for n in (short.asked, short.limit))
            bound = "at most" if short.final else "free now"
            return f"{asked} {short.resource} of {looked.flavor} asked, {bound} {limit}"
    return answer.notes[0] if answer.notes else answer.headline
