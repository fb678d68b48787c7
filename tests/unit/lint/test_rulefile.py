from __future__ import annotations

import pytest

from policycheck.lint.rulefile import Source, load
from policycheck.lint.written import read


@pytest.fixture
def loaded(systems):
    def load_text(text, own=False, file=None):
        try:
            value = read(text).value
            name = file or f"{'' if own else 'ex/'}{value['id']}-{value['name']}.yaml"
        except Exception:  # noqa: BLE001 - text that is no rule at all
            name = file or "ex/x.yaml"
        return load(Source(name, name, text, own), systems)

    return load_text


@pytest.fixture
def complaints(loaded):
    def complain(text, **options):
        found = loaded(text, **options)
        assert found.rule is None
        return [str(problem) for problem in found.problems]

    return complain


def test_a_rule_in_order_is_compiled(rule_text, loaded):
    found = loaded(rule_text)
    assert found.problems == ()
    assert found.rule.id == "EX101"
    assert found.rule.system == "ex"
    assert found.rule.program
    assert found.model.examples.bad[0].findings == ["9:24 borrowingLimit"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"severity": "fatal"}, "'severity' is 'fatal'; allowed are 'error', 'warning', 'info'"),
        ({"severty": "error"}, "unknown key 'severty'; did you mean 'severity'?"),
        ({"title": None}, "'title' is missing"),
        ({"id": "ex1"}, "'id' is 'ex1'; it has to match"),
        ({"phase": "later"}, "'phase' is 'later'"),
        ({"message": "{object.metadata.nme}"}, "no field 'nme' in 'metadata.nme'; did you mean 'name'?"),
        ({"message": "{nobody.knows}"}, "nothing is called 'nobody' here"),
        ({"message": "{nobody}"}, "nothing is called 'nobody' here"),
        ({"message": "write {} here"}, "write {{ and }} for braces"),
        ({"message": "half { a brace"}, "write {{ and }} for braces"),
        ({"message": "{it.name[*]}"}, "a placeholder names one value"),
        ({"remediation": "{it.lmit}"}, "no field 'lmit'"),
        ({"each": "spec.groups[*].resorces[*]"}, "no field 'resorces'"),
        ({"each": "spec.groups.name"}, "this is a list"),
        ({"at": "borowingLimit"}, "did you mean 'borrowingLimit'?"),
        ({"subject": "ex.org/Qeue"}, "nobody knows the kind 'ex.org/Qeue'"),
        ({"subject": "Queue"}, "no subject 'Queue': write group/Kind"),
        ({"subject": "cluster"}, "has no object that an expression could see"),
        ({"expression": "has(it.borrowingLimt)"}, "did you mean 'borrowingLimit'?"),
        ({"expression": "it.name"}, "expression gives string; it has to be true or false"),
        ({"expression": None}, "found none of expression, check and trouble"),
        ({"check": "ex.names"}, "found expression and check of"),
        ({"params": {"most": {"type": "int", "default": "x", "description": "d"}}}, "has to be of type int"),
        ({"params": {"most": {"type": "int", "default": 1}}}, "'params.most.description' is missing"),
        ({"replaced_by": "EX102"}, "goes with status: deprecated"),
        ({"applies": {"since": "soon"}}, "'soon' is not a version"),
        ({"sources": []}, "a built-in rule says where its claim is documented"),
        ({"id": "ZZ101"}, "no system has the letters ZZ; known are EX (ex)"),
    ],
)
def test_what_is_wrong_is_said_with_what_is_allowed(changes, words, rule, complaints):
    found = complaints(rule(**changes))
    assert any(words in one for one in found), found


@pytest.mark.parametrize(
    ("examples", "words"),
    [
        ({"bad": [], "good": [{"manifest": "x"}]}, "'examples.bad' is empty; it needs at least 1"),
        ({"bad": [{"manifest": "x", "findings": ["1:1"]}]}, "'examples.good' is missing"),
        ({"bad": [{"manifest": "x"}], "good": [{"manifest": "x"}]}, "a bad example lists its findings"),
        (
            {"bad": [{"manifest": "x", "findings": ["line 1"]}], "good": [{"manifest": "x"}]},
            "'examples.bad[0].findings[0]' is 'line 1'",
        ),
        (
            {
                "bad": [{"manifest": "x", "findings": ["1:1"]}],
                "good": [{"manifest": "x", "findings": ["1:1"]}],
            },
            "move it to bad",
        ),
        (
            {
                "bad": [{"manifest": "x", "findings": ["1:1"], "params": {"most": 1}}],
                "good": [{"manifest": "x"}],
            },
            "no parameter 'most'; this rule has none",
        ),
    ],
)
def test_examples_are_tests_and_have_to_be_some(examples, words, rule, complaints):
    found = complaints(rule(examples=examples))
    assert any(words in one for one in found), found


@pytest.mark.parametrize(
    ("line", "wrong", "place"),
    [
        ("severity: error", "severity: fatal", "4:1"),
        ("at: borrowingLimit", "at: borowing", "9:1"),
        ('      findings: ["9:24 borrowingLimit"]', "      findings: [nine]", "27:18"),
    ],
)
def test_a_complaint_has_its_line_and_column(line, wrong, place, rule_text, complaints):
    text = rule_text.replace(line, wrong)
    found = complaints(text)
    assert found[0].startswith(f"ex/EX101-limit-outside-cohort.yaml:{place}: "), found


def test_a_complaint_about_a_block_expression_counts_its_lines(rule_text, complaints):
    text = rule_text.replace(
        'expression: "!has(it.borrowingLimit) || has(object.spec.cohortName)"',
        "expression: |\n  !has(it.borrowingLimit) ||\n  has(object.spec.cohrtName)",
    )
    (found,) = complaints(text)
    assert ":12:1: expression: no field 'cohrtName'" in found
    assert found.endswith("  | has(object.spec.cohrtName)\n  |                 ^")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "not YAML"),
        ("- a", "a rule file is a map"),
        ("", "a rule file is a map"),
        ("id: EX1\nid: EX2", "the key 'id' is written twice"),
        ("a: &x 1\nb: *x", "anchors and aliases are not used"),
        ("[" * 200 + "]" * 200, "nested deeper than 50"),
        ("a: b\n---\nc: d", "a second document"),
        ("a: \x01", "not YAML"),
    ],
)
def test_a_file_that_is_no_rule_is_no_traceback(text, words, complaints):
    found = complaints(text)
    assert any(words in one for one in found), found


def test_the_file_is_called_after_the_rule(rule_text, complaints):
    (found,) = complaints(rule_text, file="ex/EX101-other.yaml")
    assert "it has to be ex/EX101-limit-outside-cohort.yaml" in found


def test_a_check_has_to_exist(rule, loaded, complaints):
    changes = {"expression": None, "each": None, "at": None, "message": "{what}", "remediation": "x"}
    assert loaded(rule(check="ex.names", **changes)).rule.check == "ex.names"
    (found,) = complaints(rule(check="ex.nams", **changes))
    assert "no check 'ex.nams'" in found


def test_a_check_gives_its_own_places(rule, complaints):
    (found,) = complaints(rule(check="ex.names", expression=None, at=None, message="m", remediation="x"))
    assert "'each' goes with an 'expression'" in found


def test_rules_of_a_users_folder_run_no_code(rule, complaints):
    changes = {
        "id": "ACME100",
        "expression": None,
        "each": None,
        "at": None,
        "message": "m",
        "remediation": "x",
    }
    (found,) = complaints(rule(check="ex.names", **changes), own=True)
    assert "a pull request must not run code" in found


def test_rules_of_a_users_folder_have_letters_of_their_own(rule, loaded, complaints):
    assert loaded(rule(id="ACME100", sources=[]), own=True).rule.system == "own"
    (found,) = complaints(rule(), own=True)
    assert "the letters EX are taken by built-in rules (EX)" in found


def test_a_rule_about_the_model_sees_its_fields(rule, loaded, complaints):
    changes = {
        "subject": "queue",
        "each": "quotas[*]",
        "at": None,
        "message": "{it.flavor}",
        "remediation": "x",
    }
    assert loaded(rule(expression="it.nominal > 0 || object.stopped", **changes)).rule
    found = complaints(rule(expression="it.nominl > 0", **changes))
    assert any("did you mean 'nominal'?" in one for one in found)


def test_parameters_are_typed_in_expressions(rule, loaded, complaints):
    params = {"most": {"type": "int", "default": 8, "description": "d"}}
    assert loaded(rule(params=params, expression="quantity(it.nominal) < params.most")).rule
    found = complaints(rule(params=params, expression="params.most == 'x'"))
    assert any("no matching overload" in one for one in found)
    found = complaints(rule(params=params, expression="params.mots > 1"))
    assert any("did you mean 'most'?" in one for one in found)
