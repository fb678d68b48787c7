"""Small clusters for the event engine: queues and nodes in a line each, jobs in a line each."""

from policycheck.model.inventory import Accelerators, Inventory, Node, Range
from policycheck.model.placement import Selector
from policycheck.model.workload import PodSet, TopologyRequest
from policycheck.simulate.events import Delays
from policycheck.simulate.job import Arrivals, Job
from policycheck.simulate.run import run
from policycheck.systems.kueue.drive.world import world
from policycheck.systems.kueue.model import (
    AdmissionCheck,
    CheckRule,
    ClusterQueue,
    Cohort,
    Configuration,
    FlavorQuotas,
    KueueObjects,
    LocalQueue,
    Preemption,
    Quota,
    ResourceFlavor,
    ResourceGroup,
    Topology,
    WaitForPodsReady,
)
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.target import Target

GPU = "nvidia.com/gpu"
QUIET = Configuration(wait_for_pods_ready=WaitForPodsReady(enabled=False), found=True)


def queue(
    name, nominal, cohort="", *, within="Never", reclaim="Never", checks=(), strict=False, flavors=None
):
    """A ClusterQueue with GPUs in flavor f, or in several."""
    given = flavors or {"f": nominal}
    quotas = []
    for flavor, amount in given.items():
        limits = amount if isinstance(amount, tuple) else (amount,)
        quotas.append(FlavorQuotas(flavor, {GPU: Quota(*limits)}))
    return ClusterQueue(
        name,
        cohort,
        (ResourceGroup((GPU,), tuple(quotas)),),
        Selector(),
        "StrictFIFO" if strict else "BestEffortFIFO",
        Preemption(within, reclaim),
        checks=tuple(CheckRule(c) for c in checks),
    )


def job(name, queue, submit=0, duration=10_000, gpus=1, pods=1, *, level="", **more):
    """A job of ``pods`` pods with ``gpus`` each."""
    topology = TopologyRequest("required", level) if level else None
    sets = (PodSet("main", pods, {GPU: gpus}, topology=topology),)
    return Job(f"ns/{name}", queue, submit, duration, sets, **more)


def node(name, gpus=8, **labels):
    """A machine."""
    named = {"kubernetes.io/hostname": name, **{k.replace("_", "/"): v for k, v in labels.items()}}
    cards = Accelerators("H100", Range(gpus, gpus), Range(gpus, gpus), resource=GPU)
    amounts = {GPU: gpus, "cpu": 64_000, "memory": 2**38, "pods": 110}
    return Node(name, named, allocatable=amounts, accelerators=cards)


def opening(queues, *, configuration=QUIET, nodes=None, topology=(), cohorts=(), flavor=None, checks=()):
    """Everything at the beginning; each queue has a LocalQueue of its name in namespace ns."""
    names = {f.name for q in queues for g in q.groups for f in g.flavors}
    flavors = {n: flavor or ResourceFlavor(n, topology="t" if topology else "") for n in names}
    objects = KueueObjects(
        cluster_queues={q.name: q for q in queues},
        cohorts={name: Cohort(name) for name in cohorts},
        local_queues={("ns", q.name): LocalQueue("ns", q.name, q.name) for q in queues},
        flavors=flavors,
        topologies={"t": Topology("t", topology)} if topology else {},
        checks={name: AdmissionCheck(name, controller) for name, controller in checks},
        configuration=configuration,
    )
    fixed = None if nodes is None or any(n.most != n.machines for n in nodes) else tuple(nodes)
    return Opening(objects, {"ns": {"kubernetes.io/metadata.name": "ns"}}, (), Target(), 10**9, fixed)


def play(queues, jobs, *, nodes=None, changes=(), placing=True, opened=None, **options):
    """The Timeline of ``jobs`` on ``queues``."""
    more = {k: options.pop(k) for k in ("configuration", "topology", "flavor", "checks") if k in options}
    start = opened or opening(queues, nodes=nodes, **more)
    inventory = Inventory(tuple(nodes or ()), known=nodes is not None)
    every = tuple(sorted(jobs, key=lambda j: (j.submit, j.id)))
    made = world(start, inventory, every, placing=placing, delays=options.get("delays", Delays()))
    return run(made, Arrivals(every, tuple(changes)), **options)


def life(timeline, name):
    """One job's life."""
    return next(one for one in timeline.lives if one.job.id == f"ns/{name}")


def line(timeline, name):
    """One queue over time."""
    return next(one for one in timeline.queues if one.name == name)
