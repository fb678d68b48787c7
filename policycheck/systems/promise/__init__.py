"""Promises to teams: a kind of our own, which no cluster has."""

KINDS = frozenset({("policycheck.dev", "Promises")})
