"""What arrives in a simulation: jobs and services, and what happens to nodes.

Times are integers in milliseconds of virtual time, from the start of the scenario. Nothing here knows
where a job came from: a manifest, a recorded trace or a mix.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policycheck.model.workload import PodSet

SECOND = 1000  # milliseconds
BATCH, SERVICE = "batch", "service"


class Job(NamedTuple):
    """One job, or one replica of a service, that asks for admission as a whole.

    ``id`` is namespace/name, unique in a scenario. ``queue`` is what the job names: a LocalQueue of its
    namespace; "" for one that goes round all queues. ``duration`` is the time that its pods have to run
    in all; 0 is for ever, as services run. ``checkpoint``: run time is kept in steps of so many ms when it is
    evicted (0: all of it is lost). ``startup`` is from placement to all pods ready (0: at once);
    ``limit`` the maximum execution time (0: none). ``origin`` says where it is written.
    """

    id: str
    queue: str
    submit: int
    duration: int
    pod_sets: tuple[PodSet, ...]
    priority: int = 0
    priority_class: str = ""
    klass: str = ""  # class of the mix, or of the trace: what metrics group by beside the queue
    nature: str = BATCH  # batch | service
    checkpoint: int = 0
    startup: int = 0
    limit: int = 0
    models: tuple[str, ...] = ()  # accelerator models it may run on; () any
    milli: int = 1000  # of one accelerator per pod; below 1000 a share
    origin: str = ""  # "trace.csv:12", "jobs.yaml:3"
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return self.id.partition("/")[0]

    @property
    def pods(self) -> int:
        """Pods of all podsets."""
        return sum(s.pods for s in self.pod_sets)


class NodeChange(NamedTuple):
    """A node is lost, or comes back, or an elastic pool grows or shrinks."""

    at: int
    node: str
    up: bool
    why: str = ""


class Arrivals(NamedTuple):
    """Everything that comes from outside, jobs in order of (submit, id)."""

    jobs: tuple[Job, ...]
    nodes: tuple[NodeChange, ...] = ()
    horizon: int = 0  # the end of the scenario in ms; 0: until nothing happens any more
    source: str = ""  # "preset philly", "trace jobs.csv", for people
    digest: str = ""  # of what it was read from
    notes: tuple[str, ...] = ()  # assumed or left out, each a sentence
