"""States of nodes under numbers: equal states, equal numbers, so that answers are kept by number."""

from __future__ import annotations

from typing import NamedTuple

from policycheck.simulate.device import DeviceAsk, Devices, Taken

PLENTY = 2**62  # of a resource whose amount no source says
State = tuple[int, tuple[int, ...], int]  # capacity, free by column, devices


class Load(NamedTuple):
    """What one pod takes of a node. ``vector`` by column; ``needs`` the columns that may refuse it;
    ``ask`` of devices; ``missing`` resources that no node has. ``number`` tells loads of a ground apart.
    """

    number: int
    vector: tuple[int, ...]
    needs: tuple[tuple[int, int], ...]
    ask: DeviceAsk | None
    missing: tuple[str, ...] = ()


class Capacity(NamedTuple):
    """What one machine has in all: by column (0 where it is not known), and what its cards offer."""

    amounts: tuple[int, ...]
    offered: frozenset[str]
    units: tuple[tuple[str, int], ...] = ()  # of each resource that is offered

    def of(self, resource: str) -> int:
        """Units of a resource that its cards offer."""
        return next((n for name, n in self.units if name == resource), 0)


class Tables:
    """What is interned; a pure memo that copies of a ground share, since it only grows.

    ``fit`` and ``took`` keep what devices answered: by devices and ask, and (``took``) how cards are picked.
    """

    __slots__ = (
        "asks",
        "devices",
        "devices_ids",
        "fit",
        "kinds",
        "loads",
        "parts",
        "rows",
        "state_ids",
        "took",
        "units",
    )

    def __init__(self) -> None:
        self.kinds: list[Capacity] = []
        self.rows: list[State] = []
        self.state_ids: dict[State, int] = {}
        self.devices: list[Devices] = [()]
        self.devices_ids: dict[Devices, int] = {(): 0}
        self.loads: dict[object, Load] = {}
        self.asks: dict[object, int] = {}
        self.parts: dict[tuple[int, int], tuple[DeviceAsk, int] | None] = {}
        self.fit: dict[tuple[int, int], bool] = {}
        self.took: dict[tuple[int, int, str], tuple[int, Taken] | None] = {}
        self.units: dict[tuple[int, str], int] = {}

    def state(self, row: State) -> int:
        """The number of a state."""
        found = self.state_ids.get(row)
        if found is None:
            found = self.state_ids[row] = len(self.rows)
            self.rows.append(row)
        return found

    def cards(self, devices: Devices) -> int:
        """The number of devices in a state."""
        found = self.devices_ids.get(devices)
        if found is None:
            found = self.devices_ids[devices] = len(self.devices)
            self.devices.append(devices)
        return found
