"""Promises as they are written (kind Promises, ``policycheck.dev/v1``), as values.

What is not written is derived from the configuration and marked: such a promise can not notice that
somebody changed what it was read off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from policycheck.certify.arena import Arena
from policycheck.certify.derive import derive
from policycheck.certify.promise import Losses, Promises, Protection, Shape, Slo, TeamPromise
from policycheck.model.placement import Toleration
from policycheck.model.schema import suggest
from policycheck.model.workload import PodSet, TopologyRequest
from policycheck.source.document import Path

if TYPE_CHECKING:
    from policycheck.certify import writtenmodel as model

GROUP, VERSION, KIND = "policycheck.dev", "v1", "Promises"

At = Callable[[Path], str]  # where a path is written: "promises.yaml:12"


class Problem(NamedTuple):
    """Something in a file of promises that can not be meant so. ``message``: what was found, what is allowed."""

    path: Path
    message: str
    on_key: bool = False


class WrittenError(ValueError):
    """The promises can not be read; ``problems`` say why."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(problem.message for problem in self.problems))


class Settled(NamedTuple):
    """Promises of one scope, and what in them means nothing there: sentences with their places."""

    promises: Promises
    unclear: tuple[str, ...] = ()


def read(value: Mapping[str, Any]) -> model.PromisesModel:
    """The file as it was meant. Raises WrittenError with everything that is wrong."""
    from pydantic import ValidationError

    from policycheck.certify.writtenmodel import PromisesModel

    try:
        return PromisesModel.model_validate(value)
    except ValidationError as error:
        from policycheck.certify.writtenwords import problems

        raise WrittenError(problems(error, PromisesModel)) from None


def problems_of(value: Mapping[str, Any]) -> tuple[Problem, ...]:
    """What is wrong with the file; () for nothing."""
    try:
        read(value)
    except WrittenError as error:
        return error.problems
    return ()


def settle(
    written: model.PromisesModel, arena: Arena, *, source: str = "", digest: str = "", at: At = str
) -> Settled:
    """The promises of one scope: what is written, and for the rest what the configuration says."""
    return _Settling(written, arena, at).run(source, digest)


class _Settling:
    """Puts written and derived promises together."""

    def __init__(self, written: model.PromisesModel, arena: Arena, at: At) -> None:
        self.written, self.arena, self.at = written, arena, at
        self.unclear: list[str] = []
        self.read_off = derive(arena)

    def run(self, source: str, digest: str) -> Settled:
        written = self.written
        teams = [self._team(n, one) for n, one in enumerate(written.teams)]
        taken = {queue for team in teams for queue in team.queues}
        rest = [team for team in self.read_off.teams if not taken & set(team.queues)]
        protection = self._protection()
        derived = [f"team {team.name}" for team in rest] if written.teams else ["teams"]
        promises = Promises(
            (*teams, *rest),
            protection,
            Losses(written.losses.nodes, self._level(("losses", "domain"), written.losses.domain)),
            written.gangs.whole_within if written.gangs else None,
            written.topology.max_domains if written.topology else None,
            written.thrash.preemptions if written.thrash else None,
            tuple(map(_slo, written.slo)),
            tuple(dict.fromkeys(written.required)),
            {team.name: team.owner for team in written.teams if team.owner},
            source,
            digest,
            (*derived, *(f"protection.{name}" for name in protection.derived)),
        )
        return Settled(promises, tuple(self.unclear))

    # -- teams ----------------------------------------------------------------------------------

    def _team(self, number: int, one: model.TeamModel) -> TeamPromise:
        place: Path = ("teams", number)
        derived: list[str] = []
        queues = tuple(one.queues)
        if not queues:
            derived.append("queues")
            queues = (one.name,) if one.name in self.arena.queues() else ()
        guarantee, flavors = _guarantee(one.guarantee or {})
        if one.guarantee is None:
            derived.append("guarantee")
            guarantee = self._held(queues)
        shapes = [self._shape(number, n, shape) for n, shape in enumerate(one.shapes or ())]
        if not one.shapes:
            derived.append("shapes")
        return TeamPromise(
            one.name,
            queues,
            guarantee,
            flavors,
            one.burst,
            tuple(shapes),
            one.within,
            one.preemptions,
            one.isolated,
            tuple(derived),
            self.at(place),
        )

    def _held(self, queues: Iterable[str]) -> dict[str, int]:
        """What queues have of accelerators."""
        found: dict[str, int] = {}
        for team in self.read_off.teams:
            if set(team.queues) & set(queues):
                for resource, amount in team.guarantee.items():
                    found[resource] = found.get(resource, 0) + amount
        return found

    # -- shapes ---------------------------------------------------------------------------------

    def _shape(self, team: int, number: int, one: model.ShapeModel) -> Shape:
        place: Path = ("teams", team, "shapes", number)
        name = one.priority_class
        priority = 0
        if name and name in self.arena.classes:
            priority = self.arena.classes[name]
        elif name:
            known = suggest(name, list(self.arena.classes)) or "; there is none"
            self._say((*place, "priorityClass"), f"no priority class {name!r} in sight{known}")
        sets = tuple(self._sets(place, one))
        return Shape(
            one.name,
            sets,
            name,
            priority,
            one.max_run_time or 0,
            self.at(place) or one.name,
            one.count,
            tuple(one.queues),
        )

    def _sets(self, place: Path, one: model.ShapeModel) -> Iterator[PodSet]:
        if not one.pod_sets:
            yield self._set(place, "main", one, one.pod_priority_class)
        for number, each in enumerate(one.pod_sets):
            own = each.pod_priority_class or one.pod_priority_class
            yield self._set((*place, "podSets", number), each.name, each, own)

    def _set(
        self, place: Path, name: str, one: model.ShapeModel | model.PodSetModel, pod_class: str
    ) -> PodSet:
        requests = dict(one.requests)
        if one.gpus:
            resource = self.written.gpu_resource or next(iter(self.arena.accelerators), "")
            if resource:
                requests[resource] = requests.get(resource, 0) + one.gpus
            else:
                self._say(
                    (*place, "gpus"), "no queue gives quota for accelerators; what 'gpus' counts is not known"
                )
        if pod_class and pod_class not in self.arena.pod_classes:
            known = suggest(pod_class, list(self.arena.pod_classes)) or "; there is none"
            self._say((*place, "podPriorityClass"), f"no pod priority class {pod_class!r} in sight{known}")
        return PodSet(
            name,
            one.pods,
            requests,
            node_selector=dict(one.node_selector),
            tolerations=tuple(Toleration(t.key, t.operator, t.value, t.effect) for t in one.tolerations),
            topology=self._topology((*place, "topology"), one.topology),
            priority_class=pod_class,
        )

    def _topology(self, place: Path, one: model.TopologyModel | None) -> TopologyRequest | None:
        if one is None:
            return None
        mode = next((m for m in ("required", "preferred", "unconstrained") if getattr(one, m)), "")
        level = self._level((*place, mode), one.required or one.preferred)
        slices = self._level((*place, "sliceLevel"), one.slice_level)
        return TopologyRequest(mode, level, slices, one.slice_size)

    def _level(self, place: Path, level: str) -> str:
        """The level as it was written; says so when no node has such a label."""
        inventory = self.arena.inventory
        if level and inventory.known and not any(level in node.labels for node in inventory.nodes):
            self._say(place, f"no node has the label {level!r}")
        return level

    def _say(self, place: Path, what: str) -> None:
        where = self.at(place)
        self.unclear.append(f"{where}: {what}" if where else what)

    # -- classes --------------------------------------------------------------------------------

    def _protection(self) -> Protection:
        written, own = self.written.protection, self.read_off.protection
        derived = []
        parts: dict[str, tuple[str, ...]] = {}
        for name in ("protected", "experiments"):
            said = getattr(written, name)
            parts[name] = tuple(said) if said is not None else getattr(own, name)
            if said is None:
                derived.append(name)
        # What was written as one is not derived as the other.
        for name, other in (("protected", "experiments"), ("experiments", "protected")):
            if name in derived:
                parts[name] = tuple(c for c in parts[name] if c not in parts[other])
        return Protection(
            parts["protected"],
            parts["experiments"],
            tuple(written.serving or ()),
            written.mode,
            tuple(derived),
        )


def _guarantee(written: Mapping[str, Any]) -> tuple[dict[str, int], dict[tuple[str, str], int]]:
    """By resource, and by (flavor, resource) where that is written."""
    total: dict[str, int] = {}
    flavors: dict[tuple[str, str], int] = {}
    for resource, one in written.items():
        if isinstance(one, int):
            total[resource] = one
            continue
        total[resource] = sum(one.values())
        flavors.update({(flavor, resource): amount for flavor, amount in one.items()})
    return total, flavors


def _slo(one: model.SloModel) -> Slo:
    return Slo(
        one.stream,
        tuple(one.seeds),
        one.horizon or 0,
        {str(name): bound for name, bound in one.wait.items()},
        one.preempted,
        {str(name): bound for name, bound in one.stretch.items()},
        one.utilisation,
    )
