"""Reports that machines read: each against its schema, and what their readers do with it."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import junitparser
import pytest
import xmlschema
from jsonschema import Draft4Validator, Draft202012Validator

from policycheck.lint.finding import Place
from policycheck.report import View, render
from policycheck.report import github as github_format
from policycheck.report import sarif as sarif_format
from policycheck.source.document import FileReport, Span

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "tests" / "schemas"
# Everything that a manifest may try on a page, a terminal or a parser.
HOSTILE = 'a]]> <b a="1">&amp; "q" \'p\' \x00\x1b[31m\u202e \ud800 \uffff 😀 %0A::error::x ::stop-commands::y\r\n::warning::z [l](1) \\'


def schema(name):
    return json.loads((SCHEMAS / name).read_text(encoding="utf-8"))


@pytest.fixture
def hostile(full, make_finding):
    """A result in which whatever comes from files is hostile."""
    place = Place(f"a:b,c/%41 {HOSTILE}.yaml", Span(3, 2, 3, 5), HOSTILE)
    one = make_finding(message=HOSTILE, help=HOSTILE, place=place, related=(place,), path=HOSTILE)
    broken = FileReport(place.file, "notChecked", 1, HOSTILE, failed=True)
    told = full.suppressed[0]._replace(finding=one, reason=HOSTILE, owner=HOSTILE)
    return full._replace(
        findings=(one,),
        files=(broken,),
        suppressed=(told,),
        before=(one,),
        notes=(HOSTILE,),
        scopes=(HOSTILE,),
    )


RESULTS = ("full", "clean_result", "hostile")


@pytest.mark.parametrize("name", RESULTS)
def test_sarif_is_valid(name, request, view):
    made = json.loads(render("sarif", request.getfixturevalue(name), view))
    errors = sorted(map(str, Draft4Validator(schema("sarif-2.1.0.json")).iter_errors(made)))
    assert errors == []


@pytest.mark.parametrize("name", RESULTS)
def test_gitlab_is_valid_and_names_each_finding_once(name, request, view):
    made = json.loads(render("gitlab", request.getfixturevalue(name), view))
    assert sorted(map(str, Draft202012Validator(schema("gitlab-code-quality.json")).iter_errors(made))) == []
    marks = [one["fingerprint"] for one in made]
    assert len(set(marks)) == len(marks)


@pytest.mark.parametrize("name", RESULTS)
def test_junit_is_valid_and_adds_up(name, request, view):
    text = render("junit", request.getfixturevalue(name), view)
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(text)
    read = junitparser.JUnitXml.fromstring(text.encode())
    for suite in read:
        outcomes = [type(case.result[0]).__name__ if case.result else "" for case in suite]
        said = (suite.tests, suite.failures, suite.errors, suite.skipped)
        assert said == (len(outcomes), *(outcomes.count(kind) for kind in ("Failure", "Error", "Skipped")))
        assert suite.tests > 0
    suites = list(read)
    assert (read.tests, read.failures, read.errors) == (
        sum(suite.tests for suite in suites),
        sum(suite.failures for suite in suites),
        sum(suite.errors for suite in suites),
    )


def test_junit_fails_where_the_run_does(full, view):
    read = junitparser.JUnitXml.fromstring(render("junit", full, view).encode())
    assert (read.failures, read.errors) == (3, 2)
    strict = view._replace(fails=("error", "warning", "info"))
    assert junitparser.JUnitXml.fromstring(render("junit", full, strict).encode()).failures == 9
    lax = view._replace(fails=())
    assert junitparser.JUnitXml.fromstring(render("junit", full, lax).encode()).failures == 0


@pytest.mark.parametrize("name", RESULTS)
def test_checkstyle_has_the_shape_that_readers_know(name, request, view):
    result = request.getfixturevalue(name)
    root = ET.fromstring(render("checkstyle", result, view))  # noqa: S314 - ours
    assert (root.tag, root.get("version")) == ("checkstyle", "4.3")
    errors = root.findall("./file[@name]/error")
    assert len(errors) == len(result.findings) + sum(file.failed for file in result.files)
    assert {one.get("severity") for one in errors} <= {"error", "warning", "info"}
    assert all(int(one.get("line")) >= 1 and one.get("source").startswith("policycheck.") for one in errors)
    assert all(one.get("message") for one in errors)
    assert len({file.get("name") for file in root}) == len(list(root))


@pytest.mark.parametrize("name", RESULTS)
def test_rdjson_has_the_shape_that_reviewdog_knows(name, request, view):
    result = request.getfixturevalue(name)
    made = json.loads(render("rdjson", result, view))
    assert set(made) == {"source", "diagnostics"}
    assert len(made["diagnostics"]) == len(result.findings) + sum(file.failed for file in result.files)
    for one in made["diagnostics"]:
        assert set(one) <= {"message", "location", "severity", "code", "suggestions", "relatedLocations"}
        assert one["severity"] in {"ERROR", "WARNING", "INFO"}
        assert one["location"]["range"]["start"]["line"] >= 1


def test_rdjson_counts_bytes(full, view, lines):
    made = json.loads(render("rdjson", full, view))["diagnostics"]
    wide = next(one for one in made if one["location"]["range"]["start"]["line"] == 2)["location"]["range"]
    text = lines("odd.yaml")[1].encode()
    assert text[wide["start"]["column"] - 1 : wide["end"]["column"] - 1].decode() == "東京"


def test_github_keeps_to_its_limits_and_says_what_is_left_out(full, make_finding, view):
    findings = tuple(
        make_finding(severity=severity, place=Place("q.yaml", Span(line, 1, line, 2)))
        for severity, amount in (("info", 3), ("warning", 12), ("error", 40))
        for line in range(1, amount + 1)
    )
    rows = render(
        "github", full._replace(findings=findings, files=(), errors=(), before=()), view
    ).splitlines()
    levels = [row.split(" ", 1)[0] for row in rows]
    assert levels[:-1] == ["::error"] * 10 + ["::warning"] * 10 + ["::notice"] * 3
    assert rows[-1].startswith("and 30 errors, 2 warnings more")


def test_github_shows_what_was_there_before_behind_what_is_new(full, view):
    rows = render("github", full, view).splitlines()
    assert [row for row in rows if "(known before)" in row] == rows[-1:]
    assert rows[-1].startswith("::notice ")


def test_nothing_in_a_manifest_becomes_a_workflow_command(hostile, view):
    rows = render("github", hostile, view).split("\n")
    assert rows.pop() == ""
    assert len(rows) == len(hostile.findings) + len(hostile.errors) + len(hostile.before) + 1
    for row in rows:
        _, command, _ = row.split("::", 2)
        level, _, told = command.partition(" ")
        assert level in {"error", "notice"}
        properties = dict(one.split("=", 1) for one in told.split(","))
        assert set(properties) <= {"file", "line", "endLine", "col", "endColumn", "title"}
        assert not {"\r", "\n", "\x1b"} & set(row)


def test_github_remarks_on_standard_input_name_no_file(full, make_finding, view):
    one = make_finding(place=Place("<stdin>", Span(3, 1, 3, 2)))
    row = render("github", full._replace(findings=(one,), files=(), errors=(), before=()), view)
    assert "file=" not in row
    assert "::<stdin>:3: borrowingLimit" in row


def results(text):
    return json.loads(text)["runs"][0]["results"]


def test_sarif_marks_what_is_new_known_and_suppressed(full, view):
    found = results(render("sarif", full, view))
    states = [one.get("baselineState") for one in found]
    assert states == ["new"] * 9 + ["unchanged"] + [None] * 2
    assert [one["suppressions"][0]["kind"] for one in found if "suppressions" in one] == [
        "inSource",
        "external",
    ]
    told = found[10]["suppressions"][0]
    assert told["properties"] == {"expires": "2027-03-31", "owner": "@platform"}
    assert told["justification"] == "moving in March"
    alone = results(render("sarif", full._replace(before=()), view._replace(is_compared=False)))
    assert all("baselineState" not in one for one in alone)


def test_sarif_fingerprints_know_no_lines(full, view):
    moved = full._replace(
        findings=tuple(
            one._replace(place=one.place._replace(span=Span(900, 1, 900, 2))) for one in full.findings
        )
    )
    marks = [[one["partialFingerprints"] for one in results(render("sarif", r, view))] for r in (full, moved)]
    assert marks[0] == marks[1]
    assert all(set(one) == {"policycheckFingerprint/v1"} for one in marks[0])


def test_sarif_links_lead_to_related_places(full, view):
    one = next(one for one in results(render("sarif", full, view)) if one.get("relatedLocations"))
    for place in one["relatedLocations"]:
        assert f"]({place['id']})" in one["message"]["text"]


def test_sarif_lists_the_rules_that_ran_and_results_point_at_theirs(full, view):
    run = json.loads(render("sarif", full, view))["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["ACME7", "CR001", "KQ101", "KQ120", "KQ122"]
    assert all(rules[one["ruleIndex"]] == one["ruleId"] for one in run["results"])
    by_id = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
    assert by_id["KQ101"]["helpUri"].endswith("/docs/rules/KQ101.md")
    assert "helpUri" not in by_id["ACME7"]
    assert "Why borrowing-limit-outside-cohort hurts." in by_id["KQ101"]["help"]["markdown"]


def test_sarif_says_what_could_not_be_done(full, clean_result, view):
    (told,) = json.loads(render("sarif", full, view))["runs"][0]["invocations"]
    assert told["executionSuccessful"] is False
    execution = [one["descriptor"]["id"] for one in told["toolExecutionNotifications"]]
    assert execution == ["partly-checked", *["not-checked"] * 7, "unreadable-file", "rule-error"]
    configuration = [one["descriptor"]["id"] for one in told["toolConfigurationNotifications"]]
    assert configuration == ["rule-skipped"] * 3 + ["note"] * 3
    (fine,) = json.loads(render("sarif", clean_result, view))["runs"][0]["invocations"]
    assert fine["executionSuccessful"] is True


def test_sarif_fix_says_how_sure_it_is(full, view):
    (one,) = [one for one in results(render("sarif", full, view)) if "fixes" in one]
    (fix,) = one["fixes"]
    assert fix["properties"] == {"applicability": "safe"}
    (changed,) = fix["artifactChanges"]
    removed, added = changed["replacements"]
    assert "insertedContent" not in removed
    assert added["insertedContent"]["text"] == "cohortName: research\n  "
    region = added["deletedRegion"]
    assert (region["startLine"], region["startColumn"]) == (region["endLine"], region["endColumn"])


def test_sarif_cuts_the_least_severe_and_says_so(full, make_finding, view, monkeypatch):
    monkeypatch.setattr(sarif_format, "RESULTS", 5)
    told = ["info", "error", "warning", "info", "error", "warning", "info"]
    findings = tuple(make_finding(severity=severity, message=str(n)) for n, severity in enumerate(told))
    run = json.loads(render("sarif", full._replace(findings=findings, suppressed=(), before=()), view))[
        "runs"
    ][0]
    assert [one["level"] for one in run["results"]] == ["error"] * 2 + ["warning"] * 2 + ["note"]
    first = run["invocations"][0]["toolExecutionNotifications"][0]
    assert first["descriptor"]["id"] == "results-cut"
    assert first["message"]["text"].startswith("2 results of 7 are left out")


def test_sarif_stays_below_the_size_that_is_taken(full, make_finding, view, monkeypatch):
    monkeypatch.setattr(sarif_format, "BYTES", 8_000)
    findings = tuple(make_finding(message=f"{n * 7919 % 4093:x}" * 40, related=()) for n in range(300))
    text = render("sarif", full._replace(findings=findings), view)
    assert sarif_format._compressed(text) <= 8_000
    assert 0 < len(results(text)) < 300
    assert "results-cut" in text


def test_sarif_of_files_outside_the_repository_and_odd_names(full, make_finding, view):
    odd = make_finding(place=Place("/else where/ä#?%.yaml", Span(1, 1, 1, 2)), related=())
    outside = view._replace(relative=lambda file: file)
    (one, *_) = results(render("sarif", full._replace(findings=(odd,)), outside))
    assert one["locations"][0]["physicalLocation"]["artifactLocation"] == {
        "uri": "file:///else%20where/%C3%A4%23%3F%25.yaml"
    }


def test_limits_are_those_of_the_readers():
    assert (sarif_format.RESULTS, sarif_format.BYTES, github_format.MOST) == (25_000, 10_000_000, 10)


def test_json_is_as_its_schema_says(full, clean_result, hostile, view):
    made = json.loads((ROOT / "docs" / "schemas" / "lint-v1.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(made)
    for strict in (False, True):
        checked = Draft202012Validator(closed(made) if strict else made)
        for result in (full, clean_result, hostile):
            assert sorted(map(str, checked.iter_errors(json.loads(render("json", result, view))))) == []
    wrong = json.loads(render("json", full, View(lambda _: ())))
    del wrong["findings"][0]["fingerprint"]
    assert not Draft202012Validator(made).is_valid(wrong)


def closed(node):
    """The schema with nothing allowed that it does not name: what we write, it has to describe."""
    if isinstance(node, list):
        return [closed(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {key: closed(value) for key, value in node.items()}
    if isinstance(node.get("properties"), dict) and "additionalProperties" not in node:
        made["additionalProperties"] = False
    return made
