"""The rules that there are, and the survivors that are known, each with its reason."""

from __future__ import annotations

from pathlib import Path

import yaml

from policycheck.app import rulebook

FILE = Path(__file__).resolve().parents[1] / "survivors.yaml"


def rules() -> dict[str, str]:
    """Names of the built-in rules and their severities."""
    return {rule.name: rule.severity for rule in rulebook().rules}


def survivors() -> dict[str, str]:
    """Names of mutants that no rule kills, with the reason for each."""
    held = yaml.safe_load(FILE.read_text(encoding="utf-8")) or {}
    return {name: reason for reason, names in held.items() for name in names}
