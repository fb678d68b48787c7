import json

import pytest

from policycheck.adapters.cli.common import style_for, today, wants_color
from policycheck.lint.finding import RuleError
from policycheck.source.document import FileReport

UNREAD = FileReport("x.yaml", "notChecked", 1, "broken", failed=True)
TEMPLATE = FileReport("t.yaml", "notChecked", 1, "a template")


@pytest.mark.parametrize(
    ("severities", "changes", "args", "code"),
    [
        ((), {}, (), 0),
        (("error",), {}, (), 1),
        (("warning",), {}, (), 0),
        (("warning",), {}, ("--fail-on", "warning"), 1),
        (("info",), {}, ("--fail-on", "warning"), 0),
        (("info",), {}, ("--fail-on", "info"), 1),
        (("error",), {}, ("--fail-on", "never"), 0),
        (("error",), {}, ("--exit-zero",), 0),
        ((), {"files": ()}, (), 3),
        ((), {"files": (UNREAD,)}, (), 3),
        ((), {"files": (TEMPLATE,)}, (), 0),
        (("error",), {"files": (UNREAD,)}, (), 1),
        (("error",), {"files": (UNREAD,)}, ("--exit-zero",), 3),
        (("error",), {"errors": (RuleError("KQ1", "raised"),)}, (), 2),
        ((), {"errors": (RuleError("KQ1", "raised"),), "files": (UNREAD,)}, ("--exit-zero",), 2),
    ],
)
@pytest.mark.parametrize("form", ["text", "concise", "json", "markdown"])
def test_exit_codes_are_the_same_for_every_format(
    run, asked, make_result, severities, changes, args, code, form
):
    asked.answer = make_result(*severities, **changes)
    assert run("lint", "q.yaml", "--format", form, *args).code == code


def test_options_reach_the_use_case(run, asked):
    ran = run(
        "lint", "q.yaml", "--context", "c", "--inventory", "n.json", "--target", "kueue=0.19", "--rules", "r",
        "--select", "KQ1,GP", "--select", "CR001", "--ignore", "KQ101", "--phase", "pilot", "--fail-on", "info",
    )  # fmt: skip
    assert ran.code == 0
    sources, settings = asked.calls[0]
    assert sources.paths == ("q.yaml",)
    assert sources.context == ("c",)
    assert sources.inventory == ("n.json",)
    assert sources.targets == ("kueue=0.19",)
    assert sources.rules == ("r",)
    assert settings.select == ("KQ1", "GP", "CR001")
    assert settings.ignore == ("KQ101",)
    assert (settings.phase, settings.fail_on) == ("pilot", "info")


def test_the_command_line_goes_before_the_settings_file(run, asked, tmp_path, make_result):
    (tmp_path / ".policycheck.yaml").write_text("fail-on: warning\nselect: [KQ]\nignore: [KQ2]\n")
    asked.answer = make_result("warning")
    assert run("lint", "q.yaml").code == 1
    assert run("lint", "q.yaml", "--fail-on", "error", "--select", "GP", "--ignore", "GP9").code == 0
    settings = asked.calls[1][1]
    assert settings.select == ("GP",)
    assert settings.ignore == ("KQ2", "GP9")


def test_machine_output_is_alone_on_standard_output(run, asked, make_result):
    asked.answer = make_result("error")
    ran = run("lint", "q.yaml", "--format", "json")
    assert json.loads(ran.out)["summary"]["errors"] == 1
    assert ran.err.startswith("1 error · 1 object in 1 file\n")
    assert run("lint", "q.yaml", "--format", "json", "--quiet").err == ""


@pytest.mark.parametrize("form", ["text", "concise", "json", "markdown"])
@pytest.mark.parametrize("severities", [(), ("error",)])
def test_what_follows_on_a_terminal_begins_a_line_of_its_own(run, asked, make_result, form, severities):
    asked.answer = make_result(*severities)
    ran = run("lint", "q.yaml", "--format", form)
    assert ran.out == "" or ran.out.endswith("\n")
    assert ran.err == "" or ran.err.endswith("\n")


def test_a_path_that_stands_for_nothing_is_said_and_fails_the_run(run):
    ran = run("lint", "absent")
    assert ran.code == 3
    assert "nothing was checked: no file matched what was given:\n  absent: stands for no file" in ran.out
    ran = run("lint", "absent", "q.yaml")
    assert ran.code == 3
    assert "1 file could not be read:\n  absent: stands for no file" in ran.out


def test_the_excerpt_comes_from_the_file(run, asked, make_result):
    asked.answer = make_result("error", "warning")
    ran = run("lint", "q.yaml")
    assert "2 | second: 2\n  | ^^^^\n" in ran.out
    assert ran.err == ""


def test_several_formats_in_one_run(run, asked, make_result, tmp_path):
    asked.answer = make_result("error")
    ran = run(
        "lint", "q.yaml", "--format", "json=out.json", "--format", "markdown=out.md", "--format", "concise"
    )
    assert ran.out == "q.yaml:1:1: error[KQ100] message 0\n"
    assert json.loads((tmp_path / "out.json").read_text())["schemaVersion"] == 1
    assert (tmp_path / "out.md").read_text().startswith("## policycheck\n")
    assert len(asked.calls) == 1


def test_output_goes_to_a_file(run, asked, make_result, tmp_path):
    asked.answer = make_result("error")
    ran = run("lint", "q.yaml", "--output", "out.txt")
    assert ran.out == ""
    assert (tmp_path / "out.txt").read_text().startswith("error[KQ100]: message 0\n")
    assert run("lint", "q.yaml", "--output", "no/such/folder.txt").code == 2


def test_statistics_stand_in_place_of_the_findings(run, asked, make_result):
    asked.answer = make_result("error", "warning")
    ran = run("lint", "q.yaml", "--statistics")
    assert ran.out.startswith("1 error[KQ100] a-rule\n1 warning[KQ101] a-rule\n\n1 error, 1 warning")
    assert ran.code == 1


def test_colour_follows_the_option_then_the_environment_then_the_terminal():
    def color(choice="auto", terminal=False, **environ):
        return wants_color(choice, terminal=terminal, environ=environ)

    assert not color()
    assert color(terminal=True)
    assert not color(terminal=True, NO_COLOR="1")
    assert color(terminal=True, NO_COLOR="")
    assert color(FORCE_COLOR="1")
    assert not color(FORCE_COLOR="0")
    assert color(CLICOLOR_FORCE="1")
    assert not color(FORCE_COLOR="1", NO_COLOR="1")
    assert not color(terminal=True, TERM="dumb")
    assert color("always", NO_COLOR="1")
    assert not color("never", terminal=True, FORCE_COLOR="1")


def test_a_stream_that_can_not_say_it_gets_ascii():
    class Latin:
        encoding = "iso-8859-1"

        def isatty(self):
            return False

    assert style_for(Latin(), "auto").ascii
    assert not style_for(None, "auto").ascii
    assert style_for(None, "auto").width == 80


def test_today_can_be_fixed():
    assert today({"SOURCE_DATE_EPOCH": "86399"}) == "1970-01-01"
    assert today({"SOURCE_DATE_EPOCH": "86400"}) == "1970-01-02"
    assert len(today({"SOURCE_DATE_EPOCH": "soon"})) == 10
