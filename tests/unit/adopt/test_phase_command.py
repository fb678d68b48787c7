"""``phase``: which steps of a rollout are clean, and what stands in the way of the next."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policycheck.adapters.cli import main

ROOT = Path(__file__).resolve().parents[3]
GOOD, BAD = (str(ROOT / "fixtures" / "clusters" / name) for name in ("demo-good", "demo-bad"))
NODE = """\
apiVersion: v1
kind: Node
metadata:
  name: n1
  labels: {pool: h100}
status:
  allocatable: {nvidia.com/gpu: "8", cpu: "64", memory: 512Gi, pods: "110"}
  capacity: {nvidia.com/gpu: "8", cpu: "64", memory: 512Gi, pods: "110"}
"""
FLAVOR = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: h100}\nspec: {nodeLabels: {pool: h100}}\n"
RULE = """\
id: TT101
name: a-flavor
title: A flavor that is not called fine
severity: error
confidence: high
phase: pilot
subject: kueue.x-k8s.io/ResourceFlavor
at: metadata.name
expression: "object.metadata.name == 'fine'"
message: "{object.metadata.name} is a flavor"
rationale: None.
remediation: Call it fine.
examples:
  bad:
    - manifest: "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: a}}"
      findings: ["1:1"]
  good:
    - manifest: "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: fine}}"
"""


@pytest.fixture
def phase(folder, capsys):
    """Runs ``policycheck phase``; the report is text unless JSON is asked for."""

    def phase(*args):
        code = main(["phase", *args])
        caught = capsys.readouterr()
        return code, caught.out, caught.err

    return phase


@pytest.fixture
def standing(phase):
    """Exit code, and what stands there of the only scope."""

    def standing(*args):
        code, out, _ = phase(*args, "--format", "json")
        (scope,) = json.loads(out)["scopes"]
        return code, scope

    return standing


def states(scope):
    return {step["phase"]: step["state"] for step in scope["phases"]}


def test_a_clean_cluster_stands_at_the_end(standing, phase):
    code, scope = standing(GOOD)
    assert (code, scope["stands"], scope["next"]) == (0, "topology", None)
    assert set(states(scope).values()) == {"clean"}
    assert sum(step["rules"] for step in scope["phases"]) > 200
    assert "This repository stands at topology" in phase(GOOD)[1]


def test_what_stands_in_the_way_is_listed_by_rule_with_its_places(standing, phase):
    code, scope = standing(BAD)
    assert (code, scope["stands"], scope["next"]) == (0, None, "observe")
    (step, *_) = scope["phases"]
    assert (step["state"], step["errors"]) == ("open", sum(o["findings"] for o in step["obstacles"]))
    assert [o["rule"] for o in step["obstacles"]] == sorted(o["rule"] for o in step["obstacles"])
    for one in step["obstacles"]:
        assert len(one["at"]) == one["findings"]
        assert one["at"][0]["file"].startswith(BAD)
    _, text, _ = phase(BAD)
    assert f"In the way of observe, {step['errors']} findings of {len(step['obstacles'])} rules:" in text
    for one in step["obstacles"]:
        assert f"  {one['rule']} error, {one['findings']} x" in text


@pytest.mark.parametrize("where", [GOOD, BAD])
def test_the_text_fits_in_80_columns(phase, where, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = phase(str(Path(where).relative_to(ROOT)))[1]
    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_warnings_stand_in_the_way_when_they_are_to(standing):
    _, few = standing(BAD)
    _, more = standing(BAD, "--fail-on", "warning")
    assert len(more["phases"][2]["obstacles"]) > len(few["phases"][2]["obstacles"])
    assert few["phases"][2]["warnings"] == more["phases"][2]["warnings"]


def test_a_step_that_has_not_begun_is_the_next(standing, phase, write):
    write({"n.yaml": NODE})
    code, scope = standing(".")
    assert (code, scope["stands"], scope["next"]) == (0, "observe", "pilot")
    assert states(scope) == {"observe": "clean", "pilot": "absent", "queues": "absent", "topology": "absent"}
    assert "pilot has not begun (0 queues). It takes a first team's queue" in phase(".")[1].replace("\n", " ")


def test_rules_that_could_not_run_leave_a_step_undecided(standing, phase, write, queue):
    write({"q.yaml": queue("a").replace(", borrowingLimit: 4", "") + "---\n" + FLAVOR})
    _, scope = standing(".")
    assert scope["stands"] is None
    (step,) = [step for step in scope["phases"] if step["phase"] == scope["next"]]
    assert (step["phase"], step["state"]) == ("observe", "undecided")
    assert step["notRun"]
    text = phase(".")[1]
    assert "Of observe these rules could not run, or not on everything:" in text
    assert step["notRun"][0]["rule"] in text


def test_what_a_baseline_knows_still_stands_in_the_way(standing, phase, write, lint):
    write({"n.yaml": NODE, "f.yaml": FLAVOR, "rules/TT101-a-flavor.yaml": RULE})
    write({".policycheck.yaml": "rules: rules\nbaseline: .b.json\nfail-on: never\nexclude: rules/*\n"})
    assert lint(".", "--write-baseline", ".b.json").code == 0
    code, scope = standing(".")
    pilot = scope["phases"][1]
    assert (code, scope["next"], pilot["state"], pilot["knownBefore"]) == (0, "pilot", "open", 1)
    assert pilot["obstacles"][0]["knownBefore"] == 1
    assert "TT101 error, 1 x, 1 known: A flavor that is not called fine" in phase(".")[1]
    write({"f.yaml": "# policycheck: ignore[TT101]: agreed\n" + FLAVOR})
    _, scope = standing(".")
    pilot = scope["phases"][1]
    assert (pilot["state"], pilot["suppressed"], pilot["obstacles"]) == ("absent", 1, [])


def test_a_phase_in_the_settings_hides_no_later_step(standing, write):
    write({"n.yaml": NODE, ".policycheck.yaml": "phase: observe\n"})
    _, scope = standing(".")
    assert all(step["rules"] for step in scope["phases"])


def test_each_cluster_stands_for_itself(phase, write):
    write({"a/n.yaml": NODE, "b/q.yaml": FLAVOR})
    write({".policycheck.yaml": "clusters: [{name: one, paths: a}, {name: two, paths: b}]\n"})
    code, out, _ = phase("--format", "json")
    found = {scope["scope"]: scope["stands"] for scope in json.loads(out)["scopes"]}
    assert code == 0
    assert found["one"] == "observe"
    assert set(found) == {"one", "two"}
    text = phase()[1]
    assert "one stands at observe" in text
    assert "\ntwo stands" in text


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ((), 2, "nothing to look at"),
        (("absent",), 3, "absent"),
        ((".", "--config", "none.yaml"), 2, "none.yaml"),
        ((".", "--rules", "nowhere"), 2, "no such folder"),
        ((".", "--fail-on", "never"), 2, "never"),
    ],
)
def test_what_could_not_be_answered_is_said(phase, write, args, code, said):
    write({"n.yaml": NODE})
    got, _, err = phase(*args)
    assert got == code
    assert said in err


def test_the_same_input_gives_the_same_bytes(phase):
    assert phase(BAD, "--format", "json") == phase(BAD, "--format", "json")
