"""Exit codes: the same for every command and every format."""

from __future__ import annotations

from collections.abc import Iterable

from policycheck.lint.finding import SEVERITIES, LintResult

OK = 0
FINDINGS = 1  # findings at or above --fail-on, or a required claim FAILS
USAGE = 2  # usage, configuration or rule-pack error
UNREAD = 3  # no input matched, or some input could not be read
UNDECIDED = 4  # a required claim is UNKNOWN
INTERNAL = 70  # a bug of ours (EX_SOFTWARE)
INTERRUPTED = 130  # 128 + SIGINT, as shells have it

_ORDER = (INTERNAL, USAGE, FINDINGS, UNREAD, UNDECIDED)


def worst(codes: Iterable[int]) -> int:
    """The one that is reported when several apply."""
    given = set(codes)
    return next((code for code in _ORDER if code in given), OK)


def of_lint(result: LintResult, fail_on: str, *, exit_zero: bool = False) -> int:
    """Exit code of a lint run. ``exit_zero`` forgives findings, never what could not be done."""
    codes = [OK]
    if result.errors:
        codes.append(USAGE)
    if not result.files or any(file.failed for file in result.files):
        codes.append(UNREAD)
    if fail_on != "never" and not exit_zero:
        failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
        if any(finding.severity in failing for finding in result.findings):
            codes.append(FINDINGS)
    return worst(codes)
