"""Whole reports of two configurations side by side and of many runs, on values written by hand."""

from pathlib import Path

import pytest

from policycheck.model.amount import UNLIMITED
from policycheck.report import compare, sweep
from policycheck.report.screen import Style
from policycheck.simulate.comparison import Comparison, Holding, RightChange, TeamChange, VerdictChange
from policycheck.simulate.contrast import OWN, WHOLE, averaged, of_queue, whole
from policycheck.simulate.sweep import Swept

GPU = "nvidia.com/gpu"
OLD = [
    (0.812, 0.90, 60.0, 5400.0, 90000.0, 0.071, 210.5, 940.0, 31.0),
    (0.803, 0.89, 61.0, 5500.0, 91000.0, 0.069, 190.5, 950.0, 29.0),
    (0.807, None, 62.0, 5300.0, 89500.0, 0.075, 200.0, 945.0, 30.0),
]
NEW = [
    (0.871, 0.95, 60.0, 1900.0, 95000.0, 0.031, 90.0, 960.0, 10.0),
    (0.866, 0.94, 61.0, 1950.0, 88000.0, 0.028, 85.0, 966.0, 9.0),
    (0.869, 0.96, 62.0, 2010.0, 90000.0, 0.035, 95.5, 959.0, 12.0),
]
QUEUE = [(0.0, 1200.0, 0.91, 30.0, 0.08), (0.0, 1300.0, 0.93, None, 0.07), (0.0, 1100.0, 0.9, 45.0, 0.09)]
BETTER = [(0.0, 300.0, 1.0, None, 0.01), (0.0, 290.0, 0.9999, None, 0.0), (0.0, 310.0, 1.0, None, 0.01)]
NEVER = [None, None, None]


def comparison():
    every = (("high", "high"), ("high", "low"), ("low", "high"), ("low", "low"))
    return Comparison(
        scope="clusters/prod",
        old="main:clusters/prod",
        new="clusters/prod",
        old_target="Kueue 0.16",
        new_target="Kueue 0.19",
        resource=GPU,
        seeds=(1, 2, 3),
        horizon=7 * 86_400_000,
        jobs=1021,
        source="mix research",
        teams=(
            TeamChange("vision", GPU, Holding(32, 32, 32), Holding(40, 24, 40), of_queue(QUEUE, BETTER)),
            TeamChange("speech", GPU, Holding(24, 8, 24), Holding(24, 8, 24), of_queue(BETTER, BETTER)),
            TeamChange(
                "new | team", GPU, Holding(None, None, None), Holding(0, UNLIMITED, 0), of_queue(NEVER, QUEUE)
            ),
        ),
        changes=(
            RightChange(
                "vision", "speech", "own", "InCohortReclamation", every, True, "whatever the priority"
            ),
            RightChange("vision", "nlp", "own", "InCohortReclamation", every, True, "whatever the priority"),
            RightChange(
                "speech", "speech", "any", "InClusterQueue", (("high", "low that came later"),), False
            ),
        ),
        figures=whole(OLD, NEW),
        notes=("the load is 110% of 224 nvidia.com/gpu", "clusters/prod: checks agree after 2m"),
        verdicts=(
            VerdictChange("guarantees-fit", "", "HOLDS", "HOLDS", "all of it fits", "all of it fits"),
            VerdictChange("gang-whole", "vision", "FAILS", "HOLDS", "for ever", "within 5m"),
            VerdictChange(
                "burst-usable", "speech", "HOLDS", "FAILS", "", "8 of 64 idle GPUs; 40.0 % are promised"
            ),
            VerdictChange("inference-protected", "Deployment s/llm", "", "HOLDS", "", "nothing displaces it"),
            VerdictChange("burst-usable", "nlp", "FAILS", "FAILS", "no queue", "no queue", required=False),
        ),
    )


def swept(scope, seen):
    return Swept(
        scope=scope,
        target="Kueue 0.19.2",
        assumed=True,
        source="mix research",
        resource=GPU,
        seeds=(1, 2, 3),
        horizon=7 * 86_400_000,
        jobs=(1021, 990, 1010),
        figures=tuple(averaged(kind, [one[n] for one in seen]) for n, kind in enumerate(WHOLE)),
        queues=(
            ("vision", tuple(averaged(kind, [one[n] for one in QUEUE]) for n, kind in enumerate(OWN))),
            ("a-queue-with-a-rather-long-name", tuple(averaged(kind, [1.0, 1.0, 1.0]) for kind in OWN)),
            ("idle", tuple(averaged(kind, [None, None, None]) for kind in OWN)),
        ),
        notes=("the load is 110% of 224 nvidia.com/gpu",),
    )


REPORTS = {
    "compare.txt": lambda: compare.render_text([comparison()], Style()),
    "compare.color.txt": lambda: compare.render_text([comparison()], Style(color=True)),
    "compare.md": lambda: compare.render_markdown([comparison()]),
    "compare.json": lambda: compare.render_json([comparison()]),
    "sweep.txt": lambda: sweep.render_text([swept("old", OLD), swept("new", NEW)], Style(verbose=True)),
    "sweep.json": lambda: sweep.render_json([swept("old", OLD)]),
    "sweep.csv": lambda: sweep.render_csv([swept("old", OLD), swept("=new", NEW)]),
}


@pytest.mark.parametrize("name", REPORTS)
def test_whole_report(name, golden_simulate):
    golden_simulate(name, REPORTS[name]())


def test_the_page_shows_the_report_as_it_is():
    page = (Path(__file__).parents[2] / "docs" / "compare.md").read_text(encoding="utf-8")
    assert compare.render_markdown([comparison()]) in page
