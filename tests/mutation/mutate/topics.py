"""Which rules are meant by what an operator expects; rules are known by their names here.

A topic without rules is one that no rule speaks about yet: its mutants can only be killed by
accident, and the report lists it.
"""

from __future__ import annotations

RULES: dict[str, tuple[str, ...]] = {}


def expected(topics: tuple[str, ...]) -> frozenset[str]:
    """The names of the rules of these topics."""
    return frozenset(name for topic in topics for name in RULES.get(topic, ()))
