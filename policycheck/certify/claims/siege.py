"""Attacks on one team's guarantee: others hold all they can, and what runs alone has to run all the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from policycheck.certify.arena import FINISH, SUBMIT, Ask, Enforcement, Move, Scenario, Story, Timing
from policycheck.certify.attack import (
    Rival,
    attack,
    drawn,
    fill,
    grown,
    main_resource,
    mixes,
    plain,
    sets_within,
    size,
    with_restart,
)
from policycheck.certify.attack import rivals as all_rivals
from policycheck.certify.claim import Effort
from policycheck.certify.claims.common import MINE, Bench, declared
from policycheck.certify.promise import Shape, TeamPromise
from policycheck.model.amount import show
from policycheck.simulate.draw import stream

NAME = "guarantee-honoured"
_FEW = 3  # fills that further sets of shapes are tried with; the first set is tried with all


class Part(NamedTuple):
    """What one queue of a team answers for. ``within`` is by resource, ``weak`` what can not be taken back."""

    queue: str
    within: Mapping[str, int]
    shapes: Sequence[Shape]
    weak: tuple[Enforcement, ...]
    timing: Timing


class Siege:
    """The attacks on one team, and what breaks its guarantee."""

    def __init__(self, bench: Bench, team: TeamPromise, parts: Sequence[Part], effort: Effort) -> None:
        self.bench, self.team, self.parts, self.effort = bench, team, parts, effort
        self.arena = bench.arena
        self.vacuous = 0  # draws of which nothing runs alone
        self._alone: dict[str, bool] = {}

    # -- scenarios ------------------------------------------------------------------------------

    def rivals(self) -> list[Rival]:
        """Queues that have quota where the team has some: nobody else can ever hold it."""
        mine = {
            pair
            for queue in self.team.queues
            for pair in self.arena.rights.resources(queue)
            if pair[1] in self.team.guarantee
        }
        found = all_rivals(self.arena, self.team.queues, declared(self.bench.promises))
        return [r for r in found if mine & set(self.arena.rights.resources(r.queue))]

    def asks(self) -> Iterator[list[Ask]]:
        """Sets of the team's shapes, queue by queue, that run when nobody else is there."""
        for part in self.parts:
            for shape in [None, *part.shapes]:
                chosen = list(part.shapes) if shape is None else [shape]
                asks = self._most(sets_within(chosen, part.within, part.queue))
                if asks:
                    yield asks

    def _nearly(self) -> Iterator[list[Ask]]:
        """For every shape: workloads that have all of the guarantee but that shape, one in each flavor, and
        then the shape. A team whose jobs are promised holds no other ones.
        """
        if self.team.shapes:
            return
        for part in self.parts:
            for shape in part.shapes:
                asks = sets_within([shape], part.within, part.queue)[:1]
                resource = main_resource(shape, self.arena.accelerators)
                rest = part.within.get(resource, 0) - size(shape, resource)
                if not asks or rest <= 0:
                    continue
                held = list(self._held(part, resource, rest, asks[0]))
                if held and self.runs_alone([*held, asks[0]]):
                    yield [*held, asks[0]]

    def _held(self, part: Part, resource: str, rest: int, like: Ask) -> Iterator[Ask]:
        for (_, other), nominal in self.arena.nominal(part.queue).items():
            units = min(rest, nominal)
            if other != resource or units <= 0:
                continue
            rest -= units
            shape = grown(plain(resource, 1, {}, "held"), units)
            yield Ask(f"{MINE}held-{rest}", part.queue, shape, like.priority, like.priority_class)

    def directed(self) -> Iterator[Scenario]:
        """Attacks made for the purpose: every fill against the first sets, few against the others."""
        who = self.rivals()
        if not who:
            yield from (attack([], asks) for asks in self.asks())
            return
        fills = [f for f in (fill(self.arena, who, mix) for mix in mixes(self.arena, who)) if f]
        for number, (*held, last) in enumerate(self._nearly()):
            for filled in fills if number == 0 else fills[:_FEW]:
                made = self._patient(attack(filled, [last]))
                yield made._replace(moves=(Move(1, SUBMIT, tuple(held)), *made.moves))
        for number, asks in enumerate(self.asks()):
            for filled in fills if number == 0 else fills[:_FEW]:
                yield self._patient(attack(filled, asks))
            for filled in fills[:1]:
                yield self._patient(with_restart(attack(filled, asks), [who[0].queue]))
                for lost in self._losses():
                    if self.runs_alone(asks, lost):
                        yield self._patient(attack(filled, asks, lost=lost))

    def _patient(self, scenario: Scenario) -> Scenario:
        """Where it may have to wait for runs to end, the runs of the others end."""
        if not any(part.weak for part in self.parts) or self.parts[0].timing.runs is None:
            return scenario
        names = tuple(a.name for a in scenario.asks if not a.name.startswith(MINE))
        at = scenario.cycles
        return scenario._replace(
            moves=(*scenario.moves, Move(at, FINISH, names=names)), cycles=at + 10 + 2 * len(scenario.asks)
        )

    def _losses(self) -> Iterator[tuple[str, ...]]:
        """Nodes that may be lost: each kind of node once, so many of them."""
        losses = self.bench.promises.losses
        hosts = [n for n in self.arena.inventory.nodes if n.usable]
        if losses.nodes:
            kinds = {repr((n.allocatable, n.labels.get(losses.level, ""))): n.name for n in hosts}
            for name in sorted(kinds.values())[:4]:
                rest = [n.name for n in hosts if n.name != name]
                yield (name, *rest[: losses.nodes - 1])
        if losses.level:
            values = sorted({n.labels[losses.level] for n in hosts if losses.level in n.labels})
            for value in values[:4]:
                yield tuple(n.name for n in hosts if n.labels.get(losses.level) == value)

    def every(self) -> Iterator[Scenario]:
        """The directed attacks, then as many drawn ones as the effort asks for."""
        yield from self.directed()
        who = self.rivals()
        if not who:
            return
        for number in range(self.effort.scenarios):
            part = self.parts[number % len(self.parts)]
            draw = stream(self.effort.seed, NAME, self.team.name, "set", number)
            asks = self._most(sets_within(part.shapes, part.within, part.queue, draw))
            if asks:
                subject = f"{NAME} {self.team.name}"
                yield self._patient(drawn(self.arena, who, asks, self.effort.seed, subject, number))
            else:
                self.vacuous += 1

    # -- what breaks it -------------------------------------------------------------------------

    def runs_alone(self, asks: Sequence[Ask], lost: tuple[str, ...] = ()) -> bool:
        """Whether the asks are all admitted and placed when nobody else is there."""
        moves = (Move(1, SUBMIT, tuple(a._replace(age=n) for n, a in enumerate(asks))),)
        return self._alone_too(Scenario(moves, lost, 4 * len(asks) + 4))

    def _alone_too(self, scenario: Scenario) -> bool:
        """Whether everything of the team runs in the same scenario without the others."""
        moves = [m._replace(asks=tuple(a for a in m.asks if a.name.startswith(MINE))) for m in scenario.moves]
        mine = scenario._replace(moves=tuple(m for m in moves if m.what == SUBMIT and m.asks))
        key = repr(mine)
        if key not in self._alone:
            story = self.arena.play(mine)
            names = {ask.name for ask in mine.asks}
            runs = names <= set(story.holding) and not names & set(story.unplaced)
            self._alone[key] = runs and not self._borrows(story)
        return self._alone[key]

    def _borrows(self, story: Story) -> bool:
        """Whether the team uses more of any flavor than its queues have there: then it is not within its
        guarantee, whatever the sum over flavors. Companions were not promised: that they have to be borrowed
        is no fault of the job.
        """
        used: dict[tuple[str, str, str], int] = {}
        for grant in story.holding.values():
            for given in grant.sets:
                for resource, flavor in given.flavors.items():
                    if resource not in self.team.guarantee:
                        continue
                    cell = grant.queue, flavor, resource
                    used[cell] = used.get(cell, 0) + given.usage.get(resource, 0)
        return any(
            amount > self.arena.nominal(queue).get((flavor, resource), 0)
            for (queue, flavor, resource), amount in used.items()
        )

    def _most(self, asks: Sequence[Ask]) -> list[Ask]:
        """As many of the asks, from the first on, as run within the guarantee when nobody else is there."""
        low, high = 0, len(asks)
        middle = high  # that all of them run is what is to be expected
        while low < high:
            if self.runs_alone(asks[:middle]):
                low = middle
            else:
                high = middle - 1
            middle = (low + high + 1) // 2
        return list(asks[:low])

    def breaks(self, scenario: Scenario, story: Story) -> str:
        """In words, who of the team waits at the end although all of it runs alone; "" when nobody does."""
        mine = [ask for ask in scenario.asks if ask.name.startswith(MINE)]
        out = [a for a in mine if a.name not in story.holding or a.name in story.unplaced]
        if not out or not self._alone_too(scenario):
            return ""
        first = out[0]
        if first.name in story.holding:
            return f"{first.queue} has quota for {first.name}, and no place: {story.unplaced[first.name]}"
        resource = main_resource(first.shape, self.arena.accelerators)
        units = f"{show(resource, size(first.shape, resource))} {resource}"
        turn = " while workloads go on taking from one another" if story.loop else ""
        reason = story.waiting.get(first.name, "")
        return (
            f"{first.queue} waits for {units} of its own ({reason or 'not looked at'}){turn}{self._until()}"
        )

    def _until(self) -> str:
        runs = self.parts[0].timing.runs
        return "" if runs is None else f", until others end after at most {runs // 1000} s"

    def late(self, scenario: Scenario, story: Story) -> str:
        """In words, that it took longer than was promised."""
        limit = self.team.within
        spent = self.spent(scenario, story)
        if limit is None or spent <= limit:
            return ""
        return f"it takes {spent // 1000} s, and {limit // 1000} s are promised"

    def spent(self, scenario: Scenario, story: Story) -> int:
        """Time until the last of the team's asks runs: cycles, the end of victims' pods, checks, runs."""
        asked = {a.name: m.cycle for m in scenario.moves for a in m.asks if a.name.startswith(MINE)}
        timing = self.parts[0].timing
        ends = [move.cycle for move in scenario.moves if move.what == FINISH]
        worst = 0
        for event in story.happened:
            if event.what == "reserved" and event.name in asked:
                cycles = event.cycle - asked[event.name] + 1
                rounds = len({h.cycle for h in story.happened if h.by == event.name})
                spent = cycles * timing.cycle + rounds * (timing.grace or 0) + (timing.checks or 0)
                # It had to wait for runs of others to end.
                late = any(end <= event.cycle for end in ends) and asked[event.name] < min(ends, default=0)
                worst = max(worst, spent + (timing.runs or 0) * late)
        return worst
