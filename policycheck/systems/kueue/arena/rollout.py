"""How many pods a rollout adds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.systems.core.podspec import mapping

_WHOLE = 100


def surge_of(strategy: Mapping[str, Any], pods: int) -> int:
    """Of a Deployment with this strategy (Kubernetes documentation "Deployments": a quarter of the replicas, rounded
    up, where nothing is written; a Recreate adds none).
    """
    if strategy.get("type") == "Recreate":
        return 0
    return part(mapping(strategy.get("rollingUpdate")).get("maxSurge", "25%"), pods)


def part(written: object, replicas: int) -> int:
    """A number, or a percentage of ``replicas`` rounded up."""
    text = str(written).strip()
    digits = text.removesuffix("%")
    if not digits.isdigit():
        return 0
    return -(-replicas * int(digits) // _WHOLE) if text.endswith("%") else int(digits)
