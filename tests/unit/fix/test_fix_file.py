"""What a rule file may say of its fix: refused with the reason, at its place, when it makes no sense."""

from __future__ import annotations

import pytest

from policycheck import app
from policycheck.lint.rulefile import Source, load
from policycheck.lint.settings import Settings

RULE = """\
id: OWN001
name: strict-queues
title: A queue that is strict
severity: warning
confidence: high
phase: queues
status: stable
subject: kueue.x-k8s.io/ClusterQueue
{decides}
message: "it is strict"
{fix}
rationale: Because.
remediation: Do not.
examples:
  bad:
    - manifest: |
        apiVersion: kueue.x-k8s.io/v1beta2
        kind: ClusterQueue
        metadata: {{name: a}}
        spec:
          namespaceSelector: {{}}
          queueingStrategy: StrictFIFO   # so far
          resourceGroups: [{{coveredResources: [cpu], flavors: [{{name: f, resources: [{{name: cpu, nominalQuota: 8, borrowingLimit: 4}}]}}]}}]
      findings: ["{found}"]
  good:
    - manifest: |
        apiVersion: kueue.x-k8s.io/v1beta2
        kind: ClusterQueue
        metadata: {{name: a}}
"""
STRICT = "at: spec.queueingStrategy\nexpression: \"!has(object.spec) || object.spec.queueingStrategy != 'StrictFIFO'\""
LIMIT = (
    "each: spec.resourceGroups[*].flavors[*].resources[*]\nat: borrowingLimit\n"
    'expression: "!has(it.borrowingLimit)"'
)


def loaded(fix, decides=STRICT):
    text = RULE.format(fix=fix, decides=decides, found="6:3 spec.queueingStrategy")
    return load(Source("own.yaml", "own.yaml", text, own=True), app.systems())


def fix_of(changes, safety="safe"):
    return f"fix: {{safety: {safety}, changes: [{changes}]}}"


@pytest.mark.parametrize(
    ("fix", "words"),
    [
        ("fix: safe", "a fix needs 'changes'"),
        ("fix: sure", "allowed are"),
        (fix_of("{set: object.spec.queueingStrategy}"), "set needs value or expression, and nothing else"),
        (fix_of("{remove: object.spec.queueingStrategy, to: x}"), "remove takes nothing beside its path"),
        (
            fix_of("{remove: object.spec.x, set: object.spec.y, value: 1}"),
            "one of set, remove, rename and append",
        ),
        (fix_of("{rename: object.spec.queueingStrategy}"), "rename needs to"),
        (fix_of("{remove: object.spec.queueingStrateg}"), "did you mean 'queueingStrategy'"),
        (fix_of("{remove: object}"), "is the whole of it; name a field"),
        (fix_of("{remove: it.borrowingLimit}"), "has to begin with object or hit"),
        (fix_of("{remove: 'object.spec.resourceGroups[*]'}"), "name one place, not [*]"),
        (fix_of("{set: object.spec.queueingStrategy, value: FIFO}"), "takes StrictFIFO, BestEffortFIFO"),
        (fix_of("{set: object.spec.queueingStrategy, value: 3}"), "takes string"),
        (fix_of("{set: object.spec.queueingStrategy, value: '{meant}'}"), "nothing is called 'meant' here"),
        (fix_of("{set: object.spec.queueingStrategy, value: '{object.spec.x}'}"), "no field 'x'"),
        (fix_of("{set: object.spec.queueingStrategy, expression: 'object.spec.'}"), "expression: "),
        (fix_of("{set: object.spec.queueingStrategy, expression: '1 + 1'}"), "expression gives int"),
    ],
)
def test_a_fix_that_makes_no_sense_is_refused(fix, words):
    problems = loaded(fix).problems
    assert any(words in problem.message for problem in problems), problems
    assert all(problem.line > 1 for problem in problems)


@pytest.mark.parametrize(
    ("change", "now"),
    [
        (
            "{set: object.spec.queueingStrategy, value: BestEffortFIFO}",
            "queueingStrategy: BestEffortFIFO   # so far",
        ),
        ("{set: hit, value: BestEffortFIFO}", "queueingStrategy: BestEffortFIFO   # so far"),
        (
            "{set: object.spec.queueingStrategy, expression: \"'Best' + 'EffortFIFO'\"}",
            "queueingStrategy: BestEffortFIFO   # so far",
        ),
        ("{rename: hit, to: strategy}", "strategy: StrictFIFO   # so far"),
    ],
)
def test_a_fix_of_ones_own_rule_is_made(tmp_path, capsys, monkeypatch, change, now):
    from policycheck.adapters.cli import main

    folder = tmp_path / "rules"
    folder.mkdir()
    text = RULE.format(fix=fix_of(change), decides=STRICT, found="6:3 spec.queueingStrategy")
    (folder / "own.yaml").write_text(text)
    example = load(Source("own.yaml", "own.yaml", text, own=True), app.systems()).model.examples.bad[0]
    (tmp_path / "q.yaml").write_text(example.manifest + "\n")
    monkeypatch.chdir(tmp_path)
    main(["lint", "q.yaml", "--rules", "rules", "--select", "OWN001", "--diff"])
    added = [n[1:].strip() for n in capsys.readouterr().out.splitlines() if n.startswith("+")]
    assert added[1:] == [now]


def test_a_placeholder_is_filled_and_a_fix_that_does_not_help_is_left(tmp_path, capsys, monkeypatch):
    from policycheck.adapters.cli import main

    change = "{set: object.metadata.labels.was, value: 'a {object.spec.queueingStrategy}'}"
    text = RULE.format(fix=fix_of(change), decides=STRICT, found="6:3 spec.queueingStrategy")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "own.yaml").write_text(text)
    rule = load(Source("own.yaml", "own.yaml", text, own=True), app.systems())
    (tmp_path / "q.yaml").write_text(rule.model.examples.bad[0].manifest + "\n")
    monkeypatch.chdir(tmp_path)
    settings = Settings(rules=("rules",), select=("OWN001",))
    result = app.lint_texts({"q.yaml": (tmp_path / "q.yaml").read_text()}, settings)
    assert [change.value for change in result.findings[0].changes] == ["a StrictFIFO"]
    main(["lint", "q.yaml", "--rules", "rules", "--select", "OWN001", "--diff"])
    assert "not made: its finding would stay" in capsys.readouterr().out


def test_the_item_of_a_list_is_called_it():
    found = loaded(fix_of("{remove: it.borrowingLimit}"), LIMIT)
    assert found.problems == ()
    assert found.rule is not None
    assert [(step.action, step.root, step.path) for step in found.rule.fix_steps] == [
        ("remove", "it", ("borrowingLimit",))
    ]


def test_the_compiled_form_holds_the_fix(tmp_path):
    from policycheck.lint.rule import as_json, from_json

    change = "{set: object.spec.queueingStrategy, expression: \"'BestEffortFIFO'\"}"
    rule = loaded(f"fix: {{safety: unsafe, claims: true, changes: [{change}]}}").rule
    assert rule is not None
    assert rule.fix_claims
    assert from_json(as_json(rule)) == rule


def test_an_example_that_is_not_what_it_says_fails(tmp_path):
    from policycheck.lint.examples import run_example

    change = "{set: object.spec.queueingStrategy, value: BestEffortFIFO}"
    found = loaded(fix_of(change))
    example = found.model.examples.bad[0]
    right = example.manifest.replace("StrictFIFO", "BestEffortFIFO")
    assert (
        run_example(
            found.rule, example.model_copy(update={"fixed": right}), _lint(tmp_path, change), Settings()
        )
        == []
    )
    wrong = run_example(
        found.rule,
        example.model_copy(update={"fixed": example.manifest}),
        _lint(tmp_path, change),
        Settings(),
    )
    assert wrong[0] == "! the fixed manifest is another one:"


def _lint(folder, change):
    """The pipe with the rule in a folder of its own."""
    (folder / "own.yaml").write_text(
        RULE.format(fix=fix_of(change), decides=STRICT, found="6:3 spec.queueingStrategy")
    )

    def lint(texts, settings, **beside):
        return app.lint_texts(texts, settings._replace(rules=(str(folder),)), **beside)

    return lint
