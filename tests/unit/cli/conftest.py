"""A run of the command in this process, with a result made by hand in place of the rules."""

from typing import NamedTuple

import pytest

from policycheck import app
from policycheck.adapters.cli import main
from policycheck.lint.finding import Finding, LintResult, Place
from policycheck.source.document import FileReport, Span


class Ran(NamedTuple):
    code: int
    out: str
    err: str


def result(*severities, **changes):
    base = LintResult(
        findings=tuple(
            Finding(
                rule=f"KQ10{number}",
                name="a-rule",
                severity=severity,
                confidence="high",
                message=f"message {number}",
                help="",
                scope="",
                place=Place("q.yaml", Span(number + 1, 1, number + 1, 5)),
                path="",
                object=None,
                api_version="",
            )
            for number, severity in enumerate(severities)
        ),
        suppressed=(),
        skipped=(),
        errors=(),
        files=(FileReport("q.yaml", "checked", documents=1),),
        targets={},
        documents=1,
    )
    return base._replace(**changes)


@pytest.fixture
def make_result():
    return result


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Runs the command line in a scratch folder that holds q.yaml."""
    (tmp_path / "q.yaml").write_text("first: 1\nsecond: 2\nthird: 3\n")
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "POLICYCHECK_DEBUG"):
        monkeypatch.delenv(name, raising=False)

    def run(*args):
        code = main(list(args))
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def asked(monkeypatch):
    """Stands in for the rules: ``asked.answer`` is what they find, ``asked.calls`` what was asked of them."""

    class Asked:
        answer = result()
        calls = []

    def lint(sources, settings):
        Asked.calls.append((sources, settings))
        if isinstance(Asked.answer, BaseException):
            raise Asked.answer
        return Asked.answer

    Asked.calls = []
    monkeypatch.setattr(app, "lint", lint)
    return Asked
