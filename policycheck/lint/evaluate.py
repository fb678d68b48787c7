"""One rule over one cluster: what it hits, what it could not decide, and where it failed."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping

from policycheck.lint.cel import CelError, Program, Runtime, allowance, weigh
from policycheck.lint.finding import RuleError, SkippedRule
from policycheck.lint.fix import mended
from policycheck.lint.guard import guards, told
from policycheck.lint.hit import Hit, Skip
from policycheck.lint.place import dotted
from policycheck.lint.rule import ANY, OWN, Check, Rule
from policycheck.lint.settings import Target
from policycheck.lint.subject import Subject, expand, kind_of, occurs, subjects
from policycheck.model.cluster import Cluster
from policycheck.model.facts import Facts
from policycheck.model.schema import parse_path
from policycheck.record import NamedTuple
from policycheck.source.document import DocumentId, Path, TextTrouble

# Of one rule's failures so many are spelled out: the rest says the same of other objects.
_SHOWN_ERRORS = 3


class RawHit(NamedTuple):
    """A hit with what its message may name. ``trouble`` is set when the place is known already."""

    rule: Rule
    hit: Hit
    context: Mapping[str, object]
    trouble: TextTrouble | None = None
    base: Path = ()  # of the item of ``each``


class Outcome(NamedTuple):
    """What came of rules on one cluster."""

    hits: list[RawHit]
    skipped: list[SkippedRule]
    errors: list[RuleError]


class Setting(NamedTuple):
    """What a rule is run with."""

    cluster: Cluster
    params: Mapping[str, object]
    targets: Mapping[str, Target]


def target_of(setting: Setting, system: str) -> Mapping[str, object]:
    """``target`` as expressions and messages see it."""
    target = setting.targets.get(system, Target(system, "", assumed=True))
    return {"version": target.version, "assumed": target.assumed, "gates": dict(target.gates)}


def reason_to_skip(rule: Rule, setting: Setting) -> str | None:
    """Why ``rule`` can not run here; "" when it has nothing to look at; None when it runs."""
    cluster = setting.cluster
    if rule.subject != ANY and not occurs(cluster, rule.subject, rule.system):
        return ""
    target = setting.targets.get(_system(rule, cluster))
    if target is not None and not applies(rule, target.version):
        return ""  # it is about other versions: there is nothing here that it could look at
    if "inventory" in rule.needs and not cluster.inventory.known:
        return "no inventory is given; say --inventory PATH, or add Node objects to the input"
    if "context" in rule.needs and all(entry.origin.reported for entry in cluster.entries.values()):
        return "no context is given; say --context PATH for objects that live elsewhere"
    return None


def _system(rule: Rule, cluster: Cluster) -> str:
    """Whose version a rule is about: its system's; for a user's own rule that of its subject."""
    if rule.system != OWN:
        return rule.system
    first = next(subjects(cluster, rule.subject), None)
    return first.facts.system if first and first.facts else ""


def applies(rule: Rule, version: str) -> bool:
    """Whether ``version`` is within the rule's bounds; 0.18 as a last version takes in 0.18.5."""
    have = _parts(version)
    since, until = _parts(rule.applies_since), _parts(rule.applies_until)
    return (not since or have >= since) and (not until or have[: len(until)] <= until)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("v").split(".") if part.isdigit())


def run_check(rule: Rule, check: Check, setting: Setting, outcome: Outcome) -> None:
    """A check in Python. Whatever it raises is an error of the rule; what it found before stands."""
    cluster = setting.cluster
    try:
        for found in check(cluster, setting.params):
            if isinstance(found, Skip):
                outcome.skipped.append(SkippedRule(rule.id, found.why, cluster.scope))
            elif found.id not in cluster.entries:
                what = f"the check names {found.id.file!r}, which is no document of this scope"
                outcome.errors.append(RuleError(rule.id, what, cluster.scope))
            else:
                facts = cluster.entries[found.id].facts
                outcome.hits.append(RawHit(rule, found, _context(rule, setting, facts.value)))
    except Exception as error:  # noqa: BLE001 - a rule may fail in any way, and the others go on
        what = f"{rule.check} raised {type(error).__name__}: {error}"
        outcome.errors.append(RuleError(rule.id, what, cluster.scope))


def _context(rule: Rule, setting: Setting, value: Mapping[str, object]) -> dict[str, object]:
    return {"object": value, "params": setting.params, "target": target_of(setting, rule.system)}


def run_expression(
    rule: Rule,
    runtime: Callable[[], Runtime],
    setting: Setting,
    texts: Mapping[DocumentId, tuple[TextTrouble, ...]],
    outcome: Outcome,
) -> None:
    """An expression over every subject, and over every item of ``each``. ``runtime`` is asked for when
    there is something to evaluate.
    """
    judge = _Judge(rule, runtime)
    each = tuple(step for step, _ in parse_path(rule.each))
    at = tuple(step for step, _ in parse_path(rule.at) if step is not None)
    targets: dict[str, Mapping[str, object]] = {}
    failures: list[str] = []
    scope = setting.cluster.scope
    # Built-in rules are known to be modest; those of a folder may be anybody's.
    most = allowance(rule.expression) if rule.system == OWN else None
    for subject in subjects(setting.cluster, rule.subject):
        if most is not None and weigh(subject.value, most) > most:
            what = f"{_name(subject)} is larger than this expression may see ({most:,} characters)"
            outcome.skipped.append(SkippedRule(rule.id, what, scope))
            continue
        system = subject.facts.system if subject.facts and subject.facts.system else rule.system
        if system not in targets:
            targets[system] = target_of(setting, system)
        for path, it in expand(subject.value, each):
            context = {
                "object": subject.value,
                "it": it,
                "params": setting.params,
                "target": targets[system],
            }
            found = judge(context)
            if found is True:
                continue
            if found is False:
                outcome.hits.append(RawHit(rule, _hit(rule, subject, path, (*path, *at)), context, base=path))
            elif _is_broken(subject, texts):
                what = f"{_name(subject)} has faults of its own that keep the rule from judging it"
                outcome.skipped.append(SkippedRule(rule.id, what, scope))
            else:
                failures.append(f"on {_name(subject)}: {found}")
    failures = list(dict.fromkeys(failures))
    outcome.errors.extend(RuleError(rule.id, what, scope) for what in failures[:_SHOWN_ERRORS])
    if len(failures) > _SHOWN_ERRORS:
        more = f"and {len(failures) - _SHOWN_ERRORS} more like these"
        outcome.errors.append(RuleError(rule.id, more, scope))


class _Judge:
    """Whether all is fine in a context, or why that is not known."""

    __slots__ = ("_guards", "_program", "_rule", "_runtime")

    def __init__(self, rule: Rule, runtime: Callable[[], Runtime]) -> None:
        self._rule, self._runtime = rule, runtime
        self._guards = guards(rule.expression)
        self._program: Program | None = None

    def __call__(self, context: Mapping[str, object]) -> bool | str:
        plain = told(self._guards, context) if self._guards.some else None
        if plain is not None:
            return plain
        if self._program is None:
            self._program = self._runtime().load(base64.b64decode(self._rule.program))
        value = self._program.eval(context)
        if isinstance(value, bool):
            return value
        if isinstance(value, CelError):
            return value.message
        return f"the expression gives {value!r}, neither true nor false"


def _hit(rule: Rule, subject: Subject, path: tuple[str | int, ...], place: tuple[str | int, ...]) -> Hit:
    if subject.path is None:
        return Hit(subject.id, place, on_key=rule.on_key)
    # Something of the model: its parts stand nowhere in the text, the object's name does.
    return Hit(subject.id, subject.path, on_key=rule.on_key, discriminator=dotted(path, subject.value))


def _name(subject: Subject) -> str:
    return str(subject.facts.key) if subject.facts else subject.id.file


def _is_broken(subject: Subject, texts: Mapping[DocumentId, tuple[TextTrouble, ...]]) -> bool:
    """Whether the object does not hold what its kind has to: the API server would not get as far
    as its own expressions either, and the faults are reported by other rules.
    """
    return bool((subject.facts and subject.facts.troubles) or texts.get(subject.id))


def trouble_hits(
    rules: Mapping[str, list[Rule]],
    setting: Setting,
    texts: Mapping[DocumentId, tuple[TextTrouble, ...]],
) -> Iterator[RawHit | str]:
    """What reading noticed, as hits of the rules for those codes.

    ``rules`` are all that there are, chosen or not: one that is not chosen still keeps the rule for
    anything from speaking in its place. The code of a trouble that no rule reports is given as such.
    """
    for identity, entry in setting.cluster.entries.items():
        facts = entry.facts
        troubles: list[tuple[str, Hit, TextTrouble | None]] = []
        for t in facts.troubles:
            changes, safety = mended(identity, t.mend)
            hit = Hit(identity, t.path, {"message": t.message}, on_key=t.on_key, raw=True)
            troubles.append((t.code, hit._replace(changes=changes, safety=safety), None))
        for text in texts.get(identity, ()):
            changes, safety = mended(identity, text.mend, text.span)
            hit = Hit(identity, text.path, {"message": text.message}, raw=True)
            troubles.append((text.code, hit._replace(changes=changes, safety=safety), text))
        for code, hit, trouble in troubles:
            speaking = _for(rules.get(code, []), facts)
            if not speaking:
                yield code
            for rule in speaking:
                context = _context(rule, setting, facts.value)
                yield RawHit(rule, hit._replace(discriminator=code), context, trouble)


def _for(rules: list[Rule], facts: Facts) -> list[Rule]:
    """The rules for the kind of ``facts``; those for anything only when it has none of its own."""
    kind = (facts.key.group, facts.key.kind)
    own = [rule for rule in rules if "/" in rule.subject and kind_of(rule.subject) == kind]
    return own or [rule for rule in rules if rule.subject == ANY]
