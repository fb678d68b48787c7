"""What all sections of a simulation's page share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from policycheck.model.amount import UNLIMITED
from policycheck.model.inventory import Node
from policycheck.report.page.clock import Clock, clock
from policycheck.report.page.colour import MOST, OTHERS, Colours
from policycheck.report.page.html import Cell, Markup, join
from policycheck.report.simulation_words import amount, span, unit
from policycheck.simulate.metrics import Metrics, QueueMetrics
from policycheck.simulate.quantile import MOST as MAX
from policycheck.simulate.quantile import P50, P90, P99, Ratio, Spread
from policycheck.simulate.timeline import Timeline

LISTED = 60  # queues that a table lists
HONOURED = Ratio(95, 100)  # a guarantee that is honoured in less of the time calls for attention


class Figure(NamedTuple):
    """A chart with its title, the same in words, and its numbers as a table.

    ``narrow`` is drawn in place of ``spec`` where there is little room; None: the one fits both.
    """

    id: str
    title: str
    says: str
    spec: dict[str, Any]
    narrow: dict[str, Any] | None = None
    beside: Cell = Markup()
    fixed: bool = False  # of its own size, so that it may have to be scrolled


class Section(NamedTuple):
    """A part of a page. ``small`` figures stand beside each other."""

    id: str
    title: str
    before: Cell
    figures: tuple[Figure, ...] = ()
    after: Cell = Markup()
    small: tuple[Figure, ...] = ()


class View(NamedTuple):
    """A simulation as the sections see it. ``nodes`` and ``levels`` (label keys, widest first) are for the
    picture of racks; () leaves it out.
    """

    timeline: Timeline
    metrics: Metrics
    colours: Colours
    clock: Clock
    nodes: tuple[Node, ...] = ()
    levels: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What is counted: GPUs, cores."""
        return unit(self.metrics)

    @property
    def is_cores(self) -> bool:
        """Whether base units are thousandths."""
        return self.metrics.resource == "cpu"

    def amount(self, units: int) -> str:
        """An amount in words, without its unit."""
        return "no limit" if units >= UNLIMITED else amount(self.metrics, units)

    def number(self, units: int) -> float:
        """An amount on an axis."""
        return units / 1000 if self.is_cores else units

    def shown(self, most: int = MOST) -> tuple[QueueMetrics, ...]:
        """The queues that have a colour of their own, those that held most first."""
        own = set(self.colours.own[:most])
        found = {q.name: q for q in self.metrics.queues}
        return tuple(found[name] for name in self.colours.own if name in own and name in found)

    def key(self) -> list[tuple[str, str, str]]:
        """The colours of queues, and what they are of."""
        made = [(self.colours.of(q), self.colours.of(q), q) for q in self.colours.own]
        if self.colours.others:
            made.append((OTHERS, OTHERS, f"{self.colours.others:,} other queues"))
        return made


def view_of(
    timeline: Timeline, metrics: Metrics, nodes: Sequence[Node] = (), levels: Sequence[str] = ()
) -> View:
    """The view: queues ranked by what they held, then by what they are entitled to."""
    ranked = sorted(
        metrics.queues,
        key=lambda q: (-q.use.used, -min(q.nominal, UNLIMITED - 1), -q.jobs.submitted, q.name),
    )
    colours = Colours(q.name for q in ranked)
    return View(timeline, metrics, colours, clock(timeline.end), tuple(nodes), tuple(levels))


def labels(names: Sequence[str], most: int) -> dict[str, str]:
    """Names cut in the middle to at most ``most`` characters, since what tells them apart is often at the
    end; those that would look alike are numbered.
    """
    made: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        short = middle(name, most)
        number = 2
        while short in taken:
            mark = f" #{number}"
            short = middle(name, most - len(mark)) + mark
            number += 1
        taken.add(short)
        made[name] = short
    return made


def middle(name: str, most: int) -> str:
    """A name of at most ``most`` characters, its middle left out."""
    if len(name) <= most:
        return name
    head = max(1, (most - 1) // 2)
    return f"{name[:head]}…{name[len(name) - max(1, most - 1 - head) :]}"


def time(found: Spread, name: str) -> Cell:
    """A percentile of times; one that may in truth be larger is marked, and none is a dash."""
    value = {P50: found.p50, P90: found.p90, P99: found.p99, MAX: found.most}[name]
    if value is None:
        return "-"
    return f"≥ {span(value)}" if found.is_bound(name) else span(value)


def below(ratio: Ratio, line: Ratio) -> bool:
    """Whether there is a share and it is below the line."""
    return bool(ratio.whole) and ratio.part * line.whole < line.part * ratio.whole


def flagged(value: Cell, why: str) -> Markup:
    """A value that calls for attention, by a sign and not by its colour alone."""
    sign = Markup('<b class="flag" aria-hidden="true">▲</b> ')
    return join((sign, value, Markup('<span class="unseen"> ('), why, Markup(")</span>")))
