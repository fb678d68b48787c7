"""The devices of a node, as far as its record tells them: what the scheduler may count, card by card.

Where a record tells units and no cards, any layout that is consistent with it is taken, and said in a
note: whether a pod fits does not depend on which card an instance laid out beforehand is on. Units are
never more or fewer than what the node offers, less what daemons and unmanaged pods hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from policycheck.model.inventory import Accelerators, Node, Range
from policycheck.simulate.device import (
    Card,
    CardKind,
    DeviceAsk,
    Devices,
    Partition,
    free_units,
    take,
)
from policycheck.systems.gpu import mig, resources

# Labels that name the NVLink domain of a machine: NVIDIA's own first, then clouds' and tools'.
DOMAINS = (
    "nvidia.com/gpu.clique",
    "topology.k8s.aws/ultraserver-id",
    "ds.coreweave.com/nvlink.domain",
    "accelerator.topograph.run/domain",
    "network.topology.nvidia.com/accelerator",
)
MIG_CLASS = (
    "mig.nvidia.com"  # the device class of partitions; one profile of it is "mig.nvidia.com/<profile>"
)
_GPU_CLASS = "gpu.nvidia.com"
_MOST = 4096  # cards on one machine; more is a slip
_PACKED = 16 * 7  # slices up to which cards are filled one by one


class Known(NamedTuple):
    """The devices of a node, and what was assumed or is not known of them: sentences without its name."""

    devices: Devices
    notes: tuple[str, ...] = ()


def devices_of(node: Node, sockets: int = 0) -> Devices:
    """What the scheduler may count on one machine of this record; () when it has no devices, or no source
    says how many. See ``known``.
    """
    return known(node, sockets).devices


def known(node: Node, sockets: int = 0) -> Known:
    """The devices of one machine of this record and what has to be said of them. ``sockets``: NUMA nodes over
    which its cards are spread evenly, in order; 0 when that is not known.
    """
    found = node.accelerators
    if found is None:
        return Known(())
    notes: list[str] = []
    if "/" not in found.resource:
        cards = _claimed(found, node.usable, notes)
    elif node.allocatable is None:
        return Known((), ("no source says what the node offers: no device is counted",))
    else:
        cards = _offered(found, node.allocatable, notes)
    if len(cards) > _MOST:
        notes.append(f"{len(cards)} cards on one machine: only {_MOST} are counted")
        del cards[_MOST:]
    devices = _placed(cards, _domain(node), sockets, notes)
    return Known(_held(devices, node.committed, notes), tuple(dict.fromkeys(notes)))


def _domain(node: Node) -> str:
    return next((node.labels[key] for key in DOMAINS if node.labels.get(key)), "")


def _placed(cards: list[Card], domain: str, sockets: int, notes: list[str]) -> Devices:
    """The cards with their NUMA node and their NVLink domain."""
    number = len(cards)
    if sockets <= 0 or not number:
        return tuple(card._replace(domain=domain) for card in cards) if domain else tuple(cards)
    if sockets > 1:
        notes.append(f"assumed: {number} cards are spread evenly over {sockets} NUMA nodes")
    return tuple(card._replace(domain=domain, numa=i * sockets // number) for i, card in enumerate(cards))


def _held(devices: Devices, committed: Mapping[str, int], notes: list[str]) -> Devices:
    """The devices less what daemons and unmanaged pods hold; which cards these use no record says."""
    for resource, number in sorted(committed.items()):
        free = free_units(devices, resource) if number > 0 else 0
        taken = take(devices, DeviceAsk({resource: min(number, free)}), "first") if free else None
        if taken is not None:
            devices = taken[0]
            notes.append(
                f"{min(number, free)} {resource} held by daemons or unmanaged pods, on which cards is not known"
            )
    return devices


def _offered(found: Accelerators, amounts: Mapping[str, int], notes: list[str]) -> list[Card]:
    """Cards behind what a device plugin offers."""
    cards: list[Card] = []
    laid: dict[str, int] = {}  # profile: instances laid out beforehand
    names: dict[str, str] = {}  # profile: the resource it goes by
    for resource, units in sorted(amounts.items()):
        if units <= 0 or resource in resources.RESTATED or not resources.is_accelerator(resource):
            continue
        profile = found.profile if resource == found.resource else resources.mig_profile(resource)
        if resource in found.shares or resource in resources.SHARES:
            cards += _shared(found, resource, units, notes)
        elif profile:
            laid[profile], names[profile] = units, resource
        else:
            model = found.model if resource == found.resource else ""
            cards += [Card(_kind(model, whole=resource))] * min(units, _MOST + 1)
            if resource == found.resource and not found.sharing and not found.physical.is_exact:
                notes.append(f"{units} {resource} are counted as whole cards: {found.physical.why}")
            if found.sharing == "vgpu":
                notes.append(f"{units} {resource} are virtual: each counts as a card of its own")
    if not laid:
        return cards
    whole = sum(1 for card in cards if card.kind.whole)
    if found.sharing == "mig-mixed" and whole and found.physical.why:
        notes.append(
            f"{whole} {found.resource} beside MIG slices are counted as whole cards: {found.physical.why}"
        )
    behind = _less(found.physical, whole) if found.sharing == "mig-mixed" else found.physical
    return cards + _laid_out(found.model, laid, names, behind, notes)


def _less(physical: Range, whole: int) -> Range:
    high = None if physical.high is None else max(0, physical.high - whole)
    return Range(max(0, physical.low - whole), high, physical.why)


def _shared(found: Accelerators, resource: str, units: int, notes: list[str]) -> list[Card]:
    """Cards with ``units`` shares in all: of each slice as of each card there are ``replicas``.

    Under MPS the device plugin refuses a container that asks for more than one share (its README).
    """
    limit = int(found.sharing == "mps")
    pieces = found.slices.get(resource, 0)
    each = units // pieces if pieces else found.replicas
    physical = found.physical
    if pieces:
        number = pieces
        notes.append(f"each MIG slice behind the shares of {resource} counts as a card of its own")
    elif each > 1:
        number = -(-units // each)
    elif physical.is_exact and physical.low:
        number, each = min(physical.low, units), -(-units // min(physical.low, units))
    else:
        number, each = 1, units
        notes.append(f"how many cards are behind {units} shares {resource} is not known: counted as one card")
    cards = []
    left = units
    for _ in range(min(number, _MOST + 1)):
        shares = min(each, left)
        left -= shares
        if shares:
            of = _kind(found.model, share=resource, shares=shares, limit=limit)
            cards.append(Card(of, slots=shares))
    return cards


@lru_cache(maxsize=512)
def _kind(model: str, whole: str = "", share: str = "", shares: int = 1, limit: int = 0) -> CardKind:
    return CardKind(model, whole=whole, share=share, shares=shares, limit=limit)


@lru_cache(maxsize=512)
def kind(model: str, family: str, names: tuple[tuple[str, str], ...], whole: str = "") -> CardKind:
    """Cards of a MIG family that can be cut into the profiles in ``names`` (profile, resource).

    With ``whole``, the resource of whole cards, instances are made on demand: a card is then given as a whole
    or in parts, out of the same slices. Without it instances are laid out beforehand. Raises KeyError for a
    profile that the family has not.
    """
    of = next(f for f in mig.FAMILIES if f.name == family)
    partitions = []
    for profile, resource in names:
        known = of.profiles[profile]
        starts, never = mig.starts(of, profile), mig.excludes(of, profile)
        partitions.append(
            Partition(profile, resource, starts, known.memory, known.compute, known.most, never)
        )
    return CardKind(
        model,
        whole=whole,
        slices=of.memory,
        compute=of.compute,
        partitions=tuple(partitions),
        dynamic=bool(whole),
    )


def _laid_out(
    model: str, laid: Mapping[str, int], names: Mapping[str, str], behind: Range, notes: list[str]
) -> list[Card]:
    """Cards on which so many instances of each profile are laid out, all free."""
    families = mig.families_with(laid, model)
    if not families:
        return [_unknown(model, laid, names, notes)]
    family = families[0]
    if len(families) > 1:
        notes.append(f"the product does not say which card it is: the geometry of {family.name} is taken")
    numbers = _numbers(family, laid, behind)
    is_full = all(held == {p: family.profiles[p].most} for held in numbers for p in laid)
    if not is_full and len(numbers) > 1:
        notes.append(f"which slices are on which card is not known: laid out on {len(numbers)} cards")
    if behind.high is not None and len(numbers) > behind.high:
        notes.append(f"the slices need {len(numbers)} cards where {behind.high} are told of")
    of = kind(model, family.name, tuple(sorted(names.items())))
    return [Card(of, made=_made(family.name, tuple(sorted(held.items())))) for held in numbers]


def _unknown(model: str, laid: Mapping[str, int], names: Mapping[str, str], notes: list[str]) -> Card:
    """Slices of a card whose geometry is not known: as one card that has these and no other."""
    number = sum(laid.values())
    notes.append(f"the MIG geometry of this product is not known: {number} slices count as one card")
    partitions, made, start = [], [], 0
    for profile, offered in sorted(laid.items()):
        units = min(offered, _MOST)
        starts = tuple(range(start, start + units))
        partitions.append(Partition(profile, names[profile], starts, 1, 1, units))
        made += [(profile, i, False) for i in starts]
        start += units
    return Card(
        CardKind(model, slices=start, compute=start, partitions=tuple(partitions)), made=tuple(sorted(made))
    )


def _numbers(family: mig.Family, laid: Mapping[str, int], behind: Range) -> list[dict[str, int]]:
    """Instances of each profile on each card: all cards alike where that can be, else the largest first."""
    total = sum(laid.values())
    cards = [behind.low] if behind.is_exact and behind.low else range(mig.least(family, laid), total + 1)
    for number in cards:
        if number > min(total, _MOST):
            break
        if all(n % number == 0 for n in laid.values()):
            alike = {profile: n // number for profile, n in laid.items() if n}
            if not mig.misfit(family, alike):
                return [alike] * number
    if total > _PACKED:
        return [held for profile, n in laid.items() for held in _apart(family, profile, n)]
    return mig.packed(family, laid)


def _apart(family: mig.Family, profile: str, number: int) -> Iterable[dict[str, int]]:
    """Cards that hold one profile each, as many as fit."""
    most = family.profiles[profile].most
    whole, rest = divmod(min(number, _MOST * most), most)
    return [{profile: most}] * whole + ([{profile: rest}] if rest else [])


@lru_cache(maxsize=512)
def _made(family: str, held: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int, bool], ...]:
    """A placement of these instances on one card. They fit, so that there is one."""
    of = next(f for f in mig.FAMILIES if f.name == family)
    wanted = {profile: n for profile, n in held if n}
    for layout in mig.placements(of, wanted):
        if len(layout) == sum(wanted.values()) and all(
            sum(p == profile for _, p in layout) == n for profile, n in wanted.items()
        ):
            return tuple(sorted((profile, start, False) for start, profile in layout))
    raise ValueError(f"{dict(held)} can not be placed on {family}")


def _claimed(found: Accelerators, usable: bool, notes: list[str]) -> list[Card]:
    """Cards that a driver publishes for claims, each once: a whole card and its partitions are one card.

    A card that is listed beside its partitions is given as a whole or cut on demand. Partitions whose card is
    not listed are laid out beforehand.
    """
    cards = found.physical.low
    whole = found.schedulable.low if usable else cards
    if found.physical.why:
        notes.append(f"{found.physical.why}: only what is in sight is counted")
    if not found.slices:
        if whole < cards:
            notes.append(f"{cards - whole} devices are tainted and not counted")
        return [Card(_kind(found.model, whole=found.resource))] * min(whole, _MOST + 1)
    names = {profile: f"{MIG_CLASS}/{profile}" for profile in found.slices}
    plain = [Card(_kind(found.model, whole=found.resource))] * min(whole, _MOST + 1)
    if found.resource != _GPU_CLASS:
        notes.append("the geometry of this vendor's partitions is not known: whole cards alone are counted")
        return plain
    if whole < cards:
        return plain + _laid_out(found.model, found.slices, names, Range(cards - whole, cards - whole), notes)
    families = mig.families_with(found.slices, found.model)
    if not families:
        notes.append("the MIG geometry of this product is not known: whole cards alone are counted")
        return plain
    if len(families) > 1:
        notes.append(
            f"the product does not say which card it is: the geometry of {families[0].name} is taken"
        )
    of = kind(found.model, families[0].name, tuple(sorted(names.items())), found.resource)
    return [Card(of)] * min(whole, _MOST + 1)
