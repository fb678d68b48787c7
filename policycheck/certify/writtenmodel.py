"""The shape of promises as they are written. Imports pydantic, so it is imported when a file has some."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from policycheck.certify.claims import NAMES
from policycheck.certify.promise import WITHIN_GUARANTEE
from policycheck.model.amount import UNLIMITED, QuantityError, amount
from policycheck.model.schema import suggest
from policycheck.simulate.period import PeriodError, parse

_MOST_PODS = 100_000
_PERCENT = 1000  # thousandths that are the whole


def _flat(value: object, wanted: str) -> None:
    """Refuses a map or a list; how deep it is, is the user's choice, so it is not written out."""
    if isinstance(value, (dict, list)):
        raise ValueError(f"found a {'map' if isinstance(value, dict) else 'list'}; write {wanted}")  # noqa: TRY004 - pydantic collects these


def _period(value: object) -> int:
    _flat(value, "a length of time, as in 90s or 4h")
    try:
        found = parse(value)
    except PeriodError as error:
        raise ValueError(str(error)) from None
    if not found:
        raise ValueError("it is 0; a length of time is above")
    return found


def _share(value: object) -> int:
    """``12.5%`` in thousandths."""
    _flat(value, "a share, as in 50%")
    text = value.strip() if isinstance(value, str) else ""
    try:
        found = Fraction(text[:-1]) * 10 if text.endswith("%") else None
    except (ValueError, ZeroDivisionError):
        found = None
    if found is None or found.denominator != 1 or not 0 <= found <= _PERCENT:
        raise ValueError(f"{value!r} is no share; write 0% to 100%, as in 50% or 12.5%")
    return int(found)


def _times(value: object) -> int:
    """A factor (``2.5``) in thousandths."""
    _flat(value, "a number above 0, as in 2.5")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1e9:
        raise ValueError(f"{value!r} is no factor; write a number above 0, as in 2.5")
    return int(Fraction(str(value)) * 1000)


def _amount(resource: str, value: object) -> int:
    if isinstance(value, (dict, list)):
        raise _of(resource, "found a map or a list; write a quantity, as in 8, 500m or 64Gi")
    try:
        found = amount(resource, value)
    except QuantityError as error:
        raise _of(resource, str(error)) from None
    if not 0 <= found < UNLIMITED:
        raise _of(
            resource, f"{value!r} is no amount that can be promised; it has to be 0 or more, and finite"
        )
    return found


def _of(resource: str, why: str) -> PydanticCustomError:
    """An error about one entry of a map, whose key pydantic does not know at that point."""
    return PydanticCustomError("of_entry", "{why}", {"why": why, "entry": resource})


def _amounts(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {str(name): _amount(str(name), one) for name, one in value.items()}


def _guarantee(value: object) -> object:
    """``{resource: amount}``, or ``{resource: {flavor: amount}}`` where it is promised in certain flavors."""
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for name, one in value.items():
        if isinstance(one, dict):
            found[str(name)] = {str(flavor): _amount(str(name), part) for flavor, part in one.items()}
        else:
            found[str(name)] = _amount(str(name), one)
    return found


def _names(value: object) -> object:
    return [value] if isinstance(value, str) else value


Written = ConfigDict(extra="forbid", alias_generator=to_camel, frozen=True, strict=False)
Period = Annotated[int, BeforeValidator(_period)]
Share = Annotated[int, BeforeValidator(_share)]
Factor = Annotated[int, BeforeValidator(_times)]
Amounts = Annotated[dict[str, int], BeforeValidator(_amounts)]
Guarantee = Annotated[dict[str, int | dict[str, int]], BeforeValidator(_guarantee)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?$")]
Names = Annotated[list[Annotated[str, Field(min_length=1)]], BeforeValidator(_names)]
Whole = Annotated[int, Field(ge=1, le=_MOST_PODS, strict=True)]
Number = Annotated[int, Field(ge=0, le=_MOST_PODS, strict=True)]
Percentile = Literal["p50", "p90", "p95", "p99", "max"]


class TopologyModel(BaseModel):
    """How close the pods of a podset have to be."""

    model_config = Written
    required: str = ""
    preferred: str = ""
    unconstrained: bool = False
    slice_level: str = ""
    slice_size: Number = 0

    @model_validator(mode="after")
    def _fits_together(self) -> TopologyModel:
        given = [n for n in ("required", "preferred", "unconstrained") if getattr(self, n)]
        if len(given) > 1 or not (given or self.slice_level):
            raise ValueError(
                f"found {' and '.join(given) or 'none'} of required, preferred and unconstrained; write one, as in "
                "{required: topology.example.com/rack}"
            )
        if bool(self.slice_level) != bool(self.slice_size):
            raise ValueError("'sliceLevel' and 'sliceSize' go together: so many pods in each such domain")
        return self


class TolerationModel(BaseModel):
    """A toleration, as a pod has it."""

    model_config = Written
    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""


class PodSetModel(BaseModel):
    """Pods of one kind in a job. ``gpus`` and ``requests`` are for each pod."""

    model_config = Written
    name: Name = "main"
    pods: Whole = 1
    gpus: Number = 0
    requests: Amounts = {}
    topology: TopologyModel | None = None
    node_selector: dict[str, str] = {}
    tolerations: list[TolerationModel] = []
    pod_priority_class: str = ""

    @model_validator(mode="after")
    def _asks(self) -> PodSetModel:
        if not (self.gpus or any(self.requests.values())):
            raise ValueError("it asks for nothing: write 'gpus' or 'requests' (for each pod)")
        return self


_OF_SETS = ("pods", "gpus", "requests", "topology", "node_selector", "tolerations")


class ShapeModel(BaseModel):
    """One kind of job that a team runs: one podset written out, or several under ``podSets``."""

    model_config = Written
    name: Name
    queues: Names = []
    count: Whole = 1
    pods: Whole = 1
    gpus: Number = 0
    requests: Amounts = {}
    topology: TopologyModel | None = None
    node_selector: dict[str, str] = {}
    tolerations: list[TolerationModel] = []
    pod_sets: list[PodSetModel] = []
    priority_class: str = ""
    pod_priority_class: str = ""
    max_run_time: Period | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> ShapeModel:
        beside = [to_camel(n) for n in _OF_SETS if n in self.model_fields_set]
        if self.pod_sets and beside:
            raise ValueError(f"{beside[0]!r} is each podset's own: write it below 'podSets'")
        if not self.pod_sets and not (self.gpus or any(self.requests.values())):
            raise ValueError("it asks for nothing: write 'gpus' or 'requests' (for each pod), or 'podSets'")
        names = [one.name for one in self.pod_sets]
        if len(set(names)) < len(names):
            raise ValueError("podsets have names of their own; write a 'name' in each")
        return self


class TeamModel(BaseModel):
    """What one team was told."""

    model_config = Written
    name: Name
    owner: str = ""
    queues: Names = []
    guarantee: Guarantee | None = None
    burst: Share | None = None
    isolated: str = ""
    shapes: list[ShapeModel] | None = None
    within: Period | None = None
    preemptions: Number | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> TeamModel:
        if len(set(self.queues)) < len(self.queues):
            raise ValueError("a queue stands twice in 'queues'")
        if self.isolated and self.burst:
            raise ValueError("it is 'isolated' and promised a 'burst': what is isolated borrows nothing")
        names = [one.name for one in self.shapes or ()]
        if len(set(names)) < len(names):
            raise ValueError("shapes have names of their own, and one stands there twice")
        for shape in self.shapes or ():
            other = next((queue for queue in shape.queues if queue not in self.queues), "")
            if other:
                own = ", ".join(self.queues) or "none is written"
                raise ValueError(
                    f"shape {shape.name} goes to queue {other}, which is none of the team's: {own}"
                )
        return self


class ProtectionModel(BaseModel):
    """Priority classes by their role. What is not written is derived; [] is none."""

    model_config = Written
    protected: Names | None = None
    experiments: Names | None = None
    serving: Names | None = None
    mode: Literal["within-guarantee", "always"] = Field("within-guarantee", alias="while")

    @model_validator(mode="after")
    def _fits_together(self) -> ProtectionModel:
        both = sorted({*(self.protected or ())} & {*(self.experiments or ())})
        if both:
            raise ValueError(f"{both[0]} is protected and for experiments; it is one of the two")
        return self


class LossesModel(BaseModel):
    """What may be lost at once: any so many nodes, and any one domain of a topology level."""

    model_config = Written
    nodes: Number = 0
    domain: str = ""


class GangsModel(BaseModel):
    """A gang of which pods are missing is whole again, or gone, after this time."""

    model_config = Written
    whole_within: Period


class SpanModel(BaseModel):
    """How many domains a gang may span, of the level that it names."""

    model_config = Written
    max_domains: Whole


class ThrashModel(BaseModel):
    """Preemptions of one workload while nothing new arrives."""

    model_config = Written
    preemptions: Number


class SloModel(BaseModel):
    """Bounds on a simulated stream of jobs."""

    model_config = Written
    stream: Annotated[str, Field(min_length=1)]
    seeds: Annotated[list[Number], Field(min_length=1)] = [1]
    horizon: Period | None = None
    wait: dict[Percentile, Period] = {}
    preempted: Share | None = None
    stretch: dict[Percentile, Factor] = {}
    utilisation: Share | None = None

    @model_validator(mode="after")
    def _bounds(self) -> SloModel:
        if not (self.wait or self.stretch) and self.preempted is None and self.utilisation is None:
            raise ValueError("it bounds nothing: write 'wait', 'preempted', 'stretch' or 'utilisation'")
        return self


class PromisesModel(BaseModel):
    """A whole file."""

    model_config = Written
    api_version: Literal["policycheck.dev/v1"]
    kind: Literal["Promises"]
    metadata: dict[str, Any] = {}
    gpu_resource: str = ""
    teams: list[TeamModel] = []
    protection: ProtectionModel = ProtectionModel.model_validate({"while": WITHIN_GUARANTEE})
    losses: LossesModel = LossesModel()
    gangs: GangsModel | None = None
    topology: SpanModel | None = None
    thrash: ThrashModel | None = None
    slo: list[SloModel] = []
    checks: dict[str, Period] = {}
    required: Names = []

    @model_validator(mode="after")
    def _fits_together(self) -> PromisesModel:
        names = [one.name for one in self.teams]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"teams have names of their own; {', '.join(twice)} stands there twice")
        holders: dict[str, str] = {}
        for team in self.teams:
            for queue in team.queues:
                if holders.setdefault(queue, team.name) != team.name:
                    raise ValueError(
                        f"queue {queue} is of {holders[queue]} and of {team.name}; quota belongs to a queue, and "
                        "what each has of it can not be told apart: write one team, or give each its queue"
                    )
        unknown = next((name for name in self.required if name not in NAMES), "")
        if unknown:
            raise _of("required", f"there is no claim {unknown!r}{suggest(unknown, NAMES)}")
        return self
