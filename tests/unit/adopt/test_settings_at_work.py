"""Settings at work in a run: an organisation's rules, what nothing may suppress, what ends soon, pins."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from policycheck.adapters.cli import main
from policycheck.lint.rulebook import Rulebook

RULE = """\
id: ACME100
name: a-hold
title: A queue on hold
severity: error
confidence: high
phase: queues
status: {status}
subject: kueue.x-k8s.io/ClusterQueue
at: spec.stopPolicy
expression: "!has(object.spec.stopPolicy) || object.spec.stopPolicy == 'None'"
message: "{{object.metadata.name}} is on hold"
rationale: None.
remediation: Let it go.
examples:
  bad:
    - manifest: |
        apiVersion: kueue.x-k8s.io/v1beta2
        kind: ClusterQueue
        metadata: {{name: a}}
        spec: {{stopPolicy: Hold}}
      findings: ["4:8"]
  good:
    - manifest: |
        apiVersion: kueue.x-k8s.io/v1beta2
        kind: ClusterQueue
        metadata: {{name: a}}
        spec: {{}}
"""
ORG = "rules: rules\nselect: [ACME100, KQ101, CR09]\nsuppressions: {require: [owner, until], max-days: 90, never: [KQ101]}\n"


@pytest.fixture
def organisation(old, write):
    write({"../org/policycheck.yaml": ORG, "../org/rules/ACME100-a-hold.yaml": RULE.format(status="stable")})
    write({".policycheck.yaml": "extends: ../org/policycheck.yaml\n"})


def test_rules_and_settings_of_an_organisation_count(organisation, lint):
    ran = lint(".")
    assert ran.code == 1
    assert ran.found == [
        ("ACME100", "a.yaml"),
        ("ACME100", "sub/b.yaml"),
        ("KQ101", "a.yaml"),
        ("KQ101", "sub/b.yaml"),
    ]


def test_a_suppression_needs_what_the_organisation_asks(organisation, lint, write, queue):
    comment = "# policycheck: ignore[ACME100]{}: moving house\n"
    write({"a.yaml": comment.format("") + queue("a")})
    ran = lint("a.yaml")
    assert ran.found == [("ACME100", "a.yaml"), ("CR093", "a.yaml"), ("KQ101", "a.yaml")]
    (refused,) = [f for f in ran.report["findings"] if f["rule"] == "CR093"]
    assert refused["line"] == 1
    assert "it has no owner and no until; the settings ask for owner, until" in refused["message"]
    write({"a.yaml": comment.format(" until=2026-06-01 owner=@a") + queue("a")})
    assert ("CR093", "a.yaml") in lint("a.yaml").found
    write({"a.yaml": comment.format(" until=2026-03-31 owner=@a") + queue("a")})
    assert lint("a.yaml").found == [("KQ101", "a.yaml")]


def test_an_annotation_is_held_to_the_same(organisation, lint, write, queue):
    annotation = '{policycheck.dev/ignore.KQ101: "until=2026-03-01; owner=@a; r"}'
    write({"a.yaml": queue("a").replace("  name: a\n", f"  name: a\n  annotations: {annotation}\n", 1)})
    ran = lint("a.yaml")
    assert ("KQ101", "a.yaml") in ran.found
    assert ("CR093", "a.yaml") in ran.found


def test_what_nothing_may_suppress_is_not_ignored_on_the_command_line_either(organisation, lint):
    ran = lint(".", "--ignore", "KQ101")
    assert ran.code == 2
    (what,) = ran.report["summary"]["ruleErrors"]
    assert "KQ101 can not be ignored" in what["why"]
    assert {rule for rule, _ in lint(".", "--ignore", "KQ").found} == {"ACME100", "KQ101"}


def test_what_ends_soon_is_said_in_the_summary_and_in_json(organisation, lint, write, queue, capsys):
    write({"a.yaml": "# policycheck: ignore[ACME100] until=2026-01-09 owner=@a: x\n" + queue("a")})
    said = "a suppression ends soon: a.yaml:1 in 8 days (ACME100, until 2026-01-09, owner @a)"
    assert said in lint("a.yaml").report["summary"]["notes"]
    main(["lint", "a.yaml"])
    assert said in " ".join(capsys.readouterr().out.split())
    write({".policycheck.yaml": "extends: ../org/policycheck.yaml\nsuppressions: {remind-days: 7}\n"})
    assert not [note for note in lint("a.yaml").report["summary"]["notes"] if "ends soon" in note]


def test_severity_by_path(organisation, lint, write):
    write(
        {
            ".policycheck.yaml": (
                "extends: ../org/policycheck.yaml\nper-path:\n"
                "  - {paths: sub/*, severity: {all: info, KQ101: warning}, reason: an experiment}\n"
            )
        }
    )
    ran = lint(".")
    assert {(f["rule"], f["file"]): f["severity"] for f in ran.report["findings"]} == {
        ("ACME100", "a.yaml"): "error",
        ("ACME100", "sub/b.yaml"): "info",
        ("KQ101", "a.yaml"): "error",
        ("KQ101", "sub/b.yaml"): "warning",
    }
    assert lint("sub").code == 0


def test_a_rule_in_preview_waits_and_is_named(organisation, lint, write):
    write({"../org/rules/ACME100-a-hold.yaml": RULE.format(status="preview")})
    write({".policycheck.yaml": "extends: ../org/policycheck.yaml\nselect: [ACME, KQ101]\n"})
    ran = lint(".")
    assert {rule for rule, _ in ran.found} == {"KQ101"}
    assert "a rule in preview did not run: ACME100" in ran.note("preview")
    write({".policycheck.yaml": "extends: ../org/policycheck.yaml\nselect: [ACME, KQ101]\npreview: true\n"})
    assert {rule for rule, _ in lint(".").found} == {"ACME100", "KQ101"}


def test_a_pin_keeps_newer_rules_out_and_says_how_many(old, lint, write, monkeypatch):
    from policycheck import app

    book = app.rulebook()
    newer = tuple(rule._replace(since="0.2") if rule.id == "KQ101" else rule for rule in book.rules)
    monkeypatch.setattr(app, "rulebook", lambda _: Rulebook(newer, digest=book.digest))
    write({".policycheck.yaml": 'rulebook: "0.1"\n'})
    ran = lint(".")
    assert "KQ101" not in {rule for rule, _ in ran.found}
    assert "to 0.1: 1 rule is newer and did not run" in ran.note("pin")
    write({".policycheck.yaml": ""})
    assert "KQ101" in {rule for rule, _ in lint(".").found}


def test_a_pin_to_a_digest_that_is_another_is_an_error(old, lint, write, capsys):
    main(["config", "show", "--format", "json"])
    digest = json.loads(capsys.readouterr().out)["rules"]["digest"]
    write({".policycheck.yaml": f"rulebook: {digest}\n"})
    assert lint(".").code == 1
    write({".policycheck.yaml": "rulebook: sha256:0123456789abcdef\n"})
    ran = lint(".")
    assert ran.code == 2
    assert digest in ran.report["summary"]["ruleErrors"][0]["why"]


SCRIPT = """
import json, sys
before = set(sys.modules)
from policycheck.adapters.cli import main
code = main(sys.argv[1:])
print(json.dumps({"code": code, "modules": sorted(set(sys.modules) - before)}), file=sys.stderr)
"""
# Beside what every run loads: what reads settings, and what reads a baseline.
SETTINGS = {f"policycheck.adapters.settings_{name}" for name in ("file", "layers", "merge", "text")}
SETTINGS |= {"policycheck.lint.written", "policycheck.lint.keep"}
BASELINE = {"policycheck.adapters.cli.baseline", "policycheck.lint.baseline"}


def modules(folder, *args):
    """The modules of a second run, when all is compiled and validated."""
    environ = {**os.environ, "POLICYCHECK_CACHE_DIR": str(folder / ".cache")}
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        "lint",
        ".",
        "--format",
        "concise",
        "--quiet",
        "--exit-zero",
        *args,
    ]
    for _ in range(2):
        done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    told = json.loads(done.stderr.splitlines()[-1])
    assert told["code"] == 0, done.stderr
    return set(told["modules"])


def test_settings_and_a_baseline_load_nothing_heavy(organisation, lint, folder, write):
    assert lint(".", "--write-baseline", ".b.json").code == 0
    write(
        {
            ".policycheck.yaml": "extends: ../org/policycheck.yaml\nbaseline: .b.json\nper-path: [{paths: x, severity: {KQ1: info}}]\n"
        }
    )
    with_settings = modules(folder)
    without = modules(folder, "--isolated")
    ours = {
        name
        for name in with_settings - without
        if name.startswith(("policycheck.adapters", "policycheck.lint"))
    }
    assert ours <= SETTINGS | BASELINE
    assert with_settings >= BASELINE
    heavy = ("pydantic", "click", "pathlib", "tomllib", "importlib.metadata", "subprocess")
    assert not {name for name in with_settings if name.split(".")[0] in heavy or name in heavy}
    assert not with_settings & {"policycheck.adapters.settings_model", "policycheck.adapters.settings_show"}
