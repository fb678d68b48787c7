"""Names and labels as apimachinery accepts them. Each function says what is wrong, or nothing.

Source: the Kubernetes documentation pages "Object Names and IDs" and "Labels and Selectors".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from policycheck.model.origin import Path
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.kueue.validate.problem import (
    FORBIDDEN,
    REQUIRED,
    TOO_LONG,
    Problem,
    invalid,
    problem,
)

_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]\Z", re.ASCII)
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?\Z", re.ASCII)
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?\Z", re.ASCII)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z", re.ASCII)
_HTTP_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+\Z", re.ASCII)
_LETTERS = "letters, digits, '-', '_' and '.', beginning and ending with a letter or digit"


def subdomain(name: str) -> str:
    """Why ``name`` is no DNS subdomain (RFC 1123); "" when it is one."""
    if len(name) > 253:
        return "is longer than 253 characters"
    if not _SUBDOMAIN.match(name):
        return "has to be lower case letters, digits, '-' and '.', as in team-a or example.com"
    return ""


def dns_label(name: str) -> str:
    """Why ``name`` is no DNS label (RFC 1123); "" when it is one."""
    if len(name) > 63:
        return "is longer than 63 characters"
    if not _LABEL.match(name):
        return "has to be lower case letters, digits and '-', as in worker-1"
    return ""


def qualified(name: str) -> str:
    """Why ``name`` is no qualified name (``cpu``, ``nvidia.com/gpu``); "" when it is one."""
    prefix, slash, rest = name.partition("/")
    if "/" in rest:
        return "has more than one '/'; write name or prefix/name, as in nvidia.com/gpu"
    if slash:
        why = subdomain(prefix) if prefix else "is empty"
        if why:
            return f"has a prefix before '/' that {why}"
    own = rest if slash else name
    if not own:
        return "has no name" + (" after '/'" if slash else "")
    if len(own) > 63:
        return "has a name longer than 63 characters"
    return "" if _NAME.match(own) else f"has to consist of {_LETTERS}"


def label_value(value: str) -> str:
    """Why ``value`` is no label value; "" when it is one."""
    if len(value) > 63:
        return "is longer than 63 characters"
    return "" if _VALUE.match(value) else f"has to be empty or consist of {_LETTERS}"


def domain_path(name: str) -> str:
    """Why ``name`` is no domain-prefixed path (``example.com/gate``); "" when it is one."""
    prefix, slash, rest = name.partition("/")
    if not (prefix and slash and rest):
        return "has to be a domain and a path, as in example.com/gate"
    why = subdomain(prefix)
    if why:
        return f"has a domain that {why}"
    return "" if _HTTP_PATH.match(rest) else "has a path with characters that a URL path may not have"


def label_map(value: object, path: Path) -> list[Problem]:
    """A map of labels: keys qualified names, values label values. Every fault is at the map."""
    found = []
    for key, one in mapping(value).items():
        for why, what in ((qualified(str(key)), f"label key {key!r}"), (label_value(text(one)), f"{one!r}")):
            if why:
                found.append(invalid(path, "bad-label", f"{what} {why}"))
    return found


def annotation_map(value: object, path: Path) -> list[Problem]:
    """A map of annotations: keys qualified names in any case, 256 KiB in all."""
    found = mapping(value)
    problems = [
        invalid(path, "bad-label", f"annotation key {key!r} {why}")
        for key in found
        if (why := qualified(str(key).lower()))
    ]
    size = sum(len(str(k).encode()) + len(text(v).encode()) for k, v in found.items())
    if size > 262144:
        say = f"annotations have {size} bytes together; at most 262144 are allowed"
        problems.append(problem(TOO_LONG, path, "bad-label", say))
    return problems


def label_selector(value: object, path: Path) -> list[Problem]:
    """A label selector."""
    found = mapping(value)
    problems = label_map(found.get("matchLabels"), (*path, "matchLabels"))
    for n, raw in enumerate(items(found.get("matchExpressions"))):
        problems += _expression(mapping(raw), (*path, "matchExpressions", n))
    return problems


def _expression(value: Mapping[str, Any], path: Path) -> list[Problem]:
    operator, values = text(value.get("operator")), items(value.get("values"))
    problems = []
    if operator in ("In", "NotIn") and not values:
        say = f"operator {operator} needs values; list at least one, or use Exists"
        problems.append(problem(REQUIRED, (*path, "values"), "bad-selector", say))
    elif operator in ("Exists", "DoesNotExist") and values:
        say = f"operator {operator} takes no values; remove them, or use In"
        problems.append(problem(FORBIDDEN, (*path, "values"), "bad-selector", say))
    elif operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        say = f"operator is {operator!r}; allowed are In, NotIn, Exists, DoesNotExist"
        problems.append(invalid((*path, "operator"), "bad-selector", say))
    key = text(value.get("key"))
    if why := qualified(key):
        problems.append(invalid((*path, "key"), "bad-selector", f"label key {key!r} {why}"))
    for n, one in enumerate(values):
        if why := label_value(text(one)):
            problems.append(invalid((*path, "values", n), "bad-selector", f"{one!r} {why}"))
    return problems
