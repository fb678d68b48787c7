"""Which rules run, with which values, and what in the settings fits no rule."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping

from policycheck.lint.finding import SEVERITIES
from policycheck.lint.param import wrong_params
from policycheck.lint.rule import PHASES, Rule
from policycheck.lint.rulebook import Rulebook
from policycheck.lint.settings import Settings
from policycheck.model.schema import suggest
from policycheck.record import NamedTuple

ALL = "all"


class Chosen(NamedTuple):
    """The rules of a run, and what the user should know about those left out."""

    rules: tuple[Rule, ...]
    notes: tuple[str, ...] = ()


def matches(rule: Rule, selector: str) -> bool:
    """Whether ``selector`` (an id, a name, the beginning of an id, a system, all) means ``rule``."""
    return (
        selector in (rule.id, rule.name, rule.system, ALL)
        or (selector.isupper() and selector.isalnum() and rule.id.startswith(selector))
    )  # fmt: skip


def choose(rulebook: Rulebook, settings: Settings) -> Chosen:
    """The rules that ``settings`` ask for.

    Rules in preview run when they are selected by id or name, or with ``preview``; deprecated ones
    only when selected so. A phase takes in all phases before it.
    """
    last = PHASES.index(settings.phase) if settings.phase in PHASES else len(PHASES)
    rules = []
    notes = []
    later = 0
    waiting: list[str] = []
    for rule in rulebook.rules:
        named = any(word in (rule.id, rule.name) for word in settings.select)
        if settings.select and not any(matches(rule, word) for word in settings.select):
            continue
        if any(matches(rule, word) for word in settings.ignore):
            continue
        if rule.status == "preview" and not (settings.preview or named):
            waiting.append(rule.id)
            continue
        if rule.status == "deprecated":
            if not named:
                continue
            instead = f"; use {rule.replaced_by}" if rule.replaced_by else ""
            notes.append(f"{rule.id} is deprecated{instead}")
        if PHASES.index(rule.phase) > last and not named:
            later += 1
            continue
        rules.append(rule)
    if later:
        what = "rule of a later phase" if later == 1 else "rules of later phases"
        notes.append(f"phase {settings.phase}: {later} {what} did not run")
    if waiting:
        what = "a rule in preview" if len(waiting) == 1 else "rules in preview"
        names = ", ".join(waiting[:8]) + (f" and {len(waiting) - 8} more" if len(waiting) > 8 else "")
        notes.append(f"{what} did not run: {names}; select by id, or set preview: true in the settings")
    return Chosen(tuple(rules), tuple(notes))


def complaints(rulebook: Rulebook, settings: Settings) -> list[str]:
    """What in ``settings`` names no rule, no parameter, or no value that there is (exit code 2)."""
    wrong: list[str] = []
    ignored = [word for ignore in settings.per_path for word in ignore.rules]
    for option, words in (
        ("select", settings.select),
        ("ignore", settings.ignore),
        ("per-path", ignored),
        ("severity", settings.severity),
        ("params", settings.params),
    ):
        wrong.extend(_unknown(rulebook, option, words))
    for name, severity in settings.severity.items():
        if severity not in SEVERITIES:
            wrong.append(f"severity of {name} is {severity!r}; allowed are {', '.join(SEVERITIES)}")
    for name, values in settings.params.items():
        rule = rulebook.find(name)
        if rule is not None:
            wrong.extend(f"params of {name}: {what}" for what in wrong_params(values, rule.params))
    if settings.phase and settings.phase not in PHASES:
        wrong.append(f"phase is {settings.phase!r}; allowed are {', '.join(PHASES)}")
    return wrong


def _unknown(rulebook: Rulebook, option: str, words: Iterable[str]) -> list[str]:
    exact = option in ("severity", "params")
    wrong = []
    for word in words:
        known = rulebook.find(word) if exact else any(matches(rule, word) for rule in rulebook.rules)
        if not known and word != ALL:
            names = [name for rule in rulebook.rules for name in (rule.id, rule.name)]
            wrong.append(f"{option}: no rule {word!r}{suggest(word, names)}")
    return wrong


def severity_of(rule: Rule, settings: Settings) -> str:
    """The severity of ``rule`` after the user's override."""
    return settings.severity.get(rule.id) or settings.severity.get(rule.name) or rule.severity


def params_of(rule: Rule, settings: Settings) -> Mapping[str, object]:
    """The parameters of ``rule``: defaults, and over them what the user set."""
    given = {**settings.params.get(rule.name, {}), **settings.params.get(rule.id, {})}
    return {name: given.get(name, param.default) for name, param in rule.params.items()}


def ignored_in(rule: Rule, file: str, settings: Settings) -> str | None:
    """The reason why findings of ``rule`` are not reported in ``file``; None when they are."""
    for ignore in settings.per_path:
        if any(fnmatch.fnmatchcase(file, glob) for glob in ignore.paths) and any(
            matches(rule, word) for word in ignore.rules
        ):
            return ignore.reason
    return None
