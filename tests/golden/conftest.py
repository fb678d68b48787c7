"""Results made by hand, and the comparison with what is recorded; UPDATE_GOLDEN=1 records anew."""

import os
from pathlib import Path

import pytest

from policycheck.lint.finding import (
    Finding,
    LintResult,
    Place,
    Replacement,
    RuleError,
    SkippedRule,
    Suppressed,
    TargetUsed,
)
from policycheck.lint.rule import Rule
from policycheck.model.origin import ObjectKey
from policycheck.report import View
from policycheck.report.screen import Style
from policycheck.source.document import FileReport, Span

HERE = Path(__file__).parent

TEXTS = {
    "queues.yaml": [
        "apiVersion: kueue.x-k8s.io/v1beta2",
        "kind: ClusterQueue",
        "metadata:",
        "  name: team-a",
        "spec:",
        "  resourceGroups:",
        "  - coveredResources: [nvidia.com/gpu]",
        "    flavors:",
        "    - name: h100",
        "      resources:",
        "      - {name: nvidia.com/gpu, nominalQuota: 24, borrowingLimit: 16}",
        "",
    ],
    "flavors.yaml": ["kind: ResourceFlavor", "metadata:", "  name: h100"],
    "odd.yaml": [
        "\tname: tab",
        "チーム: 東京",
        "cafe\u0301: combining",
        "x: \x1b[31mred\x1b[0m \u202eback",
        "long: " + "a" * 200 + " borrowingLimit: 16 " + "b" * 200,
        "zero: 0",
    ],
}


def finding(**changes):
    base = Finding(
        rule="KQ101",
        name="borrowing-limit-outside-cohort",
        severity="error",
        confidence="high",
        message="borrowingLimit 16 does nothing: team-a is in no cohort, so there is nobody to borrow from",
        help="Put the queue into a cohort with cohortName, or remove borrowingLimit.",
        scope="prod",
        place=Place("queues.yaml", Span(11, 50, 11, 68), "nobody lends"),
        path="spec.resourceGroups[0].flavors[name=h100].resources[name=nvidia.com/gpu].borrowingLimit",
        object=ObjectKey("kueue.x-k8s.io", "ClusterQueue", "", "team-a"),
        api_version="kueue.x-k8s.io/v1beta2",
        related=(
            Place("queues.yaml", Span(4, 3, 4, 15), "this queue has no cohortName"),
            Place("flavors.yaml", Span(3, 3, 3, 13), "flavor h100 covers 8 nodes x 8 GPUs"),
        ),
        fingerprint="3f1c",
    )
    return base._replace(**changes)


def odd(line, start, end, label, severity="warning", message="odd text keeps the caret in its place"):
    return finding(
        rule="CR001",
        name="odd-text",
        severity=severity,
        message=message,
        help="",
        confidence="medium",
        place=Place("odd.yaml", Span(line, start, line, end), label),
        path="",
        object=None,
        api_version="",
        related=(),
    )


FULL = LintResult(
    findings=(
        odd(1, 2, 6, "behind a tab"),
        odd(2, 6, 8, "wide characters take two cells"),
        odd(3, 8, 17, "a combining accent takes none"),
        odd(4, 4, 15, "\x1b]0;title\x07 control characters are shown, not sent"),
        odd(5, 208, 226, "a long line is cut around its mark, and a label that does not fit goes beneath it"),
        odd(6, 1, 1, "an empty span is one caret", severity="info"),
        finding(fix="safe"),
        finding(
            rule="KQ120",
            place=Place("rendered/q.yaml", Span(7, 3, 7, 9), "the text of this file is not at hand"),
            related=(),
            help="One.\n\n  spec:\n    cohortName: research\n",
        ),
        finding(place=Place("queues.yaml", Span(6, 3, 11, 68)), related=(), message="spans\nmany lines"),
    ),
    suppressed=(
        Suppressed(
            finding(), "moving in March", "@platform", "2027-03-31", Place("queues.yaml", Span(1, 1, 1, 5))
        ),
        Suppressed(
            finding(rule="KQ120", fingerprint="9a00"),
            "ignored in these files by the settings",
            "",
            "",
            Place(".policycheck.yaml", Span(1, 1, 1, 1)),
        ),
    ),
    skipped=(
        SkippedRule("KQ130", "no inventory was given", "prod"),
        SkippedRule("KQ131", "no inventory was given", "prod"),
        SkippedRule("GP101", "the inventory says nothing of MIG", "prod"),
    ),
    errors=(RuleError("ACME7", "acme.check raised KeyError: 'spec'", "prod"),),
    files=(
        FileReport("queues.yaml", "checked", documents=1),
        FileReport("flavors.yaml", "checked", documents=1),
        FileReport("odd.yaml", "partly", 4, "a control character that YAML does not allow", documents=5),
        *(
            FileReport(f"chart/templates/{name}.yaml", "notChecked", 1, "a Helm template; render it first")
            for name in "abcdefg"
        ),
        FileReport("latin1.yaml", "notChecked", 3, "byte 0xe9 is not UTF-8", failed=True),
    ),
    targets={
        "kueue": TargetUsed("0.19", True),
        "core": TargetUsed("1.34", False, "image tag in deploy.yaml:12"),
    },
    documents=7,
    scopes=("prod", "dev"),
    notes=("3 rules in preview did not run",),
    known=1,
    before=(finding(rule="KQ120", fingerprint="77ab", related=()),),
    ran=("ACME7", "CR001", "KQ101", "KQ120", "KQ122"),
)

RULES = {
    rule.id: rule
    for rule in (
        Rule(
            id="CR001",
            name="odd-text",
            title="text that looks like something else",
            severity="warning",
            confidence="medium",
            phase="observe",
            system="core",
            subject="any",
            message="odd text keeps the caret in its place",
            remediation="Quote {value}.",
        ),
        Rule(
            id="KQ101",
            name="borrowing-limit-outside-cohort",
            title="a limit on borrowing where nobody lends",
            severity="error",
            confidence="high",
            phase="queues",
            system="kueue",
            subject="kueue.x-k8s.io/ClusterQueue",
            message="borrowingLimit {it.borrowingLimit} does nothing",
            remediation="Put the queue into a cohort with cohortName, or remove borrowingLimit.",
        ),
        Rule(
            id="ACME7",
            name="of-the-user",
            title="a rule of a folder of the user's",
            severity="info",
            confidence="low",
            phase="pilot",
            system="own",
            subject="core/Pod",
            message="",
            remediation="",
        ),
    )
}


def replaced(one):
    """What the fix of a finding comes to: one line less, where it is about a limit that is written there."""
    if one.rule == "KQ101" and one.place.span.line == 11 and one.place.file == "queues.yaml":
        return (
            Replacement("queues.yaml", Span(11, 48, 11, 68), ""),
            Replacement("queues.yaml", Span(6, 3, 6, 3), "cohortName: research\n  "),
        )
    return ()


CLEAN = LintResult(
    findings=(),
    suppressed=(),
    skipped=(),
    errors=(),
    files=(FileReport("queues.yaml", "checked", documents=1),),
    targets={},
    documents=1,
    scopes=("prod",),
)


@pytest.fixture
def full():
    return FULL


@pytest.fixture
def clean_result():
    return CLEAN


@pytest.fixture
def make_finding():
    return finding


@pytest.fixture
def lines():
    return lambda file: TEXTS.get(file, [])


@pytest.fixture
def view(lines):
    """Everything that a format may use."""
    return View(
        lines,
        Style(),
        rule=RULES.get,
        replacements=replaced,
        rationale=lambda rule: f"Why {rule.name} hurts." if rule.id != "ACME7" else "",
        relative=lambda file: f"clusters/{file}",
        is_compared=True,
    )


@pytest.fixture
def golden():
    return recorded_in("reports")


@pytest.fixture
def golden_command():
    return recorded_in("command")


@pytest.fixture
def golden_run():
    return recorded_in("run")


@pytest.fixture
def golden_simulate():
    return recorded_in("simulate")


def recorded_in(folder):
    def check(name, actual):
        path = HERE / folder / name
        if os.environ.get("UPDATE_GOLDEN"):
            path.write_text(actual, encoding="utf-8")
        assert path.is_file(), f"{path.name} is not recorded; run once with UPDATE_GOLDEN=1 and read it"
        assert actual == path.read_text(encoding="utf-8")

    return check
