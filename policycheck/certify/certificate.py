"""The certificate: what was promised, tested and found, as an in-toto Statement.

The result digest covers everything but time, so that the same configuration gives the same one whenever
it is certified; who issued it when and until when it counts is in the signed Statement beside it.
Source: in-toto Attestation Framework, Statement v1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from policycheck.certify.canonical import digest
from policycheck.certify.verdict import CERTIFIED, Verdict

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://policycheck.dev/certificate/v1"
_TIME = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ")
_HEX = re.compile(r"[0-9a-f]{64}")


class CertificateError(ValueError):
    """The text is no certificate of ours; the message says what was found and what is allowed."""


class Result(NamedTuple):
    """Everything that was found, without time. All values are as in the JSON of ``certify``.

    ``subjects`` are objects by name with the digest of their normal form, ``files`` the inputs with the
    digest of their bytes, ``inventory`` the least hardware that is needed (a list of groups of alike
    nodes), ``effort`` the counts and seed that ``verify`` replays, ``promises`` and ``rulebook`` digests.
    """

    outcome: str
    scope: str
    verdicts: Sequence[Mapping[str, Any]]
    subjects: Mapping[str, str]
    files: Mapping[str, str]
    inventory: Sequence[Mapping[str, Any]]
    rulebook: str
    target: Mapping[str, Any]
    promises: Mapping[str, Any]
    effort: Mapping[str, Any]
    accepted: Sequence[str]
    version: str  # of policycheck
    rules: Mapping[str, str] = {}  # by id: how strict each is, its status, and a digest of what it says
    owners: Mapping[str, str] = {}  # of objects, where they say who answers for them
    hardware: str = ""  # a digest of all that was there and might matter; less than that may be needed

    @property
    def digest(self) -> str:
        """sha256 over all of it."""
        return digest(_body(self))


class Certificate(NamedTuple):
    """A Result that counts from ``issued`` until ``until``, both RFC 3339 in UTC with seconds."""

    result: Result
    issued: str
    until: str


def _body(result: Result) -> dict[str, Any]:
    return {
        "outcome": result.outcome,
        "scope": result.scope,
        "verdicts": list(result.verdicts),
        "files": dict(result.files),
        "subjects": dict(result.subjects),
        "inventory": list(result.inventory),
        "rulebook": result.rulebook,
        "target": dict(result.target),
        "promises": dict(result.promises),
        "effort": dict(result.effort),
        "accepted": list(result.accepted),
        "policycheck": result.version,
        "rules": dict(result.rules),
        "owners": dict(result.owners),
        "hardware": result.hardware,
    }


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """A verdict as JSON of the command line; without counterexample the key is null."""
    found = verdict.counterexample
    return {
        "claim": verdict.claim,
        "subject": verdict.subject,
        "scope": verdict.scope,
        "outcome": verdict.outcome,
        "basis": verdict.basis,
        "headline": verdict.headline,
        "required": verdict.required,
        "premiseExercised": dict(verdict.premise),
        "assumptions": list(verdict.assumptions),
        "evidence": dict(verdict.evidence),
        "derived": list(verdict.derived),
        "counterexample": None
        if found is None
        else {
            "case": dict(found.case),
            "timeline": list(found.timeline),
            "workloads": found.workloads,
            "end": dict(found.end),
        },
    }


def statement(certificate: Certificate) -> dict[str, Any]:
    """The Statement. Raises CertificateError when the result is not CERTIFIED, or times are none."""
    result = certificate.result
    if result.outcome != CERTIFIED:
        raise CertificateError(f"only what is {CERTIFIED} is issued; this is {result.outcome}")
    if not result.subjects:
        raise CertificateError("there is no object to certify")
    _check_times(certificate.issued, certificate.until)
    body = {key: value for key, value in _body(result).items() if key != "subjects"}
    return {
        "_type": STATEMENT,
        "subject": [
            {"name": name, "digest": {"sha256": sha}} for name, sha in sorted(result.subjects.items())
        ],
        "predicateType": PREDICATE,
        "predicate": {
            **body,
            "resultDigest": result.digest,
            "issuedAt": certificate.issued,
            "validUntil": certificate.until,
        },
    }


def _check_times(issued: str, until: str) -> None:
    for name, time in (("issuedAt", issued), ("validUntil", until)):
        if not _TIME.fullmatch(time):
            raise CertificateError(f"{name} is {time!r}; write it as 2026-01-31T00:00:00Z")
    if until <= issued:
        raise CertificateError(f"it would end ({until}) before it begins ({issued})")


def read(value: Any) -> Certificate:
    """The certificate that a Statement holds. Raises CertificateError; nothing in it is trusted yet but
    its shape, and that its result digest is that of its contents.
    """
    if not isinstance(value, dict) or set(value) != {"_type", "subject", "predicateType", "predicate"}:
        raise CertificateError("not a Statement: it has _type, subject, predicateType and predicate alone")
    for key, wanted in (("_type", STATEMENT), ("predicateType", PREDICATE)):
        if value[key] != wanted:
            raise CertificateError(f"{key} is {str(value[key])[:80]!r}; it has to be {wanted!r}")
    predicate = value["predicate"]
    texts = (
        "outcome",
        "scope",
        "rulebook",
        "policycheck",
        "resultDigest",
        "issuedAt",
        "validUntil",
        "hardware",
    )
    maps = ("files", "target", "promises", "effort", "rules", "owners")
    lists = ("verdicts", "inventory", "accepted")
    if not isinstance(predicate, dict) or set(predicate) != {*texts, *maps, *lists}:
        raise CertificateError("the predicate has other fields than a certificate of this version")
    kinds = ((str, texts), (dict, maps), (list, lists))
    for kind, names in kinds:
        wrong = next((n for n in names if not isinstance(predicate[n], kind)), "")
        if wrong:
            raise CertificateError(f"{wrong} is a {type(predicate[wrong]).__name__}, not a {kind.__name__}")
    _check_times(predicate["issuedAt"], predicate["validUntil"])
    result = Result(
        outcome=predicate["outcome"],
        scope=predicate["scope"],
        verdicts=predicate["verdicts"],
        subjects=_subjects(value["subject"]),
        files=predicate["files"],
        inventory=predicate["inventory"],
        rulebook=predicate["rulebook"],
        target=predicate["target"],
        promises=predicate["promises"],
        effort=predicate["effort"],
        accepted=predicate["accepted"],
        version=predicate["policycheck"],
        rules=predicate["rules"],
        owners=predicate["owners"],
        hardware=predicate["hardware"],
    )
    if result.digest != predicate["resultDigest"]:
        raise CertificateError("its result digest is not that of its contents: it was changed")
    return Certificate(result, predicate["issuedAt"], predicate["validUntil"])


def _subjects(value: Any) -> dict[str, str]:
    if not isinstance(value, list) or not value:
        raise CertificateError("it names no subject")
    found: dict[str, str] = {}
    for entry in value:
        name = entry.get("name") if isinstance(entry, dict) else None
        held = entry.get("digest") if isinstance(entry, dict) else None
        sha = held.get("sha256") if isinstance(held, dict) and set(held) == {"sha256"} else None
        if not isinstance(name, str) or not isinstance(sha, str) or not _HEX.fullmatch(sha):
            raise CertificateError("a subject has a name and a digest of 64 hex digits under sha256")
        if set(entry) != {"name", "digest"} or name in found:
            raise CertificateError(f"the subject {name[:80]!r} is there twice, or has more fields")
        found[name] = sha
    if list(found) != sorted(found):
        raise CertificateError("subjects are not in order")
    return found


class Difference(NamedTuple):
    """Something that is not as it was certified. ``what`` is a kind for scripts, ``why`` a sentence."""

    what: str
    name: str
    why: str


def differences(old: Result, new: Result) -> list[Difference]:
    """What changed since: objects, inputs, promises, rules, target, version, verdicts."""
    found = [
        *_of_maps("object", "the object", old.subjects, new.subjects),
        *_of_maps("input", "the file", old.files, new.files),
    ]
    for what, before, after, why in (
        ("promises", old.promises, new.promises, "the promises are others"),
        ("rulebook", old.rulebook, new.rulebook, "the rules are others"),
        ("target", old.target, new.target, "another version or other gates of the scheduler are assumed"),
        ("policycheck", old.version, new.version, "it was issued by another version of policycheck"),
        ("accepted", list(old.accepted), list(new.accepted), "other bases were accepted"),
        ("effort", old.effort, new.effort, "other counts or another seed were used"),
        ("scope", old.scope, new.scope, "it is about another scope"),
    ):
        if before != after:
            found.append(Difference(what, "", f"{why}: {_short(before)} then, {_short(after)} now"))
    found += _of_verdicts(old.verdicts, new.verdicts)
    return found


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _of_maps(kind: str, word: str, old: Mapping[str, str], new: Mapping[str, str]) -> list[Difference]:
    found = []
    for name in sorted({*old, *new}):
        if name not in new:
            found.append(Difference(kind, name, f"{word} {name} is gone"))
        elif name not in old:
            found.append(Difference(kind, name, f"{word} {name} was not there"))
        elif old[name] != new[name]:
            found.append(Difference(kind, name, f"{word} {name} was changed"))
    return found


def _of_verdicts(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> list[Difference]:
    before, after = ({(v.get("claim"), v.get("subject")): v for v in known} for known in (old, new))
    found = []
    for key in sorted({*before, *after}, key=str):
        name = f"{key[0]} ({key[1]})" if key[1] else str(key[0])
        was, is_now = before.get(key), after.get(key)
        if was is None or is_now is None:
            state = "is not tested any more" if is_now is None else "was not tested"
            found.append(Difference("verdict", name, f"{name} {state}"))
        elif was.get("outcome") != is_now.get("outcome"):
            found.append(
                Difference("verdict", name, f"{name} was {was.get('outcome')} and is {is_now.get('outcome')}")
            )
        elif was != is_now:
            found.append(Difference("verdict", name, f"{name} comes out the same on other evidence"))
    return found


def holds_at(certificate: Certificate, now: str) -> str:
    """Why it does not count at ``now`` (RFC 3339, UTC), or ""."""
    if not _TIME.fullmatch(now):
        raise CertificateError(f"the time {now!r} is none; write it as 2026-01-31T00:00:00Z")
    if now < certificate.issued:
        return f"it is issued for {certificate.issued}, and it is {now}"
    return f"it ended at {certificate.until}, and it is {now}" if now >= certificate.until else ""
