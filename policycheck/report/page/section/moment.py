"""Racks at one moment of a simulation."""

from __future__ import annotations

from policycheck.model import capacity
from policycheck.model.inventory import Node
from policycheck.report.page.axis import spec_of
from policycheck.report.page.colour import Colours
from policycheck.report.page.html import Cell, Column, Markup, bullets, element, fold, join, key, table
from policycheck.report.page.racks.draw import chart
from policycheck.report.page.racks.layout import Layout, layout
from policycheck.report.page.racks.legend import asks, lacking
from policycheck.report.page.racks.legend import key as meanings
from policycheck.report.page.racks.scene import PLACED, UNPLACED, WAITING, Gang, Held, Scene, numbered
from policycheck.report.page.racks.strip import units_of
from policycheck.report.page.view import Figure, Section, View
from policycheck.report.simulation_words import span
from policycheck.simulate.timeline import Life, Stay, Timeline

WIDE, NARROW = 1080.0, 318.0
_LISTED = 60
_NO_REASON = {WAITING: "waits", UNPLACED: "has quota, and is not placed on nodes"}


def moment(view: View) -> Section | None:
    """Racks when most was in use; None without nodes, or when no job was placed on any."""
    if not view.nodes or not any(stay.nodes for life in view.timeline.lives for stay in life.stays):
        return None
    at = busiest(view.timeline)
    scene = scene_at(view, at)
    held = sum(gang.state == PLACED for gang in scene.gangs)
    said = f"At {span(at)}, the first moment at which most was in use, {held:,} jobs were on nodes."
    return racks_section(scene, view.colours, said)


def racks_section(scene: Scene, colours: Colours, said: str) -> Section:
    """A picture of racks as part of a page, drawn once for wide windows and once for narrow ones."""
    what = scene.resource or "Cards"
    wide, narrow = layout(scene, WIDE, colours), layout(scene, NARROW, colours)
    by = "node" if wide.plan.is_exact else wide.plan.unit
    figure = Figure(
        "racks-all",
        f"{what} in the colour of the queue that holds {'it' if scene.resource else 'them'}, {by} by {by}",
        wide.drawing.says,
        spec_of(chart(wide.drawing)),
        spec_of(chart(narrow.drawing)),
        beside=join((key(meanings(scene, colours)), _lists(scene, wide))),
        fixed=True,
    )
    return Section("racks", "Racks", element("p", said), (figure,))


def _lists(scene: Scene, made: Layout) -> Markup:
    parts: list[Cell] = []
    gangs = numbered(scene.gangs)
    columns = [
        Column("Number", number=False),
        Column("Job", number=False),
        Column("Queue", number=False),
        Column("Size"),
    ]
    if gangs:
        listed: list[list[Cell]] = [
            [str(n), gang.label, gang.queue or "(none)", asks(scene, gang)]
            for n, gang in enumerate(gangs[:_LISTED], 1)
        ]
        more = f" (the largest {_LISTED} of {len(gangs):,})" if len(gangs) > _LISTED else ""
        parts.append(fold("Jobs by number", table(f"Jobs on nodes{more}", columns, listed)))
    rest = [*lacking(scene), *(g for g in scene.gangs if g.state == WAITING)]
    if rest:
        rest.sort(key=lambda g: (g.state == WAITING, -g.units, g.id))
        columns = [
            Column("Job", number=False),
            Column("Why", number=False, sentence=True),
            Column("Queue", number=False),
            Column("Asks"),
        ]
        without: list[list[Cell]] = [
            [g.label, g.why or _NO_REASON[g.state], g.queue or "(none)", asks(scene, g)]
            for g in rest[:_LISTED]
        ]
        parts.append(table("Not, or not wholly, on nodes", columns, without))
    parts.append(bullets([f"{note[:1].upper()}{note[1:]}." for note in made.notes]))
    return join(parts)


def busiest(timeline: Timeline) -> int:
    """The first moment at which most of the principal resource was in use by jobs on nodes."""
    changes: list[tuple[int, int]] = []
    for life in timeline.lives:
        for stay in life.stays:
            if stay.nodes and stay.admitted >= 0:
                until = stay.ended if stay.ended >= 0 else timeline.end + 1
                changes += [(stay.admitted, life.amount), (until, -life.amount)]
    changes.sort()
    used = most = best = 0
    for n, (at, amount) in enumerate(changes):
        used += amount
        is_last = n + 1 == len(changes) or changes[n + 1][0] != at
        if is_last and used > most:
            most, best = used, at
    return best


def scene_at(view: View, at: int) -> Scene:
    """Who was on which node then. Pods of a job count alike: the timeline tells pods by node, not by set."""
    gangs: list[Gang] = []
    held: list[Held] = []
    names = {node.labels.get(capacity.HOSTNAME, node.name): node for node in _machines(view)}
    names.update({node.name: node for node in _machines(view)})
    resource = "" if any(node.accelerators for node in view.nodes) else view.timeline.resource
    for life in view.timeline.lives:
        stay = _stay_at(life, at)
        if stay is None or not life.amount:
            continue
        job = life.job
        label = job.id.partition("/")[2] or job.id
        gangs.append(
            Gang(job.id, label, life.queue, life.amount, job.pods, PLACED if stay.nodes else UNPLACED)
        )
        for name, pods in stay.nodes:
            node = names.get(name)
            if node is None:
                continue
            has = units_of(node, resource)
            which = view.timeline.resource if view.timeline.resource in has else next(iter(has), "")
            if which:
                held.append(Held(node.name, which, -(-life.amount * pods // max(job.pods, 1)), job.id))
    known = tuple(view.colours.named)
    return Scene(
        "Racks with the jobs on them",
        view.nodes,
        tuple(gangs),
        tuple(held),
        view.levels,
        resource,
        ("nodes are drawn as the inventory has them: whether one was lost at that moment is not told",),
        known,
    )


def _machines(view: View) -> list[Node]:
    return [one for node in view.nodes for one in capacity.expand(node)]


def _stay_at(life: Life, at: int) -> Stay | None:
    for stay in life.stays:
        if 0 <= stay.admitted <= at and (stay.ended < 0 or at < stay.ended):
            return stay
    return None
