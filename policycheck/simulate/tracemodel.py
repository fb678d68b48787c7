"""The shape of the settings of a trace, written beside it. Imports pydantic, so it is imported when read."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field, model_validator

from policycheck.simulate.column import NAMES
from policycheck.simulate.mixpart import Period, Shape, TopologyModel, Whole
from policycheck.simulate.period import show


class TraceModel(BaseModel):
    """How a trace is read and replayed; what is left out keeps its default."""

    model_config = Shape
    columns: dict[str, str] = {}
    resource: str = ""
    pod_gpus: Whole = 8
    keep_good: bool = False
    without_gpus: bool = False
    skip_states: list[str] = []
    window: Annotated[list[Period], Field(min_length=2, max_length=2)] = [0, 0]
    order: Literal["time", "arrival"] = "time"
    compress: Annotated[float, Field(gt=0, le=100_000)] = 1.0
    until: Annotated[float, Field(gt=0, le=100)] = 1.3
    step: Annotated[Period, Field(ge=1)] = 1000
    queues: dict[str, str] = {}
    priorities: dict[str, Annotated[int, Field(ge=-(2**31), lt=2**31)]] = {}
    checkpoint: Period = 0
    startup: Period = 0
    topology: TopologyModel | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> TraceModel:
        unknown = sorted(set(self.columns) - set(NAMES))
        if unknown:
            raise ValueError(f"'columns' has no field {unknown[0]!r}; allowed are {', '.join(NAMES)}")
        if self.window[1] and self.window[0] >= self.window[1]:
            raise ValueError(
                f"'window' ends at {show(self.window[1])}, before it begins at {show(self.window[0])}"
            )
        return self
