"""Changes of the workload itself: fewer pods, less in each, a higher class, a flavor opened."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from policycheck.model.amount import show
from policycheck.model.workload import PodSet
from policycheck.simulate.change import Change, Option, Turn
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue.model import KueueWorkload
from policycheck.systems.kueue.opening import Opening
from policycheck.systems.kueue.why.flavor import opened
from policycheck.systems.kueue.why.options import (
    WORKLOAD,
    Choice,
    Place,
    about,
    step,
    switch,
    total,
    with_workload,
)
from policycheck.systems.kueue.why.trial import PRIORITY_LABEL, workload_of

_MOST_SETS = 3  # podsets for which a change is looked for


def fewer_pods(at: Place) -> Iterator[Choice]:
    """Fewer pods of one podset; those that ask most first."""
    sets = [(n, s) for n, s in enumerate(at.workload.pod_sets) if s.pods > 1]
    for number, spec in sorted(sets, key=lambda p: -_weight(p[1]))[:_MOST_SETS]:
        yield _fewer(at, number, spec)


def _weight(spec: PodSet) -> int:
    return sum(v * spec.pods for r, v in spec.requests.items() if is_accelerator(r)) or spec.pods


def _fewer(at: Place, number: int, spec: PodSet) -> Choice:
    def made(turn: Turn) -> Opening:
        return with_workload(
            at.opening, _with_set(at.workload, number, spec._replace(pods=spec.pods - turn[0]))
        )

    def words(turn: Turn) -> tuple[Change, ...]:
        after = spec.pods - turn[0]
        name = "pods" if len(at.workload.pod_sets) == 1 else f"pods of {spec.name}"
        asks = _leading(total(at.opening, workload_of(made(turn), at.workload.id)))
        share = 1000 * turn[0] // spec.pods
        return (
            Change(
                "pods", about(at.workload), name, str(spec.pods), f"{after}, {asks} in all", max(1, share)
            ),
        )

    return Option("fewer pods", WORKLOAD, (spec.pods - 1,), made, words)


def _leading(asked: Mapping[str, int]) -> str:
    """The amount that people think in: accelerators, else cpu, else the first."""
    names = sorted(asked, key=lambda r: (not is_accelerator(r), r != "cpu", r))
    return f"{show(names[0], asked[names[0]])} {names[0]}" if names else "nothing"


def _with_set(workload: KueueWorkload, number: int, spec: PodSet) -> KueueWorkload:
    sets = list(workload.pod_sets)
    least = spec.min_count
    sets[number] = spec._replace(min_count=None if least is not None and least > spec.pods else least)
    return workload._replace(pod_sets=tuple(sets))


def less_per_pod(at: Place, short: Sequence[str]) -> Iterator[Choice]:
    """Less of what is short in each pod of one podset."""
    for number, spec in enumerate(at.workload.pod_sets[:_MOST_SETS]):
        names = [r for r in short if spec.requests.get(r, 0) > 1]
        if names:
            yield _less(at, number, spec, names)


def _less(at: Place, number: int, spec: PodSet, names: list[str]) -> Choice:
    steps = [step(r, spec.requests[r]) for r in names]

    def after(turn: Turn) -> dict[str, int]:
        cut = zip(names, steps, turn, strict=True)
        return {r: spec.requests[r] - s * t for r, s, t in cut}

    def made(turn: Turn) -> Opening:
        requests = {**spec.requests, **after(turn)}
        changed = spec._replace(requests=requests, containers=())
        return with_workload(at.opening, _with_set(at.workload, number, changed))

    def words(turn: Turn) -> tuple[Change, ...]:
        left = after(turn)
        return tuple(
            Change(
                "request",
                about(at.workload),
                f"{r} per pod" + ("" if len(at.workload.pod_sets) == 1 else f" of {spec.name}"),
                show(r, spec.requests[r]),
                show(r, left[r]),
                max(1, 1000 * (spec.requests[r] - left[r]) // spec.requests[r]),
            )
            for r in names
            if left[r] != spec.requests[r]
        )

    most = tuple((spec.requests[r] - 1) // s for r, s in zip(names, steps, strict=True))
    return Option("less per pod", WORKLOAD, most, made, words)


def higher_priority(at: Place) -> Iterator[Choice]:
    """The WorkloadPriorityClasses above the present priority, lowest first."""
    classes = at.opening.objects.priority_classes.values()
    above = sorted((c.value, c.name) for c in classes if c.value > at.workload.priority)
    if not above:
        return

    def made(turn: Turn) -> Opening:
        value, name = above[turn[0] - 1] if turn[0] else (at.workload.priority, at.workload.priority_class)
        labels = {**at.workload.labels, PRIORITY_LABEL: name}
        changed = at.workload._replace(priority=value, priority_class=name, labels=labels)
        return with_workload(at.opening, changed)

    def words(turn: Turn) -> tuple[Change, ...]:
        value, name = above[turn[0] - 1]
        before = at.workload.priority_class or "no class"
        return (
            Change(
                "priority",
                about(at.workload),
                "priority class",
                f"{before} ({at.workload.priority})",
                f"{name} ({value})",
            ),
        )

    yield Option("priority class", WORKLOAD, (len(above),), made, words)


def open_flavor(at: Place, flavor: str) -> Iterator[Choice]:
    """What the pods would have to say so that a flavor is for them: tolerations, selector, topology."""
    found = at.opening.objects.flavors.get(flavor)
    if found is None:
        return
    workload, changes = opened(at.workload, found, about(at.workload))
    if changes:
        yield switch("flavor", WORKLOAD, with_workload(at.opening, workload), *changes)
