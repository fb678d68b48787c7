"""``slo``: streams that are simulated, against bounds on each side of what comes of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from minimal import FLAVOR, arena, nodes, queue

from policycheck.app import Sources, load
from policycheck.app.slo import measuring
from policycheck.certify.arena import Measured
from policycheck.certify.claim import Effort
from policycheck.certify.claims import find
from policycheck.certify.promise import Promises, Slo
from policycheck.certify.verdict import FAILS, HOLDS, MEASURED, NOT_APPLICABLE, UNKNOWN, Verdict
from policycheck.lint.settings import Settings
from policycheck.source.tree import Listing

HOUR = 3_600_000
TEXT = FLAVOR + queue("a", 8) + nodes(1)
# Nine jobs of 8 GPUs, an hour each, all at the start: the last waits eight hours.
TRACE = "job_id,submit,duration,gpus,queue\n" + "".join(f"j{n},{n},3600,8,a\n" for n in range(9))
SETTING = """
apiVersion: policycheck.dev/v1
kind: TraceSettings
"""


def measured(slo: Slo, files: dict[str, str], text: str = TEXT) -> Verdict:
    held = {"all.yaml": text, **files}

    def read(name: str) -> bytes:
        if name not in held:
            raise FileNotFoundError(2, "No such file or directory", name)
        return held[name].encode()

    sources = Sources(("all.yaml",), read=read, tree=Listing({"all.yaml": text}), in_memory=True)
    (cluster,) = load(sources, Settings())
    stage = arena(text)
    stage.measure = measuring(cluster, None, read, "streams/promises.yaml", {})
    (found,) = find("slo").test(stage, Promises((), slo=(slo,)), Effort())
    return found


def test_waits_preemptions_and_use_are_held_against_their_bounds():
    files = {"streams/week.csv": TRACE}
    kept = Slo("week.csv", wait={"p50": 5 * HOUR, "max": 9 * HOUR}, stretch={"max": 10_000}, utilisation=500)
    found = measured(kept, files)
    assert (found.outcome, found.basis) == (HOLDS, MEASURED), found
    assert found.premise == {"jobsStarted": 9}
    assert found.required is False
    assert found.evidence["figures"]["1"]["preempted share"] == 0


@pytest.mark.parametrize(
    "slo",
    [
        Slo("week.csv", wait={"p50": HOUR}),
        Slo("week.csv", wait={"max": 7 * HOUR}),
        Slo("week.csv", stretch={"max": 5000}),
        Slo("week.csv", utilisation=1000, horizon=48 * HOUR),
        Slo("week.csv", wait={"p95": HOUR}),
    ],
)
def test_a_bound_that_is_not_kept_fails(slo):
    found = measured(slo, {"streams/week.csv": TRACE})
    assert found.outcome == FAILS, found
    assert "promised" in found.headline


def test_what_still_waits_at_the_end_is_not_known():
    slo = Slo("week.csv", wait={"max": 5 * HOUR}, horizon=2 * HOUR)
    found = measured(slo, {"streams/week.csv": TRACE})
    assert found.outcome == UNKNOWN
    assert "or more" in found.headline


def test_between_two_percentiles_it_is_not_known():
    """p90 and p99 of nine waits are both the last; with twenty they differ."""
    jobs = "job_id,submit,duration,gpus,queue\n" + "".join(f"j{n},{n},3600,8,a\n" for n in range(20))
    slo = Slo("week.csv", wait={"p95": 18 * HOUR})
    found = measured(slo, {"streams/week.csv": jobs})
    assert found.outcome == UNKNOWN
    assert "between" in found.headline


def test_a_stream_of_which_nothing_starts_is_vacuous():
    wide = "job_id,submit,duration,gpus,queue\nj,0,3600,64,a\n"
    found = measured(Slo("week.csv", wait={"p50": HOUR}, horizon=HOUR), {"streams/week.csv": wide})
    assert found.outcome == UNKNOWN
    assert "vacuous" in found.headline


def test_a_stream_that_is_not_there_is_unknown_and_says_so():
    found = measured(Slo("gone", wait={"p50": HOUR}), {})
    assert found.outcome == UNKNOWN
    assert "gone" in found.headline


def test_it_counts_where_promises_require_it():
    stage = arena(TEXT)
    promised = Promises((), slo=(Slo("x", wait={"p50": 1}),), required=("slo",))
    (found,) = find("slo").test(stage, promised, Effort())
    assert (found.outcome, found.required) == (UNKNOWN, True)  # nothing simulates here


def test_every_seed_counts():
    good = measured(Slo("production", (1,), 6 * HOUR, {"max": 6 * HOUR}), {}, TEXT)
    stage = arena(TEXT)
    answers: dict[int, Measured | str] = {1: "seed one is broken"}
    stage.measure = lambda _, seed: answers[seed]
    (found,) = find("slo").test(stage, Promises((), slo=(Slo("x", (1,)),)), Effort())
    assert "seed one is broken" in found.headline
    assert good.subject == "production"


def test_nothing_promised():
    (found,) = find("slo").test(arena(TEXT), Promises(()), Effort())
    assert found.outcome == NOT_APPLICABLE
