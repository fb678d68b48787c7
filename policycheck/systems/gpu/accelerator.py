"""The accelerators of one node, out of its labels and amounts: what is sure, and what is not.

The rules of counting: a unit of a resource is a whole GPU only when nothing slices or shares it;
slices and whole GPUs are never added up; a label that says more than the node offers does not make
a GPU schedulable; what no source says is a range with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.model.inventory import Accelerators, Range
from policycheck.record import NamedTuple
from policycheck.systems.gpu import instances, labels, mig, resources

Amounts = Mapping[str, int]
# Usual numbers of GPUs in a machine; another one hints at shares that no label tells of.
_USUAL = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 10, 16})
_SHAREABLE = (resources.NVIDIA, "gpu.intel.com/i915", "gpu.intel.com/xe")


class _Seen(NamedTuple):
    """Everything known of one node, before it is weighed."""

    told: labels.Told
    resource: str
    offered: int | None  # units allocatable; None: not said
    held: int | None  # units by capacity; None: not said
    shared: dict[str, int]  # shares under names of their own
    slices: dict[str, int]  # MIG devices by resource name
    instance: instances.Instance | None
    dated: str
    per_slice: dict[str, int]  # replicas by MIG resource name


Verdict = tuple[Accelerators, list[str]]


def read(
    node_labels: Mapping[str, str],
    allocatable: Amounts | None,
    capacity: Amounts | None,
    table: instances.Table | None = None,
) -> tuple[Accelerators | None, tuple[str, ...]]:
    """Accelerators of a node, None when nothing hints at any, and what is odd about them.

    Amounts are units as the node reports them; None means that the node does not say. Oddities are
    sentences without the node's name, so that alike nodes have alike ones.
    """
    seen = _see(node_labels, allocatable, capacity, table or instances.builtin())
    if seen is None:
        return None, ()
    found, odd = _weigh(seen)
    beside = _beside(allocatable or capacity or {})
    return found, tuple(dict.fromkeys(odd + _common_oddities(seen, found) + beside))


def _see(
    node_labels: Mapping[str, str],
    allocatable: Amounts | None,
    capacity: Amounts | None,
    table: instances.Table,
) -> _Seen | None:
    told = labels.told(node_labels)
    have = {**(capacity or {}), **(allocatable or {})}
    instance = table.find(told.instance_type) if told.instance_type else None
    is_hinted = told.model or told.count_ is not None or told.is_present or told.profile or told.is_invalid
    if (
        not is_hinted
        and instance is None
        and not any(n > 0 and resources.is_accelerator(r) for r, n in have.items())
    ):
        return None
    resource = _resource(have, told, instance)
    amounts = allocatable or {}
    slices = {r: n for r, n in amounts.items() if r.startswith(resources.MIG_PREFIX) and n > 0}
    return _Seen(
        told=told,
        resource=resource,
        offered=None if allocatable is None else amounts.get(resource, 0),
        held=None if capacity is None else capacity.get(resource, 0),
        shared={r: n for r, n in amounts.items() if r in resources.SHARES and n > 0},
        slices=slices,
        instance=instance,
        dated=table.dated,
        per_slice={r: _slice_replicas(node_labels, r) for r in slices},
    )


def _resource(have: Amounts, told: labels.Told, instance: instances.Instance | None) -> str:
    """The resource that whole devices of this node go by."""
    names = list(resources.WHOLE) + sorted(r for r in have if r not in resources.WHOLE)
    offered = next((r for r in names if resources.is_whole(r) and have.get(r, 0) > 0), "")
    if offered:
        return offered
    if told.model_source.startswith(("amd.com/", "beta.amd.com/")):
        return "amd.com/gpu"
    if "tpu" in told.model_source:
        return "google.com/tpu"
    if not told.is_measured and instance is not None:
        return instance.resource
    return resources.NVIDIA


def _slice_replicas(node_labels: Mapping[str, str], resource: str) -> int:
    text = node_labels.get(f"{resource}.replicas", "")
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 6 else 1


def _weigh(seen: _Seen) -> Verdict:
    told = seen.told
    if told.is_invalid:
        return _invalid(seen)
    if told.profile:
        return _mig_single(seen)
    is_shared = bool(told.is_shared or told.sharing or seen.shared)
    # Under mixed, cards that are not sliced may be shared like any other.
    if seen.slices or (told.strategy == "mixed" and seen.offered is not None and not is_shared):
        return _mig_mixed(seen)
    if told.sharing == "vgpu":
        return _vgpu(seen)
    return _shared(seen) if is_shared else _plain(seen)


def _make(seen: _Seen, physical: Range, schedulable: Range, sharing: str = "") -> Accelerators:
    model, source = seen.told.model, seen.told.model_source
    if not model and seen.instance is not None:
        model, source = seen.instance.title, f"instance type {seen.instance.type}"
    return Accelerators(
        model, physical, schedulable, sharing=sharing, resource=seen.resource, model_source=source
    )


def _invalid(seen: _Seen) -> Verdict:
    odd = [
        (
            "MIG strategy single found cards with different layouts (product ends in -MIG-INVALID) and "
            "offers nothing; give every card one layout or use the mixed strategy"
        )
    ]
    physical = Range(0, None, "an invalid MIG layout hides how many cards there are")
    return _make(seen, physical, Range(0, 0), "mig-single"), odd


def behind(product: str, slices: Mapping[str, int]) -> Range:
    """Cards behind MIG slices (by profile), as far as the product's geometry tells."""
    among = mig.families_with(slices, product)
    total = sum(slices.values())
    if not among:
        return Range(min(1, total), total, "the MIG geometry of this product is not known")
    counted = [mig.cards(family, slices) for family in among]
    least = min(c.least for c in counted)
    if all(c.full and c.packed == counted[0].packed for c in counted):
        packed = counted[0].packed
        return Range(packed, packed, f"assumed: the slices fill {packed} card{'s' * (packed > 1)} wholly")
    return Range(least, total, f"{total} slices are on at least {least} cards, each perhaps on its own")


def _mig_single(seen: _Seen) -> Verdict:
    told, odd = seen.told, list[str]()
    replicas = max(1, told.replicas or 1)
    devices = None if seen.offered is None else seen.offered // replicas
    number = devices or told.count_
    physical = (
        behind(told.model, {told.profile: number})
        if number
        else Range(0, None, "no number of slices is known")
    )
    if told.count_ is not None and devices is not None and told.count_ != devices and not told.count_source:
        odd.append(f"labels say {told.count_} MIG slices, the node offers {devices}")
    made = _make(seen, physical, Range(0, 0), "mig-single")._replace(profile=told.profile, replicas=replicas)
    if devices:
        made = made._replace(slices={seen.resource: devices})
        if replicas > 1:
            made = made._replace(shares={seen.resource: seen.offered or 0})
    odd.append(
        f"a unit of {seen.resource} is a {told.profile} slice here (MIG strategy single), not a whole GPU"
    )
    return made, odd


def _mig_mixed(seen: _Seen) -> Verdict:
    told, odd, units = seen.told, list[str](), seen.offered or 0
    times = max(1, told.replicas or 1) if told.sharing in ("time-slicing", "mps") else 1
    whole = units // times
    devices = {r: n // seen.per_slice[r] for r, n in seen.slices.items()}
    profiles = mig.slices_of(devices)
    shares = {r: n for r, n in seen.slices.items() if seen.per_slice[r] > 1}
    if times > 1 and units:
        shares[seen.resource] = units
    free = 0 if times > 1 else whole
    made = _make(seen, Range(0, 0), Range(free, free), "mig-mixed")._replace(slices=devices, shares=shares)
    sliced = behind(told.model, profiles) if profiles else Range(0, 0)
    if told.count_ is not None and not told.count_source:
        physical = Range(told.count_, told.count_)
    elif profiles and whole:
        high = None if sliced.high is None else whole + sliced.high
        physical = Range(
            max(whole, sliced.low),
            high,
            f"the slices fill {sliced.high} cards; whether the {whole} {seen.resource} are others or a stale "
            "count of the same cards no label says",
        )
        odd.append(
            f"offers {units} {seen.resource} beside MIG slices: they are not added up, and with every card in "
            "MIG mode the number is stale (gpu-operator issue 637)"
        )
    else:
        physical = sliced if profiles else Range(whole, whole)
    unknown = sorted(p for p in profiles if not mig.families_with({p: 1}, told.model))
    if unknown and mig.families(told.model):
        known = ", ".join(mig.families(told.model)[0].profiles)
        odd.append(f"MIG profile {unknown[0]} does not exist on {told.model} (it has {known})")
    return made._replace(physical=physical), odd


def _vgpu(seen: _Seen) -> Verdict:
    physical = Range(0, None, "virtual GPUs: the cards are the host's")
    odd = ["offers virtual GPUs (vGPU): a unit is a part of a card on the host"]
    return _make(seen, physical, _offered(seen, physical), "vgpu"), odd


def _shared(seen: _Seen) -> Verdict:
    told, odd = seen.told, list[str]()
    shares = dict(seen.shared)
    own = seen.offered or 0
    if own and (told.is_shared or not shares):
        shares[seen.resource] = own
        own = 0
    units = max(shares.values(), default=0)
    physical = _shared_physical(seen, units)
    sharing = told.sharing or "time-slicing"
    made = _make(seen, physical, Range(own, own), sharing)
    replicas = told.replicas if told.replicas and told.replicas > 1 else 0
    if not replicas and units and physical.high == physical.low and physical.low:
        replicas = units // physical.low
    if replicas and told.count_ is not None and units and units != told.count_ * replicas:
        odd.append(
            f"labels say {told.count_} GPUs x {replicas} shares = {told.count_ * replicas}, the node offers {units}"
        )
    if units:
        name = next(iter(shares))
        odd.append(
            f"{units} units of {name} are shares of {_words(physical)}, not GPUs: they share memory and fail "
            "together"
        )
    return made._replace(shares=shares, replicas=replicas or 1), odd


def _shared_physical(seen: _Seen, units: int) -> Range:
    told = seen.told
    if told.count_ is not None:
        return Range(told.count_, told.count_, _ordered(seen))
    if told.replicas and told.replicas > 1 and units:
        cards = -(-units // told.replicas)
        return Range(cards, cards, "" if units % told.replicas == 0 else "the shares do not divide evenly")
    if units:
        return Range(1, units, "shared, and no label says how many shares a card has")
    return Range(0, None, "shared, and neither labels nor amounts say how many cards there are")


def _words(physical: Range) -> str:
    number = f"{physical.low}" if physical.is_exact else f"at most {physical.high}"
    return f"{number} card{'' if physical.high == 1 else 's'}"


def _ordered(seen: _Seen) -> str:
    """Why a number of the labels is an assumption; "" when it was measured or the node agrees."""
    told = seen.told
    if not told.count_source or seen.offered == told.count_:
        return ""
    return f"assumed from the label {told.count_source}"


def _plain(seen: _Seen) -> Verdict:
    told, odd = seen.told, list[str]()
    physical = _plain_physical(seen)
    offered = seen.offered
    if offered is None:
        made = _make(seen, physical, _offered(seen, physical))
        # Slices of an unconfigured or unlabelled card would go by the same name: units are not known.
        return made._replace(replicas=0 if told.strategy == "single" else 1), odd
    most = told.count_
    if most is not None and most < offered:
        odd.append(
            f"offers {offered} {seen.resource} where labels say {most} GPU{'s' * (most != 1)}: shares that the "
            "labels do not tell of yet, or a stale label"
        )
        why = f"{offered} units on {most} cards can not all be whole GPUs"
        made = _make(seen, physical, Range(0, most, why))
        return made._replace(shares={seen.resource: offered}), odd
    if most is not None and most > offered:
        what = "offers none" if offered == 0 else f"offers {offered}"
        odd.append(
            f"labels say {most} GPU{'s' * (most != 1)}, the node {what}: look at the device plugin, the driver "
            "and unhealthy cards"
        )
    elif offered == 0 and physical.high != 0:
        odd.append(
            f"labels or instance type tell of GPUs, the node offers none ({seen.resource} is 0 or absent)"
        )
    if not told.is_measured and offered not in _USUAL and offered > 0 and not seen.instance:
        odd.append(
            f"{offered} is a suspicious number of GPUs for one machine: perhaps shares; no label says whether "
            "GPUs are shared here (run gpu-feature-discovery)"
        )
    return _make(seen, physical, Range(offered, offered)), odd


def _plain_physical(seen: _Seen) -> Range:
    told, offered = seen.told, seen.offered
    if told.count_ is not None:
        return Range(told.count_, told.count_, _ordered(seen))
    instance = seen.instance
    if instance is not None and instance.resource == seen.resource:
        return _by_instance(instance, offered, seen.dated)
    units = offered or seen.held
    if units is None or (units == 0 and seen.offered is None):
        return Range(0, None, "neither labels nor amounts say how many")
    if units == 0:
        return Range(0, None, "labels tell of GPUs but give no number, and the node offers none")
    if units == 1 or seen.resource not in _SHAREABLE or told.replicas == 1:
        return Range(units, units)
    return Range(1, units, "no label says whether the units are whole GPUs or shares")


def _by_instance(instance: instances.Instance, offered: int | None, dated: str) -> Range:
    n = instance.gpus
    why = f"assumed: instance type {instance.type} has {n} x {instance.title} (table of {dated})"
    if offered == n:
        return Range(n, n)
    if offered is None:
        return Range(0, n, why)
    if offered > n:
        return Range(n, n, why + f"; the {offered} offered are then shares")
    return Range(offered, n, why)


def _offered(seen: _Seen, physical: Range) -> Range:
    """Whole GPUs when allocatable is not said: bounded by cards and by capacity."""
    if seen.offered is not None:
        return Range(seen.offered, seen.offered)
    bounds = [n for n in (physical.high, seen.held) if n is not None]
    if seen.held is not None:
        why = f"allocatable is missing; capacity says {seen.held}, which is an upper bound"
    else:
        why = "the node has no status: what it offers is not known"
    return Range(0, min(bounds) if bounds else None, why)


def _beside(amounts: Amounts) -> list[str]:
    """What the node offers beside its GPUs and what may be taken for more of them."""
    odd = []
    for resource, number in sorted(amounts.items()):
        if number > 0 and resources.is_network(resource):
            odd.append(f"{number} {resource} beside the GPUs are network devices, not GPUs")
        elif number > 0 and resource in resources.RESTATED:
            odd.append(f"{resource} is {resources.RESTATED[resource]}: not counted again")
    return odd


def _common_oddities(seen: _Seen, found: Accelerators) -> list[str]:
    told, odd = seen.told, list[str]()
    if told.strategy == "single" and not told.profile and not told.is_invalid:
        odd.append(
            f"MIG strategy is single{' on a MIG-capable card' if told.is_capable else ''} but the product has no "
            "MIG suffix: MIG is not configured, or the label "
            "publisher is old and units may be slices"
        )
    if seen.offered is not None and seen.held is not None and seen.held > seen.offered:
        odd.append(
            f"capacity is {seen.held} {seen.resource}, allocatable {seen.offered}: "
            f"{seen.held - seen.offered} unhealthy or held back"
        )
    if told.model_source and found.model and seen.resource != resources.NVIDIA:
        return odd  # the label publishers of other vendors measure, too
    if told.model_source and found.model:
        odd.append(f"model {found.model} is told by {told.model_source}; gpu.product is not published")
    elif found.model_source:
        odd.append(f"model {found.model} is assumed from {found.model_source} (table of {seen.dated})")
    elif not found.model:
        odd.append("no label says which GPU model this is")
    return odd
