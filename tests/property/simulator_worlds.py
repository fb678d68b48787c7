"""Small random clusters with queues, cohorts and workloads, as restated situations."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

POLICY = st.sampled_from(["Never", "LowerPriority", "Any"])
WITHIN = st.sampled_from(["Never", "LowerPriority", "LowerOrNewerEqualPriority"])
NEXT = st.sampled_from(["MayStopSearch", "TryNextFlavor"])


@st.composite
def quotas(draw: Any, flavors: int, *, limits: bool) -> str:
    """Resource groups of one queue or cohort: one group, cpu and gpu."""
    parts = []
    for number in range(1, flavors + 1):
        words = [f"f{number}"]
        for resource in ("cpu", "gpu"):
            text = str(draw(st.integers(0, 8)))
            if limits and draw(st.booleans()):
                text += f"+{draw(st.integers(0, 6))}"
            if limits and draw(st.booleans()):
                text += f"-{draw(st.integers(0, int(text.split('+')[0])))}"
            words.append(f"{resource}={text}")
        parts.append(" ".join(words))
    return " | " + "; ".join(parts)


@st.composite
def queue(draw: Any, cohorts: list[str], flavors: int) -> str:
    """One ClusterQueue."""
    cohort = draw(st.sampled_from(["", *cohorts]))
    reclaim = draw(POLICY)
    words = [f"within={draw(WITHIN)}", f"reclaim={reclaim}"]
    if reclaim != "Never" and draw(st.booleans()):
        words.append("borrow=LowerPriority")
    words += [f"canBorrow={draw(NEXT)}", f"canPreempt={draw(NEXT)}"]
    words += ["strict"] if draw(st.booleans()) else []
    words += [f"in={cohort}"] if cohort else []
    return " ".join(words) + draw(quotas(flavors, limits=bool(cohort)))


@st.composite
def workload(draw: Any, number: int, queues: list[str]) -> str:
    """One workload; times and uids are unique, so that nothing is left to the order of maps."""
    sets = []
    for name in draw(st.sampled_from([["main"], ["main", "more"]])):
        asks = f"cpu={draw(st.integers(0, 4))} gpu={draw(st.integers(0, 3))}"
        sets.append(f"{name} {draw(st.integers(1, 3))}x {asks}")
    head = (
        f"{draw(st.sampled_from(queues))} p={draw(st.integers(-1, 2))} t=-{1000 - number} uid=u{number:02d}"
    )
    return " ; ".join([head, *sets])


@st.composite
def worlds(draw: Any, *, most: int = 8, fair: bool | None = None) -> dict[str, Any]:
    """A situation that runs until nothing changes."""
    flavors = draw(st.integers(1, 2))
    cohorts = {"c1": "", "c2": draw(st.sampled_from(["", "under=c1"]))}
    for name in cohorts:
        if draw(st.booleans()):
            cohorts[name] += draw(quotas(flavors, limits=False))
    queues = {f"q{n}": draw(queue(["c1", "c2"], flavors)) for n in range(1, draw(st.integers(1, 4)) + 1)}
    work = {f"w{n:02d}": draw(workload(n, list(queues))) for n in range(1, draw(st.integers(1, most)) + 1)}
    configuration: dict[str, Any] = {"maxCycles": 15}
    if fair if fair is not None else draw(st.booleans()):
        configuration["fairSharing"] = True
    return {
        "name": "drawn",
        "area": "random-drawn",
        "configuration": configuration,
        "cohorts": cohorts,
        "queues": queues,
        "work": work,
    }
