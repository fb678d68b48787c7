"""Recorded admission requests: what the webhooks would answer to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policycheck.model.conform import prune
from policycheck.systems.core.podspec import mapping, text
from policycheck.systems.kueue.target import Target
from policycheck.systems.kueue.validate import validate
from policycheck.systems.kueue.validate.gates import of_target

SUITE = "validation"


def answer(case: Mapping[str, Any]) -> Mapping[str, Any]:
    """``{"suite", "name", "valid", "errors": [{"type", "field"}]}`` for one case."""
    given = mapping(case.get("input"))
    overrides = {str(k): v is True for k, v in mapping(case.get("featureGates")).items()}
    old = given.get("oldObject")
    found = validate(
        {"kind": given.get("kind"), **prune(mapping(given.get("object")))},
        prune(old) if isinstance(old, dict) else None,
        of_target(Target(gates=overrides)),
    )
    return {
        "suite": text(case.get("suite")) or SUITE,
        "name": text(case.get("name")),
        "valid": not found,
        "errors": [{"type": p.type, "field": p.field} for p in found],
    }
