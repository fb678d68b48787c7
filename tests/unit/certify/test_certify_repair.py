"""Repairs: the smallest change that was seen to help, made in the user's own text."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from minimal import FLAVOR, configuration, job, nodes, queue

from policycheck.adapters.cli import main
from policycheck.app import Sources
from policycheck.app.certify import Options, chosen_claims, prepare, verdicts_of
from policycheck.app.repair import repairs
from policycheck.certify.repair import ObjectEdit, Remedy, Repaired, candidates, repair
from policycheck.certify.verdict import FAILS, HOLDS, PROOF, Verdict
from policycheck.lint.settings import Settings
from policycheck.model.origin import ObjectKey
from policycheck.report import repair as report
from policycheck.report.fixes import diff
from policycheck.report.screen import Style
from policycheck.source.tree import Listing

NEVER = "{reclaimWithinCohort: Never, withinClusterQueue: LowerPriority}  # asked for by research"


def repaired(text: str, claim: str, promises: str = ""):
    files = {"all.yaml": text} | ({"promises.yaml": promises} if promises else {})
    sources = Sources(
        tuple(files), read=lambda name: files[name].encode(), tree=Listing(files), in_memory=True
    )
    options = Options(claims=(claim,), scenarios=10)
    (one,), _ = prepare(sources, Settings(), "")
    verdicts = verdicts_of(one, chosen_claims(options), options)
    return {r.subject: r for r in repairs(sources, Settings(), options, one, verdicts)}


def changed(found) -> list[str]:
    lines = found.diff.splitlines()
    return [n for n in lines if n[:1] in "+-" and not n.startswith(("+++", "---"))]


def test_a_policy_is_changed_where_it_stands_and_its_comment_stays():
    text = FLAVOR + queue("a", 8, preemption=NEVER) + queue("b", 8) + nodes(2)
    found = repaired(text, "guarantee-honoured")["a"]
    assert found.after.outcome == HOLDS
    assert found.words == ("ClusterQueue a: preemption.reclaimWithinCohort Never -> Any",)
    assert changed(found) == [
        f"-  preemption: {NEVER}",
        f"+  preemption: {NEVER.replace('Never', 'Any')}",
    ]


def test_a_limit_that_stands_in_the_way_goes():
    text = FLAVOR + queue("a", 8, limits=", borrowingLimit: 2") + queue("b", 8) + nodes(2)
    promises = """apiVersion: policycheck.dev/v1
kind: Promises
teams:
- {name: a, queues: [a], guarantee: {"nvidia.com/gpu": 8}, burst: 90%}
- {name: b, queues: [b], guarantee: {"nvidia.com/gpu": 8}}
"""
    found = repaired(text, "burst-usable", promises)["a"]
    assert found.words == ("ClusterQueue a: no borrowingLimit",)
    assert [n[:1] for n in changed(found)] == ["-", "+"]
    assert "borrowingLimit" not in changed(found)[1]


def test_a_queue_alone_is_put_into_a_cohort():
    text = FLAVOR + queue("a", 8, cohort="") + queue("b", 8) + queue("c", 8) + nodes(3)
    found = repaired(text, "burst-usable")["a"]
    assert found.words == ("ClusterQueue a: cohortName all",)
    assert changed(found) == ["+  cohortName: all"]


def test_a_timeout_in_the_configuration_is_shortened():
    text = (
        FLAVOR
        + queue("a", 16)
        + queue("b", 8)
        + job("train", "a", 2, 8)
        + nodes(3)
        + configuration("waitForPodsReady: {timeout: 30m}")
    )
    promises = """apiVersion: policycheck.dev/v1
kind: Promises
teams: [{name: a, queues: [a], guarantee: {"nvidia.com/gpu": 16}}]
gangs: {wholeWithin: 10m}
"""
    found = repaired(text, "gang-whole", promises)["a"]
    assert found.words == ("Configuration: waitForPodsReady.timeout 600s",)
    assert changed(found) == [
        "-waitForPodsReady: {timeout: 30m}",
        "+waitForPodsReady: {timeout: 600s}",
    ]


def test_what_nothing_helps_says_what_was_tried():
    """16 GPUs are promised, and one node of 8 has to do for both."""
    text = FLAVOR + queue("a", 16) + queue("b", 8) + nodes(1) + job("train", "a", 2, 8)
    found = repaired(text, "guarantee-honoured")["a"]
    assert (found.diff, found.words) == ("", ())
    assert found.why.startswith("none of")


KEY = ObjectKey("g", "Queue", "", "a")


def remedy(words: str, rank: int, *fields: str) -> Remedy:
    return Remedy(words, rank, tuple(ObjectEdit(KEY, (field,), 1) for field in fields))


def test_the_smallest_is_tried_first_and_pairs_after_all_single_ones():
    one, two, three = remedy("b", 1, "x"), remedy("a", 2, "y"), remedy("c", 0, "x", "z")
    assert [tuple(r.words for r in c) for c in candidates([three, two, one])] == [
        ("b",),
        ("a",),
        ("c",),
        ("b", "a"),
        ("a", "c"),
    ]


def verdict(subject: str, outcome: str) -> Verdict:
    return Verdict("claim", subject, "", outcome, PROOF, "")


def test_a_remedy_that_breaks_another_is_none():
    harmful, harmless = remedy("harmful", 0, "x"), remedy("harmless", 1, "y")

    def tested(chosen, subject):
        worse = any(r.words == "harmful" for r in chosen)
        every = [verdict("a", HOLDS), verdict("b", FAILS if worse else HOLDS)]
        return [v for v in every if not subject or v.subject == subject], "the diff"

    before = [verdict("a", FAILS), verdict("b", HOLDS)]
    found = repair(before[0], before, [harmful, harmless], tested)
    assert (found.words, found.diff, found.tried) == (("harmless",), "the diff", 2)


def test_edits_that_can_not_be_made_are_told():
    found = repair(verdict("a", FAILS), [], [remedy("x", 0, "x")], lambda *_: "it is rendered")
    assert found.why == (
        "none of 1 changes that were tried makes it hold; some could not be made in the files: it is rendered"
    )


def test_a_diff_is_one_that_git_reads():
    assert diff({"a.yaml": b"x: 1\ny: 2"}, {"a.yaml": b"x: 2\ny: 2"}) == (
        "--- a/a.yaml\n+++ b/a.yaml\n@@ -1,2 +1,2 @@\n-x: 1\n+x: 2\n y: 2\n\\ No newline at end of file\n"
    )


MENDED = Repaired("gang-whole", "a", ("Configuration: shorter",), "--- a/x\n+++ b/x\n-1\n+2 ```\n", 3)
STUCK = Repaired("guarantee-honoured", "b", (), "", 2, why="none of 2 changes that were tried makes it hold")


def test_repairs_are_told_with_their_diff_or_with_what_was_tried():
    text = report.render_text((MENDED, STUCK), Style())
    assert "  gang-whole (a)\n    Configuration: shorter\n    --- a/x" in text
    assert "none of 2 changes" in text
    assert report.render_text((), Style()).startswith("Nothing failed")
    assert [v["diff"] is None for v in report.values((MENDED, STUCK))] == [False, True]


def test_a_diff_ends_no_block_of_markdown():
    text = report.render_markdown((MENDED,))
    assert "````diff\n--- a/x" in text
    assert text.endswith("+2 ```\n````\n")


def test_the_command_shows_repairs_in_every_format(tmp_path, monkeypatch, capsys):
    text = FLAVOR + queue("a", 8, preemption=NEVER) + queue("b", 8) + nodes(2)
    (tmp_path / "all.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    common = ["certify", "all.yaml", "--claim", "guarantee-honoured", "--budget", "5", "--repair"]
    for form, mark in (("text", "Repairs, each tried"), ("markdown", "### Repairs"), ("json", '"repairs"')):
        assert main([*common, "--format", form]) == 1
        out = capsys.readouterr().out
        assert mark in out
        assert "reclaimWithinCohort Never -" in out
    assert (tmp_path / "all.yaml").read_text() == text
