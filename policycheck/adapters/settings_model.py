"""The shape of the settings file. Imports pydantic, so it is imported only for a file that is new."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from policycheck.lint.settings import parse_target


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


Words = Annotated[list[str], BeforeValidator(_listed)]
Targets = Annotated[dict[str, str], BeforeValidator(_versions)]
Shape = ConfigDict(extra="forbid", alias_generator=_kebab)


def _check_targets(targets: dict[str, str]) -> None:
    for system, version in targets.items():
        parse_target(f"{system}={version}")


class PerPathModel(BaseModel):
    """Rules that are not reported in some files."""

    model_config = Shape
    paths: Words
    ignore: Words
    reason: str = ""


class ClusterModel(BaseModel):
    """A named cluster."""

    model_config = Shape
    name: Annotated[str, Field(min_length=1)]
    paths: Annotated[Words, Field(min_length=1)]
    inventory: Words = []
    context: Words = []
    target: Targets = {}

    @model_validator(mode="after")
    def _targets_parse(self) -> ClusterModel:
        _check_targets(self.target)
        return self


class SettingsModel(BaseModel):
    """The settings file; keys are written as the options of the command line are (``fail-on``)."""

    model_config = Shape
    select: Words = []
    ignore: Words = []
    severity: dict[str, Literal["error", "warning", "info"]] = {}
    params: dict[str, dict[str, Any]] = {}
    per_path: list[PerPathModel] = []
    phase: Literal["observe", "pilot", "queues", "topology"] | None = None
    fail_on: Literal["error", "warning", "info", "never"] = "error"
    preview: bool = False
    clusters: list[ClusterModel] = []
    inventory: Words = []
    context: Words = []
    exclude: Words = []
    target: Targets = {}
    rules: Words = []
    crds: Words = []
    baseline: str = ""

    @model_validator(mode="after")
    def _fits_together(self) -> SettingsModel:
        names = [cluster.name for cluster in self.clusters]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"clusters have names of their own; {', '.join(repeated)} stands there twice")
        _check_targets(self.target)
        return self
