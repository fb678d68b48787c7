"""MIG: which profiles a product has, and which sets of them fit on one card.

Source: NVIDIA MIG user guide, "Supported MIG Profiles" and the placement tables that
``nvidia-smi mig -lgipp`` prints on A100, H100 and A30. The memory in a profile's name is rounded by
the vendor, so names are tabled by product and never computed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from policycheck.record import NamedTuple
from policycheck.systems.gpu import resources


class Profile(NamedTuple):
    """One profile of one family: compute slices, memory slices, how many fit on a card."""

    compute: int
    memory: int
    most: int


class Family(NamedTuple):
    """Cards with the same profiles. ``compute`` and ``memory`` are the slices of one card."""

    name: str
    compute: int
    memory: int
    profiles: Mapping[str, Profile]


def _seven(name: str, single: str, double: str, two: str, rest: tuple[str, str, str]) -> Family:
    """A seven-slice part: names of 1g, double-memory 1g, 2g and of (3g, 4g, 7g)."""
    three, four, seven = rest
    return Family(
        name,
        7,
        8,
        {
            f"1g.{single}gb": Profile(1, 1, 7),
            f"1g.{single}gb+me": Profile(1, 1, 1),
            f"1g.{double}gb": Profile(1, 2, 4),
            f"2g.{two}gb": Profile(2, 2, 3),
            f"3g.{three}gb": Profile(3, 4, 2),
            f"4g.{four}gb": Profile(4, 4, 1),
            f"7g.{seven}gb": Profile(7, 8, 1),
        },
    )


_RTX_6000 = {
    "1g.24gb": Profile(1, 1, 4),
    "1g.24gb+gfx": Profile(1, 1, 4),
    "1g.24gb-me": Profile(1, 1, 4),
    "1g.24gb+me": Profile(1, 1, 1),
    "1g.24gb+me.all": Profile(1, 1, 1),
    "2g.48gb": Profile(2, 2, 2),
    "2g.48gb+gfx": Profile(2, 2, 2),
    "2g.48gb-me": Profile(2, 2, 2),
    "2g.48gb+me.all": Profile(2, 2, 1),
    "4g.96gb": Profile(4, 4, 1),
    "4g.96gb+gfx": Profile(4, 4, 1),
}
_RTX_5000 = {
    "1g.24gb": Profile(1, 1, 2),
    "1g.24gb+gfx": Profile(1, 1, 2),
    "1g.24gb-me": Profile(1, 1, 2),
    "1g.24gb+me": Profile(1, 1, 1),
    "1g.24gb+me.all": Profile(1, 1, 1),
    "2g.48gb": Profile(2, 2, 1),
    "2g.48gb+gfx": Profile(2, 2, 1),
}
_RTX_4500 = {
    "1g.16gb": Profile(1, 1, 2),
    "1g.16gb+gfx": Profile(1, 1, 2),
    "1g.16gb-me": Profile(1, 1, 2),
    "1g.16gb+me.all": Profile(1, 1, 1),
    "2g.32gb": Profile(2, 2, 1),
    "2g.32gb+gfx": Profile(2, 2, 1),
}
_A30 = {
    "1g.6gb": Profile(1, 1, 4),
    "1g.6gb+me": Profile(1, 1, 1),
    "2g.12gb": Profile(2, 2, 2),
    "2g.12gb+me": Profile(2, 2, 1),
    "4g.24gb": Profile(4, 4, 1),
}

FAMILIES: tuple[Family, ...] = (
    _seven("A100 40GB", "5", "10", "10", ("20", "20", "40")),
    _seven("A100 80GB", "10", "20", "20", ("40", "40", "80")),
    _seven("H100 80GB", "10", "20", "20", ("40", "40", "80")),
    _seven("H100 94GB", "12", "24", "24", ("47", "47", "94")),
    _seven("H100 96GB", "12", "24", "24", ("48", "48", "96")),
    _seven("H200 141GB", "18", "35", "35", ("71", "71", "141")),
    _seven("GH200 144GB", "18", "36", "36", ("72", "72", "144")),
    _seven("B200 180GB", "23", "45", "45", ("90", "90", "180")),
    _seven("GB200 186GB", "23", "47", "47", ("93", "93", "186")),
    _seven("GB200 189GB", "23", "47", "47", ("95", "95", "189")),
    _seven("B300 269GB", "34", "67", "67", ("135", "135", "269")),
    _seven("GB300 278GB", "35", "70", "70", ("139", "139", "278")),
    Family("A30 24GB", 4, 4, _A30),
    Family("RTX PRO 6000 96GB", 4, 4, _RTX_6000),
    Family("RTX PRO 5000 48GB", 2, 2, _RTX_5000),
    Family("RTX PRO 4500 32GB", 2, 2, _RTX_4500),
)
_BY_NAME = {family.name: family for family in FAMILIES}

# Fragments of a product name, all of which must occur as words; first match wins. A product that
# names a model but no memory size belongs to every family of that model.
_PRODUCTS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("GB300",), ("GB300 278GB",)),
    (("GB200",), ("GB200 186GB", "GB200 189GB")),
    (("B300",), ("B300 269GB",)),
    (("B200",), ("B200 180GB",)),
    (("GH200", "144G"), ("GH200 144GB",)),
    (("GH200", "144GB"), ("GH200 144GB",)),
    (("GH200", "480GB"), ("H100 96GB",)),
    (("GH200", "96GB"), ("H100 96GB",)),
    (("GH200",), ("H100 96GB", "GH200 144GB")),
    (("H200",), ("H200 141GB",)),
    (("H20-3e",), ("H200 141GB",)),
    (("H20", "3e"), ("H200 141GB",)),
    (("H20",), ("H100 96GB",)),
    (("H100", "NVL"), ("H100 94GB",)),
    (("H100", "94GB"), ("H100 94GB",)),
    (("H100", "96GB"), ("H100 96GB",)),
    (("H100",), ("H100 80GB",)),
    (("H800",), ("H100 80GB",)),
    (("A100", "40GB"), ("A100 40GB",)),
    (("A100", "80GB"), ("A100 80GB",)),
    (("A100",), ("A100 40GB", "A100 80GB")),
    (("A800", "40GB"), ("A100 40GB",)),
    (("A800", "80GB"), ("A100 80GB",)),
    (("A800",), ("A100 40GB", "A100 80GB")),
    (("A30",), ("A30 24GB",)),
    (("PRO", "6000"), ("RTX PRO 6000 96GB",)),
    (("PRO", "5000"), ("RTX PRO 5000 48GB",)),
    (("PRO", "4500"), ("RTX PRO 4500 32GB",)),
)
# Products known to have no MIG at all; anything else that matches nothing is simply not known.
_INCAPABLE = frozenset(
    {"V100", "T4", "P100", "P4", "P40", "K80", "A10", "A10G", "A16", "A40", "L4", "L40", "L40S", "A6000"}
)


def _words(product: str) -> frozenset[str]:
    return frozenset(product.replace("_", "-").replace(" ", "-").split("-")) | {product}


def families(product: str) -> tuple[Family, ...]:
    """The families that a product name may belong to; empty when it is unknown or has no MIG.

    ``product`` is the value of ``nvidia.com/gpu.product`` or a model such as ``A100 40GB``.
    """
    words = _words(product)
    for fragments, names in _PRODUCTS:
        if words.issuperset(fragments):
            return tuple(_BY_NAME[name] for name in names)
    return ()


def is_incapable(product: str) -> bool:
    """Whether the product is known to have no MIG (T4, L4, V100, ...)."""
    return bool(_words(product) & _INCAPABLE)


def families_with(profiles: Mapping[str, int], product: str = "") -> tuple[Family, ...]:
    """The families, of the product if it is known, in which every one of ``profiles`` exists."""
    among = families(product) or FAMILIES
    return tuple(f for f in among if all(p in f.profiles for p in profiles))


def _media_conflict(family: Family, wanted: Mapping[str, int]) -> str:
    """At most one slice holds extra media engines; ``+me.all`` takes those of all others too."""
    extra = {p: n for p, n in wanted.items() if p.endswith(("+me", "+me.all"))}
    if sum(extra.values()) > 1:
        return f"only one slice of a card can hold extra media engines, not {sum(extra.values())}"
    taken = [p for p in extra if p.endswith("+me.all")]
    shares = any(p.endswith("-me") for p in family.profiles)
    others = [p for p in wanted if p not in taken and not p.endswith("-me")]
    if taken and shares and others:
        return f"{taken[0]} takes the media engines of the whole card, and {others[0]} needs some"
    return ""


def misfit(family: Family, wanted: Mapping[str, int]) -> str:
    """Why ``wanted`` (profile: number) does not fit on one empty card; "" when it does.

    Exact for these tables: a test enumerates the placements of every family, and no set within the sums
    of compute and memory slices and within each profile's number is without one. Profiles of other
    families are named as unknown.
    """
    wanted = {profile: n for profile, n in wanted.items() if n > 0}
    for profile, number in wanted.items():
        known = family.profiles.get(profile)
        if known is None:
            return f"{family.name} has no profile {profile}; it has {', '.join(family.profiles)}"
        if number > known.most:
            return f"at most {known.most} x {profile} fit on one card, not {number}"
    memory = sum(family.profiles[p].memory * n for p, n in wanted.items())
    compute = sum(family.profiles[p].compute * n for p, n in wanted.items())
    if memory > family.memory:
        return f"needs {memory} of {family.memory} memory slices (compute: {compute} of {family.compute})"
    if compute > family.compute:
        return f"needs {compute} of {family.compute} compute slices"
    return _media_conflict(family, wanted)


def starts(family: Family, profile: str) -> tuple[int, ...]:
    """The memory slices at which an instance of ``profile`` may start. It takes ``memory`` slices from there.

    Instances start at multiples of their size. On parts of eight memory slices and seven compute slices
    the single slice starts at 0 to 6 and two compute slices at 0, 2 and 4 (``nvidia-smi mig -lgipp`` on
    A100, H100, H100 NVL and A30; the other parts have the same numbers, and are taken to be alike).
    """
    size, compute = family.profiles[profile].memory, family.profiles[profile].compute
    last = min(family.memory - size, family.compute - compute)
    return tuple(range(0, last + 1, size))


def excludes(family: Family, profile: str) -> tuple[str, ...]:
    """Profiles that can not be on a card together with ``profile``, whatever room there is.

    There is one set of extra media engines; ``+me.all`` takes those of every slice.
    """
    extra = ("+me", "+me.all")
    others = [p for p in family.profiles if p != profile]
    shares = any(p.endswith("-me") for p in family.profiles)
    if profile.endswith("+me.all") and shares:
        return tuple(p for p in others if not p.endswith("-me"))
    return tuple(
        p
        for p in others
        if (profile.endswith(extra) and p.endswith(extra))
        or (shares and p.endswith("+me.all") and not profile.endswith("-me"))
    )


Layout = tuple[tuple[int, str], ...]


def placements(family: Family, profiles: Collection[str] | None = None) -> tuple[Layout, ...]:
    """Every set of instances, as (start, profile) by start, that can be on one card at the same time.

    ``profiles`` limits it to some of the family's. The empty card is among them.
    """
    spots = [
        (start, start + family.profiles[p].memory, p, frozenset(excludes(family, p)))
        for p in family.profiles
        if profiles is None or p in profiles
        for start in starts(family, p)
    ]
    found: list[Layout] = [()]
    grown: list[tuple[Layout, int]] = [((), 0)]
    while grown:
        held, end = grown.pop()
        names = [p for _, p in held]
        left = family.compute - sum(family.profiles[p].compute for p in names)
        for start, after, profile, never in spots:
            known = family.profiles[profile]
            if start < end or known.compute > left or names.count(profile) >= known.most:
                continue
            if never.isdisjoint(names):
                more = (*held, (start, profile))
                found.append(more)
                grown.append((more, after))
    return tuple(sorted(found))


_MOST_PACKED = 16 * 7  # slices of the largest machine; more is a slip or an attack


class Cards(NamedTuple):
    """How many cards a number of slices takes: at least, when packed, and whether that fills them."""

    least: int
    packed: int
    full: bool


def cards(family: Family, slices: Mapping[str, int]) -> Cards:
    """Cards behind ``slices`` (profile: number), all of the family's profiles.

    ``least`` is a bound that no layout can beat, ``packed`` what first-fit with the largest first
    needs, ``full`` whether no further slice of the smallest kind fits on any of those. Beyond what any
    machine holds nothing is packed, and ``packed`` is one card a slice.
    """
    total = sum(slices.values())
    if total > _MOST_PACKED:
        return Cards(least(family, slices), total, full=False)
    bins = packed(family, slices)
    smallest = next(iter(family.profiles))
    full = all(misfit(family, {**used, smallest: used.get(smallest, 0) + 1}) for used in bins)
    return Cards(least(family, slices), len(bins), full)


def packed(family: Family, slices: Mapping[str, int]) -> list[dict[str, int]]:
    """``slices`` (profile: number, all of the family) on cards: the largest first, each on the first card that
    has room. For numbers of one machine; the work grows with their square.
    """
    items = [p for p, n in slices.items() for _ in range(n)]
    items.sort(key=lambda p: (-family.profiles[p].memory, -family.profiles[p].compute, p))
    bins: list[dict[str, int]] = []
    for profile in items:
        for used in bins:
            grown = {**used, profile: used.get(profile, 0) + 1}
            if not misfit(family, grown):
                used[profile] = grown[profile]
                break
        else:
            bins.append({profile: 1})
    return bins


def least(family: Family, slices: Mapping[str, int]) -> int:
    """Cards that ``slices`` (profile: number, all of the family) need at least: no layout can do with less."""
    memory = sum(family.profiles[p].memory * n for p, n in slices.items())
    compute = sum(family.profiles[p].compute * n for p, n in slices.items())
    by_number = max((-(-n // family.profiles[p].most) for p, n in slices.items()), default=0)
    return max(-(-memory // family.memory), -(-compute // family.compute), by_number)


def slices_of(allocatable: Mapping[str, int]) -> dict[str, int]:
    """Profile and number of every MIG resource in a node's amounts, zeros left out."""
    found: dict[str, int] = {}
    for resource, number in allocatable.items():
        profile = resources.mig_profile(resource)
        if profile is not None and number > 0:
            found[profile] = found.get(profile, 0) + number
    return found
