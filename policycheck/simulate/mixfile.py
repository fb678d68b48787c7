"""From the text of a mix file to a Mix, or to problems with their places."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any

from policycheck.digest import sha256
from policycheck.model.placement import Toleration
from policycheck.simulate import fit
from policycheck.simulate.arrive import REPLAY, Process
from policycheck.simulate.curve import FLAT, Curve, curve
from policycheck.simulate.mix import (
    Failure,
    Klass,
    Match,
    Mix,
    Pods,
    Priority,
    Replicas,
    Shape,
)
from policycheck.simulate.ourfile import OurFileError, Places, load
from policycheck.simulate.period import PeriodError, parse
from policycheck.simulate.trouble import ArrivalsError
from policycheck.source.document import Path

if TYPE_CHECKING:
    from policycheck.simulate import mixmodel as shapes
    from policycheck.simulate import mixpart as parts

Fetch = Callable[[str], bytes]


def read(file: str, data: bytes, fetch: Fetch | None = None) -> Mix:
    """The mix in ``data``. ``fetch`` reads files that it names, relative to it; raises OSError.

    Raises ArrivalsError with every problem as ``file:line:column: what was found, what is allowed``.
    """
    try:
        value = load(file, data, "a mix")
    except OurFileError as error:
        raise ArrivalsError([str(error)]) from None
    from pydantic import ValidationError

    from policycheck.simulate.mixmodel import MixModel

    places = _Places(file, data, value)
    merged = _with_defaults(value, places)
    try:
        model = MixModel.model_validate(merged)
    except ValidationError as error:
        from policycheck.simulate.mixwords import problems

        raise ArrivalsError(problems(error, MixModel, places.at)) from None
    return _Reader(model, places, fetch).run(sha256(data).hexdigest(), data)


class _Places(Places):
    """Places in a mix: what a class does not say itself is looked for among the defaults."""

    def at(self, path: Path) -> str:
        """``file:line:column`` of a path."""
        if len(path) > 2 and path[0] == "classes" and isinstance(path[1], int):
            own, defaults = self.value.get("classes"), self.value.get("defaults")
            kept = own[path[1]] if isinstance(own, list) and path[1] < len(own) else None
            inherited = isinstance(kept, dict) and path[2] not in kept
            if inherited and isinstance(defaults, dict) and path[2] in defaults:
                path = ("defaults", *path[2:])
        return super().at(path)


def _with_defaults(value: dict[str, Any], places: _Places) -> dict[str, Any]:
    """The mix with what ``defaults`` says in every class that does not say it."""
    defaults, classes = value.get("defaults"), value.get("classes")
    if not isinstance(defaults, dict) or not isinstance(classes, list):
        return value
    for key in ("name", "share", "jobs"):
        if key in defaults:
            raise ArrivalsError(
                [f"{places.at(('defaults', key))}: {key!r} is each class's own and no default"]
            )
    return {**value, "classes": [{**defaults, **c} if isinstance(c, dict) else c for c in classes]}


class _Reader:
    """Turns a validated mix into records."""

    def __init__(self, model: shapes.MixModel, places: _Places, fetch: Fetch | None) -> None:
        from policycheck.simulate.mixmodel import DAYS

        self.model = model
        self.places = places
        self.fetch = fetch
        day, hour = model.starts.split()
        self.first = DAYS.index(day) * 24 + int(hour[:2])
        self.files: dict[str, list[list[str]]] = {}

    def run(self, digest: str, text: bytes) -> Mix:
        model = self.model
        return Mix(
            model.mix,
            tuple(self._class(n, one) for n, one in enumerate(model.classes)),
            model.about,
            model.resource,
            model.horizon,
            model.load or 0.0,
            model.rate or 0.0,
            model.jobs or 0,
            model.queues,
            model.spread,
            model.largest or 0.0,
            tuple(
                Failure(f.nodes, f.labels, f.mtbf, self._spread(f.repair, ("failures", n, "repair")))
                for n, f in enumerate(model.failures)
            ),
            model.cluster,
            tuple(f"assumed: {one}" for one in model.assumed),
            self.places.file,
            digest,
            text,
        )

    def _class(self, number: int, one: shapes.ClassModel) -> Klass:
        at: Path = ("classes", number)
        sizes, odds = _shapes(one)
        arrival = one.arrival
        rate = one.rate or (1 / arrival.every if arrival.every else 0.0)
        return Klass(
            one.name,
            sizes,
            odds,
            fit.Constant(0) if one.duration is None else self._spread(one.duration, (*at, "duration")),
            _pods(one),
            one.nature,
            rate,
            one.share or 0.0,
            one.jobs or 0,
            one.per == "queue",
            Process(
                arrival.process,
                arrival.jitter,
                -1 if arrival.first is None else arrival.first,
                self._times(arrival, (*at, "arrival")),
            ),
            self._curve(one.curve),
            one.queues,
            one.namespace,
            tuple(Priority(p.value, p.name) for p in one.priority),
            fit.choice({n: p.share for n, p in enumerate(one.priority)}),
            tuple(one.models),
            one.checkpoint,
            self._spread(one.startup, (*at, "startup")),
            one.limit,
            _replicas(one.replicas),
            None if one.match is None else _match(one.match),
            one.labels,
            one.annotations,
            self.places.line(at),
            one.job_gpus is not None,
        )

    def _curve(self, own: parts.CurveModel | None) -> Curve:
        chosen = self.model.curve if own is None else own
        return curve(chosen.daily, chosen.weekly, self.first) if chosen.daily or chosen.weekly else FLAT

    def _times(self, arrival: parts.ArrivalModel, at: Path) -> tuple[int, ...]:
        if arrival.process != REPLAY:
            return ()
        read = self._column(arrival.file, arrival.column, (*at, "file")) if arrival.file else arrival.times
        return tuple(sorted(read))

    def _spread(self, one: parts.SpreadModel, at: Path) -> fit.Spread:
        most = fit.UNBOUNDED if one.most is None else float(one.most)
        if one.mean is not None and one.median is not None:
            return fit.fitted(one.mean, one.median, one.least, most)
        if one.exponential is not None:
            return fit.Exponential(one.exponential, one.least, most)
        if one.uniform is not None:
            return fit.Uniform(*one.uniform)
        if one.odds is not None:
            return fit.choice({parse(text): odd for text, odd in one.odds.items()})
        if one.quantiles is not None:
            shares = tuple(share / 100 for share in one.quantiles)
            return fit.Quantiles(shares, tuple(map(float, one.quantiles.values())))
        if one.file is not None:
            read = self._column(one.file, one.column, (*at, "file"))
            return fit.evenly([min(max(value, one.least), most) for value in read])
        if one.values is not None:
            return fit.evenly(one.values)
        return fit.Constant(float(one.constant or 0))

    def _column(self, file: str, column: str | int, at: Path) -> list[int]:
        """The lengths of time in one column of a CSV file; a number without unit counts seconds."""
        where = self.places.at(at)
        rows = self._rows(file, where)
        place = column
        if isinstance(place, str):
            if place not in rows[0]:
                raise ArrivalsError(
                    [f"{where}: {file} has no column {column!r}; it has {', '.join(rows[0])}"]
                )
            place = rows[0].index(place)
        found: list[int] = []
        for number, row in enumerate(rows[1:], start=2):
            try:
                found.append(parse(row[place]))
            except (PeriodError, IndexError) as error:
                what = str(error) if isinstance(error, PeriodError) else f"there is no column {place + 1}"
                raise ArrivalsError([f"{where}: {file}:{number}: {what}"]) from None
        if not found:
            raise ArrivalsError([f"{where}: {file} has no lines below its head"])
        return found

    def _rows(self, file: str, where: str) -> list[list[str]]:
        if file not in self.files:
            if self.fetch is None:
                raise ArrivalsError([f"{where}: files can not be read here; write the values out"])
            try:
                text = self.fetch(file).decode("utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                why = getattr(error, "strerror", None) or error
                raise ArrivalsError([f"{where}: {file} can not be read: {why}"]) from None
            self.files[file] = [row for row in csv.reader(io.StringIO(text)) if row]
        if not self.files[file]:
            raise ArrivalsError([f"{where}: {file} is empty"])
        return self.files[file]


def _shapes(one: shapes.ClassModel) -> tuple[tuple[Shape, ...], fit.Choice]:
    """Every shape of a class with its odds: pods and accelerators are drawn independently, or together
    out of what the whole job has.
    """
    odds: dict[Shape, float] = {}
    if one.job_gpus is not None:
        for gpus, odd in one.job_gpus.items():
            pods = -(-gpus // one.pod_gpus)
            odds[Shape(pods, -(-gpus // pods))] = odds.get(Shape(pods, -(-gpus // pods)), 0.0) + odd
    else:
        for (pods, first), (size, second) in product(one.pods.items(), one.gpus.items()):
            shape = Shape(pods, int(size)) if size >= 1 or not size else Shape(pods, 1, round(size * 1000))
            odds[shape] = odds.get(shape, 0.0) + first * second
    return tuple(odds), fit.choice(dict(enumerate(odds.values())))


def _pods(one: shapes.ClassModel) -> Pods:
    return Pods(
        one.requests,
        one.requests_per_gpu,
        one.node_selector,
        tuple(Toleration(t.key, t.operator, t.value, t.effect) for t in one.tolerations),
        None if one.topology is None else one.topology.record(),
    )


def _match(one: parts.MatchModel) -> Match:
    return Match(one.labels, tuple(one.kinds), tuple(one.queues))


def _replicas(one: parts.ReplicasModel | None) -> Replicas | None:
    return None if one is None else Replicas(one.least, one.most or 0, one.share or 0.0, one.period)
