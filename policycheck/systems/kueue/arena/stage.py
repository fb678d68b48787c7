"""A scope of Kueue in which promises are attacked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from policycheck.certify.arena import (
    RESUME,
    STOP,
    SUBMIT,
    Ask,
    Enforcement,
    Happened,
    Holding,
    Kin,
    Ladder,
    Load,
    Measured,
    Move,
    Posed,
    Scenario,
    Service,
    Story,
    Timing,
)
from policycheck.certify.promise import Shape, Slo
from policycheck.model.cluster import Cluster
from policycheck.model.inventory import Inventory
from policycheck.model.workload import PodSet
from policycheck.simulate.scheduler import Grant
from policycheck.systems.core.link import CoreState
from policycheck.systems.kueue.arena import ground
from policycheck.systems.kueue.arena.case import Casing
from policycheck.systems.kueue.arena.entrance import Entrance, entrances
from policycheck.systems.kueue.arena.floor import Floor, Later, floor
from policycheck.systems.kueue.arena.kin import kin_of
from policycheck.systems.kueue.arena.ladder import rungs
from policycheck.systems.kueue.arena.provision import brought_of, is_brought, said
from policycheck.systems.kueue.arena.reach import accelerators, spanned, tolerated
from policycheck.systems.kueue.arena.serving import services, uncovered
from policycheck.systems.kueue.arena.theatre import START, Theatre, name_of, without
from policycheck.systems.kueue.arena.worth import enforcement, patience, timing
from policycheck.systems.kueue.link import MULTIKUEUE
from policycheck.systems.kueue.opening import Opening, filled
from policycheck.systems.kueue.rights import KueueRights
from policycheck.systems.kueue.scheduler.run import Run
from policycheck.systems.kueue.state import KueueState, quotas


class KueueArena:
    """Implements certify.arena.Arena. ``check_delays`` bound admission checks, in ms by name; ``as_written``: queues
    that let nobody in are not opened for attacks.
    """

    def __init__(
        self,
        cluster: Cluster,
        opening: Opening,
        check_delays: Mapping[str, int] | None = None,
        *,
        as_written: bool = False,
    ) -> None:
        state = cluster.systems["kueue"]
        assert isinstance(state, KueueState)  # noqa: S101 - an opening was made of it
        core = cluster.systems.get("core")
        self.scope = cluster.scope
        self.opening = opening
        self.rights = KueueRights(opening.objects, opening.target)
        self.inventory: Inventory = cluster.inventory
        self.classes = {name: c.value for name, c in sorted(opening.objects.priority_classes.items())}
        self._core = core if isinstance(core, CoreState) else CoreState()
        self.pod_classes = {name: c.value for name, c in sorted(self._core.priority_classes.items())}
        self.pod_default = next(
            (n for n, c in sorted(self._core.priority_classes.items()) if c.is_default), ""
        )
        self._state, self._delays = state, dict(check_delays or {})
        self._ambiguous = cluster.ambiguous
        objects, self._doors = entrances(opening.objects, opening.namespaces, as_written=as_written)
        # That admission may stand still is told by ``timing``; in stories all pods are ready at once.
        waits = objects.configuration.wait_for_pods_ready._replace(block_admission=False)
        objects = objects._replace(configuration=objects.configuration._replace(wait_for_pods_ready=waits))
        self._opening = opening._replace(objects=objects, now=START)
        self.accelerators = accelerators(opening)
        self._floors: dict[tuple[str, ...], Floor | None] = {}
        self._fits: dict[tuple[str, str], str] = {}
        self._brought = brought_of(opening.objects, self.hosts)
        self._theatre = Theatre(self._opening, self._doors)
        self._casing = Casing(cluster, self._opening, self._doors)
        self._cluster = cluster
        self.measure: Callable[[Slo, int], Measured | str] | None = None  # simulates, where that is at hand
        self.configurations = tuple(
            key for key, _ in cluster.index.of_kind("config.kueue.x-k8s.io", "Configuration")
        )
        self.plays = 0
        self.notes = tuple(self._notes())

    def _notes(self) -> Iterable[str]:
        made = sorted(name for name, door in self._doors.items() if door.made)
        if made:
            yield f"no LocalQueue in sight leads to {', '.join(made)}; they are attacked as if one did"
        if self._opening.nodes is None:
            yield (
                "nodes are not all known (no inventory, or pools that grow on demand): "
                "whether pods find a node is not decided"
            )

        if self._opening.nodes is not None and self.opening.untold:
            yield f"nothing says how much {', '.join(sorted(self.opening.untold))} nodes have: it is taken to be enough"

    def as_written(self) -> KueueArena:
        """The same scope, in which queues that let nobody in stay as they are."""
        made = KueueArena(self._cluster, self.opening, self._delays, as_written=True)
        made.scope, made.notes = self.scope, self.notes
        return made

    # -- what there is --------------------------------------------------------------------------

    def queues(self) -> list[str]:
        """All ClusterQueues."""
        return sorted(self.opening.objects.cluster_queues)

    def peers(self, queue: str) -> list[str]:
        """Queues of the same tree."""
        tree = self._state.tree(queue)
        return [name for name in tree.queues if name != queue] if tree is not None else []

    def inapplicable(self, queue: str) -> str:
        """Why nothing can be certified here."""
        config = self.opening.objects.cluster_queues[queue]
        for rule in config.checks:
            check = self.opening.objects.checks.get(rule.name)
            if check is not None and check.controller == MULTIKUEUE:
                return f"admission check {rule.name} sends its workloads to other clusters (MultiKueue)"
        return ""

    def unclear(self, queue: str) -> str:
        """Why nothing can be known here: what several documents define differently, or a circle of cohorts."""
        tree = self._state.tree(queue)
        if tree is None:
            return ""
        if tree.ambiguous:
            return f"{', '.join(map(str, tree.ambiguous))} defined differently in several documents"
        return f"cohorts in a circle: {', '.join(tree.cycle)}" if tree.cycle else ""

    def shapes(self, queue: str) -> list[Shape]:
        """Shapes of the workloads in sight, each once."""
        found: dict[object, Shape] = {}
        objects = self.opening.objects
        for (namespace, name), one in sorted(objects.workloads.items()):
            local = objects.local_queues.get((namespace, one.queue))
            if local is None or local.cluster_queue != queue or one.finished:
                continue
            made = Shape(
                f"{namespace}/{name}",
                one.pod_sets,
                one.priority_class,
                one.priority,
                (one.max_execution_seconds or 0) * 1000,
                str(one.source) if one.source is not None else f"Workload {name}",
            )
            found.setdefault(repr((made.pod_sets, made.priority, made.limit)), made)
        return list(found.values())

    def enforcement(self, queue: str, flavor: str, resource: str, at: int) -> Enforcement:
        """What the queue can take back at priority ``at``, if others borrow as high as classes go."""
        rivals = [*self.classes.values(), 0] if self.peers(queue) else []
        return enforcement(self.opening.objects, self.rights, queue, (flavor, resource), at, rivals)

    def timing(self, queue: str) -> Timing:
        """What it waits for at worst."""
        others = [shape for name in (queue, *self.peers(queue)) for shape in self.shapes(name)]
        found = timing(self.opening, self.opening.objects.cluster_queues[queue], others, self._delays)
        return found._replace(sources=(*found.sources, *said(self._brought, queue)))

    def ladder(self) -> list[Ladder]:
        """Pod priority among the classes in use."""
        return rungs(self._core)

    def hosts(self, flavor: str) -> frozenset[str]:
        """Nodes with the flavor's labels."""
        found = self.opening.objects.flavors.get(flavor)
        if found is None:
            return frozenset()
        wanted = found.node_labels.items()
        return frozenset(n.name for n in self.inventory.nodes if all(n.labels.get(k) == v for k, v in wanted))

    def nominal(self, queue: str) -> Mapping[tuple[str, str], int]:
        """The queue's own quota by (flavor, resource)."""
        config = self.opening.objects.cluster_queues[queue]
        return {pair: quota.nominal for pair, quota in quotas(config.groups).items()}

    def kin(self, queue: str) -> Kin:
        """Policies, place in the tree and pattern of limits; and the quota."""
        return kin_of(self.opening.objects, self.opening.objects.cluster_queues[queue])

    def patience(self) -> tuple[int | None, str]:
        """The timeout of waitForPodsReady."""
        return patience(self.opening)

    def places(self, queue: str) -> bool:
        """Whether every flavor of the queue has a topology, and nodes to go with it."""
        config = self.opening.objects.cluster_queues[queue]
        names = [f.name for group in config.groups for f in group.flavors]
        known = self.opening.objects.flavors
        return bool(names) and all(name in known and known[name].topology for name in names)

    def spanned(self, grant: Grant, level: str = "") -> int:
        """Domains of ``level``; of "" those of the level above the hostname, or of the lowest where that is none."""
        return spanned(grant, self.inventory.nodes, self.opening.objects, level)

    def tolerated(self, shape: Shape) -> Mapping[str, int]:
        """Accelerators of nodes that some flavor leads to and the shape tolerates."""
        return tolerated(shape, self.inventory.nodes, self.opening.objects, self.accelerators)

    def holdings(self) -> list[Holding]:
        """Queues and cohorts with quota of accelerators."""
        return ground.holdings(self._state)

    def opens(self, pods: PodSet, flavor: str) -> bool:
        """Whether the flavor is in sight, and lets such pods onto a usable node."""
        given = self.opening.objects.flavors.get(flavor)
        if flavor and given is None:
            return False
        return any(ground.lets(node, pods, given) for node in self.inventory.nodes)

    def posed(self, loads: Sequence[Load], lost: tuple[str, ...] = (), *, grown: bool = False) -> Posed:
        """The loads against the nodes less those lost."""
        if not self.inventory.known:
            return Posed(why="no inventory is in sight")
        every = map(filled, self.inventory.nodes)
        nodes = ground.grown(every) if grown else self._opening.nodes
        if nodes is None:  # no end of elastic pools was chosen: the smaller one counts
            nodes = tuple(n._replace(most=n.machines) for n in every if n.machines)
        return ground.posed(loads, without(nodes, lost) if lost else nodes, self.opening.objects)

    def provisioning(self) -> tuple[str, ...]:
        """Admission checks in use that provision."""
        return ground.provisioning(self.opening.objects)

    def services(self) -> list[Service]:
        """Deployments, StatefulSets, LeaderWorkerSets, RayServices and InferenceServices that ask for accelerators."""
        return services(self._cluster, self.opening.objects)

    def uncovered(self) -> list[str]:
        """Kinds of inference platforms whose pods are not known."""
        return uncovered(self._cluster, self.opening.objects)

    def measured(self, slo: Slo, seed: int) -> Measured | str:
        """What ``measure`` says, where one was given."""
        if self.measure is None:
            return "nothing that simulates is at hand"
        return self.measure(slo, seed)

    # -- playing --------------------------------------------------------------------------------

    def play(self, scenario: Scenario) -> Story:
        """Cycle after cycle until nothing changes, a state repeats, or the bound is reached."""
        self.plays += 1
        session, run, stopped = self._theatre.played(scenario)
        holding = {name_of(name): grant for name, grant in session.holding().items()}
        waiting = {name_of(w.workload): w.reason or w.implied or "" for w in session.waiting()}
        happened = tuple(
            sorted([*stopped, *self._happened(run)], key=lambda h: (h.cycle, h.what != "evicted"))
        )
        return Story(
            happened,
            holding,
            waiting,
            Later(lambda: self._unplaced(scenario, holding, happened)),
            run.loop.period if run.loop is not None and not run.converged else 0,
            run.ran,
            self._coming(holding),
        )

    def _coming(self, holding: Mapping[str, Grant]) -> frozenset[str]:
        if not self._brought or self._opening.nodes is None:
            return frozenset()
        return frozenset(
            name
            for name, grant in holding.items()
            if any(is_brought(self._brought, grant.queue, one) for one in grant.sets)
        )

    def _happened(self, run: Run) -> Iterable[Happened]:
        for log in run.cycles:
            for decision in log.preempting:
                for victim in decision.victims:
                    yield Happened(
                        log.number,
                        "evicted",
                        name_of(victim.workload),
                        victim.queue,
                        victim.reason,
                        name_of(decision.workload),
                    )
            for decision in log.reserved:
                yield Happened(
                    log.number,
                    "reserved",
                    name_of(decision.workload),
                    decision.queue,
                    grant=decision.grant,
                )

    def _unplaced(
        self, scenario: Scenario, holding: Mapping[str, Grant], happened: Sequence[Happened]
    ) -> Mapping[str, str]:
        """Workloads with quota whose pods find no node, in the order in which they got it."""
        key = tuple(sorted(set(scenario.lost)))
        if key not in self._floors:
            nodes = self._opening.nodes
            known = None if nodes is None else without(nodes, key)
            self._floors[key] = floor(known, self._opening.objects, self._brought)
        ground = self._floors[key]
        if ground is None:
            return {}
        order = {h.name: n for n, h in enumerate(happened) if h.what == "reserved"}
        asks = {ask.name: ask for ask in scenario.asks}
        chosen = sorted((n for n in holding if n in asks), key=lambda n: (order.get(n, 0), n))
        return ground.unplaced((asks[name], holding[name]) for name in chosen)

    def case(self, scenario: Scenario, name: str) -> Mapping[str, Any]:
        """The scenario as ``simulate --case`` reads it."""
        queues = {ask.queue for ask in scenario.asks} | {
            n for m in scenario.moves if m.what in (STOP, RESUME) for n in m.names
        }
        related = sorted({*queues, *(peer for queue in queues for peer in self.peers(queue))})
        return self._casing.write(scenario, name, related)

    def id_of(self, ask: Ask) -> str:
        """Namespace and name of the workload in a case."""
        return f"{self._doors[ask.queue].namespace}/{ask.name}"

    def fits(self, queue: str, shape: Shape) -> str:
        """Why the shape is not admitted even alone, or ""."""
        if self._doors[queue].shut:
            return self._doors[queue].shut
        key = queue, repr((shape.pod_sets, shape.priority, shape.priority_class, shape.limit))
        if key not in self._fits:
            self._fits[key] = self._alone(Ask("alone", queue, shape, shape.priority, shape.priority_class))
        return self._fits[key]

    def _alone(self, ask: Ask) -> str:
        story = self.play(Scenario((Move(1, SUBMIT, (ask,)),), cycles=5))
        if ask.name in story.holding:
            return story.unplaced.get(ask.name, "")
        return story.waiting.get(ask.name, "") or "it reaches no queue"


__all__ = ["Entrance", "KueueArena"]
