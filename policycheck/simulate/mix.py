"""A mix: classes of jobs with what they ask for, how long they run and when they arrive.

A mix is made into jobs for the queues in sight. Every number is drawn from a stream of its own (seed,
queue, class, purpose), so that a class or a queue that is added leaves the draws of all others alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policycheck.model.placement import Toleration
from policycheck.simulate.arrive import Process
from policycheck.simulate.curve import FLAT, Curve
from policycheck.simulate.fit import Choice, Constant, Spread
from policycheck.simulate.job import BATCH

EVENLY, BY_GUARANTEE = "evenly", "guarantee"


class Door(NamedTuple):
    """Where jobs can be sent: a queue that they name in their namespace, and the one behind it that holds
    quota, with what that is guaranteed of the principal resource and its topology levels, wide to tight.

    ``serves`` is False for one that has no quota for that resource at all. ``most`` is what one job could
    ever be given there, ``per_host`` what the largest node behind it has, both 0 when nobody knows.
    """

    namespace: str
    queue: str
    holder: str = ""
    guarantee: int = 0
    levels: tuple[str, ...] = ()
    serves: bool = True
    most: int = 0
    per_host: int = 0


class Host(NamedTuple):
    """A node that can fail."""

    name: str
    labels: Mapping[str, str] = {}


class Site(NamedTuple):
    """What a mix falls upon. ``capacity`` is in units of the principal resource, 0 when nobody knows;
    ``priorities`` are values by class name.
    """

    doors: tuple[Door, ...] = ()
    capacity: int = 0
    hosts: tuple[Host, ...] = ()
    priorities: Mapping[str, int] = {}


class Topology(NamedTuple):
    """What a job of several pods asks of the topology. ``level`` is a label, or a number: 0 the widest
    level of the queue's topology, -1 its tightest. Jobs of fewer than ``pods`` pods ask for nothing.
    """

    mode: str  # required | preferred | unconstrained; "" with slices only
    level: str | int = ""
    slice_level: str | int = ""
    slice_size: int = 0
    pods: int = 1


class Shape(NamedTuple):
    """Pods of a job: so many, each with ``gpus`` whole accelerators, or ``milli`` of one."""

    pods: int
    gpus: int
    milli: int = 1000


class Pods(NamedTuple):
    """What the pods of a class look like, beside their number and their accelerators."""

    requests: Mapping[str, int] = {}  # per pod
    per_gpu: Mapping[str, int] = {}  # per accelerator (or share) of a pod
    selector: Mapping[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()
    topology: Topology | None = None


class Priority(NamedTuple):
    """A priority, by number or by class; None takes the class's value, or 0."""

    value: int | None = None
    name: str = ""


class Replicas(NamedTuple):
    """How many copies of a service run: from ``least`` to ``most`` along the curve, or a mean ``share`` of
    the capacity. Loads are looked at every ``period`` ms.
    """

    least: int = 0
    most: int = 0
    share: float = 0.0
    period: int = 300_000


class Match(NamedTuple):
    """Workloads of manifests that a class tells the run times of: those with all the labels, of one of the
    kinds and in one of the queues (patterns); () is any.
    """

    labels: Mapping[str, str] = {}
    kinds: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()


class Klass(NamedTuple):
    """One class of jobs. Of ``rate`` (jobs in a ms), ``share`` and ``jobs`` (a number) one or two say how
    many there are, over all its queues or, with ``each``, in every one of them.
    """

    name: str
    shapes: tuple[Shape, ...]
    odds: Choice  # of positions in ``shapes``
    duration: Spread
    pods: Pods = Pods()
    nature: str = BATCH
    rate: float = 0.0
    share: float = 0.0
    jobs: int = 0
    each: bool = False
    process: Process = Process()
    curve: Curve = FLAT
    queues: Mapping[str, float] = {}  # pattern -> weight; {} takes the mix's
    namespace: str = ""
    priorities: tuple[Priority, ...] = (Priority(),)
    priority_odds: Choice = Choice((0,), (1.0,))
    models: tuple[str, ...] = ()
    checkpoint: int = 0
    startup: Spread = Constant(0)
    limit: int = 0
    replicas: Replicas | None = None
    match: Match | None = None  # without share, rate and jobs nothing arrives by it but what is matched
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    line: int = 0
    is_cut: bool = False  # sizes are of whole jobs, cut into pods as nodes allow

    @property
    def arrives(self) -> bool:
        """Whether jobs of the class come by themselves."""
        return self.replicas is not None or bool(self.rate or self.share or self.jobs or self.process.times)

    def work(self, resource: str) -> float:
        """Units of ``resource`` times ms that one job asks for, in the mean."""
        means = (self.units(shape, resource) for shape in self.shapes)
        starts = (0.0, *self.odds.ends)
        sizes = sum(
            units * (end - start) for units, start, end in zip(means, starts, self.odds.ends, strict=False)
        )
        return sizes * self.duration.mean()

    def units(self, shape: Shape, resource: str) -> float:
        """Units of ``resource`` that a job of ``shape`` asks for; a share counts as a part."""
        if shape.gpus:
            return shape.pods * shape.gpus * shape.milli / 1000
        return shape.pods * self.pods.requests.get(resource, 0)


class Failure(NamedTuple):
    """Nodes that fail: those whose name fits the pattern and that have all the labels. Times in ms."""

    pattern: str
    labels: Mapping[str, str]
    mtbf: float
    repair: Spread


class Mix(NamedTuple):
    """A whole mix. ``load`` (offered work as a share of the capacity), ``rate`` (jobs in a ms) or ``jobs``
    say how many jobs the shares are shares of. ``cluster`` describes queues and nodes that the mix brings.
    """

    name: str
    classes: tuple[Klass, ...]
    about: str = ""
    resource: str = ""  # that load and sizes are told in; "" is what queues in sight have quota in
    horizon: int = 0
    load: float = 0.0
    rate: float = 0.0
    jobs: int = 0
    queues: Mapping[str, float] = {"*": 1.0}
    spread: str = BY_GUARANTEE
    largest: float = 0.0  # jobs that ask for more than this share of the capacity are not drawn
    failures: tuple[Failure, ...] = ()
    cluster: Mapping[str, object] = {}
    notes: tuple[str, ...] = ()  # what is assumed
    file: str = ""
    digest: str = ""
    text: bytes = b""
