import json

import pytest

from policycheck.adapters.cli import exitcode
from policycheck.report import FORMATS, View, render
from policycheck.report.screen import Style
from policycheck.report.text import summary

STEPS = ("`policycheck explain CR001` says why it hurts and what to write instead",)
STYLES = {
    "plain": Style(),
    "ascii": Style(ascii=True),
    "color": Style(color=True),
    "narrow": Style(width=50),
    "verbose": Style(width=100, verbose=True),
    "quiet": Style(quiet=True),
}


@pytest.mark.parametrize("look", STYLES)
def test_text(look, full, lines, golden):
    golden(f"full.{look}.txt", render("text", full, View(lines, STYLES[look], STEPS)))


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "text"])
def test_other_formats(name, full, view, golden):
    golden(f"full.{name}", render(name, full, view._replace(next_steps=STEPS)))


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_found(name, clean_result, lines, golden):
    golden(f"clean.{name}", render(name, clean_result, View(lines)))


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_does_with_the_least_that_a_view_has(name, full):
    assert render(name, full, View(lambda _: ()))


def test_statistics(full, lines, golden):
    golden("full.statistics.txt", render("text", full, View(lines, statistics=True)))


def test_summary_alone_ends_the_text_report(full, lines):
    view = View(lines, next_steps=STEPS)
    assert render("text", full, view).endswith("\n\n" + summary(full, view))


def test_exit_code_of_the_recorded_result(full, clean_result):
    assert exitcode.of_lint(full, "error") == exitcode.USAGE
    assert exitcode.of_lint(full._replace(errors=()), "error") == exitcode.FINDINGS
    assert exitcode.of_lint(full._replace(errors=()), "never") == exitcode.UNREAD
    assert exitcode.of_lint(clean_result, "info") == exitcode.OK


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_sends_control_characters(name, full, lines):
    text = render(name, full, View(lines, STYLES["plain"]))
    assert [char for char in text if (char < " " and char != "\n") or "\x7f" <= char <= "\x9f"] == []
    assert "\u202e" not in text


def test_ascii_look_is_ascii(full, lines):
    assert render("text", full, View(lines, STYLES["ascii"], STEPS)).isascii()


def test_colour_adds_nothing_but_colour(full, lines):
    import re

    colored = render("text", full, View(lines, STYLES["color"], STEPS))
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render("text", full, View(lines, STYLES["plain"], STEPS))


def test_json_has_the_keys_of_the_contract(full, lines):
    data = json.loads(render("json", full, View(lines)))
    assert {"schemaVersion", "findings", "summary"} <= set(data)
    keys = {"rule", "name", "severity", "confidence", "message", "scope", "file", "line", "column", "endLine"}
    keys |= {"endColumn", "path", "object", "related", "fix", "fingerprint"}
    assert all(keys <= set(finding) for finding in data["findings"])
    assert data["findings"][6]["object"] == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "namespace": None,
        "name": "team-a",
    }
    counts = {key: data["summary"][key] for key in ("documents", "errors", "warnings", "infos", "suppressed")}
    assert counts == {"documents": 7, "errors": 3, "warnings": 5, "infos": 1, "suppressed": 2}
    assert data["summary"]["targets"]["kueue"]["assumed"] is True
    assert data["summary"]["files"][2]["state"] == "partly"


def test_markdown_stays_within_what_a_job_page_shows(full, make_finding, lines):
    many = full._replace(findings=tuple(make_finding(message="x" * 20_000) for _ in range(500)))
    text = render("markdown", many, View(lines))
    assert len(text.encode()) < 1024 * 1024
    assert "more; the log has them all" in text


def test_markdown_of_a_hostile_message_is_text(full, make_finding, lines):
    hostile = make_finding(message="| a | <script>x</script> [l](http://e) `c` @team\n# h", help="")
    text = render("markdown", full._replace(findings=(hostile,)), View(lines))
    row = next(line for line in text.splitlines() if line.startswith("| error"))
    assert "<script>" not in row
    assert "@team" not in row
    assert row.replace("\\|", "").count("|") == 5
