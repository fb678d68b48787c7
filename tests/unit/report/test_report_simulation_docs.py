"""docs/metrics.md tells of every figure that the JSON has, and of the names that users know."""

import json
import re
from pathlib import Path

from story_help import story

from policycheck.report.simulation import render_json
from policycheck.systems.kueue.metricnames import NAMES

PAGE = (Path(__file__).parents[3] / "docs" / "metrics.md").read_text(encoding="utf-8")
# Said by the docstring of the format, or plain counts and names.
PLAIN = {
    *("submitted", "reserved", "started", "finished", "running", "holding", "pending", "refused", "services"),
    *("cohort", "nominal", "names", "outsideQueues", "basis", "capacity", "jobs", "queues", "priorities"),
    *("classes", "evidence", "preemptedJobs", "byPriority", "utilisation", "preemption", "work", "fairness"),
}


def test_every_figure_is_explained():
    metrics = json.loads(render_json([story()]))["metrics"]
    figures = set(metrics) | set(metrics["jobs"]) | set(metrics["utilisation"])
    figures |= set(next(iter(metrics["queues"].values()))) | {"jain", "finishTime"}
    figures |= {"wastedShare", "goodput", "inferenceShare", "largestGangShare", "brokenShareOfTime"}
    missing = [name for name in sorted(figures - PLAIN) if not re.search(rf"[`.]{name}`", PAGE)]
    assert missing == []


def test_every_name_that_users_know_is_listed():
    for place, name in NAMES.items():
        assert f"| `{place}` | `{name}` |" in PAGE
