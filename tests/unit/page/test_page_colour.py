"""Colours are told apart, by whoever looks, and stay with their names."""

import itertools
import math

import pytest

from policycheck.report.page.colour import MOST, OTHERS, Colours, assign, painted, tokens

# Severe forms, Machado, Oliveira and Fernandes 2009, for linear light.
SEEN = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def linear(colour):
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]


def seen(rgb, how):
    return [min(1.0, max(0.0, sum(m * c for m, c in zip(row, rgb, strict=True)))) for row in SEEN[how]]


def lab(rgb):
    r, g, b = rgb
    xyz = (
        (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047,
        0.2126729 * r + 0.7151522 * g + 0.0721750 * b,
        (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883,
    )
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def ciede2000(one, two):
    (l1, a1, b1), (l2, a2, b2) = one, two
    mean = ((math.hypot(a1, b1) + math.hypot(a2, b2)) / 2) ** 7
    grey = 0.5 * (1 - math.sqrt(mean / (mean + 25**7)))
    a1, a2 = (1 + grey) * a1, (1 + grey) * a2
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 for b, a in ((b1, a1), (b2, a2)))
    turn = h2 - h1
    turn = turn - 360 if turn > 180 else turn + 360 if turn < -180 else turn
    turn = 0 if c1 * c2 == 0 else turn
    dl, dc, dh = l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    lm, cm = (l1 + l2) / 2, (c1 + c2) / 2
    hm = (h1 + h2) / 2 if abs(h1 - h2) <= 180 else (h1 + h2 + (360 if h1 + h2 < 360 else -360)) / 2
    t = (
        1
        - 0.17 * math.cos(math.radians(hm - 30))
        + 0.24 * math.cos(math.radians(2 * hm))
        + 0.32 * math.cos(math.radians(3 * hm + 6))
        - 0.2 * math.cos(math.radians(4 * hm - 63))
    )
    sl = 1 + 0.015 * (lm - 50) ** 2 / math.sqrt(20 + (lm - 50) ** 2)
    sc, sh = 1 + 0.045 * cm, 1 + 0.015 * cm * t
    rc = 2 * math.sqrt(cm**7 / (cm**7 + 25**7))
    rt = -math.sin(math.radians(60 * math.exp(-(((hm - 275) / 25) ** 2)))) * rc
    return math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rt * (dc / sc) * (dh / sh))


def luminance(colour):
    r, g, b = linear(colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one, two):
    bright, dim = sorted((luminance(one), luminance(two)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_the_measure_of_difference_is_the_published_one():
    # Pairs 1, 7 and 17 of Sharma, Wu and Dalal 2005.
    assert ciede2000((50, 2.6772, -79.7751), (50, 0, -82.7485)) == pytest.approx(2.0425, abs=1e-4)
    assert ciede2000((50, 0, 0), (50, -1, 2)) == pytest.approx(2.3669, abs=1e-4)
    assert ciede2000((50, 2.5, 0), (73, 25, -18)) == pytest.approx(27.1492, abs=1e-4)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("how", sorted(SEEN))
def test_any_two_hues_and_the_background_stay_apart(how, dark):
    values = tokens(dark=dark)
    every = [values["bg"], *(values[f"q{n}"] for n in range(MOST))]
    shown = [lab(seen(linear(colour), how)) for colour in every]
    closest = min(ciede2000(a, b) for a, b in itertools.combinations(shown, 2))
    assert closest >= 11


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read(dark):
    values = tokens(dark=dark)
    for ground in ("bg", "card"):
        for ink in ("fg", "muted", "accent", "bad"):
            assert contrast(values[ink], values[ground]) >= 4.5, (ink, ground)
    for n in range(MOST):
        assert contrast(values[f"q{n}"], values[f"q{n}-ink"]) >= 4.0, n
    assert contrast(values["others"], values["others-ink"]) >= 4.5


def test_a_name_has_the_same_colour_whoever_else_is_there():
    every = [f"team-{n}" for n in range(MOST)]
    whole = assign(every)
    assert sorted(whole.values()) == list(range(MOST))
    assert assign(list(reversed(every))) == whole
    alone = {name: assign([name])[name] for name in every}
    kept = sum(alone[name] == whole[name] for name in every)
    assert kept >= MOST // 2  # the others had to give way


def test_beyond_the_hues_names_share_one():
    colours = Colours([f"q{n}" for n in range(30)])
    assert len({colours.of(f"q{n}") for n in range(MOST)}) == MOST
    assert {colours.of(f"q{n}") for n in range(MOST, 30)} == {OTHERS}
    assert colours.others == 30 - MOST
    assert colours.own == tuple(f"q{n}" for n in range(MOST))


def test_no_name_has_no_hue():
    assert Colours(["", "a"]).of("") == OTHERS


def test_a_picture_has_colours_and_no_custom_properties():
    spec = {"a": ["var(--q0)", {"fill": "var(--bg)"}], "n": 1, "t": "var(--q0) in a sentence"}
    assert painted(spec) == {"a": ["#852d39", {"fill": "#ffffff"}], "n": 1, "t": "var(--q0) in a sentence"}
    assert painted(spec, dark=True)["a"][1]["fill"] == "#15181d"
