"""Situations that ask what cycles decide: a fixed number of them, or until nothing changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from policycheck.model.amount import write
from policycheck.simulate.scheduler import Decision, Grant
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.kueue import read
from policycheck.systems.kueue.case import Answer, Case
from policycheck.systems.kueue.cases.world import open_session, read_world
from policycheck.systems.kueue.scheduler.entry import MIGRATION, NODE_FAILURES
from policycheck.systems.kueue.scheduler.run import Event
from policycheck.systems.kueue.scheduler.run import until_stable as run_until_stable
from policycheck.systems.kueue.scheduler.session import Session

# Events of our own beside the recorded ones: queues are held, their workloads drained, or opened again.
_POLICIES = {"stop": "HoldAndDrain", "resume": "None"}


def granted(grant: Grant | None) -> dict[str, Any]:
    """An admission in the form of the API."""
    if grant is None:
        return {}
    sets = []
    for one in grant.sets:
        row: dict[str, Any] = {
            "name": one.name,
            "count": one.pods,
            "flavors": dict(sorted(one.flavors.items())),
            "resourceUsage": {r: write(r, v) for r, v in sorted(one.usage.items())},
        }
        if one.placement is not None:
            levels, domains = one.placement
            row["topologyAssignment"] = {
                "levels": list(levels),
                "domains": [{"values": list(values), "count": pods} for values, pods in domains],
            }
        sets.append(row)
    return {"clusterQueue": grant.queue, "podSetAssignments": sets}


def _reserved(decisions: Iterable[Decision]) -> list[dict[str, Any]]:
    return [
        {
            "workload": d.workload,
            "admission": granted(d.grant),
            "quotaReserved": True,
            "admitted": d.admitted,
        }
        for d in sorted(decisions, key=lambda d: d.workload)
    ]


def _evicted(victims: Mapping[str, str]) -> list[dict[str, str]]:
    rows = []
    for name, reason in sorted(victims.items()):
        moved = reason in (MIGRATION, NODE_FAILURES)
        row = {"workload": name, "evictedReason": reason if moved else "Preempted"}
        rows.append(row if moved else row | {"preemptedReason": reason})
    return rows


def fixed(case: Case) -> Answer:
    """``configuration.cycles`` cycles, back to back."""
    world = read_world(case)
    session = open_session(world)
    asked, raw = mapping(case.get("input")), mapping(case.get("configuration"))
    for queue, amounts in mapping(asked.get("initialConsumedUsageByLocalQueue")).items():
        if session.ledger is not None:
            session.ledger.set_consumed(queue, {r: _number(q) for r, q in mapping(amounts).items()})
    before = session.holding()
    reserved: dict[str, Decision] = {}
    victims: dict[str, str] = {}
    for number in range(int(raw.get("cycles", 1))):
        if number == 1:
            session.release(text(w) for w in items(asked.get("deleteWorkloads")))
        for decision in session.cycle(world.now):
            if decision.outcome == "reserved":
                reserved[decision.workload] = decision
            victims.update({v.workload: v.reason for v in decision.victims})
    now = session.holding()
    changed = [d for name, d in reserved.items() if name in now and before.get(name) != now[name]]
    return {
        "reserved": _reserved(changed),
        "evicted": _evicted({w: r for w, r in victims.items() if w in session.items}),
        "pending": [
            {"workload": w.workload, "clusterQueue": w.queue, "state": w.state}
            | ({} if w.reason is None else {"reason": w.reason})
            for w in session.waiting()
        ],
    }


def _number(raw: object) -> float:
    from policycheck.model.amount import quantity

    return float(quantity(raw))


def until_stable(case: Case) -> Answer:
    """Cycles with the case's events, until nothing changes."""
    world = read_world(case)
    session = open_session(world)
    raw = mapping(case.get("configuration"))
    events: dict[int, list[Event]] = {}
    for entry in items(case.get("events")):
        found = mapping(entry)
        events.setdefault(int(found.get("cycle", 1)), []).append(_event(found))
    run = run_until_stable(session, world.now, int(raw.get("maxCycles", 50)), events)
    cycles = [
        {
            "cycle": log.number,
            "reserved": _reserved(log.reserved),
            "evicted": _evicted({v.workload: v.reason for d in log.preempting for v in d.victims}),
        }
        for log in run.cycles
    ]
    answer: Answer = {
        "cycles": cycles,
        "final": {
            "reserved": {name: granted(grant) for name, grant in session.holding().items()},
            "evictions": {w: n for w, n in sorted(run.evictions.items()) if w in session.items},
            "pending": {w.workload: w.reason for w in session.waiting() if w.reason is not None},
        },
        "converged": run.converged,
        "cyclesRun": run.ran,
    }
    if run.loop is not None:
        answer["thrash"] = {"from": run.loop.start, "period": run.loop.period}
    return answer


def _event(found: Mapping[str, Any]) -> Event:
    created = [read.workload(mapping(w), []) for w in items(found.get("create"))]
    gone = [text(w) for key in ("finish", "delete") for w in items(found.get(key))]
    policies = [(text(q), p) for key, p in _POLICIES.items() for q in items(found.get(key))]

    def happen(session: Session) -> None:
        session.release(gone)
        for queue, policy in policies:
            session.stop(queue, policy, session.now)
        if policies:
            session.settle()
        session.offer(created)

    return happen
