"""SARIF 2.1.0, for code scanning and whatever else reads it.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/ and, for what GitHub takes and shows of it,
https://docs.github.com/code-security/code-scanning/integrating-with-code-scanning/sarif-support-for-code-scanning.
"""

from __future__ import annotations

import json
from typing import Any

from policycheck.lint.finding import SEVERITIES, Finding, LintResult, Suppressed
from policycheck.record import NamedTuple
from policycheck.report import View
from policycheck.report.sarif_result import result_of, suppression_of
from policycheck.report.sarif_tool import cut, driver, notifications

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
RESULTS = 25_000  # of one run; more are refused whole
BYTES = 10_000_000  # of the file when compressed with gzip
_SPARE = 0.9


class _Told(NamedTuple):
    """A finding, and what became of it beside being found."""

    finding: Finding
    state: str = ""  # of the baseline
    suppressed: Suppressed | None = None


def render(result: LintResult, view: View) -> str:
    """One run. Suppressed and known findings stand in it, marked as such. No clock in it, ASCII alone.

    What is more than the limits allow goes from the least severe on, and a notification says so.
    """
    told = _told(result, view)
    shown = told[:RESULTS]
    while True:
        text = json.dumps(_log(result, shown, len(told), view), indent=2, ensure_ascii=True) + "\n"
        size = _compressed(text)
        if size <= BYTES or not shown:
            return text
        shown = shown[: int(len(shown) * min(_SPARE, BYTES / size * _SPARE))]


def _told(result: LintResult, view: View) -> list[_Told]:
    """Everything that was found: what is reported first, then by severity."""
    state = "new" if view.is_compared else ""
    found = [_Told(finding, state) for finding in result.findings]
    found.extend(_Told(finding, "unchanged") for finding in result.before)
    found.extend(_Told(one.finding, "", one) for one in result.suppressed)
    if len(found) <= RESULTS:
        return found
    return sorted(found, key=lambda one: SEVERITIES.index(one.finding.severity))


def _compressed(text: str) -> int:
    if len(text) <= BYTES:
        return len(text)
    import zlib

    return len(zlib.compress(text.encode("ascii"), 6))


def _log(result: LintResult, shown: list[_Told], total: int, view: View) -> dict[str, Any]:
    ids = sorted({*result.ran, *(one.finding.rule for one in shown)})
    numbers = {name: number for number, name in enumerate(ids)}
    execution, configuration = notifications(result, numbers, view)
    if len(shown) < total:
        execution.insert(0, cut(total - len(shown), total))
    run = {
        "tool": {"driver": driver(ids, view)},
        "invocations": [
            {
                "executionSuccessful": _succeeded(result),
                "toolExecutionNotifications": execution,
                "toolConfigurationNotifications": configuration,
            }
        ],
        "originalUriBaseIds": {"%SRCROOT%": {"description": {"text": "the root of the repository"}}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, numbers, view) for one in shown],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _succeeded(result: LintResult) -> bool:
    return bool(result.files) and not result.errors and not any(file.failed for file in result.files)


def _result(one: _Told, numbers: dict[str, int], view: View) -> dict[str, Any]:
    if one.suppressed is not None:  # what is ignored on purpose is not to be repaired
        view = view._replace(replacements=lambda _: ())
    made = result_of(one.finding, numbers[one.finding.rule], view)
    if one.state:
        made["baselineState"] = one.state
    if one.suppressed is not None:
        made["suppressions"] = [suppression_of(one.suppressed, view)]
    return made
