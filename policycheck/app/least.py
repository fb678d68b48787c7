"""The least hardware on which a certificate still holds.

Arithmetic says what can go of each kind of nodes, and of what a node has beside accelerators; then every claim is
tested once more without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from policycheck.app.hall import hall_of
from policycheck.app.subjects import pod_sets
from policycheck.certify.claim import Claim, Effort
from policycheck.certify.needed import Matter, stated
from policycheck.certify.spare import lean, spare
from policycheck.certify.verdict import CERTIFIED, HOLDS, NOT_APPLICABLE, Verdict, outcome

if TYPE_CHECKING:
    from policycheck.app.certify import Options, Prepared
    from policycheck.certify.arena import Arena
    from policycheck.model.inventory import Inventory

_FIT, _SERVING = "guarantees-fit", "inference-protected"  # these are arithmetic
_SCENARIOS = 10  # drawn ones of a verdict; whoever verifies plays all of them on the nodes that there are
_MEASURED = "slo"  # is about the hardware that is there


def least(
    one: Prepared, claims: Sequence[Claim], options: Options, verdicts: Sequence[Verdict], matter: Matter
) -> list[dict[str, Any]]:
    """Groups of alike nodes, as ``needed.stated`` gives them: of what is there where nothing less was found that is
    CERTIFIED as well.
    """
    from policycheck.app.certify import verdicts_of
    from policycheck.certify.claims import fit

    everything = one.cluster.inventory
    measured = any(v.claim == _MEASURED and v.outcome != NOT_APPLICABLE for v in verdicts)
    by_name = {claim.name: claim for claim in claims}
    if not everything.known or measured or _FIT not in by_name:
        return stated(everything, matter)

    def on(inventory: Inventory) -> Prepared:
        opened, arena = hall_of(one.cluster.with_inventory(inventory), one.said, one.label, one.delays)
        return one._replace(opening=opened, arena=cast("Arena", arena))

    def fits(inventory: Inventory) -> bool:
        arena = on(inventory).arena
        if options.late() or not fit.fits(arena, one.promises):
            return False
        serving = by_name.get(_SERVING)
        found = serving.test(arena, one.promises, Effort(0, options.seed)) if serving is not None else ()
        return all(v.outcome in (HOLDS, NOT_APPLICABLE) for v in found if v.required)

    tried = [everything]
    for fewer in _candidates(one, matter, fits):
        if options.late():
            break
        if fewer not in tried:
            tried.append(fewer)
            some = options._replace(scenarios=min(options.scenarios, _SCENARIOS))
            if outcome(verdicts_of(on(fewer), claims, some), options.accepted) == CERTIFIED:
                return stated(fewer, matter)
    return stated(everything, matter)


def _candidates(one: Prepared, matter: Matter, fits: Callable[[Inventory], bool]) -> Iterator[Inventory]:
    """Less hardware, the least first."""
    everything = one.cluster.inventory
    fewer = spare(everything, matter, fits)
    services = (spec for service in one.arena.services() for spec in service.shape.pod_sets)
    pods = (*pod_sets(one.opening.objects, one.promises), *services)
    yield lean(fewer, pods, one.arena.accelerators)
    yield fewer
    yield spare(everything, matter, fits, backwards=True)
