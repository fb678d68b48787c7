"""What a run writes down: queues over time, supply over time, one entry an instant.

Everything is added up as it happens; when the clock moves on, what changed becomes one step. So a
Timeline takes memory by what changed, not by how often it changed within an instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policycheck.simulate.events import Pair, QueueFacts, Wishes
from policycheck.simulate.timeline import QueueLine, Step, Supply

Amounts = Sequence[tuple[Pair, int]]


class Kind:
    """Jobs of one queue that want the same: the ways to hold one, and its principal amount. ``jobs`` of them
    wait.
    """

    __slots__ = ("amount", "jobs", "line", "wishes")

    def __init__(self, line: Line, wishes: Wishes, amount: int) -> None:
        self.line = line
        self.wishes = wishes
        self.amount = amount
        self.jobs = 0


class Line:
    """One queue as it stands. ``left`` is nominal quota that it does not use, by pair (below 0: it borrows);
    ``kinds`` who waits.
    """

    __slots__ = (
        "facts",
        "jobs",
        "kinds",
        "left",
        "limit",
        "nominal",
        "order",
        "running",
        "steps",
        "used",
        "waiting",
    )

    def __init__(self, facts: QueueFacts, resource: str, pairs: dict[Pair, Pair]) -> None:
        self.facts = facts
        self.nominal = sum(amount for pair, amount in facts.nominal.items() if pair[1] == resource)
        self.left = {pairs.setdefault(pair, pair): amount for pair, amount in facts.nominal.items()}
        self.kinds: dict[tuple[Wishes, int], Kind] = {}
        self.order: list[Kind] = []  # of kinds, the largest first
        self.used = self.waiting = self.jobs = self.running = 0
        self.steps: list[Step] = [Step(0, 0, 0, 0, 0, 0)]

    def kind(self, wishes: Wishes, amount: int) -> Kind:
        """The kind of such jobs, made when they are the first."""
        found = self.kinds.get((wishes, amount))
        if found is None:
            found = self.kinds[wishes, amount] = Kind(self, wishes, amount)
            self.order.append(found)
            self.order.sort(key=lambda k: (-k.amount, len(k.wishes), k.wishes))
        return found

    def hold(self, amounts: Amounts, used: int, sign: int) -> None:
        """A job takes quota (``sign`` 1) or gives it back (-1)."""
        left = self.left
        for pair, amount in amounts:
            left[pair] = left.get(pair, 0) - sign * amount
        self.used += sign * used
        self.running += sign

    def fitting(self) -> int:
        """The principal amount of those waiting that the nominal quota left would hold, in all resources
        together: filled up greedily, large ones first, each into the first flavors that take it.
        """
        if not self.jobs or self.used >= self.nominal:
            return 0
        left: dict[Pair, int] = {}
        total = 0
        for kind in self.order:
            jobs = kind.jobs
            for wish in kind.wishes:
                if jobs <= 0:
                    break
                most = jobs
                for pair, amount in wish:
                    if pair not in left:
                        left[pair] = self.left.get(pair, 0)
                    if amount > 0:
                        most = min(most, max(0, left[pair]) // amount)
                if most > 0:
                    jobs -= most
                    total += most * kind.amount
                    for pair, amount in wish:
                        left[pair] -= most * amount
        return total

    def step(self, at: int) -> None:
        """Write down how things stand from ``at`` on."""
        steps = self.steps
        new = Step(at, self.used, self.waiting, self.fitting(), self.jobs, self.running)
        if steps[-1].at == at:
            steps[-1] = new
        elif steps[-1][1:] != new[1:]:
            steps.append(new)

    def line(self) -> QueueLine:
        """All of it."""
        facts = self.facts
        return QueueLine(facts.name, facts.cohort, self.nominal, facts.limit, facts.weight, tuple(self.steps))


class Keeper:
    """All queues, those that changed at this instant, and the supply."""

    def __init__(self, queues: Iterable[QueueFacts], resource: str) -> None:
        self.pairs: dict[Pair, Pair] = {}  # one object each, which is found at once where it is a key
        self.lines = {facts.name: Line(facts, resource, self.pairs) for facts in queues}
        self.supply: list[Supply] = []
        self.quota = sum(line.nominal for line in self.lines.values())  # of all queues, borrowing left out
        self.used = 0  # of the principal resource by all queues
        self._dirty: dict[str, Line] = {}

    def kind(self, queue: str, wishes: Wishes, amount: int) -> Kind | None:
        """Such jobs of a queue; None for a queue that is none."""
        line = self.lines.get(queue)
        return None if line is None else line.kind(wishes, amount)

    def wait(self, kind: Kind | None, jobs: int) -> None:
        """So many jobs more (or, negative, less) wait; nothing for those of no queue."""
        if kind is not None:
            line = kind.line
            self._dirty[line.facts.name] = line
            kind.jobs += jobs
            line.jobs += jobs
            line.waiting += jobs * kind.amount

    def hold(self, queue: str, amounts: Amounts, used: int, sign: int) -> Line | None:
        """A job takes quota of a queue (``sign`` 1) or gives it back (-1)."""
        line = self.lines.get(queue)
        if line is not None:
            self._dirty[queue] = line
            line.hold(amounts, used, sign)
            self.used += sign * used
        return line

    def flush(self, at: int) -> bool:
        """The instant is over; whether anything had changed."""
        dirty = self._dirty
        if not dirty:
            return False
        for line in dirty.values():
            line.step(at)
        dirty.clear()
        return True

    def supplied(self, new: Supply) -> None:
        """What nodes have from now on."""
        supply = self.supply
        if supply and supply[-1].at == new.at:
            supply[-1] = new
        elif not supply or supply[-1][1:] != new[1:]:
            supply.append(new)
