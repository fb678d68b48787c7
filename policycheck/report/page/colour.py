"""Colours by name: the same queue has the same colour in every chart, picture and run.

Marks carry CSS custom properties, ``var(--q3)``, so that one page serves light and dark alike; a picture
that is no page has them replaced. The twelve hues were searched for so that any two of them, and each
and the background, stay apart under normal, protanopic, deuteranopic and tritanopic vision (Machado,
Oliveira and Fernandes 2009; CIEDE2000 at least 11, a test holds it).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from policycheck.digest import sha256

# (light, dark) of the same hue; beside them the ink that reads on it.
_HUES = (
    (("#852d39", "#ffffff"), ("#eab1bf", "#15181d")),
    (("#9b6248", "#ffffff"), ("#b44c63", "#ffffff")),
    (("#d17a00", "#15181d"), ("#ff7182", "#15181d")),
    (("#ecba35", "#15181d"), ("#b27d3c", "#15181d")),
    (("#97a071", "#15181d"), ("#75621f", "#ffffff")),
    (("#5ecaaf", "#15181d"), ("#9abe29", "#15181d")),
    (("#3b7f76", "#ffffff"), ("#aff0a5", "#15181d")),
    (("#335578", "#ffffff"), ("#6bf9ec", "#15181d")),
    (("#798ffc", "#15181d"), ("#7b7fa7", "#15181d")),
    (("#ceb5ee", "#15181d"), ("#b7bcf4", "#15181d")),
    (("#904dc6", "#ffffff"), ("#7d51b1", "#ffffff")),
    (("#b67da4", "#15181d"), ("#bc7ef8", "#15181d")),
)
MOST = len(_HUES)
OTHERS = "var(--others)"
OTHERS_INK = "var(--others-ink)"
FOREGROUND, MUTED, LINE = "var(--fg)", "var(--muted)", "var(--line)"
PAGE, CARD, BAD, FREE, OUTSIDE = "var(--bg)", "var(--card)", "var(--bad)", "var(--free)", "var(--outside)"

_NEUTRAL: Mapping[str, tuple[str, str]] = {
    "bg": ("#ffffff", "#15181d"),
    "card": ("#f6f7f9", "#1c2027"),
    "fg": ("#1b1f24", "#e8eaed"),
    "muted": ("#57606a", "#a3acb8"),
    "line": ("#c4cad1", "#454d58"),
    "free": ("#ffffff", "#15181d"),
    "others": ("#8a9099", "#8a9099"),
    "others-ink": ("#15181d", "#15181d"),
    "outside": ("#40464e", "#c3c8cf"),
    "bad": ("#b3261e", "#ff8a80"),
    "good": ("#1a6b3c", "#7fd6a0"),
    "accent": ("#0b57d0", "#8ab4f8"),
}


def tokens(*, dark: bool) -> Mapping[str, str]:
    """Every custom property, by its name without the dashes."""
    made = {name: pair[dark] for name, pair in _NEUTRAL.items()}
    for number, pair in enumerate(_HUES):
        made[f"q{number}"], made[f"q{number}-ink"] = pair[dark]
    return made


class Colours:
    """Which colour each name has; names beyond the first twelve share one."""

    def __init__(self, ranked: Iterable[str]) -> None:
        self.named: tuple[str, ...] = tuple(name for name in dict.fromkeys(ranked) if name)
        self._of = assign(self.named)

    def of(self, name: str) -> str:
        """The colour of ``name``."""
        found = self._of.get(name)
        return OTHERS if found is None else f"var(--q{found})"

    def ink(self, name: str) -> str:
        """What text on that colour is written in."""
        found = self._of.get(name)
        return OTHERS_INK if found is None else f"var(--q{found}-ink)"

    @property
    def own(self) -> tuple[str, ...]:
        """The names that have a colour of their own, as ranked."""
        return tuple(name for name in self.named if name in self._of)

    @property
    def others(self) -> int:
        """How many names share one."""
        return len(self.named) - len(self._of)


def assign(ranked: Sequence[str]) -> Mapping[str, int]:
    """The hue of each of the first twelve names. A name has the hue that its digest says unless another
    name, earlier in the alphabet, has that already: so most keep theirs when names come and go.
    """
    taken: dict[int, str] = {}
    for name in sorted(dict.fromkeys(ranked[:MOST])):
        hue = int.from_bytes(sha256(name.encode("utf-8", "replace")).digest()[:4], "big") % MOST
        while hue in taken:
            hue = (hue + 1) % MOST
        taken[hue] = name
    return {name: hue for hue, name in taken.items()}


def painted(spec: Any, *, dark: bool = False) -> Any:
    """The same chart with colours in place of custom properties, for pictures that stand alone."""
    values = {f"var(--{name})": value for name, value in tokens(dark=dark).items()}

    def change(part: Any) -> Any:
        if isinstance(part, dict):
            return {key: change(value) for key, value in part.items()}
        if isinstance(part, list):
            return [change(value) for value in part]
        return values.get(part, part) if isinstance(part, str) else part

    return change(spec)
