"""Nodes with what runs on them: flat, with exact undo, and cheap to copy.

A node's *state* is its capacity, what is free of each counted resource, and its devices. States are
interned: nodes in equal states have equal numbers and answer every question alike, so that answers can be
kept by (state, load). Nothing here decides where a pod goes.

A resource that the cards of a node offer is taken from its devices alone; every other one is counted.
What no source says counts as plenty, never as none; ``notes`` names it.

    ground = Ground(inventory.nodes, devices_of)
    load = ground.load({"cpu": 4000, "nvidia.com/gpu": 1})
    if ground.has_room(ground.state[n], load):
        taken = ground.put(n, load)
    ground.back(n, load, taken)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import add, sub

from policycheck.model.capacity import CORE, HOSTNAME
from policycheck.model.inventory import Node
from policycheck.simulate.device import (
    DeviceAsk,
    Devices,
    Taken,
    fits,
    free_units,
    give,
    key,
    take,
)
from policycheck.simulate.machine import columns, machines, offers, unknown
from policycheck.simulate.states import PLENTY, Capacity, Load, State, Tables

__all__ = ("PLENTY", "Capacity", "DevicesOf", "Ground", "Load", "State")

_MOST_STATES = 200_000  # kept before those that no node is in are thrown away

DevicesOf = Callable[[Node], Devices]


class Ground:
    """All machines of an inventory. ``state[n]`` is the state of node n, ``closed[n]`` whether nothing can
    be put on it (lost, not ready, or not there yet); ``log`` names every node that changed, in order, so
    that whoever keeps answers can follow. When ``epoch`` changes, states were numbered anew.
    """

    __slots__ = (
        "_absent",
        "_origin",
        "_sums",
        "_t",
        "_totals",
        "closed",
        "columns",
        "epoch",
        "log",
        "nodes",
        "notes",
        "state",
        "where",
    )

    def __init__(
        self,
        nodes: Iterable[Node],
        devices_of: DevicesOf | None = None,
        shadows: Mapping[str, str] | None = None,
    ) -> None:
        """``shadows`` are columns counted beside a resource, which never refuse: name to resource.

        What a node's ``committed`` holds is taken off amounts here, and off devices by ``devices_of``. Machines that an elastic pool may add are known by
        name and closed; ``open`` adds one.
        """
        records, extra, notes = machines(nodes)
        self.nodes = records
        self._absent = set(range(len(records) - extra, len(records)))
        self._t = Tables()
        self.where = {node.name: n for n, node in enumerate(records)}
        for n, node in enumerate(records):
            self.where.setdefault(node.labels.get(HOSTNAME, node.name), n)
        cards = [devices_of(node) if devices_of is not None else () for node in records]
        self.columns, plain = columns(records, shadows or {})
        self._origin = [self._first(node, cards[n], plain) for n, node in enumerate(records)]
        self.state = [self._t.state(row) for row in self._origin]
        self.closed = [n in self._absent or not node.ready for n, node in enumerate(records)]
        self.log: list[int] = []
        self.epoch = 0
        self.notes = (*notes, *unknown(records))
        self._sums: dict[str, tuple[list[int], list[int]]] = {}
        self._totals: dict[str, int] = {}

    def _first(self, node: Node, cards: Devices, plain: Mapping[str, str]) -> State:
        offered = frozenset(name for card in cards for name in offers(card.kind))
        units = tuple((name, free_units(cards, name)) for name in sorted(offered))
        stated = node.allocatable if node.allocatable is not None else node.capacity or {}
        amounts, free = [], []
        for column in self.columns:
            resource = plain[column]
            known = resource not in offered and (resource in stated or resource not in CORE)
            amounts.append(stated.get(resource, 0) if known else 0)
            free.append(amounts[-1] - node.committed.get(resource, 0) if known else PLENTY)
        kind = Capacity(tuple(amounts), offered, units)
        if kind not in self._t.kinds:
            self._t.kinds.append(kind)
        return self._t.kinds.index(kind), tuple(free), self._t.cards(cards)

    # What is asked

    def load(
        self,
        amounts: Mapping[str, int],
        ask: DeviceAsk | None = None,
        beside: Mapping[str, int] | None = None,
    ) -> Load:
        """What a pod takes: ``amounts`` by resource, and ``ask`` when more is to be said of devices than their
        number (its units then stand for themselves). ``beside``: amounts of shadow columns.
        """
        units = {r: n for r, n in (ask.units if ask else amounts).items() if n > 0}
        wanted = {**{r: n for r, n in amounts.items() if n > 0}, **units}
        missing = tuple(sorted(r for r in wanted if r not in self.columns and not self.is_offered(r)))
        vector = [0] * len(self.columns)
        for number, column in enumerate(self.columns):
            vector[number] = wanted.get(column, 0) or (beside or {}).get(column, 0)
        needs = tuple((c, vector[c]) for c, name in enumerate(self.columns) if wanted.get(name))
        devices = {r: n for r, n in units.items() if self.is_offered(r)}
        full = (ask or DeviceAsk({}))._replace(units=devices) if devices else None
        identity = (tuple(vector), needs, key(full) if full else None, missing)
        found = self._t.loads.get(identity)
        if found is None:
            found = Load(len(self._t.loads), tuple(vector), needs, full, missing)
            self._t.loads[identity] = found
        return found

    def is_offered(self, resource: str) -> bool:
        """Whether cards of any node serve ``resource``."""
        return any(resource in kind.offered for kind in self._t.kinds)

    def _part(self, kind: int, load: Load) -> tuple[DeviceAsk, int] | None:
        """What of a load's ask the cards of a machine answer for, with a number for it."""
        place = (kind, load.number)
        try:
            return self._t.parts[place]
        except KeyError:
            pass
        offered = self._t.kinds[kind].offered
        ask = load.ask
        found = None
        if ask is not None:
            units = {r: n for r, n in ask.units.items() if r in offered}
            if units:
                part = ask._replace(units=units)
                found = (part, self._t.asks.setdefault(key(part), len(self._t.asks)))
        self._t.parts[place] = found
        return found

    def has_room(self, state: int, load: Load) -> bool:
        """Whether a node in ``state`` has what ``load`` asks for."""
        kind, free, devices = self._t.rows[state]
        for column, amount in load.needs:
            if free[column] < amount:
                return False
        if load.missing:
            return False
        return load.ask is None or self._cards_fit(kind, devices, load)

    def _cards_fit(self, kind: int, devices: int, load: Load) -> bool:
        part = self._part(kind, load)
        if part is None:
            return True
        cards = self._t.devices[devices]
        place = (devices, part[1])
        found = self._t.fit.get(place)
        if found is None:
            found = self._t.fit[place] = fits(cards, part[0])
        return found

    def short(self, n: int, load: Load) -> tuple[str, ...]:
        """The resources of which node ``n`` has too little for ``load``, sorted; () when it has room."""
        return self.lacking(self.state[n], load)

    def lacking(self, state: int, load: Load) -> tuple[str, ...]:
        """The same of any node in ``state``."""
        kind, free, devices = self._t.rows[state]
        names = list(self.columns)
        found = {names[column] for column, amount in load.needs if free[column] < amount}
        found.update(load.missing)
        part = self._part(kind, load) if load.ask is not None else None
        if part is not None and not self._cards_fit(kind, devices, load):
            one = {r: DeviceAsk({r: n}, *part[0][1:]) for r, n in part[0].units.items()}
            alone = {r for r, ask in one.items() if not fits(self._t.devices[devices], ask)}
            found |= alone or set(one)
        return tuple(sorted(found))

    def alike(self, mark: Sequence[int]) -> dict[tuple[int, bool, int], int]:
        """Nodes that are there, counted by what ``mark`` says of each, whether they are closed, and state."""
        found = Counter(zip(mark, self.closed, self.state, strict=True))
        found.subtract((mark[n], self.closed[n], self.state[n]) for n in self._absent)
        return +found

    # What changes

    def put(
        self,
        n: int,
        load: Load,
        pick: str = "best",
        draw: int = 0,
        way: tuple[Devices, Taken] | None = None,
    ) -> Taken | None:
        """Put one pod on node ``n``: what it took of the devices. None, and nothing changes, when the cards
        have no room; whether the counted amounts do is the caller's to ask. ``way`` is one of device.ways.
        """
        self._tidy()
        kind, free, devices = self._t.rows[self.state[n]]
        taken: Taken = ()
        if load.ask is not None:
            part = self._part(kind, load)
            if part is not None:
                got = (
                    (self._t.cards(way[0]), way[1])
                    if way is not None
                    else self._take(devices, part, pick, draw)
                )
                if got is None:
                    return None
                devices, taken = got
        self._set(n, (kind, tuple(map(sub, free, load.vector)), devices))
        return taken

    def _take(
        self, devices: int, part: tuple[DeviceAsk, int], pick: str, draw: int
    ) -> tuple[int, Taken] | None:
        """``device.take`` of interned devices; what does not depend on ``draw`` is worked out once."""
        key = (devices, part[1], pick)
        if pick == "random" or key not in self._t.took:
            got = take(self._t.devices[devices], part[0], pick, draw)
            found = None if got is None else (self._t.cards(got[0]), got[1])
            if pick == "random":
                return found
            self._t.took[key] = found
        return self._t.took[key]

    def back(self, n: int, load: Load, taken: Taken) -> None:
        """The exact opposite of ``put``, in whatever order pods leave."""
        self._tidy()
        kind, free, devices = self._t.rows[self.state[n]]
        if taken:
            devices = self._t.cards(give(self._t.devices[devices], taken))
        self._set(n, (kind, tuple(map(add, free, load.vector)), devices))

    def without(self, n: int, gone: Iterable[tuple[Load, Taken]]) -> int:
        """The state that node ``n`` would be in if these pods left it; nothing changes."""
        kind, free, devices = self._t.rows[self.state[n]]
        cards = self._t.devices[devices]
        for load, taken in gone:
            free = tuple(map(add, free, load.vector))
            cards = give(cards, taken) if taken else cards
        return self._t.state((kind, free, self._t.cards(cards)))

    def _set(self, n: int, row: State) -> None:
        self.state[n] = self._t.state(row)
        self.log.append(n)

    def _tidy(self) -> None:
        """Forget the states that no node is in once there are many. Copies of this ground keep the old tables."""
        if len(self._t.rows) <= _MOST_STATES:
            return
        old, new = self._t, Tables()
        new.kinds, new.loads, new.asks, new.parts = old.kinds, old.loads, old.asks, old.parts
        for n, state in enumerate(self.state):
            kind, free, devices = old.rows[state]
            self.state[n] = new.state((kind, free, new.cards(old.devices[devices])))
        self._origin = [(kind, free, new.cards(old.devices[d])) for kind, free, d in self._origin]
        self._t = new
        self._sums = {}
        self.log = []
        self.epoch += 1

    def close(self, n: int) -> None:
        """The node is lost; what is on it stays there until it is given back."""
        self.closed[n] = True
        self._totals = {}
        self.log.append(n)

    def open(self, n: int) -> None:
        """The node is usable, again or (a machine that an elastic pool adds) from now on."""
        self.closed[n] = False
        self._totals = {}
        self._absent.discard(n)
        self.log.append(n)

    # What there is

    @property
    def version(self) -> tuple[int, int]:
        """Equal while no node has changed."""
        return self.epoch, len(self.log)

    @property
    def present(self) -> int:
        """Nodes there are, lost ones included, without those that elastic pools may add."""
        return len(self.nodes) - len(self._absent)

    def is_present(self, n: int) -> bool:
        """Whether node ``n`` is there, lost or not."""
        return n not in self._absent

    def row(self, n: int) -> State:
        """(capacity, free by column, devices) of node ``n``, as keys."""
        return self._t.rows[self.state[n]]

    def of(self, state: int) -> tuple[Capacity, tuple[int, ...], Devices]:
        """Capacity, free amounts by column, and devices of a state."""
        kind, free, devices = self._t.rows[state]
        return self._t.kinds[kind], free, self._t.devices[devices]

    def free(self, n: int, resource: str) -> int:
        """What node ``n`` has left of ``resource``; 0 where nobody knows how much there is."""
        return self._left(self._t.rows[self.state[n]], resource)

    def left(self, state: int, resource: str) -> int:
        """The same of a node in ``state``."""
        return self._left(self._t.rows[state], resource)

    def _left(self, row: State, resource: str) -> int:
        kind, free, devices = row
        if resource in self._t.kinds[kind].offered:
            place = (devices, resource)
            found = self._t.units.get(place)
            if found is None:
                found = self._t.units[place] = free_units(self._t.devices[devices], resource)
            return found
        column = self.columns.get(resource)
        left = 0 if column is None else free[column]
        return left if 0 < left < PLENTY // 2 else 0

    def total(self, resource: str) -> int:
        """What usable nodes have of ``resource``, net of what was committed from the start."""
        found = self._totals.get(resource)
        if found is None:
            found = self._totals[resource] = sum(
                self._left(self._origin[n], resource)
                for n, node in enumerate(self.nodes)
                if not self.closed[n] and not node.unschedulable
            )
        return found

    def unused(self, resource: str) -> int:
        """What of ``total`` nobody uses. Follows the log, so that asking often is cheap."""
        at, shares = self._sums.setdefault(resource, ([0, 0], []))
        if not shares:
            shares.extend([0] * len(self.nodes))
            changed: Iterable[int] = range(len(self.nodes))
        else:
            changed = dict.fromkeys(self.log[at[0] :])
        for n in changed:
            usable = not self.closed[n] and not self.nodes[n].unschedulable
            now = self.free(n, resource) if usable else 0
            at[1] += now - shares[n]
            shares[n] = now
        at[0] = len(self.log)
        return at[1]

    def fork(self) -> Ground:
        """An independent copy."""
        made = Ground.__new__(Ground)
        for name in Ground.__slots__:
            setattr(made, name, getattr(self, name))
        made.state, made.closed = list(self.state), list(self.closed)
        made._absent = set(self._absent)  # noqa: SLF001 - of one's own copy
        made.log, made._sums, made._totals = [], {}, {}  # noqa: SLF001 - the same
        return made
