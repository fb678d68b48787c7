"""Verdicts as a page: every story is drawn, with who lost quota for whom, and nothing is loaded from elsewhere."""

from __future__ import annotations

import json
import re

import pytest

from policycheck.certify.arena import FINISH, SUBMIT, Ask, Happened, Move, Scenario, Story
from policycheck.certify.certificate import Result
from policycheck.certify.lives import CYCLE, lives
from policycheck.certify.promise import Promises, Shape
from policycheck.certify.verdict import Counterexample, Verdict
from policycheck.model.workload import PodSet
from policycheck.report.certify import Certified
from policycheck.report.page.certified import render_certified
from policycheck.simulate.scheduler import Grant
from policycheck.simulate.timeline import FINISHED, PENDING, RUNNING

GPU = "nvidia.com/gpu"


def ask(name: str, queue: str, gpus: int = 8) -> Ask:
    return Ask(name, queue, Shape(name, (PodSet("main", 2, {GPU: gpus, "cpu": 1000}),)), 10, "training")


SCENARIO = Scenario(
    (
        Move(1, SUBMIT, (ask("victim", "a"), ask("small", "a", 1))),
        Move(3, SUBMIT, (ask("taker", "b"),)),
        Move(4, FINISH, names=("small",)),
    )
)
STORY = Story(
    (
        Happened(1, "reserved", "victim", "a", grant=Grant("a", ())),
        Happened(2, "reserved", "small", "a", grant=Grant("a", ())),
        Happened(3, "evicted", "victim", "a", "InCohortReclamation", "taker"),
        Happened(4, "reserved", "taker", "b", grant=Grant("b", ())),
    ),
    holding={"taker": Grant("b", ())},
    waiting={"victim": "WaitingForQuota"},
    unplaced={"taker": "no node"},
    cycles=5,
)


def test_a_story_becomes_lives():
    drawn = lives(SCENARIO, STORY, (GPU,))
    assert drawn.resource == GPU
    assert drawn.end == 6 * CYCLE
    found = {life.job.id: life for life in drawn.lives}
    assert [*found] == ["victim", "small", "taker"]
    victim, small, taker = found.values()
    assert (victim.state, victim.amount, victim.reason) == (PENDING, 16, "WaitingForQuota")
    (stay,) = victim.stays
    assert (stay.reserved, stay.ended, stay.cause, stay.by) == (1000, 3000, "InCohortReclamation", "taker")
    assert (small.state, small.finished) == (FINISHED, 3600)
    assert (taker.state, taker.stays[0].ended, taker.stays[0].ready) == (RUNNING, -1, -1)


@pytest.fixture
def refused(cluster, run, tmp_path):
    """The page of a cluster in which team a can not take its own back."""
    pytest.importorskip("altair", reason="the extra 'html' is not installed")
    pytest.importorskip("vl_convert", reason="the extra 'html' is not installed")
    cluster.replace("queues/a.yaml", "reclaimWithinCohort: Any", "reclaimWithinCohort: Never")
    done = run("certify", "cluster", "--budget", "3", "--format", "html", "--output", "page.html")
    assert done.code == 1, done.err
    return (tmp_path / "page.html").read_text()


def test_the_page_tells_and_draws_what_fails(refused):
    assert "<h1>Promises: REFUSED</h1>" in refused
    assert "guarantee-honoured: a" in refused
    assert "a waits for 2 nvidia.com/gpu of its own (WaitingForQuota)" in refused
    charts = re.findall(
        r'<script type="application/json" id="chart-guarantee-honoured-0">(.*?)</script>', refused
    )
    (spec,) = map(json.loads, charts)
    text = json.dumps(spec)
    assert re.search(r'"j": "mine-\d"', text)
    assert '"title": "cycle"' in text
    narrow = 'id="narrow-guarantee-honoured-0"'
    assert narrow in refused  # drawn anew where there is little room


def test_the_page_connects_to_nothing(refused):
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', refused)
    assert policy is not None
    assert policy[1].startswith("default-src &#x27;none&#x27;")
    body = refused[refused.index("<body>") : refused.index("<script>")]
    assert not re.findall(r'(?:src|href)="(?!#)', body)


def test_the_same_verdicts_give_the_same_page(refused, run, tmp_path):
    run("certify", "cluster", "--budget", "3", "--format", "html", "--output", "again.html")
    assert (tmp_path / "again.html").read_text() == refused


def test_names_that_are_markup_stay_text():
    pytest.importorskip("vl_convert", reason="the extra 'html' is not installed")
    odd = "</script><img src=x>"
    told = Counterexample({}, (f"{odd} waits",), 3, drawn=lives(SCENARIO, STORY, (GPU,)))
    verdicts = (
        Verdict("guarantee-honoured", odd, "", "FAILS", "search", f"{odd} waits", counterexample=told),
        Verdict("burst-usable", odd, "", "FAILS", "proof", f"{odd} is in no cohort", assumptions=(odd,)),
        Verdict("gang-whole", odd, "", "UNKNOWN", "proof", odd),
    )
    result = Result(
        "REFUSED", "", [], {}, {}, [], "", {}, {}, {"scenarios": 1, "seed": 1, "claims": []}, (), "0"
    )
    page = render_certified([Certified("", result, verdicts, Promises(()))])
    assert page.count("&lt;/script&gt;&lt;img src=x&gt;") >= 6
    assert "<img" not in page[page.index("<body>") : page.index("<script>")]
    assert page.count("</script>") == page.count("<script")
    assert "for taker" in page  # beside the loss


def test_diffs_of_repairs_are_no_page(cluster, run):
    done = run("certify", "cluster", "--format", "html", "--repair")
    assert done.code == 2
    assert "ask for one of them" in done.err


def test_without_the_libraries_it_says_so_before_the_work(cluster, run, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "altair", None)
    done = run("certify", "cluster", "--format", "html")
    assert done.code != 0
    assert "pip install 'policycheck[html]'" in done.err
