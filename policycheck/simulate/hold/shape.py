"""What the question is made of: alike machines, gangs that want to run on them, and the answer."""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.record import NamedTuple

HOLDS, FAILS, UNKNOWN = "HOLDS", "FAILS", "UNKNOWN"
PODS = "pods"  # every pod takes one of these beside what it asks for
ALONE = -1  # a level: one machine is a domain by itself
ANYWHERE = 0  # no level: all classes that are allowed together


class Machines(NamedTuple):
    """Alike machines. ``free`` is what one of them has, in base units; what is not listed it has none of,
    except ``pods``, of which it has enough when it is not listed.

    ``path`` are the domains that it is in, widest first, single machines left out.
    """

    name: str
    free: Mapping[str, int]
    machines: int
    path: tuple[str, ...] = ()


class Part(NamedTuple):
    """Alike pods of one gang; ``each`` is what one of them takes, in base units."""

    each: Mapping[str, int]
    pods: int
    name: str = ""


class Demand(NamedTuple):
    """``gangs`` alike gangs, each of all the pods of all ``parts`` at once.

    ``allowed`` are alternatives, each some classes of machines by position: all pods of a gang go to
    classes of one alternative. ``level`` is how many elements of the path they have to share besides:
    ANYWHERE none, ALONE means one machine. With ``slice_pods`` the pods of each part come in slices of so
    many (the rest makes a smaller one), each in one domain of ``slice_level``.
    """

    name: str
    parts: tuple[Part, ...]
    gangs: int
    allowed: tuple[tuple[int, ...], ...]
    level: int = ANYWHERE
    slice_pods: int = 0
    slice_level: int = ANYWHERE


class Placed(NamedTuple):
    """One step of a placement: ``machines`` machines of class ``where`` that have ``free`` left (of the
    resources of ``Answer.order``) take ``pods`` pods each, of part ``part`` of ``problem.plain(demand)``.
    ``gang`` is -1 where gangs need not be told apart; ``home`` the classes that the pods share.
    """

    demand: int
    gang: int
    part: int
    where: int
    free: tuple[int, ...]
    pods: int
    machines: int
    home: tuple[int, ...] = ()


class Room(NamedTuple):
    """What classes of machines, alike for the purpose, can take: each ``takes`` units, of which the
    resource ``by`` leaves no more; it has ``has`` of that.
    """

    machines: int
    takes: int
    by: str
    has: int


class Bound(NamedTuple):
    """Why it cannot be. ``demands`` are those that are too much for the machines they may go to.

    ``kind``: ``pod`` (no machine takes one pod), ``gang`` and ``slices`` (no domain takes one gang), ``domains``
    (too few domains take one), ``pods`` (too few places for pods of one shape), ``amount`` (the resource ends,
    counting what of a machine such pods can use), ``search`` (every placement was tried). ``need`` and
    ``room`` are pods, gangs, or units of ``resource``.
    """

    kind: str
    demands: tuple[int, ...]
    resource: str = ""
    need: int = 0
    room: int = 0
    rooms: tuple[Room, ...] = ()
    part: int = 0


class Tried(NamedTuple):
    """What a search went through."""

    steps: int
    orders: int


class Answer(NamedTuple):
    """``basis``: ``placement`` (HOLDS, see ``placed``), ``bound`` or ``exhaustive`` (FAILS, see ``bound``),
    "" for UNKNOWN. ``why`` says it in words.
    """

    outcome: str
    basis: str = ""
    placed: tuple[Placed, ...] = ()
    bound: Bound | None = None
    why: str = ""
    tried: Tried = Tried(0, 0)
    order: tuple[str, ...] = ()  # the resources that ``Placed.free`` is of
