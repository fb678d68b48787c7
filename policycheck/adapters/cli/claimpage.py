"""What ``policycheck explain`` says of the claims that ``certify`` tests."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policycheck.certify.claim import Claim


_STATE = (
    "No claim of its own: it stands among the verdicts, as UNKNOWN, when what is written and what will be in the "
    "cluster may differ. An object that the API server, a webhook or a strict client refuses or changes on the way "
    "in, one that several documents define differently, a text that can not be read, or a name in the promises "
    "that nothing in sight has: nothing that rests on a guess is certified. Its reasons say where; lint says what "
    "to write instead."
)


def names() -> list[str]:
    """Names of all claims."""
    from policycheck.certify.claims import claims

    return [claim.name for claim in claims()]


def page(name: str, width: int) -> str:
    """The page of a claim; "" when there is none of that name."""
    from policycheck.certify.claims import NAMES, UnknownClaimError, find

    if name.lower() == "state-known":
        return f"state-known\n\n{_filled(_STATE, width)}\n"
    if name.lower() not in NAMES:
        return ""
    try:
        return _page(find(name.lower()), width)
    except UnknownClaimError:
        return ""


def _page(claim: Claim, width: int) -> str:
    parts = [
        claim.name,
        claim.title,
        f"what is promised\n{_filled(claim.promise, width)}",
        f"what the outcomes mean\n{_filled(claim.means, width)}",
        f"what has to occur for it to mean anything\n{_filled(claim.premise, width)}",
        f"what can be enforced, and what not\n{_filled(claim.enforceable, width)}",
        f"what to do when it fails\n{_filled(claim.remedy, width)}",
        f"test it alone\n{_filled(f'policycheck certify PATH --claim {claim.name}', width)}",
    ]
    return "\n\n".join(parts) + "\n"


def listing(width: int) -> str:
    """Everything that has a page: claims one by one, the rest by how it is listed."""
    from policycheck.certify.claims import claims
    from policycheck.systems.kueue.reasons import REASONS

    known = claims()
    room = max(len(claim.name) for claim in known) + 2
    rows = ["claims that `policycheck certify` tests"]
    for claim in known:
        lead = f"  {claim.name:<{room}}"
        rows.append(textwrap.fill(claim.title, width, initial_indent=lead, subsequent_indent=" " * len(lead)))
    reasons = ", ".join(one.name for one in REASONS)
    return "\n".join(rows) + (
        f"\n\nreasons that the scheduler gives\n{_filled(reasons, width)}"
        f"\n\nrules\n{_filled('policycheck rules list', width)}\n"
    )


def _filled(words: str, width: int) -> str:
    return textwrap.fill(words, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
