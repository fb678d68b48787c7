"""The shape of a mix file. Imports pydantic, so it is imported when a mix is read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from policycheck.simulate.arrive import PROCESSES, REPLAY, START
from policycheck.simulate.mixpart import (
    Amounts,
    ArrivalModel,
    Counts,
    CurveModel,
    MatchModel,
    Name,
    Period,
    PriorityModel,
    Rate,
    ReplicasModel,
    Shape,
    Share,
    Sizes,
    Spread,
    SpreadModel,
    TolerationModel,
    TopologyModel,
    Weights,
    Whole,
    kebab,
    scalar,
)

DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


class ClassModel(BaseModel):
    """One class of jobs."""

    model_config = Shape
    name: Name
    about: str = ""
    nature: Literal["batch", "service"] = "batch"
    share: Share | None = None
    rate: Rate | None = None
    jobs: Annotated[int, Field(ge=1, le=2_000_000)] | None = None
    per: Literal["mix", "queue"] = "mix"
    arrival: Annotated[ArrivalModel, scalar("process")] = ArrivalModel()
    curve: CurveModel | None = None
    queues: Weights = {}
    namespace: str = ""
    pods: Counts = {1: 1.0}
    gpus: Sizes = {0.0: 1.0}
    job_gpus: Counts | None = None
    pod_gpus: Whole = 8
    requests: Amounts = {}
    requests_per_gpu: Amounts = {}
    models: list[str] = []
    topology: TopologyModel | None = None
    node_selector: dict[str, str] = {}
    tolerations: list[TolerationModel] = []
    priority: Annotated[list[PriorityModel], Field(min_length=1)] = [PriorityModel.model_validate({})]
    duration: Spread | None = None
    startup: Spread = SpreadModel(constant=0)
    checkpoint: Period = 0
    limit: Period = 0
    replicas: ReplicasModel | None = None
    match: MatchModel | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}

    @model_validator(mode="before")
    @classmethod
    def _one_priority(cls, value: Any) -> Any:
        """A number, a class's name or one map stand for a list of one."""
        if not isinstance(value, dict) or "priority" not in value or isinstance(value["priority"], list):
            return value
        given = value["priority"]
        if isinstance(given, str):
            given = {"class": given}
        elif isinstance(given, int):
            given = {"value": given}
        return {**value, "priority": [given]}

    @model_validator(mode="after")
    def _fits_together(self) -> ClassModel:
        if self.nature == "service":
            self._service()
        else:
            self._batch()
        if self.job_gpus is not None and ("gpus" in self.model_fields_set or "pods" in self.model_fields_set):
            raise ValueError("'job-gpus' is what the whole job has; leave 'pods' and 'gpus' out beside it")
        for size in self.gpus:
            if size > 1 and size != int(size):
                raise ValueError(f"'gpus' is {size:g}; above 1 only whole ones can be asked for")
            if 0 < size < 0.001:
                raise ValueError(f"'gpus' is {size:g}; the smallest share is 0.001")
        if not any(self.gpus) and self.job_gpus is None and not self.requests and self.match is None:
            raise ValueError("a job asks for something: write 'gpus', 'job-gpus' or 'requests'")
        if sum(p.share for p in self.priority) <= 0:
            raise ValueError("the shares of 'priority' are all 0; one has to be above")
        for name in ("pods", "gpus", "job_gpus"):
            odds = getattr(self, name)
            if odds is not None and not sum(odds.values()):
                raise ValueError(f"the odds of '{kebab(name)}' are all 0; one has to be above")
        return self

    def _batch(self) -> None:
        if self.duration is None:
            raise ValueError("'duration' is missing: how long its jobs run")
        if self.replicas is not None:
            raise ValueError("'replicas' goes with nature: service")
        given = [n for n in ("share", "rate") if getattr(self, n) is not None]
        given += ["arrival.every"] if self.arrival.every is not None else []
        process = self.arrival.process
        if process in (START, REPLAY):
            if given and given != ["share"]:
                raise ValueError(f"{given[0]!r} does not go with process {process!r}: it has no rate")
            if process == START and self.jobs is None and self.share is None:
                raise ValueError("process 'start' needs 'jobs', or a 'share' of the mix's")
        elif self.match is not None and not given and self.jobs is None:
            return  # it tells of manifests alone
        elif len(given) != 1:
            raise ValueError(
                f"found {' and '.join(given) or 'none'} of share, rate and arrival.every; exactly one says how "
                f"many jobs there are ({', '.join(PROCESSES[2:])} need none)"
            )
        if self.share is not None and (self.jobs is not None or self.per == "queue"):
            raise ValueError(
                "'share' is of all jobs of the mix; it goes neither with 'jobs' nor with per: queue"
            )

    def _service(self) -> None:
        extra = [n for n in ("share", "rate", "jobs", "duration") if getattr(self, n) is not None]
        extra += ["arrival"] if "arrival" in self.model_fields_set else []
        if extra:
            raise ValueError(f"a service runs all the time: {extra[0]!r} goes with nature: batch")
        if self.replicas is None:
            raise ValueError("a service needs 'replicas'")
        sizes = self.job_gpus or self.gpus
        if len(self.pods) > 1 or len(sizes) > 1 or len(self.priority) > 1:
            raise ValueError(
                "the replicas of a service are alike: give one number of pods, gpus and priority"
            )


class FailureModel(BaseModel):
    """Nodes that fail."""

    model_config = Shape
    nodes: str = "*"
    labels: dict[str, str] = {}
    mtbf: Annotated[Period, Field(gt=0)]
    repair: Spread


class MixModel(BaseModel):
    """A mix file; keys are written with hyphens."""

    model_config = Shape
    mix: Name
    about: str = ""
    sources: list[str] = []
    assumed: list[str] = []
    resource: str = ""
    horizon: Period = 0
    load: Annotated[float, Field(gt=0, le=100)] | None = None
    rate: Rate | None = None
    jobs: Annotated[int, Field(ge=1, le=2_000_000)] | None = None
    starts: Annotated[str, Field(pattern=rf"^({'|'.join(DAYS)}) ([01]\d|2[0-3]):00$")] = "monday 00:00"
    curve: CurveModel = CurveModel()
    queues: Weights = {"*": 1.0}
    spread: Literal["guarantee", "evenly"] = "guarantee"
    largest: Annotated[float, Field(gt=0, le=1)] | None = None
    defaults: dict[str, Any] = {}
    classes: Annotated[list[ClassModel], Field(min_length=1)]
    failures: list[FailureModel] = []
    cluster: dict[str, Any] = {}

    @model_validator(mode="after")
    def _fits_together(self) -> MixModel:
        names = [one.name for one in self.classes]
        repeated = sorted({name for name in names if names.count(name) > 1})
        if repeated:
            raise ValueError(f"classes have names of their own; {', '.join(repeated)} stands there twice")
        given = [n for n in ("load", "rate", "jobs") if getattr(self, n) is not None]
        if len(given) > 1:
            raise ValueError(f"found {' and '.join(given)}; one of load, rate and jobs says how many jobs")
        sharing = [one for one in self.classes if one.share is not None]
        if not sharing:
            if given and given != ["load"]:
                raise ValueError(f"{given[0]!r} is for classes with a 'share', and there is none")
            return self
        if not given:
            raise ValueError("classes have a 'share'; one of load, rate and jobs says of how many")
        total = sum(one.share or 0.0 for one in sharing)
        if abs(total - 1) > 0.001:
            raise ValueError(f"the shares of the classes add up to {total:g}; they have to add up to 1")
        for one in sharing:
            self._counted(one)
        return self

    def _counted(self, one: ClassModel) -> None:
        if one.arrival.process == START and self.jobs is None:
            raise ValueError(f"class {one.name} has a share and starts at once: the mix has to say 'jobs'")
        if self.jobs is not None and one.arrival.process not in (START, REPLAY) and not self.horizon:
            raise ValueError("'jobs' arrive over the horizon: write one, as in horizon: 7d")
