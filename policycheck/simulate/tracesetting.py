"""How a trace is to be read and replayed, from a small YAML file beside it."""

from __future__ import annotations

from typing import NamedTuple

from policycheck.simulate.ourfile import OurFileError, Places, load
from policycheck.simulate.trace import Reading, Replaying
from policycheck.simulate.trouble import ArrivalsError


class TraceSetting(NamedTuple):
    """What the user says of a trace. ``resource`` "" is what queues in sight have quota in."""

    reading: Reading = Reading()
    replaying: Replaying = Replaying()
    resource: str = ""


def read(file: str, data: bytes) -> TraceSetting:
    """The settings in ``data``. Raises ArrivalsError with every problem as ``file:line:column: ...``."""
    try:
        value = load(file, data, "the settings of a trace")
    except OurFileError as error:
        raise ArrivalsError([str(error)]) from None
    from pydantic import ValidationError

    from policycheck.simulate.tracemodel import TraceModel

    try:
        model = TraceModel.model_validate(value)
    except ValidationError as error:
        from policycheck.simulate.mixwords import problems

        raise ArrivalsError(problems(error, TraceModel, Places(file, data, value).at)) from None
    reading = Reading(
        columns=model.columns,
        pod_gpus=model.pod_gpus,
        keep_good=model.keep_good,
        without_gpus=model.without_gpus,
        skip_states=tuple(model.skip_states),
        start=model.window[0],
        end=model.window[1],
    )
    replaying = Replaying(
        model.order,
        model.compress,
        model.until,
        model.step,
        model.queues,
        model.priorities,
        model.checkpoint,
        model.startup,
        None if model.topology is None else model.topology.record(),
    )
    return TraceSetting(reading, replaying, model.resource)
