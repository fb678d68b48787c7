"""What teams were told they get, as values. Amounts are base units, times milliseconds.

``derived`` in each names the fields that nobody wrote and that were read off the configuration: such a
promise cannot notice that somebody changed what it was read off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policycheck.model.workload import PodSet

WITHIN_GUARANTEE, ALWAYS = "within-guarantee", "always"


class Shape(NamedTuple):
    """One kind of job that a team runs: its podsets, as they would be submitted."""

    name: str
    pod_sets: tuple[PodSet, ...]
    priority_class: str = ""
    priority: int = 0
    limit: int = 0  # maximum execution time; 0: none
    source: str = ""  # where it is written
    jobs: int = 1  # of this shape, that the team runs at once
    queues: tuple[str, ...] = ()  # of the team's, to which it goes; (): to any


class TeamPromise(NamedTuple):
    """One team. ``queues`` hold its quota. ``guarantee`` by resource; ``flavors`` the same where it was
    promised in one flavor. ``burst``: thousandths of the idle accelerators that its shapes tolerate;
    None: none promised. ``within``: time to honour; ``preemptions`` per job at most, None: no bound.
    """

    name: str
    queues: tuple[str, ...]
    guarantee: Mapping[str, int]
    flavors: Mapping[tuple[str, str], int] = {}  # (flavor, resource)
    burst: int | None = None
    shapes: tuple[Shape, ...] = ()
    within: int | None = None
    preemptions: int | None = None
    isolated: str = ""
    derived: tuple[str, ...] = ()
    origin: str = ""  # "promises.yaml:12"


class Losses(NamedTuple):
    """What may be lost at once with all guarantees kept: any so many nodes, or one domain of a level."""

    nodes: int = 0
    level: str = ""


class Protection(NamedTuple):
    """Priority classes by their role. ``mode`` is WITHIN_GUARANTEE or ALWAYS."""

    protected: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()
    serving: tuple[str, ...] = ()
    mode: str = WITHIN_GUARANTEE
    derived: tuple[str, ...] = ()


class Slo(NamedTuple):
    """Bounds on a simulated stream: of a mix or trace by name, with the seeds that count. None: no bound."""

    stream: str
    seeds: tuple[int, ...] = (1,)
    horizon: int = 0
    wait: Mapping[str, int] = {}  # by percentile name "p90"
    preempted: int | None = None  # thousandths of jobs started
    stretch: Mapping[str, int] = {}  # by percentile, thousandths
    utilisation: int | None = None  # thousandths, at least


class Promises(NamedTuple):
    """Everything promised in one scope. ``required`` are claims that count; () all but those of ``slo``
    that nobody wrote. ``source`` and ``digest`` of the file; "" when all is derived.
    """

    teams: tuple[TeamPromise, ...]
    protection: Protection = Protection()
    losses: Losses = Losses()
    whole_within: int | None = None  # gangs in part are gone after it
    domains: int | None = None  # that a gang may span at most, at the level it names
    thrash: int | None = None  # preemptions per workload without new arrivals
    slo: tuple[Slo, ...] = ()
    required: tuple[str, ...] = ()
    owners: Mapping[str, str] = {}  # team -> owner
    source: str = ""
    digest: str = ""
    derived: tuple[str, ...] = ()
