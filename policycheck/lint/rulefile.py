"""A rule file as people write it: validated when its digest is new, and turned into a Rule.

This module imports pydantic; the rulebook imports it only for files that it has not seen.
"""

from __future__ import annotations

import base64
import re
from pathlib import PurePosixPath

from pydantic import ValidationError

from policycheck.lint import cel, message, written
from policycheck.lint.fixfile import steps_of
from policycheck.lint.param import param_field, wrong_params
from policycheck.lint.rule import ANY, MODEL_SUBJECTS, OWN, Param, Rule, Systems
from policycheck.lint.rulemodel import RuleModel
from policycheck.lint.subject import fields_of, model_fields
from policycheck.lint.written import Problem, Written
from policycheck.model import schema
from policycheck.record import NamedTuple


class Source(NamedTuple):
    """A rule file: its name inside its folder, its text, and whether it is a user's own."""

    file: str  # relative to the folder, '/' separated
    shown: str  # as messages name it
    text: str
    own: bool


class Loaded(NamedTuple):
    """A rule, or what is wrong with its file (then ``rule`` is None). ``model`` has the examples."""

    rule: Rule | None
    model: RuleModel | None
    problems: tuple[Problem, ...] = ()


def load(source: Source, systems: Systems) -> Loaded:
    """The rule in ``source``, checked in full. Never raises for what the file holds."""
    try:
        text = written.read(source.text)
    except written.WrittenError as error:
        return Loaded(None, None, (Problem(source.shown, error.line, error.column, error.message),))
    if not isinstance(text.value, dict):
        return Loaded(None, None, (Problem(source.shown, 1, 1, "a rule file is a map: id, name, ..."),))
    try:
        model = RuleModel.model_validate(text.value)
    except ValidationError as error:
        return Loaded(None, None, tuple(written.problems(error, RuleModel, text, source.shown)))
    checker = _Checker(source, model, text, systems)
    rule = checker.run()
    return Loaded(None if checker.problems else rule, model, tuple(sorted(set(checker.problems))))


class _Checker:
    """The checks that need more than one field, or the field tables."""

    def __init__(self, source: Source, model: RuleModel, text: Written, systems: Systems) -> None:
        self.source, self.model, self.text, self.systems = source, model, text, systems
        self.problems: list[Problem] = []
        self.variables: dict[str, schema.Field] = {}

    def wrong(self, path: tuple[str | int, ...], what: str, below: int = 0) -> None:
        line, column = self.text.place(path)
        self.problems.append(Problem(self.source.shown, line + below, column, what))

    def run(self) -> Rule:
        model = self.model
        system = self._system()
        self._decides()
        self._declare()
        program = self._program()
        if model.check:
            self._resolve_check()
        free = bool(model.check or model.troubles)
        fixing = model.fixing
        steps, wrong = steps_of(model, self.variables)
        for path, what in wrong:
            self.wrong(path, what)
        for name in ("message", "remediation"):
            for what in message.verify(getattr(model, name), self.variables, free=free):
                self.wrong((name,), what)
        self._life()
        return Rule(
            id=model.id,
            name=model.name,
            title=model.title,
            severity=model.severity,
            confidence=model.confidence,
            phase=model.phase,
            system=system,
            subject=model.subject,
            message=" ".join(model.message.split()),
            remediation=" ".join(model.remediation.split()),
            each=model.each,
            at=model.at,
            on_key=model.on_key,
            expression=model.expression,
            program=program,
            check=model.check,
            troubles=model.troubles,
            params={
                n: Param(p.type, p.default, p.description, tuple(p.enum)) for n, p in model.params.items()
            },
            needs=tuple(model.needs),
            fix=fixing.safety if fixing else None,
            fix_steps=steps,
            fix_claims=bool(fixing and fixing.claims),
            status=model.status,
            replaced_by=model.replaced_by,
            since=model.since,
            applies_since=model.applies.since,
            applies_until=model.applies.until,
            file=self.source.file,
        )

    def _system(self) -> str:
        """The system by the letters of the id; a built-in rule lies in the folder of that system."""
        letters = re.sub(r"\d", "", self.model.id)
        system = self.systems.prefixes.get(letters, "")
        if self.source.own:
            if system:
                taken = ", ".join(sorted(self.systems.prefixes))
                self.wrong(
                    ("id",), f"the letters {letters} are taken by built-in rules ({taken}); choose others"
                )
            return OWN
        path = PurePosixPath(self.source.file)
        wanted = f"{system}/{self.model.id}-{self.model.name}.yaml"
        if not system:
            known = ", ".join(f"{k} ({v})" for k, v in sorted(self.systems.prefixes.items()))
            self.wrong(("id",), f"no system has the letters {letters}; known are {known}")
        elif str(path) != wanted:
            self.wrong(("id",), f"the file is {path}; by its id and name it has to be {wanted}")
        if not self.model.sources:
            self.wrong((), "'sources' is missing: a built-in rule says where its claim is documented")
        return system

    def _decides(self) -> None:
        """Exactly one thing decides, and it fits the subject."""
        model = self.model
        given = [n for n in ("expression", "check", "trouble") if getattr(model, n)]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            self.wrong(
                (given[-1] if given else "id",),
                f"found {found} of expression, check and trouble; a rule has exactly one",
            )
        if model.check and self.source.own:
            self.wrong(
                ("check",),
                (
                    "a rule from a folder has an 'expression', not a 'check': a pull request must not run code; "
                    "checks in Python come from an installed package"
                ),
            )
        if model.expression and (model.subject == ANY or self._opaque()):
            self.wrong(
                ("subject",),
                (
                    f"the subject {model.subject!r} has no object that an expression could see; write group/Kind, "
                    "queue, cohort, flavor, workload or node, or use a 'check'"
                ),
            )
        if not model.expression and (model.each or model.at):
            extra = "each" if model.each else "at"
            self.wrong((extra,), f"{extra!r} goes with an 'expression'; a check gives its own places")
        if model.trouble and model.params:
            self.wrong(("params",), "a 'trouble' rule has no parameters")

    def _opaque(self) -> bool:
        return self.model.subject in MODEL_SUBJECTS and model_fields(self.model.subject) is None

    def _declare(self) -> None:
        """The variables that expressions and messages may name, with their fields."""
        model = self.model
        root = schema.any_()
        try:
            root = fields_of(model.subject, self.systems)
        except LookupError as error:
            self.wrong(("subject",), str(error.args[0] if error.args else error))
        self.variables["object"] = root
        it = root
        if model.each:
            it = self._walk("each", model.each, root)
            self.variables["it"] = it
        if model.at:
            self._walk("at", model.at, it)
        self.variables["params"] = schema.Field(
            "object", fields={name: param_field(param.type) for name, param in model.params.items()}
        )
        self.variables["target"] = cel.target_field()

    def _walk(self, key: str, path: str, root: schema.Field) -> schema.Field:
        try:
            return schema.walk(root, path)
        except schema.FieldPathError as error:
            self.wrong((key,), f"{key}: {error}\n  | {path}\n  | {' ' * error.offset}^")
            return schema.any_()

    def _program(self) -> str:
        """The expression, checked, in base64."""
        if not self.model.expression or any(p.message.startswith("each") for p in self.problems):
            return ""
        if "[*]" in self.model.at:
            self.wrong(("at",), "'at' is one place; [*] belongs into 'each'")
        try:
            compiled = cel.compile_expression(self.model.expression, self.variables)
        except cel.CelCompileError as error:
            block = ("expression",) in self.text.blocks
            self.wrong(("expression",), f"expression: {error}", error.line if block else 0)
            return ""
        if compiled.result not in ("BOOL", "DYN"):
            self.wrong(
                ("expression",), f"expression gives {compiled.result.lower()}; it has to be true or false"
            )
        return base64.b64encode(compiled.data).decode("ascii")

    def _resolve_check(self) -> None:
        if self.source.own:
            return
        try:
            self.systems.check(self.model.check)
        except LookupError as error:
            self.wrong(("check",), str(error.args[0] if error.args else error))

    def _life(self) -> None:
        """Status, versions and the parameters of examples."""
        model = self.model
        if model.replaced_by and model.status != "deprecated":
            self.wrong(("replaced_by",), "'replaced_by' goes with status: deprecated")
        for name in ("since", "until"):
            text = getattr(model.applies, name)
            try:
                cel.version(text or "0")
            except ValueError as error:
                self.wrong(("applies", name), str(error))
        for kind in ("bad", "good"):
            for at, example in enumerate(getattr(model.examples, kind)):
                for what in wrong_params(example.params, _params(model)):
                    self.wrong(("examples", kind, at, "params"), what)


def _params(model: RuleModel) -> dict[str, Param]:
    return {name: Param(p.type, p.default, "", tuple(p.enum)) for name, p in model.params.items()}
