"""The compiled form of a rule: what a run needs, without examples, cheap to load from JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from policycheck.lint.hit import Hit, Skip
from policycheck.model.cluster import Cluster
from policycheck.model.schema import Table
from policycheck.record import NamedTuple

PHASES = ("observe", "pilot", "queues", "topology")
CONFIDENCES = ("high", "medium", "low")
STATUSES = ("preview", "stable", "deprecated")
NEEDS = ("inventory", "context")
PARAM_TYPES = ("string", "int", "number", "bool", "quantity", "list")
# Subjects that are no kind but something of the neutral model.
MODEL_SUBJECTS = ("queue", "cohort", "flavor", "workload", "node", "service", "cluster")
OWN = "own"  # the system of rules that come from a user's folder
ANY = "any"  # the subject of rules about the text itself

# How a fix may be made: by itself, when somebody asks for more, or by a person who fills it in.
SAFETIES = ("safe", "unsafe", "manual")

Check = Callable[[Cluster, Mapping[str, object]], Iterable[Hit | Skip]]


class Param(NamedTuple):
    """A value that settings may change. ``list`` is a list of strings."""

    type: str
    default: Any
    description: str = ""
    enum: tuple[str, ...] = ()


class FixStep(NamedTuple):
    """One change of a fix. ``path`` counts from ``root``: object, it, or hit (the place of the finding).

    The value is what ``program`` (a checked expression, base64) gives, else ``value``, whose texts may
    hold placeholders; for a rename it is the new key.
    """

    action: str
    root: str
    path: tuple[str | int, ...] = ()
    value: Any = None
    program: str = ""


class Rule(NamedTuple):
    """One rule. Exactly one of ``program``, ``check`` and ``troubles`` decides.

    ``applies_since`` and ``applies_until`` bound the target's version (first and last that it is
    about); ``since`` is the release of policycheck that brought the rule.
    """

    id: str
    name: str
    title: str
    severity: str
    confidence: str
    phase: str
    system: str
    subject: str
    message: str
    remediation: str
    each: str = ""
    at: str = ""
    on_key: bool = False
    expression: str = ""
    program: str = ""  # the checked expression, base64
    check: str = ""  # system.function
    troubles: tuple[str, ...] = ()
    params: Mapping[str, Param] = {}
    needs: tuple[str, ...] = ()
    fix: str | None = None  # one of SAFETIES: the best that may be said of what it proposes
    fix_steps: tuple[FixStep, ...] = ()  # () when the check or the reading gives the changes
    fix_claims: bool = False  # it touches quota or policy: promises are tested before it counts as safe
    status: str = "stable"
    replaced_by: str = ""
    since: str = ""
    applies_since: str = ""
    applies_until: str = ""
    file: str = ""  # relative to its folder


class Systems(NamedTuple):
    """What lint is told of the systems, since it may import none of them.

    ``prefixes`` maps the letters of built-in rule ids to the folder of their system.
    ``table`` gives the field table of ``group/Kind``; ``kinds`` lists all of them.
    ``check`` gives the function named ``system.function``. Both raise LookupError, with words that
    say what there is.
    """

    prefixes: Mapping[str, str]
    table: Callable[[str], Table]
    kinds: Callable[[], tuple[str, ...]]
    check: Callable[[str], Check]


def as_json(rule: Rule) -> dict[str, Any]:
    """``rule`` as plain values; defaults are left out."""
    plain = {
        name: value for name, value in rule._asdict().items() if value != Rule._field_defaults.get(name, ...)
    }
    if rule.params:
        plain["params"] = {name: list(param) for name, param in rule.params.items()}
    if rule.fix_steps:
        plain["fix_steps"] = [list(step) for step in rule.fix_steps]
    return plain


def from_json(plain: Mapping[str, Any]) -> Rule:
    """The Rule of ``as_json``."""
    values = dict(plain)
    if "params" in values:
        values["params"] = {n: Param(t, d, s, tuple(e)) for n, (t, d, s, e) in values["params"].items()}
    if "fix_steps" in values:
        values["fix_steps"] = tuple(FixStep(a, r, tuple(p), v, e) for a, r, p, v, e in values["fix_steps"])
    for name in ("troubles", "needs"):
        if name in values:
            values[name] = tuple(values[name])
    return Rule(**values)
