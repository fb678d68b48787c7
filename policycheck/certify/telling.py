"""A story in at most ten lines, as one tells it to the person whose promise is broken."""

from __future__ import annotations

from collections.abc import Sequence

from policycheck.certify.arena import FINISH, STOP, SUBMIT, Ask, Scenario, Story
from policycheck.model.amount import show
from policycheck.wording import some

MOST_LINES = 10
_NAMES = 4
_RESERVED = 3  # in a cycle what comes and goes is told first, then evictions, then who gets quota


def size_of(ask: Ask) -> str:
    """``2 pods x 8 nvidia.com/gpu``, podset by podset."""
    parts = []
    for spec in ask.shape.pod_sets:
        each = ", ".join(
            f"{show(r, v)} {r}" for r, v in sorted(spec.requests.items(), key=_accelerators_first)
        )
        parts.append(f"{each or 'nothing'}" if spec.pods == 1 else f"{spec.pods} pods x {each or 'nothing'}")
    return " + ".join(parts)


def _accelerators_first(item: tuple[str, int]) -> tuple[bool, str]:
    return item[0] in ("cpu", "memory", "ephemeral-storage"), item[0]


def called(ask: Ask) -> str:
    """Its name and, where it has one, its priority."""
    if ask.priority_class:
        return f"{ask.name} ({ask.priority_class})"
    return f"{ask.name} (priority {ask.priority})" if ask.priority else ask.name


def tell(scenario: Scenario, story: Story, end: str) -> tuple[str, ...]:
    """What came, what was decided, and how it ends; ``end`` is the last line."""
    asks = {ask.name: ask for ask in scenario.asks}
    entries: list[tuple[int, int, str]] = []
    if scenario.lost:
        entries.append((0, 0, f"lost from the start: {_list(scenario.lost)}"))
    for move in scenario.moves:
        if move.what == SUBMIT:
            entries += [
                (move.cycle, 1, f"{ask.queue} submits {called(ask)}: {size_of(ask)}") for ask in move.asks
            ]
        elif move.what == FINISH:
            entries.append((move.cycle, 0, f"{_list(move.names)} ends"))
        else:
            word = "is stopped and drained" if move.what == STOP else "is opened again"
            entries.append((move.cycle, 0, f"{_list(move.names)} {word}"))
    for event in story.happened:
        if event.what == "reserved":
            entries.append((event.cycle, _RESERVED, f"{event.queue} gets quota for {event.name}"))
        else:
            for_whom = f" for {event.by}" if event.by else ""
            holder = asks[event.name].queue if event.name in asks else event.queue
            entries.append((event.cycle, 2, f"{event.name} of {holder} is evicted{for_whom}: {event.reason}"))
    entries.sort(key=lambda entry: entry[:2])
    if len(entries) >= MOST_LINES:
        entries = _joined(entries)
    lines = [f"cycle {cycle}: {text}" if cycle else text for cycle, _, text in entries]
    return (*_shortened(lines, MOST_LINES - 1), end)


def _joined(entries: Sequence[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Quota that several get in one cycle in one line."""
    found: list[tuple[int, int, str]] = []
    for cycle, kind, text in entries:
        last = found[-1] if found else None
        if last is not None and kind == _RESERVED and last[:2] == (cycle, kind):
            found[-1] = cycle, kind, f"{last[2]}; {text.replace(' gets quota for ', ' for ', 1)}"
        else:
            found.append((cycle, kind, text))
    return found


def _shortened(lines: Sequence[str], most: int) -> list[str]:
    if len(lines) <= most:
        return list(lines)
    first = (most - 1) // 2
    last = most - 1 - first
    return [*lines[:first], f"... {len(lines) - first - last} lines more ...", *lines[-last:]]


def _list(names: Sequence[str]) -> str:
    return some(names, _NAMES)
