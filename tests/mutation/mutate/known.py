"""The rules that there are, and the survivors that are known, each with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml

from policycheck.app import rulebook

FILE = Path(__file__).resolve().parents[1] / "survivors.yaml"


def rules() -> dict[str, str]:
    """Names of the built-in rules and their severities."""
    return {rule.name: rule.severity for rule in rulebook().rules}


def survivors() -> dict[str, str]:
    """Mutants that no rule kills, with the reason for each; ``operator @ *`` is all of an operator."""
    held = yaml.safe_load(FILE.read_text(encoding="utf-8")) or {}
    made: dict[str, str] = {}
    for reason, names in held.items():
        for name in names:
            if name in made:
                raise ValueError(f"{FILE.name} gives two reasons for {name}")
            made[name] = reason
    return made


def reason(name: str, held: Mapping[str, str]) -> str:
    """Why this mutant may live; empty when it may not."""
    return held.get(name) or held.get(f"{name.split(' @ ', maxsplit=1)[0]} @ *") or ""


def stale(killed: Iterable[str], held: Mapping[str, str]) -> list[str]:
    """Mutants that are killed though the file excuses them."""
    return sorted(name for name in killed if reason(name, held))


def unknown(names: Iterable[str], held: Mapping[str, str]) -> list[str]:
    """Entries that are the name of no mutant."""
    there = set(names)
    there |= {f"{name.split(' @ ')[0]} @ *" for name in there}
    return sorted(set(held) - there)
