"""Whether a certificate still counts, for people and for programs.

JSON (``render_json``), additions allowed, changes raise ``schemaVersion``::

    {"schemaVersion": 1, "outcome": "VALID"|"REFUSED", "replayed": bool,
     "refusals": [{"what": KIND, "name", "why"}], "notes": [{"what": KIND, "name", "why"}],
     "certificate": {"issuedAt", "validUntil", "resultDigest", "scope", "signedBy"} | null}

KIND is signature, validity, read, object, input, promises, owner, rule, target, effort, accepted, scope,
policycheck, node, label, taint, free, inventory or verdict. Refusals make the outcome, notes do not.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from policycheck.certify.certificate import Certificate, Difference
from policycheck.certify.verdict import FAILS, NOT_APPLICABLE, Verdict
from policycheck.report.screen import Style, clean, hang, wrap

SCHEMA_VERSION = 1
VALID, REFUSED = "VALID", "REFUSED"
_SHOWN = 12  # of one kind
_HEADS = (
    ("The certificate", ("signature", "read", "validity")),
    ("Promises that no longer hold, or are not what they were", ("verdict",)),
    ("Hardware", ("inventory", "node", "label", "taint", "free")),
    ("Configuration", ("object", "input", "scope", "target")),
    ("Promises and owners", ("promises", "owner")),
    ("Rules", ("rule",)),
    ("How it was tested", ("effort", "accepted", "policycheck")),
)


class Verified(NamedTuple):
    """What came out. ``verdicts`` are those of now; () when nothing was tested again."""

    certificate: Certificate | None
    refusals: tuple[Difference, ...]
    notes: tuple[Difference, ...] = ()
    signed_by: str = ""
    verdicts: tuple[Verdict, ...] = ()
    replayed: bool = False

    @property
    def outcome(self) -> str:
        """VALID when nothing speaks against it."""
        return REFUSED if self.refusals else VALID


def render_json(found: Verified) -> str:
    """The same findings give the same bytes."""
    held = found.certificate
    value: dict[str, Any] = {
        "schemaVersion": SCHEMA_VERSION,
        "outcome": found.outcome,
        "replayed": found.replayed,
        "refusals": [one._asdict() for one in found.refusals],
        "notes": [one._asdict() for one in found.notes],
        "certificate": None
        if held is None
        else {
            "issuedAt": held.issued,
            "validUntil": held.until,
            "resultDigest": held.result.digest,
            "scope": held.result.scope,
            "signedBy": found.signed_by or None,
        },
    }
    return json.dumps(value, indent=2, ensure_ascii=True) + "\n"


def render_text(found: Verified, style: Style, *, stories: bool = False) -> str:
    """What speaks against it by kind, then what changed and does not matter. ``stories``: how promises break."""
    role = "error" if found.refusals else "help"
    rows = [style.paint(role, row) for row in wrap(_headline(found), style.width)]
    for head, kinds in _HEADS:
        rows += _section(head, [d for d in found.refusals if d.what in kinds], style)
    if stories or style.verbose:
        rows += _stories(found, style)
    if not style.quiet:
        rows += _section("Changed since, and no reason to refuse it", found.notes, style)
    return "\n".join(rows) + "\n"


def _headline(found: Verified) -> str:
    held = found.certificate
    if held is None:
        return f"{found.outcome}: this can not be relied on"
    by = f", signed by key {found.signed_by[:16]}..." if found.signed_by else ", not signed"
    what = f"issued for {held.issued} to {held.until}{by}"
    if found.refusals:
        many = len(found.refusals)
        return f"{found.outcome}: {many} reason{'s' * (many != 1)}; {what}"
    if not found.replayed:
        return f"{found.outcome}: signature and validity; nothing was tested again; {what}"
    # as a certificate counts them: what was not promised is no verdict that could hold
    many = sum(one["outcome"] != NOT_APPLICABLE for one in held.result.verdicts)
    return f"{found.outcome}: all {many} verdicts come out the same; {what}"


def _section(head: str, found: Sequence[Difference], style: Style) -> list[str]:
    if not found:
        return []
    rows = ["", style.paint("strong", head)]
    shown = found if style.verbose else found[:_SHOWN]
    for one in shown:
        rows += hang("  - ", wrap(clean(one.why, ascii_only=style.ascii), style.width - 4))
    if len(shown) < len(found):
        rows.append(f"  and {len(found) - len(shown)} more (--verbose lists all)")
    return rows


def _stories(found: Verified, style: Style) -> list[str]:
    rows: list[str] = []
    for verdict in found.verdicts:
        if verdict.outcome == FAILS and verdict.counterexample is not None:
            name = f"{verdict.claim}: {verdict.subject}" if verdict.subject else verdict.claim
            rows += ["", style.paint("strong", f"How it breaks: {clean(name, ascii_only=style.ascii)}")]
            for line in verdict.counterexample.timeline:
                rows += hang("  | ", wrap(clean(line, ascii_only=style.ascii), style.width - 4))
    return rows
