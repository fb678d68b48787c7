"""The version of each system: as the user says, as something in sight tells, or assumed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from policycheck.lint.settings import Target
    from policycheck.model.cluster import Cluster

ASSUMED: Mapping[str, str] = {"kueue": "0.19"}


def targets_of(cluster: Cluster, given: tuple[str, ...]) -> Mapping[str, Target]:
    """The target of every system that has objects in ``cluster``."""
    from policycheck.lint.settings import Target, parse_target

    said = {target.system: target for target in map(parse_target, given)}
    in_sight = {entry.facts.system for entry in cluster.entries.values()}
    found = dict(said)
    for system, version in ASSUMED.items():
        if system in in_sight and system not in found:
            found[system] = Target(system, version, assumed=True)
    return found
