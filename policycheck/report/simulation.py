"""A simulation for people and for programs.

JSON (``render_json``), additions allowed, changes raise ``schemaVersion``. Times are in seconds, amounts
of the principal resource in what people count (GPUs, cores, bytes), ``...GpuHours`` those times hours.
What has no subject is null, and ``unknown`` says why under the place of the value::

    {"schemaVersion": 1, "scope", "scenario": {"source", "seed", "horizon": s | null, "end": s, "digests": {},
      "target", "assumed": bool, "resource", "nodes": n | null, "later": n, "notes": [TEXT]},
     "metrics": {
       "utilisation": {"allocated", "basis": "nodes"|"quota", "capacity", "saturatedShareOfTime",
                       "atSaturation", "waitingShareOfTime"},
       "queues": {NAME: {COUNTS, "cohort", "nominal", "wait": SPREAD, "totalWait": SPREAD,
         "quotaReservedWait": SPREAD, "readyWait": SPREAD, "byPriority": {PRIORITY: SPREAD}, "preemptedJobs",
         "preemptedShare", "utilisation", "peak", "gpuHours", "borrowedGpuHours", "guaranteeHonoured",
         "guaranteeHonouredGpuTime", "reclaimLatency": SPREAD, "shareOfEntitled", "waitingShareOfTime"}},
       "priorities": {PRIORITY: GROUP}, "classes": {NAME: GROUP},
       "jobs": {COUNTS, "services", "outsideQueues", "wait": SPREAD, "totalWait": SPREAD, "quotaReservedWait",
         "readyWait", "completion": {..SPREAD, "p99OverP50"}, "slowdown": SPREAD, "boundedSlowdown": SPREAD,
         "stretch": STRETCH, "makespan", "preemptedShare"},
       "preemption": {"share", "line": 0.05, "healthy": bool | null, "byQueue": {}, "byPriority": {},
         "byReason": {NAME: {"times", "jobs", "share", "perStart"}}, "starts",
         "evictions": {NAME: {"times", "jobs", "perStart"}}},
       "thrash": {"preemptedOften": [{"workload", "times"}], "exchanges": [{"workloads", "times"}],
         "loops": [{"time", "workloads", "times"}]},
       "work": {"gpuHours", "ranGpuHours", "wastedGpuHours", "wastedShare", "goodput", "inferenceShare"},
       "fragmentation": {"share", "largestGangShare", "brokenShareOfTime", "worst", "series": [..]} | null,
       "topology": {"levels": [..], "jobsWithoutNodes", "podsWithoutNodes"},
       "fairness": {"jain", "queues", "finishTime": SPREAD}, "scheduler": {..}, "evidence": {NAME: n}},
     "unknown": {PLACE: TEXT}, "stuck": [STUCK], "refused": [STUCK], "starved": [..],
     "events": [{"time", "event", "workload", "detail"}], "names": {PLACE: NAME}}

COUNTS are ``submitted``, ``reserved`` (ever had quota), ``started`` (ever admitted), ``finished``,
``running`` (admitted at the end), ``holding`` (those, and those with quota but not admitted), ``pending``,
``refused``. SPREAD is ``{"count", "p50", "p90", "p99", "max", "mean", "censored", "lowerBounds": [NAME]}``:
nearest rank over all jobs, those without an end with the time that they have reached; percentiles that a
later end could raise are named. STRETCH is SPREAD with ``over5``, ``over10`` and ``worst``, the first of
those beyond 5. STUCK is what waits at the end, longest first, with the reason and sentence of the system;
``holdsQuota`` when it has quota that is of no use yet. ``events`` only when asked for. Several scopes are
``{"schemaVersion": 1, "scopes": [..]}``, each of this shape.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from policycheck.report.simulated import Book, stuck, values
from policycheck.simulate.metrics import Metrics
from policycheck.simulate.timeline import Timeline

SCHEMA_VERSION = 1


class Scenario(NamedTuple):
    """What was simulated, as far as a report tells of it. ``horizon`` in ms, 0: until nothing happened any
    more. ``names`` are what users know our metrics by.
    """

    scope: str = ""
    target: str = ""  # the system and its version, for people
    assumed: bool = False
    source: str = ""  # of the jobs: "preset philly"
    seed: int = 0
    horizon: int = 0
    digests: Mapping[str, str] = {}  # of what was read, by what it is
    nodes: int | None = None
    names: Mapping[str, str] = {}
    paths: tuple[str, ...] = ()  # as given, for what to run next


class Result(NamedTuple):
    """One scope, run: what a report is made of."""

    scenario: Scenario
    timeline: Timeline
    metrics: Metrics


def render_json(done: Sequence[Result], *, events: bool = False) -> str:
    """The same simulations give the same bytes."""
    scopes = [as_dict(one, events=events) for one in done]
    found = scopes[0] if len(scopes) == 1 else {"scopes": scopes}
    return json.dumps({"schemaVersion": SCHEMA_VERSION, **found}, indent=2, ensure_ascii=True) + "\n"


def as_dict(one: Result, *, events: bool = False) -> dict[str, Any]:
    """What ``render_json`` writes of one scope, as plain values."""
    book = Book(one.metrics.resource)
    held = one.metrics.held
    found: dict[str, Any] = {
        "scope": one.scenario.scope,
        "scenario": _scenario(one, book),
        "metrics": values(one.metrics, book),
        "unknown": {},
        "stuck": [stuck(job, book) for job in held.stuck],
        "refused": [stuck(job, book) for job in held.refused],
        "starved": [
            {
                "workload": job.job,
                "queue": job.queue,
                "priority": job.priority,
                "since": book.time(job.since),
                "waited": book.time(job.waited),
                "ownTime": book.time(job.own),
                "overtakenBy": job.overtaken,
                "waitsStill": job.waits,
            }
            for job in held.starved
        ],
    }
    found["metrics"]["evidence"] = dict(sorted(one.timeline.gangs.items()))
    found["unknown"] = dict(sorted(book.unknown.items()))
    if events:
        found["events"] = [
            {"time": book.time(h.at), "event": h.what, "workload": h.who, "detail": h.detail}
            for h in one.timeline.happenings
        ]
    found["names"] = dict(sorted(one.scenario.names.items()))
    return found


def _scenario(one: Result, book: Book) -> dict[str, Any]:
    scenario, timeline = one.scenario, one.timeline
    return {
        "source": scenario.source,
        "seed": scenario.seed,
        "horizon": book.time(scenario.horizon) if scenario.horizon else None,
        "end": book.time(timeline.end),
        "digests": dict(sorted(scenario.digests.items())),
        "target": scenario.target,
        "assumed": scenario.assumed,
        "resource": timeline.resource,
        "nodes": scenario.nodes,
        "later": one.metrics.later,
        "notes": list(timeline.notes),
    }
