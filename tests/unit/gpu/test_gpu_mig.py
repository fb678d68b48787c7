from itertools import product

import pytest

from policycheck.systems.gpu import mig, resources


def family(name):
    return next(f for f in mig.FAMILIES if f.name == name)


@pytest.mark.parametrize(
    ("name", "wanted", "why"),
    [
        ("A100 40GB", {"3g.20gb": 2}, ""),
        ("A100 40GB", {"3g.20gb": 2, "1g.5gb": 1}, "needs 9 of 8 memory slices"),
        ("A100 40GB", {"4g.20gb": 1, "3g.20gb": 1}, ""),
        ("A100 40GB", {"2g.10gb": 3, "1g.5gb": 1}, ""),
        ("A100 40GB", {"1g.10gb": 4}, ""),
        ("A100 40GB", {"1g.10gb": 4, "1g.5gb": 1}, "needs 9 of 8 memory slices"),
        ("A100 40GB", {"1g.10gb": 3, "1g.5gb": 2}, ""),
        ("A100 40GB", {"4g.20gb": 2}, "at most 1 x 4g.20gb"),
        ("A100 40GB", {"1g.5gb+me": 2}, "at most 1 x 1g.5gb+me"),
        ("A100 40GB", {"3g.40gb": 1}, "has no profile 3g.40gb"),
        ("A100 40GB", {"3g.20gb": 0, "7g.40gb": 1}, ""),
        ("A30 24GB", {"2g.12gb": 1, "1g.6gb": 2}, ""),
        ("A30 24GB", {"2g.12gb": 1, "1g.6gb": 3}, "needs 5 of 4"),
        ("A30 24GB", {"1g.6gb+me": 1, "2g.12gb+me": 1}, "only one slice"),
        ("RTX PRO 6000 96GB", {"2g.48gb": 1, "1g.24gb": 2}, ""),
        ("RTX PRO 6000 96GB", {"1g.24gb+me.all": 1, "1g.24gb-me": 3}, ""),
        ("RTX PRO 6000 96GB", {"1g.24gb+me.all": 1, "1g.24gb": 1}, "media engines of the whole card"),
        ("H200 141GB", {"7g.141gb": 1}, ""),
        ("H200 141GB", {"7g.141gb": 1, "1g.18gb": 1}, "needs 9 of 8 memory slices"),
    ],
)
def test_sets_of_profiles_fit_or_say_why(name, wanted, why):
    found = mig.misfit(family(name), wanted)
    assert why in found if why else found == ""


def maximal(profiles):
    """All sets of these profiles that fit on an A100 40GB and to which none can be added."""
    card = family("A100 40GB")
    counts = [range(card.profiles[p].most + 1) for p in profiles]
    fitting = [
        dict(zip(profiles, numbers, strict=True))
        for numbers in product(*counts)
        if not mig.misfit(card, dict(zip(profiles, numbers, strict=True)))
    ]
    return [s for s in fitting if all(mig.misfit(card, {**s, p: s[p] + 1}) for p in profiles)]


def test_the_maximal_layouts_are_those_of_the_placement_tables():
    plain = maximal(["1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"])
    assert sorted(tuple(s.values()) for s in plain) == sorted(
        [
            (7, 0, 0, 0, 0),
            (5, 1, 0, 0, 0),
            (3, 2, 0, 0, 0),
            (1, 3, 0, 0, 0),
            (4, 0, 1, 0, 0),
            (2, 1, 1, 0, 0),
            (0, 2, 1, 0, 0),
            (0, 0, 2, 0, 0),
            (3, 0, 0, 1, 0),
            (1, 1, 0, 1, 0),
            (0, 0, 1, 1, 0),
            (0, 0, 0, 0, 1),
        ]
    )
    assert len(maximal(["1g.5gb", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"])) == 28


@pytest.mark.parametrize(
    ("profile", "resource"),
    [
        ("1g.10gb", "nvidia.com/mig-1g.10gb"),
        ("1g.10gb+me", "nvidia.com/mig-1g.10gb.me"),
        ("2g.48gb+gfx", "nvidia.com/mig-2g.48gb.gfx"),
        ("1g.24gb-me", "nvidia.com/mig-1g.24gb-me"),
        ("1g.24gb+me.all", "nvidia.com/mig-1g.24gb.me.all"),
    ],
)
def test_profile_and_resource_name_are_each_others_inverse(profile, resource):
    assert resources.mig_resource(profile) == resource
    assert resources.mig_profile(resource) == profile


def test_a_plain_resource_has_no_profile():
    assert resources.mig_profile("nvidia.com/gpu") is None


@pytest.mark.parametrize(
    ("product_name", "names"),
    [
        ("NVIDIA-A100-SXM4-40GB", ["A100 40GB"]),
        ("A100-SXM4-40GB", ["A100 40GB"]),
        ("A100 40GB", ["A100 40GB"]),
        ("NVIDIA-A100-80GB-PCIe", ["A100 80GB"]),
        ("A100", ["A100 40GB", "A100 80GB"]),
        ("NVIDIA-H100-80GB-HBM3", ["H100 80GB"]),
        ("NVIDIA-H100-NVL", ["H100 94GB"]),
        ("NVIDIA-H200", ["H200 141GB"]),
        ("NVIDIA-GH200-480GB", ["H100 96GB"]),
        ("NVIDIA-GB200", ["GB200 186GB", "GB200 189GB"]),
        ("NVIDIA-B200", ["B200 180GB"]),
        ("NVIDIA-A30", ["A30 24GB"]),
        ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", ["RTX PRO 6000 96GB"]),
        ("NVIDIA-A10", []),
        ("NVIDIA-L40S", []),
        ("Tesla-T4", []),
    ],
)
def test_a_product_belongs_to_its_family(product_name, names):
    assert [f.name for f in mig.families(product_name)] == names
    assert mig.is_incapable(product_name) == (product_name in ("NVIDIA-A10", "NVIDIA-L40S", "Tesla-T4"))


def test_the_same_profile_means_another_share_of_another_product():
    assert family("A100 40GB").profiles["1g.10gb"].most == 4
    assert family("A100 80GB").profiles["1g.10gb"].most == 7
    assert [f.name for f in mig.families_with({"1g.35gb": 1})] == ["H200 141GB", "GB300 278GB"]


@pytest.mark.parametrize(
    ("slices", "expected"),
    [
        ({"1g.10gb": 7}, mig.Cards(1, 1, True)),
        ({"1g.10gb": 6, "2g.20gb": 4}, mig.Cards(2, 2, True)),
        ({"1g.10gb": 3}, mig.Cards(1, 1, False)),
        ({"3g.40gb": 3}, mig.Cards(2, 2, False)),
        ({"7g.80gb": 4}, mig.Cards(4, 4, True)),
        ({}, mig.Cards(0, 0, True)),
    ],
)
def test_cards_behind_slices(slices, expected):
    assert mig.cards(family("A100 80GB"), slices) == expected
