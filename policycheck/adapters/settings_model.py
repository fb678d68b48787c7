"""The shape of the settings file. Imports pydantic, so it is imported only for a file that is new.

The text below each field is its description in the JSON Schema that is published (docs/schemas/settings.json).
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from policycheck.lint.settings import parse_target
from policycheck.source.suppress import is_date

_PIN = r"^([0-9]{1,6}\.[0-9]{1,6}(\.[0-9]{1,6})?|sha256:[0-9a-f]{12,64})$"


def _kebab(name: str) -> str:
    return name.replace("_", "-")


def _listed(value: object) -> object:
    """One path may be written without the dash of a list."""
    return [value] if isinstance(value, str) else value


def _versions(value: object) -> object:
    """``0.19`` without quotes is a number to YAML; as a version it means what it looks like."""
    if not isinstance(value, dict):
        return value
    return {name: str(one) if isinstance(one, (int, float)) else one for name, one in value.items()}


def _day(value: object) -> object:
    """A date without quotes is text in YAML and a date in TOML."""
    return value.isoformat() if isinstance(value, dt.date) else value


def _is_day(value: str) -> str:
    if value and not is_date(value):
        raise ValueError(f"{value!r} is no date; write it like 2027-01-31")
    return value


def _pin(value: object) -> object:
    """``0.10`` without quotes is the number 0.1, so a number can not say which version is meant."""
    if isinstance(value, (int, float)):
        raise ValueError(f'{value} is a number; write a version in quotes, as in "0.1"')  # noqa: TRY004 - as a value
    if isinstance(value, str) and value and not re.fullmatch(_PIN, value):
        raise ValueError(
            f'{value!r} is no pin; write a version ("0.1") or "sha256:" and at least 12 digits of a digest'
        )
    return value


Words = Annotated[list[str], BeforeValidator(_listed, json_schema_input_type=list[str] | str)]
Targets = Annotated[
    dict[str, str], BeforeValidator(_versions, json_schema_input_type=dict[str, str | int | float])
]
Asked = Literal["reason", "owner", "until"]
Severity = Literal["error", "warning", "info"]
Mode = Literal["default", "deny", "warn", "audit", "off"]
Day = Annotated[str, BeforeValidator(_day, json_schema_input_type=str), AfterValidator(_is_day)]
Pin = Annotated[str, BeforeValidator(_pin, json_schema_input_type=Annotated[str, Field(pattern=_PIN)])]
Shape = ConfigDict(extra="forbid", alias_generator=_kebab, use_attribute_docstrings=True)


def _check_targets(targets: dict[str, str]) -> None:
    for system, version in targets.items():
        parse_target(f"{system}={version}")


class PerPathModel(BaseModel):
    """What is different in some files."""

    model_config = Shape | ConfigDict(
        json_schema_extra={"anyOf": [{"required": [key]} for key in ("ignore", "select", "severity")]}
    )
    paths: Annotated[Words, Field(min_length=1)]
    """Globs of file names as seen from this folder; `*` matches any characters, `/` too."""
    ignore: Words = []
    """Rules that are not reported there: ids, names, beginnings of ids, systems, or all."""
    select: Words = []
    """The only rules that are reported there."""
    severity: dict[str, Severity] = {}
    """Severities there, by rule (id, name, beginning of ids, system, or all)."""
    reason: str = ""
    """Why; `suppressions.require` can make it compulsory."""
    owner: str = ""
    """Who decided it, and is asked when it ends."""
    until: Day = ""
    """The last day on which `ignore` and `select` hold (YYYY-MM-DD)."""

    @model_validator(mode="after")
    def _says_something(self) -> PerPathModel:
        if not (self.ignore or self.select or self.severity):
            raise ValueError("it changes nothing: write ignore, select or severity")
        return self


class ClusterModel(BaseModel):
    """A named cluster."""

    model_config = Shape
    name: Annotated[str, Field(min_length=1)]
    """What reports call it."""
    paths: Annotated[Words, Field(min_length=1)]
    """Its files: folders, files, globs."""
    inventory: Words = []
    """What hardware it has."""
    context: Words = []
    """Read to understand its files, not reported."""
    target: Targets = {}
    """Versions that run there, by system: `kueue: "0.19,Gate=false"`."""

    @model_validator(mode="after")
    def _targets_parse(self) -> ClusterModel:
        _check_targets(self.target)
        return self


class SuppressionsModel(BaseModel):
    """What is asked of suppressions; one that does not fit is refused, and what it covers is reported."""

    model_config = Shape
    require: Annotated[list[Asked], BeforeValidator(_listed, json_schema_input_type=list[Asked] | Asked)] = []
    """What every suppression has to have."""
    max_days: Annotated[int, Field(ge=1, le=3660)] | None = None
    """How far away its end may be."""
    never: Words = []
    """Rules that nothing may suppress: ids, names, beginnings of ids, systems, or all."""
    remind_days: Annotated[int, Field(ge=0, le=366)] = 14
    """How many days before an end it is said."""


class NamespaceModel(BaseModel):
    """What the webhook does in some namespaces."""

    model_config = Shape
    mode: Mode | None = None
    """For all rules that `rules` does not name."""
    rules: dict[str, Mode] = {}
    """By rule: id, name, beginning of ids, system, or all."""


class OverrideModel(BaseModel):
    """Who may have the webhook admit what it refuses, with the annotation `policycheck.dev/override`."""

    model_config = Shape
    users: Words = []
    """User names, as the API server knows them."""
    groups: Words = []
    """Groups, as the API server knows them."""


class WebhookModel(BaseModel):
    """What the admission webhook does about findings that a change adds."""

    model_config = Shape
    mode: Mode = "default"
    """`default` refuses errors of high confidence and warns of the rest; or deny, warn, audit, off for everything."""
    rules: dict[str, Mode] = {}
    """By rule: id, name, beginning of ids, system, or all."""
    namespaces: dict[str, NamespaceModel] = {}
    """By namespace (globs); what is said here goes before what is said for all."""
    exempt: Words = ["kube-system", "kube-node-lease", "kube-public"]
    """Namespaces (globs) in which nothing is judged."""
    override: OverrideModel = OverrideModel()
    """Who may override a refusal."""


class SettingsModel(BaseModel):
    """The settings file; keys are written as the options of the command line are (``fail-on``)."""

    model_config = Shape
    extends: Words = []
    """Settings that these build on: a path, or `package:NAME[/FILE]` in an installed Python package."""
    select: Words = []
    """The only rules that run: ids, names, beginnings of ids, systems, or all."""
    ignore: Words = []
    """Rules that do not run."""
    severity: dict[str, Severity] = {}
    """Severities, by id or name of a rule."""
    params: dict[str, dict[str, Any]] = {}
    """Parameters, by id or name of a rule."""
    per_path: list[PerPathModel] = []
    """What is different in some files; where several speak of one rule's severity, the last counts."""
    phase: Literal["observe", "pilot", "queues", "topology"] | None = None
    """Only rules that matter up to this step of a rollout."""
    fail_on: Literal["error", "warning", "info", "never"] = "error"
    """From which severity on findings fail a run."""
    preview: bool = False
    """Run rules in preview, too."""
    rulebook: Pin = ""
    """A pin: the version of policycheck whose rules run ("0.1"), or sha256 of all rules."""
    suppressions: SuppressionsModel = SuppressionsModel()
    """What is asked of suppressions."""
    webhook: WebhookModel = WebhookModel()
    """What the admission webhook refuses, warns of, or only notes."""
    clusters: list[ClusterModel] = []
    """Clusters, each with its own files, hardware and versions."""
    inventory: Words = []
    """What physically exists, for all clusters that do not say."""
    context: Words = []
    """Read to understand, not reported."""
    exclude: Words = []
    """Globs of files that are not read."""
    target: Targets = {}
    """Versions that are assumed, by system: `kueue: "0.19,Gate=false"`."""
    rules: Words = []
    """Folders of rules of your own."""
    crds: Words = []
    """CustomResourceDefinitions to validate with."""
    baseline: str = ""
    """The file of findings that are known from before."""

    @model_validator(mode="after")
    def _fits_together(self) -> SettingsModel:
        names = [cluster.name for cluster in self.clusters]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"clusters have names of their own; {', '.join(repeated)} stands there twice")
        _check_targets(self.target)
        return self


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a settings file."""
    made: dict[str, Any] = SettingsModel.model_json_schema(by_alias=True)
    for one in (made, *made["$defs"].values()):
        del one["title"]  # names of ours, which say nothing that the key does not
        for field in one["properties"].values():
            field.pop("title", None)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://policycheck.dev/schemas/settings.json",
        "title": "Settings of policycheck (.policycheck.yaml)",
        **made,
    }
