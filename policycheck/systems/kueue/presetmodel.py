"""The shape of the cluster that a mix brings. Imports pydantic, so it is imported when one is read."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from policycheck.model.amount import QuantityError, quantity

_MOST_QUEUES = 10_000
_MOST_NODES = 100_000


def _kebab(name: str) -> str:
    return name.replace("_", "-")


def _quantity(value: object) -> str:
    try:
        quantity(value)
    except QuantityError as error:
        raise ValueError(str(error)) from None
    return str(value)


Shape = ConfigDict(
    extra="forbid", alias_generator=_kebab, populate_by_name=True, frozen=True, allow_inf_nan=False
)
Amount = Annotated[str, BeforeValidator(_quantity)]
Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,50}[a-z0-9])?$")]


class QuotaModel(BaseModel):
    """Quota of one resource."""

    model_config = Shape
    nominal: Amount
    borrowing_limit: Amount | None = None


class FlavorModel(BaseModel):
    """The one flavor that all queues have."""

    model_config = Shape
    name: Name
    node_labels: dict[str, str] = {}


class CohortsModel(BaseModel):
    """Alike cohorts: ``name-0``, ``name-1`` ..."""

    model_config = Shape
    name: Name
    count: Annotated[int, Field(ge=1, le=_MOST_QUEUES)]


class QueuesModel(BaseModel):
    """Alike queues in every cohort."""

    model_config = Shape
    name: Name
    count: Annotated[int, Field(ge=1, le=_MOST_QUEUES)]
    quota: Annotated[dict[str, QuotaModel], Field(min_length=1)]
    strategy: Literal["BestEffortFIFO", "StrictFIFO"] = "BestEffortFIFO"
    preemption: dict[str, Any] = {}


class LevelModel(BaseModel):
    """One level of the topology: so many domains in each of the level above."""

    model_config = Shape
    name: Name
    label: str
    count: Annotated[int, Field(ge=1, le=_MOST_NODES)]


class TopologyModel(BaseModel):
    """Levels from the widest to the machines themselves."""

    model_config = Shape
    name: Name
    levels: Annotated[list[LevelModel], Field(min_length=1, max_length=16)]


class MachinesModel(BaseModel):
    """What each machine has."""

    model_config = Shape
    labels: dict[str, str] = {}
    allocatable: dict[str, Amount]


class ClusterModel(BaseModel):
    """``cluster`` of a mix with ``system: kueue``."""

    model_config = Shape
    system: Literal["kueue"]
    flavor: FlavorModel
    cohorts: CohortsModel
    queues: QueuesModel
    topology: TopologyModel | None = None
    machines: MachinesModel | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> ClusterModel:
        if self.cohorts.count * self.queues.count > _MOST_QUEUES:
            raise ValueError(f"{self.cohorts.count * self.queues.count:,} queues; at most {_MOST_QUEUES:,}")
        if self.machines is not None and self.topology is None:
            raise ValueError("'machines' need a 'topology', whose levels say how many there are")
        nodes = 1
        for level in self.topology.levels if self.topology is not None else []:
            nodes *= level.count
        if nodes > _MOST_NODES:
            raise ValueError(f"{nodes:,} machines; at most {_MOST_NODES:,}")
        return self
