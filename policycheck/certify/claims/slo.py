"""``slo``: how long jobs wait and how often they are preempted, on a named stream of jobs, measured.

It speaks of that stream and those seeds alone: another week has other jobs. So it counts towards a
certificate only where promises say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from policycheck.certify.arena import Arena, Measured
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.claims.common import Bench
from policycheck.certify.promise import Promises, Slo
from policycheck.certify.verdict import FAILS, HOLDS, MEASURED, UNKNOWN, Verdict
from policycheck.simulate.metrics import Metrics
from policycheck.simulate.quantile import MOST, Ratio, Spread

NAME = "slo"
PREEMPTED = 50  # thousandths of jobs started, where nothing else is promised
_WHOLE = 1000
_BETWEEN = {"p95": ("p90", "p99")}  # percentiles that are not measured lie between these
_UNITS = ((3_600_000, "h"), (60_000, "min"), (1000, "s"))


class Figure(NamedTuple):
    """One bound against what was measured. ``outcome`` HOLDS, FAILS or UNKNOWN; ``value`` in the bound's unit."""

    name: str
    outcome: str
    text: str
    value: int | None


def test(arena: Arena, promises: Promises, effort: Effort) -> list[Verdict]:  # noqa: ARG001
    """One verdict a stream."""
    bench = Bench(NAME, arena, promises)
    found = [_stream(bench, slo) for slo in promises.slo]
    return found or [bench.nothing("no stream of jobs is promised anything")]


def _stream(bench: Bench, slo: Slo) -> Verdict:
    figures: dict[int, list[Figure]] = {}
    started, stream = 0, ""
    for seed in slo.seeds:
        measured = bench.arena.measured(slo, seed)
        if not isinstance(measured, Measured):
            return bench.verdict(slo.stream, UNKNOWN, MEASURED, f"it can not be simulated: {measured}")
        started += measured.metrics.jobs.started
        stream = measured.digest
        figures[seed] = list(_figures(measured.metrics, slo))
    evidence: dict[str, Any] = {
        "seeds": list(slo.seeds),
        "horizonMs": slo.horizon,
        "stream": stream,
        "figures": {str(seed): {f.name: f.value for f in some} for seed, some in figures.items()},
    }
    outcome, headline = _told(slo, figures, started)
    return bench.verdict(
        slo.stream,
        outcome,
        MEASURED,
        headline,
        premise={"jobsStarted": started},
        evidence=evidence,
        assumptions=("measured on this stream with these seeds alone; other jobs may fare otherwise",),
    )


def _told(slo: Slo, figures: Mapping[int, list[Figure]], started: int) -> tuple[str, str]:
    if not started:
        return UNKNOWN, "vacuous: no job of the stream started"
    for outcome in (FAILS, UNKNOWN):
        for seed, some in figures.items():
            wrong = [one.text for one in some if one.outcome == outcome]
            if wrong:
                return outcome, f"seed {seed}: {'; '.join(wrong)}"
    seeds = f"{len(slo.seeds)} {'seed' if len(slo.seeds) == 1 else 'seeds'}"
    (first, *_) = figures.values()
    return HOLDS, f"in {seeds}, {started} jobs started: {'; '.join(one.text for one in first)}"


def _figures(metrics: Metrics, slo: Slo) -> Iterator[Figure]:
    """Every bound of the promise."""
    for name, bound in slo.wait.items():
        yield _percentile(f"wait {name}", metrics.waits.first, name, bound, 1, _time)
    for name, bound in slo.stretch.items():
        yield _percentile(f"stretch {name}", metrics.stretch.spread, name, bound, _WHOLE, _factor)
    most = PREEMPTED if slo.preempted is None else slo.preempted
    yield _share("preempted share", metrics.preemption.share, most, is_most=True)
    if slo.utilisation is not None:
        yield _share("utilisation", metrics.cluster.allocated, slo.utilisation, is_most=False)


def _percentile(
    label: str, spread: Spread, name: str, bound: int, scale: int, shown: Callable[[int], str]
) -> Figure:
    """A percentile against its bound; what still waits makes it a lower bound of the truth."""
    low, high = _BETWEEN.get(name, (name, name))
    values = {"p50": spread.p50, "p90": spread.p90, "p99": spread.p99, MOST: spread.most}
    least, most = values[low], values[high]
    if least is None or most is None:
        return Figure(label, UNKNOWN, f"{label} is not known: {spread.why}", None)
    # Rounded up: what is above the bound by a part stays above it.
    at_least, at_most = -int(-least * scale // 1), -int(-most * scale // 1)
    value = at_most if low == high else None
    said = shown(at_most) if low == high else f"between {shown(at_least)} and {shown(at_most)}"
    if at_least > bound:
        more = " or more" if spread.is_bound(high) else ""
        return Figure(label, FAILS, f"{label} is {said}{more}, and at most {shown(bound)} is promised", value)
    if spread.is_bound(high):
        return Figure(
            label, UNKNOWN, f"{label} is {said} or more: some jobs still wait or run at the end", value
        )
    if at_most > bound:
        return Figure(label, UNKNOWN, f"{label} is {said}, and {shown(bound)} lies between", value)
    return Figure(label, HOLDS, f"{label} is {said} (at most {shown(bound)})", value)


def _share(label: str, ratio: Ratio, bound: int, *, is_most: bool) -> Figure:
    """A share against its bound, both exact."""
    if not ratio.whole:
        return Figure(label, UNKNOWN, f"{label} is not known: {ratio.why}", None)
    part, whole = ratio.part * _WHOLE, ratio.whole
    is_kept = part <= bound * whole if is_most else part >= bound * whole
    value = -(-part // whole) if is_most else part // whole
    word = "at most" if is_most else "at least"
    if is_kept:
        return Figure(label, HOLDS, f"{label} is {_percent(value)} ({word} {_percent(bound)})", value)
    return Figure(
        label, FAILS, f"{label} is {_percent(value)}, and {word} {_percent(bound)} is promised", value
    )


def _percent(thousandths: int) -> str:
    return f"{thousandths / 10:g}%"


def _factor(thousandths: int) -> str:
    return f"{thousandths / _WHOLE:g} times"


def _time(ms: int) -> str:
    """``1.5 h``, ``20 min``, ``3 s``."""
    for unit, name in _UNITS:
        if ms >= unit:
            return f"{round(ms / unit, 2):g} {name}"
    return f"{ms} ms"


CLAIM = Claim(
    name=NAME,
    title="Waits, preemptions and use on a named stream of jobs",
    test=test,
    promise=(
        "On a named mix or trace, with every named seed, waits and stretch stay within their bounds by percentile, the "
        "share of jobs that are preempted stays within its bound (5% where nothing is written), and use does not fall "
        "below its own."
    ),
    means=(
        "Measured: the stream is simulated on this configuration and these nodes, once a seed. HOLDS when every bound "
        "is kept with every seed, FAILS when one is not with one of them. UNKNOWN when the stream can not be read, when "
        "so many jobs still wait at the end that a percentile is not known, or when no job started. It counts towards "
        "a certificate only where the promises list it as required, and then with --accept measured."
    ),
    premise="Jobs of the stream started.",
    enforceable=(
        "Nothing of it is enforced by a policy: it follows from load, shapes and run times, and holds for this stream. "
        "A percentile that is not measured (p95) is held against its neighbours."
    ),
    remedy="Look at the simulation of the stream (simulate --mix or --trace) for where jobs wait and who is preempted.",
)
