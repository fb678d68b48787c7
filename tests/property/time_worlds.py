"""Small random clusters over time: queues with one flavor, jobs that come, and what the run is asked."""

from typing import Any, NamedTuple

from hypothesis import strategies as st

from policycheck.model.inventory import Accelerators, Inventory, Node, Range
from policycheck.model.placement import Selector
from policycheck.model.workload import PodSet
from policycheck.simulate.events import Delays
from policycheck.simulate.job import Arrivals, Job, NodeChange
from policycheck.simulate.run import run
from policycheck.systems.kueue.drive.world import world
from policycheck.systems.kueue.model import (
    BorrowWithinCohort,
    ClusterQueue,
    Configuration,
    FairSharing,
    FlavorQuotas,
    KueueObjects,
    LocalQueue,
    Preemption,
    Quota,
    ResourceFlavor,
    ResourceGroup,
    WaitForPodsReady,
)
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.target import Target

GPU = "nvidia.com/gpu"
POLICY = st.sampled_from(["Never", "LowerPriority", "Any"])
WITHIN = st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"])


class Scene(NamedTuple):
    """All that a run takes."""

    queues: tuple[ClusterQueue, ...]
    jobs: tuple[Job, ...]
    configuration: Configuration
    nodes: tuple[Node, ...] = ()
    changes: tuple[NodeChange, ...] = ()
    delays: Delays = Delays()
    service: float = 0.0

    def play(self, **options: Any) -> Any:
        """The Timeline."""
        objects = KueueObjects(
            cluster_queues={q.name: q for q in self.queues},
            local_queues={("ns", q.name): LocalQueue("ns", q.name, q.name) for q in self.queues},
            flavors={"f": ResourceFlavor("f")},
            configuration=self.configuration,
        )
        start = Opening(objects, {"ns": {}}, (), Target(), 10**9)
        inventory = Inventory(self.nodes, known=bool(self.nodes))
        options = {"seed": 1, "service_time": self.service, "delays": self.delays, **options}
        return run(world(start, inventory, self.jobs), Arrivals(self.jobs, self.changes), **options)


@st.composite
def queues(draw: Any, *, borrowing: bool, policies: bool) -> tuple[ClusterQueue, ...]:
    """One to four queues, some of them in a cohort."""
    found = []
    for number in range(draw(st.integers(1, 4))):
        cohort = draw(st.sampled_from(["", "co", "co", "other"]))
        limit = draw(st.sampled_from([None, 0, 3])) if borrowing else 0
        quota = Quota(draw(st.integers(1, 6)), limit if cohort else None)
        reclaim = draw(POLICY) if policies else "Never"
        borrow = draw(st.sampled_from(["Never", "LowerPriority"])) if reclaim != "Never" else "Never"
        preemption = Preemption(draw(WITHIN) if policies else "Never", reclaim, BorrowWithinCohort(borrow))
        strategy = draw(st.sampled_from(["BestEffortFIFO", "StrictFIFO"]))
        groups = (ResourceGroup((GPU,), (FlavorQuotas("f", {GPU: quota}),)),)
        found.append(ClusterQueue(f"q{number}", cohort, groups, Selector(), strategy, preemption))
    return tuple(found)


@st.composite
def jobs(draw: Any, names: list[str], *, most: int = 12) -> tuple[Job, ...]:
    """Jobs of a few seconds that come within a few seconds, for the queues of these names."""
    found = []
    for number in range(draw(st.integers(3, most))):
        duration = draw(st.integers(1, 5_000))
        pods = PodSet("main", draw(st.sampled_from([1, 1, 2])), {GPU: draw(st.integers(1, 3))})
        found.append(
            Job(
                f"ns/j{number:02d}",
                draw(st.sampled_from(names)),
                draw(st.integers(0, 2_500)),
                duration,
                (pods,),
                draw(st.integers(-1, 2)),
                checkpoint=draw(st.sampled_from([0, 1, 700])),
                startup=draw(st.sampled_from([0, 0, 30])),
                limit=draw(st.sampled_from([0, 0, 2_000])),
            )
        )
    return tuple(sorted(found, key=lambda j: (j.submit, j.id)))


@st.composite
def scenes(
    draw: Any,
    *,
    borrowing: bool = True,
    policies: bool = True,
    nodes: bool | None = None,
    blocking: bool = False,
) -> Scene:
    """A scenario; ``blocking``: perhaps one in which nothing is admitted while pods of others do not run."""
    held = draw(queues(borrowing=borrowing, policies=policies))
    coming = draw(jobs([q.name for q in held]))
    waits = WaitForPodsReady(
        enabled=draw(st.booleans()),
        timeout=1,
        recovery_timeout=1,
        block_admission=blocking and draw(st.booleans()),
        backoff_base=1,
        backoff_limit=1,
    )
    fair = FairSharing() if draw(st.booleans()) else None
    configuration = Configuration(wait_for_pods_ready=waits, fair_sharing=fair, found=True)
    machines: tuple[Node, ...] = ()
    changes: tuple[NodeChange, ...] = ()
    if draw(st.booleans()) if nodes is None else nodes:
        machines = tuple(machine(f"n{n}", 4) for n in range(draw(st.integers(1, 3))))
        failed = [draw(st.integers(0, 6_000)) for _ in range(draw(st.integers(0, 2)))]
        changes = tuple(NodeChange(at, "n0", n % 2 == 1) for n, at in enumerate(sorted(failed)))
    delays = Delays(grace=draw(st.sampled_from([0, 50])), unreachable=500)
    return Scene(
        held, coming, configuration, machines, changes, delays, draw(st.sampled_from([0.0, 0.4, 20.0]))
    )


def machine(name: str, gpus: int) -> Node:
    """A node of so many GPUs."""
    cards = Accelerators("H100", Range(gpus, gpus), Range(gpus, gpus), resource=GPU)
    amounts = {GPU: gpus, "cpu": 64_000, "memory": 2**38, "pods": 110}
    return Node(name, {"kubernetes.io/hostname": name}, allocatable=amounts, accelerators=cards)
