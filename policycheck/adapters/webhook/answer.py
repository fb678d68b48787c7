"""The answer to the API server, within what it and its clients take.

Limits: a warning of more than 120 characters is discouraged, beyond 256 it may be cut, and all of them together
beyond 4,096 are (Kubernetes documentation, "Dynamic Admission Control", on warnings).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policycheck.adapters.webhook.review import API_VERSION, KIND
from policycheck.lint.finding import Finding
from policycheck.lint.rule import Rule
from policycheck.record import NamedTuple
from policycheck.report.address import page
from policycheck.report.screen import clean

LONGEST = 120  # characters of a warning
MOST = 5  # warnings, and one more that says how many are left
ALL = 4096  # bytes of all warnings together
_VALUE = 80  # characters of a value that a message shows
_MESSAGE = 4000  # characters of a whole message
_NOTE = 1000  # characters of an audit annotation
_STEP = re.compile(r"\['([^']*)'\]|\[name=([^\]]*)\]|\[(\d+)\]|\.?([A-Za-z0-9_-]+)")
_MISSING = object()


class Answer(NamedTuple):
    """What is answered. ``code`` and ``reason`` are of a refusal; notes go to the audit log."""

    allowed: bool
    message: str = ""
    code: int = 403
    reason: str = "Forbidden"
    warnings: tuple[str, ...] = ()
    notes: Mapping[str, str] = {}


def encode(uid: str, answer: Answer) -> bytes:
    """The AdmissionReview of an answer."""
    response: dict[str, Any] = {"uid": uid, "allowed": answer.allowed}
    if not answer.allowed:
        response["status"] = {
            "code": answer.code,
            "reason": answer.reason,
            "message": answer.message[:_MESSAGE],
        }
    warnings = fitted(answer.warnings)
    if warnings:
        response["warnings"] = warnings
    if answer.notes:
        response["auditAnnotations"] = {key: note[:_NOTE] for key, note in answer.notes.items() if note}
    return json.dumps({"apiVersion": API_VERSION, "kind": KIND, "response": response}).encode()


def fitted(warnings: Iterable[str]) -> list[str]:
    """The first warnings, each on one line and cut, and how many more there are."""
    every = [line for text in warnings if (line := " ".join(clean(text).split()))]
    shown: list[str] = []
    left = ALL - LONGEST
    for line in every[:MOST]:
        cut = line if len(line) <= LONGEST else f"{line[: LONGEST - 3].rstrip()}..."
        left -= len(cut.encode())
        if left < 0:
            break
        shown.append(cut)
    more = len(every) - len(shown)
    return [*shown, f"and {more} more; the audit log names their rules"] if more else shown


def refusal(findings: Sequence[Finding], value: Mapping[str, Any] | None, rules: Mapping[str, Rule]) -> str:
    """Why an object is refused: the first finding whole on the first line, then the others, then the pages."""
    first, *others = findings
    lines = [f"{told(first)}{found_at(first.path, value)}"]
    if first.help:
        lines.append(f"What to do: {first.help}")
    lines.extend(f"Also {told(other)}" for other in others[:MOST])
    if len(others) > MOST:
        rest = sorted({other.rule for other in others[MOST:]})
        lines.append(f"And {len(others) - MOST} more: {', '.join(rest)}")
    link = page(rules.get(first.rule), first.rule)
    if link:
        lines.append(f"See {link}")
    return "\n".join(clean(line) for line in lines)


def told(finding: Finding) -> str:
    """A finding on one line: rule, place, message."""
    path = f" {finding.path}" if finding.path else ""
    return f"{finding.rule}{path}: {' '.join(finding.message.split())}"


def found_at(path: str, value: Mapping[str, Any] | None) -> str:
    """`` (found 32)``: what stands at a path of the object, when it is something short."""
    if value is None or not path:
        return ""
    found = value_at(value, path)
    if found is _MISSING:
        return " (not written)"
    if isinstance(found, (dict, list)):
        return ""
    return f" (found {json.dumps(found, ensure_ascii=False)[:_VALUE]})"


def value_at(value: Any, path: str) -> Any:
    """What a path as findings have it leads to."""
    for quoted, name, number, key in _STEP.findall(path):
        if number or name:
            if not isinstance(value, list):
                return _MISSING
            if number:
                value = value[int(number)] if int(number) < len(value) else _MISSING
            else:
                named = (v for v in value if isinstance(v, dict) and v.get("name") == name)
                value = next(named, _MISSING)
        else:
            value = value.get(quoted or key, _MISSING) if isinstance(value, dict) else _MISSING
        if value is _MISSING:
            return _MISSING
    return value
