"""Nodes that fail and come back."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from policycheck.simulate.draw import stream
from policycheck.simulate.job import NodeChange
from policycheck.simulate.mix import Failure, Host
from policycheck.simulate.trouble import ArrivalsError

MOST_FAILURES = 1_000_000
FAILED, REPAIRED = "node failure", "node repaired"


def changes(
    failures: Sequence[Failure], hosts: Sequence[Host], seed: int, end: int, notes: list[str]
) -> tuple[NodeChange, ...]:
    """Failures and returns before ``end``, by time. Time between failures is exponential; a node belongs to
    the first of ``failures`` that it fits. What can not be drawn is told in ``notes``.
    """
    if not failures:
        return ()
    if not end or not hosts:
        lacking = "a horizon" if hosts else "an inventory of nodes"
        notes.append(f"the mix lets nodes fail, which needs {lacking}: none fails")
        return ()
    expected = sum(end / (one.mtbf + one.repair.mean()) for one in failures) * len(hosts)
    if expected > MOST_FAILURES:
        what = (
            f"about {expected:,.0f} failures of nodes; up to {MOST_FAILURES:,} can be simulated: check 'mtbf'"
        )
        raise ArrivalsError([what])
    found: list[NodeChange] = []
    used: set[int] = set()
    for host in hosts:
        number = next((n for n, one in enumerate(failures) if _fits(one, host)), None)
        if number is not None:
            used.add(number)
            found.extend(_of(failures[number], host.name, seed, end))
    notes.extend(
        f"no node fits {one.pattern!r} with the labels of failures[{n}]: none of them fails"
        for n, one in enumerate(failures)
        if n not in used
    )
    return tuple(sorted(found))


def _fits(failure: Failure, host: Host) -> bool:
    return fnmatchcase(host.name, failure.pattern) and all(
        host.labels.get(key) == value for key, value in failure.labels.items()
    )


def _of(failure: Failure, name: str, seed: int, end: int) -> list[NodeChange]:
    lives, repairs = stream(seed, "node", name, "failure"), stream(seed, "node", name, "repair")
    found: list[NodeChange] = []
    time = 0.0
    while True:
        time += lives.exponential(failure.mtbf)
        if time >= end:
            return found
        found.append(NodeChange(int(time), name, up=False, why=FAILED))
        time += max(failure.repair.take(repairs), 1.0)
        if time >= end:
            return found
        found.append(NodeChange(int(time), name, up=True, why=REPAIRED))
