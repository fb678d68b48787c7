"""The devices of one node as a value: whole cards, shares of cards, and partitions with real geometry.

Nodes whose state is equal answer every question alike, so results can be kept by (state, ask). A state
is made and changed only through these functions; what a partition is comes from the system that knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Partition(NamedTuple):
    """A kind of instance that a card can be cut into: where one may start and how far it reaches, in
    memory slices; compute slices; at most so many on a card.
    """

    name: str  # the profile: "3g.20gb"
    resource: str  # by which pods ask for it: "nvidia.com/mig-3g.20gb"
    starts: tuple[int, ...]
    size: int
    compute: int
    most: int


class CardKind(NamedTuple):
    """What cards of one kind are: model, geometry (slices and partitions; 0 and () when it can not be cut),
    and by which resource whole cards and shares go.
    """

    model: str
    whole: str = ""  # resource of a whole card; "" when whole cards are not offered
    share: str = ""  # resource of one of ``shares`` equal shares (time slices, MPS); "" when not shared
    shares: int = 1
    slices: int = 0  # memory slices of the card
    compute: int = 0
    partitions: tuple[Partition, ...] = ()
    dynamic: bool = False  # partitions are made when asked for; else they are laid out beforehand


class Card(NamedTuple):
    """One card now. ``milli`` is what is left of it in thousandths (1000: whole and free); ``made`` the
    instances on it as (partition, start, used), sorted; ``slots`` the free shares.
    """

    kind: CardKind
    milli: int = 1000
    made: tuple[tuple[str, int, bool], ...] = ()
    slots: int = 0
    numa: int = -1  # NUMA node; -1 unknown
    domain: str = ""  # NVLink domain (gpu.clique); "" unknown


Devices = tuple[Card, ...]


class DeviceAsk(NamedTuple):
    """What one pod wants of devices: ``units`` of each resource; with ``milli`` below 1000 a share of one
    card instead. ``models``: only cards of these; () any. ``aligned``: all on one NUMA node.
    """

    units: Mapping[str, int]
    milli: int = 1000
    models: tuple[str, ...] = ()
    aligned: bool = False
