"""Verdicts for programs, and what the reports on them have in common.

JSON (``render_json``), additions allowed, changes raise ``schemaVersion``::

    {"schemaVersion": 1, "outcome": "CERTIFIED"|"REFUSED"|"UNDECIDED",
     "verdicts": [{"claim", "subject", "scope", "outcome": "HOLDS"|"FAILS"|"UNKNOWN"|"NOT_APPLICABLE",
                   "basis": "proof"|"exhaustive"|"search"|"measured", "headline", "required",
                   "premiseExercised": {NAME: n}, "assumptions": [TEXT], "evidence": {}, "derived": [NAME],
                   "counterexample": {"case": {}, "timeline": [TEXT], "workloads": n, "end": {}} | null}],
     "subjects": [{"object", "digest"}], "files": [{"file", "digest"}], "inventory": [GROUP],
     "rulebook": DIGEST, "target": {SYSTEM: {"version", "gates", "assumed"}}, "promises": {},
     "accepted": [BASIS], "seed", "budget", "resultDigest"}

GROUP is ``{"nodes": n, "labels": {}, "ownLabels": [KEY], "taints": [TEXT], "free": {RESOURCE: QUANTITY}}``: alike
nodes that the verdicts rest on. With several scopes every subject, file and group has its ``scope``, and
``target``, ``promises`` and ``resultDigest`` are maps by scope.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from policycheck.certify.certificate import Result
from policycheck.certify.promise import Promises
from policycheck.certify.verdict import (
    CERTIFIED,
    EXHAUSTIVE,
    FAILS,
    HOLDS,
    NOT_APPLICABLE,
    PROOF,
    REFUSED,
    UNDECIDED,
    UNKNOWN,
    Verdict,
)

SCHEMA_VERSION = 1
_ORDER = (REFUSED, UNDECIDED, CERTIFIED)
OUTCOMES = (FAILS, UNKNOWN, HOLDS, NOT_APPLICABLE)


class Certified(NamedTuple):
    """What was found in one scope. ``scope`` is "" where there is no other to tell it from."""

    scope: str
    result: Result
    verdicts: tuple[Verdict, ...]
    promises: Promises
    target: str = ""  # the system and its version, for people
    assumed: bool = False  # nothing in sight said the version


def overall(done: Iterable[Certified]) -> str:
    """The outcome over all scopes: the worst; UNDECIDED when there is none."""
    found = {one.result.outcome for one in done}
    return next((outcome for outcome in _ORDER if outcome in found), UNDECIDED)


def counts(verdict: Verdict, accepted: Iterable[str]) -> bool:
    """Whether the basis of a verdict that HOLDS counts towards a certificate."""
    return verdict.basis in {PROOF, EXHAUSTIVE, *accepted}


def tally(done: Sequence[Certified]) -> str:
    """``3 of 14 promises fail, 2 are unknown``: of those that are required."""
    required = [v for one in done for v in one.verdicts if v.required and v.outcome != NOT_APPLICABLE]
    many = len(required)
    if not many:
        return "nothing was promised that could be tested"
    failed = sum(v.outcome == FAILS for v in required)
    unknown = sum(v.outcome == UNKNOWN for v in required)
    accepted = [name for one in done for name in one.result.accepted]
    weak = sum(v.outcome == HOLDS and not counts(v, accepted) for v in required)
    parts = [f"{failed} of {many} verdicts fail{'s' * (failed == 1)}"] if failed else []
    if unknown:
        what = "is unknown" if unknown == 1 else "are unknown"
        parts.append(f"{unknown} {what}" if parts else f"{unknown} of {many} verdicts {what}")
    if weak and not failed:
        what = "holds by search alone" if weak == 1 else "hold by search alone"
        parts.append(f"{weak} {what}" if parts else f"{weak} of {many} verdicts {what}")
    held = "the one verdict holds" if many == 1 else f"all {many} verdicts hold"
    return ", ".join(parts) or held


def basis_of(verdict: Verdict) -> str:
    """``by proof``, or how much was searched."""
    if verdict.basis != "search":
        return "measured" if verdict.basis == "measured" else f"by {_BASES.get(verdict.basis, verdict.basis)}"
    tried = next((verdict.evidence[k] for k in ("scenarios", "stories") if k in verdict.evidence), None)
    return f"by search, {tried} stories" if tried else "by search"


_BASES = {"exhaustive": "going through all cases"}


def render_json(done: Sequence[Certified], more: Mapping[str, Any] | None = None) -> str:
    """The same findings give the same bytes. ``more`` goes beside what is there."""
    return json.dumps({**as_dict(done), **(more or {})}, indent=2, ensure_ascii=True) + "\n"


def as_dict(done: Sequence[Certified]) -> dict[str, Any]:
    """What ``render_json`` writes, as plain values."""
    results = [(one.scope, one.result) for one in done]
    several = len(results) > 1

    def listed(what: Callable[[Result], Iterable[Mapping[str, Any]]]) -> list[dict[str, Any]]:
        return [
            {**({"scope": scope} if several else {}), **one}
            for scope, result in results
            for one in what(result)
        ]

    def each(what: Callable[[Result], Any], none: Any) -> Any:
        if several:
            return {scope: what(result) for scope, result in results}
        return what(results[0][1]) if results else none

    first = results[0][1] if results else None
    return {
        "schemaVersion": SCHEMA_VERSION,
        "outcome": overall(done),
        "verdicts": [verdict for _, result in results for verdict in result.verdicts],
        "subjects": listed(lambda r: ({"object": n, "digest": d} for n, d in r.subjects.items())),
        "files": listed(lambda r: ({"file": n, "digest": d} for n, d in r.files.items())),
        "inventory": listed(lambda r: r.inventory),
        "rulebook": first.rulebook if first else "",
        "target": each(lambda r: r.target, {}),
        "promises": each(lambda r: r.promises, {}),
        "accepted": list(first.accepted) if first else [],
        "seed": first.effort["seed"] if first else None,
        "budget": first.effort["scenarios"] if first else None,
        "resultDigest": each(lambda r: r.digest, ""),
    }
