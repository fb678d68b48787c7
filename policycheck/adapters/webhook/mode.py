"""What is done about a finding: refused, warned of, only noted, or nothing; by rule and by namespace."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping
from typing import Literal

from policycheck.lint.finding import Finding
from policycheck.lint.rule import Rule
from policycheck.lint.select import matches
from policycheck.lint.settings import Admission
from policycheck.record import NamedTuple

Mode = Literal["deny", "warn", "audit", "off"]
DEFAULT = "default"  # refuses errors of high confidence and warns of the rest
MODES = (DEFAULT, "deny", "warn", "audit", "off")


class Sorted(NamedTuple):
    """Findings by what is done about them, in their order."""

    deny: tuple[Finding, ...] = ()
    warn: tuple[Finding, ...] = ()
    audit: tuple[Finding, ...] = ()


def sort(
    findings: Iterable[Finding], rules: Mapping[str, Rule], namespace: str, settings: Admission
) -> Sorted:
    """Every finding with its mode."""
    by: dict[str, list[Finding]] = {"deny": [], "warn": [], "audit": [], "off": []}
    for finding in findings:
        by[mode_of(finding, rules.get(finding.rule), namespace, settings)].append(finding)
    return Sorted(tuple(by["deny"]), tuple(by["warn"]), tuple(by["audit"]))


def mode_of(finding: Finding, rule: Rule | None, namespace: str, settings: Admission) -> Mode:
    """The most particular word counts: a namespace's for the rule, a namespace's, the rule's, the general one."""
    own = _of_namespace(namespace, settings)
    said = (
        _of_rule(rule, own.get("rules", {})),
        own.get("mode", ""),
        _of_rule(rule, settings.rules),
        settings.mode,
    )
    found = next((word for word in said if word), DEFAULT)
    if found == DEFAULT:
        found = "deny" if finding.severity == "error" and finding.confidence == "high" else "warn"
    return found  # type: ignore[return-value]


def is_exempt(namespace: str, settings: Admission) -> bool:
    """Whether nothing in a namespace is judged."""
    return any(fnmatch.fnmatchcase(namespace, pattern) for pattern in settings.exempt if namespace)


def _of_namespace(namespace: str, settings: Admission) -> Mapping[str, object]:
    """What is said of a namespace: of the longest pattern that fits, a name without wildcards first."""
    fitting = [p for p in settings.namespaces if namespace and fnmatch.fnmatchcase(namespace, p)]
    if not fitting:
        return {}
    best = max(fitting, key=lambda p: (p == namespace, len(p), p))
    return settings.namespaces[best]


def _of_rule(rule: Rule | None, said: object) -> str:
    """What is said of a rule: by its id, its name, the longest beginning of its id, its system, or all."""
    if rule is None or not isinstance(said, Mapping):
        return ""
    fitting = [word for word in said if matches(rule, word)]
    if not fitting:
        return ""
    best = max(fitting, key=lambda w: (w in (rule.id, rule.name), rule.id.startswith(w), w != "all", len(w)))
    return str(said[best])
