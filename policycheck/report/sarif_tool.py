"""The tool of a SARIF run: its rules, and what it has to say beside results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from policycheck import __version__
from policycheck.lint.finding import LintResult
from policycheck.lint.rule import Rule
from policycheck.report import View
from policycheck.report.address import HOME, page
from policycheck.report.sarif_result import LEVEL, artifact
from policycheck.report.screen import clean
from policycheck.source.document import FileReport
from policycheck.wording import plural

_GRAVITY = {"error": "error", "warning": "warning", "info": "recommendation"}
_FIELD = re.compile(r"\{([^{}]+)\}")
# What notifications are about, and what to do then.
_TOLD = {
    "results-cut": (
        "Results are left out, since the file would be longer than what readers take.",
        "Another report of the same run has them all.",
    ),
    "unreadable-file": (
        "A file could not be read, so findings may be missing.",
        "Repair the file, or exclude it in the settings.",
    ),
    "partly-checked": (
        "Some of a file was not checked.",
        "Nothing, when what is left out is not meant to be checked.",
    ),
    "not-checked": (
        "A file was not checked.",
        "Nothing, when it is not meant to be; render templates and pass the result.",
    ),
    "rule-error": (
        "A rule failed, so findings may be missing.",
        "Repair the rule; one that comes with policycheck is a bug to be reported.",
    ),
    "settings-error": ("Something in the settings or in a folder of rules is wrong.", "Repair it."),
    "rule-skipped": (
        "A rule did not run, or not on everything.",
        "Give what it needs, such as the inventory; or ignore it in the settings.",
    ),
    "note": ("Something that the reader should know.", "Nothing."),
}


def driver(ids: Sequence[str], view: View) -> dict[str, Any]:
    """Name, version, the rules that ran, and the sorts of notifications."""
    return {
        "name": "policycheck",
        "semanticVersion": __version__,
        "informationUri": HOME,
        "rules": [_rule(name, view.rule(name), view) for name in ids],
        "notifications": [
            {
                "id": name,
                "shortDescription": {"text": what},
                "fullDescription": {"text": what},
                "help": {"text": todo},
            }
            for name, (what, todo) in _TOLD.items()
        ],
    }


def cut(missing: int, total: int) -> dict[str, Any]:
    """Says that results are left out."""
    what = f"{plural(missing, 'result')} of {total:,} are left out, the least severe: see another report"
    return _notification("results-cut", "warning", what)


def notifications(
    result: LintResult, numbers: Mapping[str, int], view: View
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What could not be done, and what was not run or assumed: of the execution, of the configuration."""
    execution = [made for report in result.files if (made := _file(report, view))]
    configuration = []
    for error in result.errors:
        if error.rule in numbers:
            execution.append(_of_rule("rule-error", "error", error, numbers))
        else:
            what = clean(f"{error.rule}: {error.why}")
            configuration.append(_notification("settings-error", "error", what))
    configuration.extend(_of_rule("rule-skipped", "note", skip, numbers) for skip in result.skipped)
    for system, used in sorted(result.targets.items()):
        source = "assumed" if used.assumed else f"from {used.source}" if used.source else "as given"
        configuration.append(_notification("note", "note", clean(f"{system} {used.version}, {source}")))
    configuration.extend(_notification("note", "note", clean(note)) for note in result.notes)
    return execution, configuration


def _rule(name: str, rule: Rule | None, view: View) -> dict[str, Any]:
    if rule is None:
        words = {"text": name}
        return {"id": name, "shortDescription": words, "fullDescription": words, "help": words}
    why = _text(view.rationale(rule))
    what = _text(rule.remediation)
    address = page(rule, name)
    made: dict[str, Any] = {
        "id": name,
        "name": rule.name,
        "shortDescription": {"text": _text(rule.title)},
        "fullDescription": {"text": why or _text(rule.title)},
        "help": {
            "text": "\n\n".join(part for part in (_text(rule.title), why, what, address) if part),
            "markdown": _markdown(rule, why, address),
        },
    }
    if address:
        made["helpUri"] = address
    made["defaultConfiguration"] = {"level": LEVEL[rule.severity]}
    made["properties"] = {
        "tags": ["gpu-scheduling", rule.system, f"phase-{rule.phase}", rule.status],
        "precision": rule.confidence,
        "problem.severity": _GRAVITY[rule.severity],
    }
    return made


def _markdown(rule: Rule, why: str, address: str) -> str:
    title = _code(_text(rule.title))
    parts = [f"**{title}**", _code(why), f"**What to do:** {_code(_text(rule.remediation))}"]
    if address:
        parts.append(f"[{rule.id} {rule.name}]({address})")
    return "\n\n".join(part for part in parts if part)


def _code(text: str) -> str:
    """Fields that a message fills in stand as code."""
    return _FIELD.sub(r"`\1`", text)


def _text(words: str) -> str:
    return clean(" ".join(words.split()))


def _file(report: FileReport, view: View) -> dict[str, Any] | None:
    if report.state == "checked":
        return None
    if report.failed:
        name, level = "unreadable-file", "error"
    elif report.state == "partly":
        name, level = "partly-checked", "warning"
    else:
        name, level = "not-checked", "note"
    made = _notification(name, level, clean(report.why) or _TOLD[name][0])
    place: dict[str, Any] = {"artifactLocation": artifact(report.file, view)}
    if report.line:
        place["region"] = {"startLine": report.line}
    made["locations"] = [{"physicalLocation": place}]
    return made


def _of_rule(name: str, level: str, told: Any, numbers: Mapping[str, int]) -> dict[str, Any]:
    made = _notification(name, level, clean(f"{told.scope}: {told.why}" if told.scope else told.why))
    associated: dict[str, Any] = {"id": told.rule}
    if told.rule in numbers:
        associated["index"] = numbers[told.rule]
    made["associatedRule"] = associated
    return made


def _notification(name: str, level: str, text: str) -> dict[str, Any]:
    number = list(_TOLD).index(name)
    return {"descriptor": {"id": name, "index": number}, "level": level, "message": {"text": text}}
