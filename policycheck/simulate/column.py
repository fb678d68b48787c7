"""Which column of a table holds what, in which unit: by what the user says, else by its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from policycheck.model.amount import QuantityError, amount
from policycheck.model.schema import suggest
from policycheck.simulate.period import DAY, UNITS

TIMES = ("submit", "start", "end", "duration", "wait")
# What a job has, and the names that published traces give it, without units. The first is ours.
NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("job_id", "id", "jobid", "job_name", "name"),
    "submit": ("submit", "submit_time", "submitted_time", "creation_time", "timestamp", "arrival_time"),
    "start": ("start", "start_time", "scheduled_time"),
    "end": ("end", "end_time", "finish_time", "deletion_time"),
    "duration": ("duration", "run_time", "runtime"),
    "pods": ("pods", "node_num", "inst_num", "worker_num"),
    "gpus": ("gpus_per_pod", "gpus_per_node"),
    "job-gpus": ("gpus", "num_gpus", "gpu_num", "num_gpu"),
    "share": ("gpu_milli", "plan_gpu", "gpu_share"),  # of one accelerator, for each pod
    "cpu": ("cpu", "cpus", "cpu_num"),
    "memory": ("mem", "memory"),
    "queue": ("queue", "vc", "qos", "user", "group"),
    "priority": ("priority",),
    "models": ("gpu_models", "gpu_spec", "gpu_model", "gpu_type"),
    "state": ("state", "status", "pod_phase"),
    "wait": ("wait", "queue_time"),
}
_TIME_UNITS = {
    **UNITS,
    "sec": 1000,
    "seconds": 1000,
    "us": 0.001,
    "min": 60_000,
    "minutes": 60_000,
    "hours": 3_600_000,
}
_SIZE_UNITS = {
    **{f"{letter}ib": 2 ** (10 * n) for n, letter in enumerate("kmgt", 1)},
    **{f"{letter}b": 10 ** (3 * n) for n, letter in enumerate("kmgt", 1)},
    "bytes": 1,
}
_PART_UNITS = {"milli": 0.001, "percent": 0.01}
_NAMED_UNITS = {"gpu_milli": 0.001, "plan_gpu": 0.01}
_NOISE = ("_per_pod", "_recorded", "_per_node")
_STAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|\+00:?00)?)?\Z", re.ASCII
)
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{0,18})?(?:[eE][+]?\d{1,2})?\Z", re.ASCII)
HUGE = 10**15
_SHORT = 10  # digits of a number that is below HUGE in any unit of time but weeks


class ColumnError(ValueError):
    """A column that is not there, or a value that is none; the message says what is allowed."""


class Column(NamedTuple):
    """Where a value is: a position in the line, less the value at ``minus`` (-1: none), times ``unit``."""

    field: str
    name: str  # as the head has it, for people
    at: int
    minus: int = -1
    unit: float = 1.0


def parse_columns(text: str) -> dict[str, str]:
    """``submit=timestamp,duration=runtime:ms`` as a map. Raises ColumnError."""
    found: dict[str, str] = {}
    for part in filter(None, (one.strip() for one in text.split(","))):
        field, equals, name = part.partition("=")
        field = field.strip()
        if not equals:
            raise ColumnError(f"{part!r} maps nothing; write field=column, as in submit=timestamp")
        if field not in NAMES:
            raise ColumnError(f"no field {field!r}{suggest(field, list(NAMES))}")
        if field in found:
            raise ColumnError(f"{field} is mapped twice; keep one of them")
        found[field] = name.strip()
    return found


def columns(head: Sequence[str], given: Mapping[str, str]) -> dict[str, Column]:
    """A column for every field that the head has. ``given`` goes first: field -> ``column``, ``column:unit``
    or ``column-column``; "" leaves a field out. Raises ColumnError.
    """
    places = {name.strip().lower(): n for n, name in reversed(list(enumerate(head)))}
    found: dict[str, Column] = {}
    for field, text in given.items():
        if field not in NAMES:
            raise ColumnError(f"no field {field!r}{suggest(field, list(NAMES))}")
        if text:
            found[field] = _given(field, text, places, head)
    for field in NAMES:
        if field not in given and (column := _known(field, places, head)) is not None:
            found[field] = column
    return found


def _given(field: str, text: str, places: Mapping[str, int], head: Sequence[str]) -> Column:
    name, _, unit = (
        text.rpartition(":") if text.strip().lower() not in places and ":" in text else (text, "", "")
    )
    name = name.strip()
    at, minus = places.get(name.lower(), -1), -1
    if at < 0 and "-" in name and field in TIMES:
        first, _, second = name.partition("-")
        at, minus = places.get(first.strip().lower(), -1), places.get(second.strip().lower(), -1)
        if minus < 0:
            at = -1
    if at < 0:
        raise ColumnError(f"{field}: no column {name!r}{suggest(name, [h.strip() for h in head])}")
    scale = _unit(field, unit.strip().lower()) if unit else _unit_of_name(field, head[at])[1]
    return Column(field, name, at, minus, scale)


def _known(field: str, places: Mapping[str, int], head: Sequence[str]) -> Column | None:
    """The column that has a known name for ``field``."""
    bare: dict[str, int] = {}
    for name, at in places.items():
        bare.setdefault(_unit_of_name(field, name)[0], at)
    for known in NAMES[field]:
        if known in bare:
            at = bare[known]
            return Column(field, head[at].strip(), at, -1, _unit_of_name(field, head[at])[1])
    return None


def _unit_of_name(field: str, name: str) -> tuple[str, float]:
    """A name without its unit, and the unit: ``mem_mib_per_pod`` is mem in 2^20."""
    short = name.strip().lower()
    if short not in NAMES[field] and field != "job-gpus":  # what each pod has is not what the job has
        for noise in _NOISE:
            short = short.removesuffix(noise)
    if short in NAMES[field]:
        return short, _NAMED_UNITS.get(short, _default(field))
    front, _, last = short.rpartition("_")
    units = _units(field)
    if front and last in units:
        return front, float(units[last])
    return short, _default(field)


def _units(field: str) -> Mapping[str, float]:
    if field in TIMES:
        return _TIME_UNITS
    if field == "memory":
        return _SIZE_UNITS
    return _PART_UNITS if field in ("cpu", "share") else {}


def _default(field: str) -> float:
    return 1000.0 if field in TIMES else 1.0


def _unit(field: str, unit: str) -> float:
    units = _units(field)
    if unit not in units:
        allowed = f"; allowed are {', '.join(units)}" if units else "; it has none"
        raise ColumnError(f"{field}: no unit {unit!r}{allowed}")
    return float(units[unit])


def time_of(column: Column, line: Sequence[str]) -> int | None:
    """Milliseconds, or None for an empty value. A date counts from 1970. Raises ColumnError."""
    first = _time(column, line[column.at])
    if first is None or column.minus < 0:
        return first
    second = _time(column, line[column.minus])
    return None if second is None else first - second


def _time(column: Column, text: str) -> int | None:
    if (
        text.isdecimal() and text.isascii() and len(text) < _SHORT
    ):  # the same as below, in a third of the time
        return round(int(text) * column.unit)
    text = text.strip()
    if not text or text in ("None", "null", "NaN", "nan"):
        return None
    if _NUMBER.match(text):
        value = float(text) * column.unit
        if abs(value) > HUGE:
            raise ColumnError(
                f"{column.name} is {text!r}; up to {HUGE // DAY:,} days are allowed; check its unit"
            )
        return round(value)
    return stamp(text, column.name)


def stamp(text: str, name: str) -> int:
    """Milliseconds since 1970 of ``2017-10-03 05:32:11`` (UTC). Raises ColumnError."""
    match = _STAMP.match(text)
    if match is None:
        raise ColumnError(f"{name} is {text[:60]!r}; write a number, or a date as in 2017-10-03 05:32:11")
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups())
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60 and second <= 60):
        raise ColumnError(f"{name} is {text!r}, which is no date")
    return (days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second) * 1000


def days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the Gregorian calendar (the inner layers have no clock, and no calendar)."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def number_of(column: Column, line: Sequence[str]) -> float | None:
    """A number in the column's unit, or None for an empty value. Raises ColumnError."""
    text = line[column.at].strip()
    if not text:
        return None
    if not _NUMBER.match(text):
        raise ColumnError(f"{column.name} is {text[:60]!r}; write a number")
    return float(text) * column.unit


def amount_of(column: Column, line: Sequence[str], resource: str) -> int:
    """An amount of a resource in base units; an empty value is 0. Raises ColumnError."""
    text = line[column.at].strip()
    if not text:
        return 0
    if _NUMBER.match(text):
        value = float(text) * column.unit * (1000 if resource == "cpu" else 1)
        found = -int(-value // 1)
    else:
        try:
            found = amount(resource, text)
        except QuantityError as error:
            raise ColumnError(f"{column.name}: {error}") from None
    if not 0 <= found < HUGE * 1000:
        raise ColumnError(
            f"{column.name} is {text[:60]!r}; it has to be 0 or more, and no more than any node has"
        )
    return found
