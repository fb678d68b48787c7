"""Others that come one by one and end one by one, so that there is never as much free at once as a job needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policycheck.certify.arena import FINISH, SUBMIT, Arena, Ask, Move, Scenario, Story
from policycheck.certify.attack import MOST_ASKS, Rival, grown, main_resource, priorities_of, settled, size
from policycheck.certify.claims.common import MINE
from policycheck.certify.promise import Shape

LAST = f"{MINE}last"
_LARGE = 1 << 32  # stands for no limit


def rolling(arena: Arena, who: Sequence[Rival], queue: str, shape: Shape) -> Scenario | None:
    """The others hold all they can, in jobs smaller than ``shape``; it waits, and each of them that ends has one like
    it waiting in its place, of the highest priority. None where the job does not even have to wait.
    """
    fill = tuple(_smaller(arena, who, shape))
    if not fill:
        return None
    story = arena.play(Scenario((Move(1, SUBMIT, fill),), cycles=2 * len(fill) + 10))
    stood = tuple(one for one in fill if one.name in story.holding)
    at = settled(stood)
    ask = Ask(LAST, queue, shape, shape.priority, shape.priority_class, age=1000)
    moves = [Move(1, SUBMIT, stood), Move(at, SUBMIT, (ask,))]
    begun = arena.play(Scenario(tuple(moves), cycles=at + 8))
    if LAST in begun.holding or LAST not in begun.waiting:
        return None
    for number, old in enumerate(stood):
        new = old._replace(name=f"{old.queue}-new-{number + 1}", age=2000 + number)
        moves += [
            Move(at + 3 * number + 2, SUBMIT, (new,)),
            Move(at + 3 * number + 3, FINISH, names=(old.name,)),
        ]
    return Scenario(tuple(moves), cycles=at + 3 * len(stood) + 6)


def _smaller(arena: Arena, who: Sequence[Rival], shape: Shape) -> Iterator[Ask]:
    """Jobs of the others of which none is as large as ``shape``: as many as they can hold, at most MOST_ASKS."""
    resource = main_resource(shape, arena.accelerators)
    need, top = size(shape, resource), priorities_of(arena)[0]
    number = 0
    for rival in who:
        small = [s for s in rival.shapes if 0 < size(s, resource) < need]
        if not small:
            continue
        least = min(small, key=lambda s: size(s, resource))
        each = size(least, resource)
        pairs = [pair for pair in arena.rights.resources(rival.queue) if pair[1] == resource]
        most = sum(min(arena.rights.potential(rival.queue, *pair), _LARGE) for pair in pairs) // each
        # As small as so many can hold all of it.
        times = -(-most // max(1, MOST_ASKS - number))
        one = grown(least, min(times, (need - 1) // each))
        for _ in range(min(most * each // size(one, resource), MOST_ASKS - number)):
            number += 1
            yield Ask(f"{rival.queue}-{number}", rival.queue, one, top[1], top[0], age=number)


def passed_by(scenario: Scenario, story: Story) -> str:
    """In words, the job that still waits when everybody has ended who was there before it; "" where it ran, or
    somebody who was there goes on.
    """
    at = next((m.cycle for m in scenario.moves if any(a.name == LAST for a in m.asks)), 0)
    ran = {event.name for event in story.happened if event.what == "reserved"}
    before = {event.name for event in story.happened if event.what == "reserved" and event.cycle < at}
    ended = {
        name for move in scenario.moves if move.what == FINISH and move.cycle > at for name in move.names
    }
    later = [ask for move in scenario.moves if move.cycle >= at for ask in move.asks if ask.name in ran]
    if not at or LAST in ran or LAST not in story.waiting or not before or not before <= ended or not later:
        return ""
    queue = next(ask.queue for ask in scenario.asks if ask.name == LAST)
    return (
        f"{queue} waits for {LAST} ({story.waiting[LAST] or 'never looked at'}) while all that ran when it came "
        f"have ended, and {len(later)} that came later run in their place"
    )
