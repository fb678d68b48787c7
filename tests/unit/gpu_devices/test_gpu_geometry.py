"""MIG geometry: enumeration of all placements, and the sums test held against it for every family."""

from collections import Counter
from itertools import product

import pytest

from policycheck.simulate.card import Card, cut, most_more, starts
from policycheck.simulate.device import DeviceAsk, fits, free_units, give, take
from policycheck.systems.gpu import device, mig, resources

A100 = next(f for f in mig.FAMILIES if f.name == "A100 40GB")
PLAIN = ("1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb")
DOUBLE = (*PLAIN, "1g.10gb")
by_name = pytest.mark.parametrize("family", mig.FAMILIES, ids=lambda f: f.name)


def family(name):
    return next(f for f in mig.FAMILIES if f.name == name)


def multisets(of, profiles=None):
    return {tuple(sorted(Counter(p for _, p in layout).items())) for layout in mig.placements(of, profiles)}


def maximal(found):
    """The multisets to which nothing can be added."""
    counters = [Counter(dict(one)) for one in found]
    return [a for a in counters if not any(a != b and not a - b for b in counters)]


def test_the_placement_sets_of_the_seven_slice_parts_are_those_of_the_vendor():
    layouts = mig.placements(A100, PLAIN)
    sets = {frozenset(layout) for layout in layouts}
    assert len(layouts) == len(sets) == 298
    assert sum(not any(a < b for b in sets) for a in sets) == 19
    assert len(multisets(A100, PLAIN)) == 38


def test_maximal_multisets_without_and_with_the_double_memory_slice():
    found = maximal(multisets(A100, PLAIN))
    names = [" ".join(f"{n}x{p[:2]}" for p, n in sorted(one.items())) for one in found]
    assert sorted(names) == sorted(
        [
            "7x1g",
            "5x1g 1x2g",
            "3x1g 2x2g",
            "1x1g 3x2g",
            "4x1g 1x3g",
            "2x1g 1x2g 1x3g",
            "2x2g 1x3g",
            "2x3g",
            "3x1g 1x4g",
            "1x1g 1x2g 1x4g",
            "1x3g 1x4g",
            "1x7g",
        ]
    )
    assert len(maximal(multisets(A100, DOUBLE))) == 28


@pytest.mark.parametrize("name", [f.name for f in mig.FAMILIES if f.compute == 7])
def test_all_seven_slice_parts_have_the_same_geometry(name):
    of = family(name)
    single, extra, double, two, three, four, seven = of.profiles
    assert [mig.starts(of, p) for p in (single, extra, double, two, three, four, seven)] == [
        tuple(range(7)),
        tuple(range(7)),
        (0, 2, 4, 6),
        (0, 2, 4),
        (0, 4),
        (0,),
        (0,),
    ]
    assert len(mig.placements(of, (single, two, three, four, seven))) == 298


@pytest.mark.parametrize(
    ("name", "starts_by_compute"),
    [
        ("A30 24GB", {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}),
        ("RTX PRO 6000 96GB", {1: (0, 1, 2, 3), 2: (0, 2), 4: (0,)}),
        ("RTX PRO 5000 48GB", {1: (0, 1), 2: (0,)}),
        ("RTX PRO 4500 32GB", {1: (0, 1), 2: (0,)}),
    ],
)
def test_starts_of_the_smaller_parts(name, starts_by_compute):
    of = family(name)
    for profile, known in of.profiles.items():
        assert mig.starts(of, profile) == starts_by_compute[known.compute], profile


def blind(of):
    """Placement sets without any sums: instances that do not overlap, in numbers that are allowed, with the
    media engines as the vendor tells them. Written apart from the code that it checks.
    """
    spots = [(s, p) for p in of.profiles for s in mig.starts(of, p)]
    found = {frozenset()}
    border = [frozenset()]
    while border:
        held = border.pop()
        taken = {i for s, p in held for i in range(s, s + of.profiles[p].memory)}
        for s, p in spots:
            more = held | {(s, p)}
            if more in found or taken & set(range(s, s + of.profiles[p].memory)):
                continue
            names = [q for _, q in more]
            if names.count(p) > of.profiles[p].most or not media(of, names):
                continue
            found.add(more)
            border.append(more)
    return found


def media(of, names):
    extra = [q for q in names if q.endswith(("+me", "+me.all"))]
    if len(extra) > 1:
        return False
    takes_all = any(q.endswith("+me.all") for q in extra)
    return not takes_all or all(q.endswith("-me") or q in extra for q in names)


@by_name
def test_the_sums_test_agrees_with_enumeration_on_every_multiset(family):
    possible = {tuple(sorted(Counter(p for _, p in held).items())) for held in blind(family)}
    assert possible == multisets(family)
    tried = 0
    for numbers in product(*(range(known.most + 1) for known in family.profiles.values())):
        wanted = {p: n for p, n in zip(family.profiles, numbers, strict=True) if n}
        tried += 1
        assert (mig.misfit(family, wanted) == "") == (tuple(sorted(wanted.items())) in possible), wanted
    assert tried > len(possible)
    for profile, known in family.profiles.items():
        assert mig.misfit(family, {profile: known.most + 1}) != ""
        assert ((profile, known.most + 1),) not in possible


@pytest.mark.parametrize(
    ("name", "wanted", "fitting"),
    [
        ("A100 40GB", {"3g.20gb": 2}, True),
        ("A100 40GB", {"3g.20gb": 2, "1g.5gb": 1}, False),
        ("A100 40GB", {"4g.20gb": 1, "3g.20gb": 1}, True),
        ("A100 40GB", {"2g.10gb": 3, "1g.5gb": 1}, True),
        ("A100 40GB", {"1g.10gb": 4}, True),
        ("A100 40GB", {"1g.10gb": 4, "1g.5gb": 1}, False),
        ("A100 40GB", {"1g.10gb": 3, "1g.5gb": 2}, True),
        ("A100 40GB", {"4g.20gb": 2}, False),
        ("A100 40GB", {"1g.5gb+me": 2}, False),
        ("A30 24GB", {"2g.12gb": 1, "1g.6gb": 2}, True),
        ("A30 24GB", {"2g.12gb": 1, "1g.6gb": 3}, False),
        ("RTX PRO 6000 96GB", {"2g.48gb": 1, "1g.24gb": 2}, True),
        ("H200 141GB", {"7g.141gb": 1}, True),
        ("H200 141GB", {"7g.141gb": 1, "1g.18gb": 1}, False),
        ("H200 141GB", {"7g.141gb": 1, "1g.35gb": 1}, False),
        ("H200 141GB", {"7g.141gb": 1, "2g.35gb": 1}, False),
    ],
)
def test_recorded_cases_by_sums_by_enumeration_and_on_a_card(name, wanted, fitting):
    of = family(name)
    assert (mig.misfit(of, wanted) == "") is fitting
    assert (tuple(sorted(wanted.items())) in multisets(of)) is fitting
    assert fits((whole_card(of),), ask(wanted)) is fitting


def whole_card(of):
    """A card that is cut on demand into any profile of its family."""
    names = tuple((p, f"mig.nvidia.com/{p}") for p in of.profiles)
    return Card(device.kind(of.name, of.name, names, "gpu.nvidia.com"))


def ask(wanted):
    return DeviceAsk({f"mig.nvidia.com/{p}": n for p, n in wanted.items()})


# One of each geometry: all parts with seven slices have the same one.
@pytest.mark.parametrize("family", [A100, *mig.FAMILIES[-4:]], ids=lambda f: f.name)
def test_a_card_that_is_cut_on_demand_takes_exactly_what_can_be_placed(family):
    if len(family.profiles) > 7:  # the others are covered by their sums; this one has too many combinations
        profiles = [p for p in family.profiles if "gfx" not in p]
    else:
        profiles = list(family.profiles)
    possible = multisets(family, profiles)
    card = whole_card(family)
    tried = 0
    for one in possible:
        assert fits((card,), ask(dict(one))), one
        for profile in profiles:
            grown = {**dict(one), profile: dict(one).get(profile, 0) + 1}
            if tuple(sorted(grown.items())) not in possible:
                tried += 1
                if tried % 5 == 0:
                    assert not fits((card,), ask(grown)), grown
    assert tried > 20


def test_free_slices_that_are_broken_up_take_no_large_instance():
    card = whole_card(A100)
    for start in (0, 1, 5):
        card = cut(card, "1g.5gb", start)
    three = next(p for p in card.kind.partitions if p.name == "3g.20gb")
    assert starts(card, three) == ()
    assert not fits((card,), ask({"3g.20gb": 1}))
    two = next(p for p in card.kind.partitions if p.name == "2g.10gb")
    assert starts(card, two) == (2,)
    assert free_units((card,), "mig.nvidia.com/1g.5gb") == 4
    assert fits((card, whole_card(A100)), ask({"3g.20gb": 2}))
    assert not fits((card, whole_card(A100)), ask({"3g.20gb": 3}))


@by_name
def test_the_most_instances_of_one_profile_are_those_of_the_table(family):
    card = whole_card(family)
    for partition in card.kind.partitions:
        assert most_more(card, partition.resource) == family.profiles[partition.name].most, partition.name


def test_an_ask_for_the_class_is_met_by_any_profile():
    card = whole_card(A100)
    assert free_units((card,), "mig.nvidia.com") == 7
    assert free_units((card,), "gpu.nvidia.com") == 1
    assert free_units((card,), "mig.nvidia") == 0


def test_resource_names_of_laid_out_slices_are_those_of_the_device_plugin():
    assert resources.mig_resource("1g.5gb+me") == "nvidia.com/mig-1g.5gb.me"
    assert mig.excludes(family("A30 24GB"), "1g.6gb+me") == ("2g.12gb+me",)
    pro = family("RTX PRO 6000 96GB")
    assert "1g.24gb-me" not in mig.excludes(pro, "1g.24gb+me.all")
    assert "1g.24gb" in mig.excludes(pro, "1g.24gb+me.all")
    assert set(mig.excludes(pro, "1g.24gb")) == {"1g.24gb+me.all", "2g.48gb+me.all"}
    assert mig.excludes(pro, "2g.48gb-me") == ()


def test_an_ask_for_everything_on_a_large_machine_is_answered():
    devices = (whole_card(A100),) * 16
    everything = {p: known.most * 16 // len(A100.profiles) for p, known in A100.profiles.items()}
    assert fits(devices, ask(everything))
    assert not fits(devices, ask({p: known.most * 6 for p, known in A100.profiles.items()}))
    after, taken = take(devices, ask(everything))
    assert len(taken) == sum(everything.values())
    assert give(after, taken) == devices
