"""The claims: one module each, and the list of all of them.

A module exports its claims as values of type Claim. Names are listed here, so that promises can be read
without loading what tests them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from types import ModuleType

from policycheck.certify.claim import Claim
from policycheck.model.schema import suggest

# In the order in which they are tested and told: what is arithmetic first.
MODULES: Mapping[str, tuple[str, ...]] = {
    "fit": ("guarantees-fit",),
    "guarantee": ("guarantee-honoured",),
    "burst": ("burst-usable",),
    "protection": ("production-protected", "experiments-contained"),
    "inference": ("inference-protected",),
    "gang": ("gang-whole",),
    "topology": ("topology-honoured",),
    "starvation": ("no-starvation",),
    "thrash": ("no-thrash",),
    "slo": ("slo",),
}
NAMES: tuple[str, ...] = tuple(name for names in MODULES.values() for name in names)


class UnknownClaimError(ValueError):
    """No claim has that name; the message says which there are."""


def _module(name: str) -> ModuleType | None:
    full = f"{__name__}.{name}"
    try:
        return import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        return None


@lru_cache(maxsize=1)
def claims() -> tuple[Claim, ...]:
    """Every claim, in order."""
    found: dict[str, Claim] = {}
    for name, expected in MODULES.items():
        module = _module(name)
        own = {one.name: one for one in vars(module).values() if isinstance(one, Claim)} if module else {}
        found.update((one, own[one]) for one in expected if one in own)
    return tuple(found.values())


def find(name: str) -> Claim:
    """The claim of that name. Raises UnknownClaimError."""
    for claim in claims():
        if claim.name == name:
            return claim
    raise UnknownClaimError(f"no claim {name!r}{suggest(name, [claim.name for claim in claims()])}")
