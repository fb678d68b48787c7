"""The parts that mix files are made of. Imports pydantic, so it is imported when a mix is read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from policycheck.model.amount import QuantityError, amount
from policycheck.simulate.arrive import INTERVAL, REPLAY, START
from policycheck.simulate.curve import curve
from policycheck.simulate.fit import UNBOUNDED, fitted
from policycheck.simulate.mix import Topology
from policycheck.simulate.period import PeriodError, parse, rate, show

_MOST_PODS = 100_000
_FORMS = ("constant", "mean", "exponential", "uniform", "odds", "quantiles", "values", "file")


def kebab(name: str) -> str:
    """A field's name as it is written."""
    return name.replace("_", "-")


def _period(value: object) -> int:
    try:
        return parse(value)
    except PeriodError as error:
        raise ValueError(str(error)) from None


def _rate(value: object) -> float:
    try:
        return rate(value)
    except PeriodError as error:
        raise ValueError(str(error)) from None


def _amounts(value: object) -> object:
    if not isinstance(value, dict):
        return value
    return {name: _amount(str(name), one) for name, one in value.items()}


def _amount(resource: str, value: object) -> int:
    try:
        found = amount(resource, value)
    except QuantityError as error:
        raise ValueError(str(error)) from None
    if found < 0:
        raise ValueError(f"{resource} is {value!r}; it has to be 0 or more")
    return found


def _odds(value: object) -> object:
    """One number stands for itself; a map gives the odds of each."""
    return {value: 1.0} if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _patterns(value: object) -> object:
    """``"*"``, or a list of queues, or queues with weights."""
    if isinstance(value, str):
        return {value: 1.0}
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return dict.fromkeys(value, 1.0)
    return value


def scalar(key: str) -> BeforeValidator:
    """A plain value is short for a map with one key."""
    return BeforeValidator(lambda value: value if isinstance(value, (dict, BaseModel)) else {key: value})


Shape = ConfigDict(
    extra="forbid", alias_generator=kebab, populate_by_name=True, frozen=True, allow_inf_nan=False
)
Period = Annotated[int, BeforeValidator(_period)]
Rate = Annotated[float, BeforeValidator(_rate)]
Amounts = Annotated[dict[str, int], BeforeValidator(_amounts)]
Share = Annotated[float, Field(ge=0, le=1)]
Weights = Annotated[dict[str, Annotated[float, Field(ge=0)]], BeforeValidator(_patterns)]
Whole = Annotated[int, Field(ge=1, le=_MOST_PODS)]
Odd = Annotated[float, Field(ge=0)]
Counts = Annotated[dict[Whole, Odd], BeforeValidator(_odds), Field(min_length=1)]
Sizes = Annotated[
    dict[Annotated[float, Field(ge=0, le=_MOST_PODS)], Odd], BeforeValidator(_odds), Field(min_length=1)
]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]


class SpreadModel(BaseModel):
    """A length of time, or what lengths are drawn from: one form of _FORMS, with bounds."""

    model_config = Shape
    constant: Period | None = None
    mean: Period | None = None
    median: Period | None = None
    exponential: Period | None = None
    uniform: list[Period] | None = None
    odds: dict[str, Odd] | None = None
    quantiles: dict[float, Period] | None = None
    values: Annotated[list[Period], Field(min_length=1)] | None = None
    file: str | None = None
    column: str | int = 0
    least: Period = 0
    most: Period | None = None

    @model_validator(mode="after")
    def _one_form(self) -> SpreadModel:
        given = [form for form in _FORMS if getattr(self, form) is not None]
        if len(given) != 1:
            raise ValueError(
                f"found {' and '.join(given) or 'none'} of {', '.join(_FORMS)}; exactly one says what is drawn"
            )
        if (self.mean is None) != (self.median is None):
            raise ValueError("'mean' and 'median' go together: both make a log-normal distribution")
        if self.median is not None and self.mean is not None:
            try:
                fitted(self.mean, self.median, self.least, UNBOUNDED if self.most is None else self.most)
            except ValueError as error:
                raise ValueError(f"{error}: mean {show(self.mean)}, median {show(self.median)}") from None
        if self.exponential == 0:
            raise ValueError("'exponential' is a mean above 0")
        if self.most is not None and self.most < self.least:
            raise ValueError(f"'most' is {show(self.most)}, less than 'least' with {show(self.least)}")
        self._lists()
        return self

    def _lists(self) -> None:
        if self.uniform is not None and (len(self.uniform) != 2 or self.uniform[0] > self.uniform[1]):
            raise ValueError("'uniform' has two bounds, the lower one first, as in [10m, 2h]")
        if self.odds is not None:
            for text in self.odds:
                _period(text)
            if not sum(self.odds.values()):
                raise ValueError("the odds are all 0; one has to be above")
        if self.quantiles is not None:
            shares, values = list(self.quantiles), list(self.quantiles.values())
            if shares != sorted(shares) or values != sorted(values) or not {0.0, 100.0} <= set(shares):
                raise ValueError(
                    "'quantiles' gives lengths by percentage, both rising, from 0 to 100, as in "
                    "{0: 1s, 50: 10m, 90: 4h, 100: 7d}"
                )


Spread = Annotated[SpreadModel, scalar("constant")]


class ArrivalModel(BaseModel):
    """How jobs arrive."""

    model_config = Shape
    process: Literal["poisson", "interval", "start", "replay"] = "poisson"
    every: Annotated[Period, Field(gt=0)] | None = None
    jitter: Share = 0.0
    first: Period | None = None
    times: list[Period] = []
    file: str | None = None
    column: str | int = 0

    @model_validator(mode="after")
    def _fits_together(self) -> ArrivalModel:
        if self.process == REPLAY and not (self.times or self.file):
            raise ValueError("process 'replay' needs 'times', or a 'file' with a column of them")
        if self.process != REPLAY and (self.times or self.file):
            raise ValueError(f"'times' and 'file' go with process 'replay', not with {self.process!r}")
        if self.process != INTERVAL and self.jitter:
            raise ValueError(f"'jitter' goes with process 'interval', not with {self.process!r}")
        if self.process in (START, REPLAY) and self.every is not None:
            raise ValueError(
                f"'every' goes with processes 'poisson' and 'interval', not with {self.process!r}"
            )
        return self


class CurveModel(BaseModel):
    """Multipliers by hour of the day and by day of the week, from Monday."""

    model_config = Shape
    daily: list[float] = []
    weekly: list[float] = []

    @model_validator(mode="after")
    def _makes_a_curve(self) -> CurveModel:
        curve(self.daily, self.weekly)
        return self


class TopologyModel(BaseModel):
    """What jobs of several pods ask of the topology."""

    model_config = Shape
    mode: Literal["required", "preferred", "unconstrained", ""] = ""
    level: str | int = ""
    slice_level: str | int = ""
    slice_size: Annotated[int, Field(ge=0)] = 0
    pods: Whole = 1

    @model_validator(mode="after")
    def _fits_together(self) -> TopologyModel:
        if self.mode in ("required", "preferred") and self.level == "":
            raise ValueError(
                f"mode {self.mode!r} needs a 'level': a label, or a number (0 widest, -1 tightest)"
            )
        if not self.mode and self.slice_level == "":
            raise ValueError("a 'mode' or a 'slice-level' is needed")
        if self.slice_level != "" and not self.slice_size:
            raise ValueError("'slice-level' needs a 'slice-size': pods in a slice")
        return self

    def record(self) -> Topology:
        """The request as the rest of the program has it."""
        return Topology(self.mode, self.level, self.slice_level, self.slice_size, self.pods)


class TolerationModel(BaseModel):
    """A toleration, as a pod has it."""

    model_config = Shape
    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""


class PriorityModel(BaseModel):
    """A priority by number, by class, or both, and its odds."""

    model_config = Shape
    value: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None = None
    name: str = Field("", alias="class")
    share: Odd = 1.0


class ReplicasModel(BaseModel):
    """How many copies of a service run."""

    model_config = Shape
    least: Annotated[int, Field(ge=0, le=_MOST_PODS)] = 0
    most: Annotated[int, Field(ge=0, le=_MOST_PODS)] | None = None
    share: Share | None = None
    period: Annotated[Period, Field(ge=1000)] = 300_000

    @model_validator(mode="after")
    def _one_form(self) -> ReplicasModel:
        if (self.share is None) == (self.most is None):
            raise ValueError("exactly one of 'most' (with 'least') and 'share' (of the capacity) is written")
        if self.most is not None and self.most < self.least:
            raise ValueError(f"'most' is {self.most}, less than 'least' with {self.least}")
        return self


class MatchModel(BaseModel):
    """Workloads of manifests that a class tells the run times of."""

    model_config = Shape
    labels: dict[str, str] = {}
    kinds: list[str] = []
    queues: list[str] = []

    @model_validator(mode="after")
    def _says_something(self) -> MatchModel:
        if not (self.labels or self.kinds or self.queues):
            raise ValueError("write 'labels', 'kinds' or 'queues': what the workloads have in common")
        return self
