"""Certificates: canonical text, statements, signatures, and what is refused."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("cryptography", reason="the extra 'sign' is not installed")
pytest.importorskip("securesystemslib", reason="the extra 'sign' is not installed")

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from policycheck.certify.canonical import CanonicalError, decode, encode
from policycheck.certify.certificate import (
    Certificate,
    CertificateError,
    Result,
    differences,
    holds_at,
    read,
    statement,
)
from policycheck.certify.signing import SigningError, opened, sign, signed_by, signer, verifier
from policycheck.simulate.draw import stream

RESULT = Result(
    outcome="CERTIFIED",
    scope="prod",
    verdicts=({"claim": "guarantees-fit", "subject": "", "outcome": "HOLDS", "basis": "proof"},),
    subjects={"kueue.x-k8s.io/ClusterQueue/vision": "ab" * 32, "kueue.x-k8s.io/Cohort/all": "cd" * 32},
    files={"queues.yaml": "ef" * 32},
    inventory=({"nodes": 4, "labels": {"gpu": "h100"}, "allocatable": {"nvidia.com/gpu": 8}},),
    rulebook="01" * 32,
    target={"kueue": "0.19"},
    promises={"source": "promises.yaml", "digest": "23" * 32},
    effort={"seed": 1, "scenarios": 200},
    accepted=("search",),
    version="0.1.0",
)
ISSUED, UNTIL = "2026-01-01T00:00:00Z", "2026-01-31T00:00:00Z"
CERTIFICATE = Certificate(RESULT, ISSUED, UNTIL)


def pem(private, password=None):
    how = BestAvailableEncryption(password) if password else NoEncryption()
    secret = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how)
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    return secret, public


KEYS = {
    "ed25519": pem(ed25519.Ed25519PrivateKey.generate()),
    "p256": pem(ec.generate_private_key(ec.SECP256R1())),
    "p384": pem(ec.generate_private_key(ec.SECP384R1())),
}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "é\n\u2028"]}, '{"a":[true,null,"é\\n\u2028"],"b":1}'),
        (
            {"\ufb33": 1, "\U0001f600": 2},
            '{"\U0001f600":2,"\ufb33":1}',
        ),  # UTF-16 order, RFC 8785 section 3.2.3
        ("", '""'),
    ],
)
def test_canonical_text_is_that_of_rfc_8785(value, text):
    assert encode(value) == text.encode()
    assert decode(text.encode()) == value


@pytest.mark.parametrize("value", [1.5, float("nan"), 2**53, {1: 2}, {"a": b"x"}, "\ud800", {"a": {1, 2}}])
def test_what_has_no_canonical_text_is_refused(value):
    with pytest.raises(CanonicalError):
        encode(value)


@pytest.mark.parametrize(
    "text", ["{ }", '{"b":1,"a":2}', '{"a":1,"a":1}', '"\\u0041"', "1.0", "1e2", "[" * 5000, "", '{"a":1}\n']
)
def test_other_texts_are_refused(text):
    with pytest.raises(CanonicalError):
        decode(text.encode())


def test_a_value_may_not_be_too_deep():
    value: object = 1
    for _ in range(70):
        value = [value]
    with pytest.raises(CanonicalError, match="deeper"):
        encode(value)


def test_a_statement_reads_back_as_the_certificate():
    made = statement(CERTIFICATE)
    assert made["_type"] == "https://in-toto.io/Statement/v1"
    assert [s["name"] for s in made["subject"]] == sorted(RESULT.subjects)
    again = read(json.loads(json.dumps(made)))
    assert statement(again) == made
    assert again.result.digest == RESULT.digest


def test_the_result_digest_knows_no_time():
    other = statement(Certificate(RESULT, "2026-05-01T00:00:00Z", "2026-06-01T00:00:00Z"))
    assert other["predicate"]["resultDigest"] == statement(CERTIFICATE)["predicate"]["resultDigest"]


def test_every_part_of_the_result_is_in_its_digest():
    changed = {
        "outcome": "REFUSED",
        "scope": "x",
        "verdicts": (),
        "subjects": {},
        "files": {},
        "inventory": (),
        "rulebook": "",
        "target": {},
        "promises": {},
        "effort": {},
        "accepted": (),
        "version": "0",
        "rules": {"KQ101": "error stable 0123"},
        "owners": {"Queue/a": "ana@example.com"},
        "hardware": "01",
    }
    assert set(changed) == set(Result._fields)
    digests = {RESULT._replace(**{field: value}).digest for field, value in changed.items()}
    assert len(digests | {RESULT.digest}) == len(changed) + 1


@pytest.mark.parametrize(
    ("issued", "until", "words"),
    [
        ("2026-1-1", UNTIL, "write it as"),
        (UNTIL, ISSUED, "before it begins"),
        (ISSUED, "2026-02-30", "write"),
    ],
)
def test_times_that_are_none_are_refused(issued, until, words):
    with pytest.raises(CertificateError, match=words):
        statement(Certificate(RESULT, issued, until))


def test_only_what_is_certified_is_issued():
    with pytest.raises(CertificateError, match="REFUSED"):
        statement(Certificate(RESULT._replace(outcome="REFUSED"), ISSUED, UNTIL))
    with pytest.raises(CertificateError, match="no object"):
        statement(Certificate(RESULT._replace(subjects={}), ISSUED, UNTIL))


def test_it_counts_from_issue_to_end():
    assert "issued for" in holds_at(CERTIFICATE, "2025-12-31T23:59:59Z")
    assert holds_at(CERTIFICATE, ISSUED) == ""
    assert holds_at(CERTIFICATE, "2026-01-30T23:59:59Z") == ""
    assert "ended at" in holds_at(CERTIFICATE, UNTIL)
    with pytest.raises(CertificateError):
        holds_at(CERTIFICATE, "soon")


@pytest.mark.parametrize("name", KEYS)
def test_a_signed_certificate_opens_with_its_key_alone(name):
    secret, public = KEYS[name]
    payload = encode(statement(CERTIFICATE))
    data = sign(payload, signer(secret))
    assert opened(data, verifier(public)) == payload
    assert signed_by(data) == verifier(public).keyid
    for other in KEYS:
        if other != name:
            with pytest.raises(SigningError, match="signed by key"):
                opened(data, verifier(KEYS[other][1]))


@pytest.mark.parametrize("name", KEYS)
def test_no_byte_of_a_signed_certificate_can_be_changed(name):
    """Two thousand changes of one byte for each kind of key, drawn, and the last bytes one by one."""
    secret, public = KEYS[name]
    data = sign(encode(statement(CERTIFICATE)), signer(secret))
    key, draw = verifier(public), stream(1, name)
    places = [draw.below(len(data)) for _ in range(2000)] + list(range(len(data) - 150, len(data)))
    for at in places:
        other = (data[at] + 1 + draw.below(255)) % 256
        changed = data[:at] + bytes([other]) + data[at + 1 :]
        with pytest.raises(SigningError):
            opened(changed, key)


def test_truncated_longer_and_huge_files_are_refused():
    secret, public = KEYS["ed25519"]
    data, key = sign(encode(statement(CERTIFICATE)), signer(secret)), verifier(public)
    for cut in (0, 1, 10, len(data) // 2, len(data) - 1):
        with pytest.raises(SigningError):
            opened(data[:cut], key)
    with pytest.raises(SigningError):
        opened(data + b"\n", key)
    with pytest.raises(SigningError, match="at most"):
        opened(b'{"payload":"' + b"A" * (64 << 20) + b'"}\n', key)


def test_keys_that_can_not_be_used_are_named():
    secret, public = KEYS["ed25519"]
    with pytest.raises(SigningError, match="private key in PEM"):
        signer(b"nonsense")
    with pytest.raises(SigningError, match="give the public one"):
        verifier(secret)
    with pytest.raises(SigningError, match="Ed25519 or ECDSA"):
        verifier(pem(rsa.generate_private_key(65537, 2048))[1])
    locked = pem(ed25519.Ed25519PrivateKey.generate(), b"secret")[0]
    with pytest.raises(SigningError, match="password"):
        signer(locked)
    assert signer(locked, b"secret").public_key.keyid
    assert verifier(public).keytype == "ed25519"


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.update(_type="https://in-toto.io/Statement/v0.1"),
        lambda s: s.update(predicateType="x"),
        lambda s: s.update(more=1),
        lambda s: s["subject"].append(dict(s["subject"][0])),
        lambda s: s["subject"].reverse(),
        lambda s: s["subject"][0]["digest"].update(sha256="AB"),
        lambda s: s["subject"][0]["digest"].update(sha256="00" * 32),
        lambda s: s["subject"].clear(),
        lambda s: s["predicate"].pop("target"),
        lambda s: s["predicate"].update(extra=1),
        lambda s: s["predicate"].update(verdicts={}),
        lambda s: s["predicate"].update(outcome="REFUSED"),
        lambda s: s["predicate"].update(issuedAt="x"),
        lambda s: s["predicate"]["effort"].update(seed=2),
        lambda s: s["predicate"].update(resultDigest="00" * 32),
    ],
)
def test_a_statement_that_was_tampered_with_is_refused(change):
    made = json.loads(json.dumps(statement(CERTIFICATE)))
    change(made)
    with pytest.raises(CertificateError):
        read(made)


def test_differences_say_what_changed_since():
    new = RESULT._replace(
        subjects={
            "kueue.x-k8s.io/ClusterQueue/vision": "00" * 32,
            "kueue.x-k8s.io/ClusterQueue/new": "11" * 32,
        },
        rulebook="99" * 32,
        verdicts=({"claim": "guarantees-fit", "subject": "", "outcome": "FAILS", "basis": "proof"},),
    )
    said = [d.why for d in differences(RESULT, new)]
    assert any("ClusterQueue/vision was changed" in why for why in said)
    assert any("ClusterQueue/new was not there" in why for why in said)
    assert any("Cohort/all is gone" in why for why in said)
    assert any("rules are others" in why for why in said)
    assert any("was HOLDS and is FAILS" in why for why in said)
    assert differences(RESULT, RESULT) == []
