"""The shape of a rule file. Imports pydantic, so it is imported only for files with a new digest."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from policycheck.lint.param import misfit
from policycheck.lint.rule import ANY, Param

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Position = Annotated[str, StringConstraints(pattern=r"^\d+:\d+( \S.*)?$")]
Strict = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class ParamModel(BaseModel):
    """A parameter: its type, its default, and what it means."""

    model_config = Strict
    type: Literal["string", "int", "number", "bool", "quantity", "list"]
    default: Any
    description: Text
    enum: list[str] = []

    @model_validator(mode="after")
    def _default_fits(self) -> ParamModel:
        wrong = misfit(Param(self.type, self.default, "", tuple(self.enum)), self.default)
        if wrong:
            raise ValueError(f"the default {wrong}")
        return self


class ExampleModel(BaseModel):
    """A manifest, what it needs beside it, and for a bad one the places of its findings."""

    model_config = Strict
    manifest: Text
    findings: list[Position] = []
    inventory: str = ""
    context: str = ""
    crds: str = ""  # CustomResourceDefinitions to validate with
    before: str = ""  # the manifest as it was: only what is new against it is found
    params: dict[str, Any] = {}
    target: dict[str, str] = {}
    cluster: str = ""  # the name of the cluster whose documents these are; "" leaves it open
    skipped: bool = False  # the rule says that it can not decide here
    fixed: str = ""  # of a bad one: the manifest after its fixes
    note: str = ""


class ExamplesModel(BaseModel):
    """At least one example that the rule finds, and one that it leaves in peace."""

    model_config = Strict
    bad: Annotated[list[ExampleModel], Field(min_length=1)]
    good: Annotated[list[ExampleModel], Field(min_length=1)]

    @model_validator(mode="after")
    def _have_findings(self) -> ExamplesModel:
        if any(not example.findings for example in self.bad):
            raise ValueError('a bad example lists its findings, as in findings: ["11:38 borrowingLimit"]')
        if any(example.findings for example in self.good):
            raise ValueError("a good example has no findings; move it to bad")
        if any(example.skipped for example in self.bad):
            raise ValueError("'skipped' goes with a good example: what is skipped has no findings")
        if any(example.fixed for example in self.good):
            raise ValueError("'fixed' goes with a bad example: a good one has nothing to mend")
        return self


class ChangeModel(BaseModel):
    """One change: set, remove or rename what stands at a path that begins with object, it or hit, or append to
    the list there.
    """

    model_config = Strict
    set: str = ""
    remove: str = ""
    rename: str = ""
    append: str = ""
    value: Any = None  # for set and append; texts may hold placeholders
    expression: str = ""  # for set and append: CEL that gives the value
    to: str = ""  # for rename: the new key

    @property
    def action(self) -> Literal["set", "remove", "rename", "append"]:
        """Which of the four it is."""
        if self.set or self.append:
            return "set" if self.set else "append"
        return "remove" if self.remove else "rename"

    @model_validator(mode="after")
    def _one_action(self) -> ChangeModel:
        given = [name for name in ("set", "remove", "rename", "append") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError(
                "a change has one of set, remove, rename and append, as in {remove: it.borrowingLimit}"
            )
        wanted = {"remove": (), "rename": ("to",)}.get(given[0], ("value", "expression"))
        found = [name for name in ("value", "expression", "to") if name in self.model_fields_set]
        if len(found) != min(len(wanted), 1) or not set(found) <= set(wanted):
            needs = f"needs {' or '.join(wanted)}" if wanted else "takes nothing beside its path"
            raise ValueError(f"{given[0]} {needs}, and nothing else")
        return self


class FixModel(BaseModel):
    """What would mend a finding. Without changes the check gives them."""

    model_config = Strict
    safety: Literal["safe", "unsafe", "manual"]
    claims: bool = False  # it touches quota or policy
    changes: list[ChangeModel] = []


class AppliesModel(BaseModel):
    """The first and the last version of the target that the rule is about."""

    model_config = Strict
    since: str = ""
    until: str = ""


class RuleModel(BaseModel):
    """A rule file. DESIGN: one file a rule; its examples are its tests."""

    model_config = Strict
    id: Annotated[str, StringConstraints(pattern=r"^[A-Z]{2,8}[0-9]{3,4}$")]
    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: Text
    severity: Literal["error", "warning", "info"]
    confidence: Literal["high", "medium", "low"]
    phase: Literal["observe", "pilot", "queues", "topology"]
    status: Literal["preview", "stable", "deprecated"] = "stable"
    replaced_by: str = ""
    subject: str = ANY
    each: str = ""
    at: str = ""
    on_key: bool = False
    expression: str = ""
    check: str = ""
    trouble: str | list[str] = ""
    message: Text
    params: dict[str, ParamModel] = {}
    needs: list[Literal["inventory", "context"]] = []
    fix: Literal["safe", "unsafe", "manual"] | FixModel | None = None
    applies: AppliesModel = AppliesModel()
    rationale: Text
    remediation: Text
    sources: list[Text] = []
    since: str = ""
    examples: ExamplesModel

    @property
    def fixing(self) -> FixModel | None:
        """The fix, also where it is said in a word."""
        return FixModel(safety=self.fix) if isinstance(self.fix, str) else self.fix

    @property
    def troubles(self) -> tuple[str, ...]:
        """The codes of text and read troubles that this rule reports."""
        given = [self.trouble] if isinstance(self.trouble, str) else self.trouble
        return tuple(code for code in given if code)
