"""Streams of jobs that promises name, simulated and measured for the claim ``slo``.

Entry point: ``measuring(cluster, said, read, beside, checks) -> Callable[[Slo, int], Measured | str]``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from policycheck.app.arrivals import Read
from policycheck.certify.arena import Measured
from policycheck.certify.promise import Slo

if TYPE_CHECKING:
    from policycheck.app.arrivals import Offering
    from policycheck.lint.settings import Target
    from policycheck.model.cluster import Cluster

_RECORDED = (".csv", ".csv.gz")


def measuring(
    cluster: Cluster, said: Target | None, read: Read, beside: str, checks: Mapping[str, int]
) -> Callable[[Slo, int], Measured | str]:
    """What simulates a stream on the cluster with one seed, each once; it answers in words where it can not.

    ``beside`` is the file of the promises: a mix or trace that it names is looked for in its folder first, then
    as it is written, then among the presets. ``checks`` are bounds of admission checks in ms.
    """

    @lru_cache(maxsize=32)
    def once(stream: str, horizon: int, seed: int) -> Measured | str:
        from policycheck.app.arrivals import arrivals
        from policycheck.app.simulate import Options, simulate_cluster
        from policycheck.simulate.events import Delays
        from policycheck.simulate.metrics import measure
        from policycheck.simulate.trouble import ArrivalsError

        try:
            offering = _offering(stream, read, beside)._replace(seed=seed, horizon=horizon)
            coming = arrivals(cluster, offering)
            how = Options(seed=seed, horizon=horizon, delays=Delays(checks=dict(checks)))
            timeline = simulate_cluster(cluster, said, coming, how)
        except ArrivalsError as error:
            return str(error).splitlines()[0]
        return Measured(measure(timeline), coming.source, coming.digest)

    return lambda slo, seed: once(slo.stream, slo.horizon, seed)


def _offering(stream: str, read: Read, beside: str) -> Offering:
    """The mix or trace of that name. Raises ArrivalsError."""
    from policycheck.app.arrivals import Offering, load_mix, load_trace

    name = _place(stream, read, beside)
    if name.endswith(_RECORDED):
        trace, setting = load_trace(name, read)
        return Offering(trace=trace, setting=setting)
    return Offering(mix=load_mix(name, read))


def _place(stream: str, read: Read, beside: str) -> str:
    """Where the stream is: beside the promises when there is such a file."""
    folder = os.path.dirname(beside)  # noqa: PTH120 - a name, as the user wrote it
    near = f"{folder}/{stream}" if folder and not os.path.isabs(stream) else stream  # noqa: PTH117
    try:
        read(near)
    except (OSError, KeyError):
        return stream
    return near
