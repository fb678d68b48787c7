"""Which rules run, with which values, and what in the settings fits no rule."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator, Mapping

from policycheck.lint.finding import SEVERITIES
from policycheck.lint.param import wrong_params
from policycheck.lint.rule import OWN, PHASES, Rule
from policycheck.lint.rulebook import Rulebook
from policycheck.lint.settings import PathOverride, Settings
from policycheck.model.schema import suggest
from policycheck.record import NamedTuple
from policycheck.wording import some

ALL = "all"
DIGEST = "sha256:"
_SHOWN = 8  # rules that a note names


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

    A phase takes in all phases before it. Rules of later phases, in preview, or newer than the pin run
    when they are selected by id or name; deprecated ones only then.
    """
    rules = []
    heirs = []
    left: dict[str, list[str]] = {"phase": [], "preview": [], "pin": []}
    for rule in rulebook.rules:
        named = any(word in (rule.id, rule.name) for word in settings.select)
        if settings.select and not any(matches(rule, word) for word in settings.select):
            continue
        if any(matches(rule, word) for word in settings.ignore) and not is_firm(rule, settings):
            continue
        if rule.status == "deprecated":
            if not named:
                continue
            instead = f"; use {rule.replaced_by}" if rule.replaced_by else ""
            heirs.append(f"{rule.id} is deprecated{instead}")
        why = "" if named else _waits(rule, settings)
        if why:
            left[why].append(rule.id)
        else:
            rules.append(rule)
    return Chosen(tuple(rules), (*heirs, *_left_out(left, settings)))


def _waits(rule: Rule, settings: Settings) -> str:
    """Why a rule that nobody named does not run: "pin", "preview" or "phase"; "" when it does."""
    if is_newer(rule, settings.rulebook):
        return "pin"
    if rule.status == "preview" and not settings.preview:
        return "preview"
    last = PHASES.index(settings.phase) if settings.phase in PHASES else len(PHASES)
    return "phase" if PHASES.index(rule.phase) > last else ""


def _left_out(left: Mapping[str, list[str]], settings: Settings) -> Iterator[str]:
    if later := len(left["phase"]):
        what = "rule of a later phase" if later == 1 else "rules of later phases"
        yield f"phase {settings.phase}: {later} {what} did not run"
    if waiting := left["preview"]:
        what = "a rule in preview" if len(waiting) == 1 else "rules in preview"
        yield f"{what} did not run: {some(waiting, _SHOWN)}; select by id, or set preview: true in the settings"
    if newer := len(left["pin"]):
        what = "rule is" if newer == 1 else "rules are"
        yield (
            f"the settings pin the rulebook to {settings.rulebook}: {newer:,} {what} newer and did not run; "
            "raise the pin to have them"
        )


def is_newer(rule: Rule, pin: str) -> bool:
    """Whether a pin of the rulebook to a version leaves ``rule`` out. A user's own rules are never."""
    if not pin or pin.startswith(DIGEST) or rule.system == OWN:
        return False
    return _version(rule.since or "0") > _version(pin)


def is_firm(rule: Rule, settings: Settings) -> bool:
    """Whether the settings say that nothing may suppress ``rule``."""
    return any(matches(rule, word) for word in settings.suppressions.never)


class Fault(NamedTuple):
    """Something in the settings that fits no rule: under which key, at which word, and what to do."""

    setting: str
    word: str
    message: str


def complaints(rulebook: Rulebook, settings: Settings) -> list[str]:
    """What in ``settings`` names no rule, no parameter, or no value that there is (exit code 2)."""
    return [fault.message for fault in faults(rulebook, settings)]


def faults(rulebook: Rulebook, settings: Settings) -> Iterator[Fault]:
    """The same with the setting that each is about."""
    paths = [word for one in settings.per_path for word in (*one.ignore, *one.select, *one.severity)]
    admission = settings.webhook
    judged = [*admission.rules, *(w for one in admission.namespaces.values() for w in one.get("rules", ()))]
    for option, words in (
        ("select", settings.select),
        ("ignore", settings.ignore),
        ("per-path", paths),
        ("severity", settings.severity),
        ("params", settings.params),
        ("suppressions.never", settings.suppressions.never),
        ("webhook", judged),
    ):
        yield from _unknown(rulebook, option, words)
    severities = [("severity", settings.severity), *(("per-path", one.severity) for one in settings.per_path)]
    for option, given in severities:
        for name, severity in given.items():
            if severity not in SEVERITIES:
                what = f"severity of {name} is {severity!r}; allowed are {', '.join(SEVERITIES)}"
                yield Fault(option, name, what)
    for name, values in settings.params.items():
        rule = rulebook.find(name)
        if rule is not None:
            for what in wrong_params(values, rule.params):
                yield Fault("params", name, f"params of {name}: {what}")
    if settings.phase and settings.phase not in PHASES:
        what = f"phase is {settings.phase!r}; allowed are {', '.join(PHASES)}"
        yield Fault("phase", settings.phase, what)
    yield from _against_firmness(rulebook, settings)
    yield from _lacking(settings)
    yield from _pin(rulebook, settings.rulebook)


def _unknown(rulebook: Rulebook, option: str, words: Iterable[str]) -> Iterator[Fault]:
    exact = option in ("severity", "params")
    for word in words:
        known = rulebook.find(word) if exact else any(matches(rule, word) for rule in rulebook.rules)
        if not known and word != ALL:
            names = [name for rule in rulebook.rules for name in (rule.id, rule.name)]
            yield Fault(option, word, f"{option}: no rule {word!r}{suggest(word, names)}")


def _against_firmness(rulebook: Rulebook, settings: Settings) -> Iterator[Fault]:
    """Rules ignored by id or name that may not be. A wider selector leaves them out in silence."""
    if not settings.suppressions.never:
        return
    listed = [("ignore", settings.ignore), *(("per-path", one.ignore) for one in settings.per_path)]
    for option, words in listed:
        for word in words:
            rule = rulebook.find(word)
            if rule is not None and is_firm(rule, settings):
                what = (
                    f"{option}: {word} can not be ignored, suppressions.never names it; repair what it finds"
                )
                yield Fault(option, word, what)


def _lacking(settings: Settings) -> Iterator[Fault]:
    """Paths in which something is ignored without what the settings require of that."""
    for one in settings.per_path:
        lacks = [word for word in settings.suppressions.require if not getattr(one, word)]
        if lacks and (one.ignore or one.select):
            what = f"per-path for {', '.join(one.paths)} has no {' and no '.join(lacks)}; suppressions.require asks"
            yield Fault("per-path", one.paths[0], f"{what} for {', '.join(settings.suppressions.require)}")


def _pin(rulebook: Rulebook, pin: str) -> Iterator[Fault]:
    from policycheck import __version__

    if pin.startswith(DIGEST):
        if not rulebook.digest.startswith(pin.removeprefix(DIGEST)):
            what = (
                f"rulebook: the settings pin {pin}, and the rules here are {DIGEST}{rulebook.digest}: other rules "
                f"than those agreed on; install their version, or pin these (policycheck {__version__})"
            )
            yield Fault("rulebook", pin, what)
    elif pin and _version(pin)[:2] > _version(__version__)[:2]:
        what = (
            f"rulebook: the settings pin {pin}, and this is policycheck {__version__}, which has no rules of it: "
            "install that version, or lower the pin"
        )
        yield Fault("rulebook", pin, what)


def _version(text: str) -> tuple[int, int, int]:
    """``0.1`` as (0, 1, 0); what is no number counts as 0."""
    parts = [int(part) if part.isdecimal() else 0 for part in text.split(".")[:3]]
    major, minor, patch = (*parts, 0, 0)[:3]
    return major, minor, patch


def severity_of(rule: Rule, settings: Settings, file: str = "") -> str:
    """The severity of ``rule`` in ``file`` after the user's overrides; of several paths the last counts."""
    for override in reversed(settings.per_path) if file else ():
        word = _closest(rule, override.severity)
        if word is not None and covers(override, file, settings):
            return override.severity[word]
    said = [severity for name, severity in settings.severity.items() if name in (rule.id, rule.name)]
    return said[-1] if said else rule.severity  # the nearest file is the last to speak


def _closest(rule: Rule, words: Iterable[str]) -> str | None:
    """Of the selectors that mean ``rule`` the one that means the fewest others."""
    found = [word for word in words if matches(rule, word)]
    order = (rule.id, rule.name)
    return min(found, key=lambda w: (w not in order, w == ALL, w == rule.system, -len(w)), default=None)


def params_of(rule: Rule, settings: Settings) -> Mapping[str, object]:
    """The parameters of ``rule``: defaults, and over them what the user set."""
    given: dict[str, object] = {}
    for name, values in settings.params.items():
        if name in (rule.id, rule.name):
            given.update(values)
    return {name: given.get(name, param.default) for name, param in rule.params.items()}


def ignored_in(rule: Rule, file: str, settings: Settings) -> PathOverride | None:
    """The override by which findings of ``rule`` are not reported in ``file``, whatever its end; None
    when they are.
    """
    for override in settings.per_path:
        left_out = any(matches(rule, word) for word in override.ignore)
        if override.select and not left_out:
            left_out = not any(matches(rule, word) for word in override.select)
        if left_out and covers(override, file, settings):
            return None if is_firm(rule, settings) else override
    return None


def covers(override: PathOverride, file: str, settings: Settings) -> bool:
    """Whether ``override`` is about ``file``, as it was named or as seen from the settings' folder."""
    return is_named(file, override.paths, settings)


def is_named(file: str, globs: tuple[str, ...], settings: Settings) -> bool:
    """Whether one of ``globs`` is about ``file``, as it was named or as seen from the settings' folder."""
    return any(fnmatch.fnmatchcase(name, glob) for name in _names(file, settings) for glob in globs)


def _names(file: str, settings: Settings) -> Iterator[str]:
    """A file as it was named, and as it is seen from the folder of the settings."""
    yield file
    folder = os.path.dirname(settings.file)  # noqa: PTH120 - of a name
    if folder or os.path.isabs(file):  # noqa: PTH117 - as above
        yield os.path.relpath(file, folder or ".").replace(os.sep, "/")
