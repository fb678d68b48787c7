"""What many runs of one configuration come to, as values for reports. Times in ms unless a figure says other."""

from __future__ import annotations

from typing import NamedTuple

from policycheck.simulate.contrast import Average


class Swept(NamedTuple):
    """One scope under one offer of jobs, over all seeds. ``jobs`` by seed; ``horizon`` 0: until all was done."""

    scope: str
    target: str
    assumed: bool
    source: str
    resource: str
    seeds: tuple[int, ...]
    horizon: int
    jobs: tuple[int, ...]
    figures: tuple[Average, ...]
    queues: tuple[tuple[str, tuple[Average, ...]], ...]
    notes: tuple[str, ...] = ()
