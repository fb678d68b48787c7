"""Certificates as files: when they count, and who signs them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from policycheck.adapters.cli import common

if TYPE_CHECKING:
    from securesystemslib.signer import CryptoSigner

    from policycheck.report.certify import Certified

PASSWORD = "POLICYCHECK_KEY_PASSWORD"  # noqa: S105 - the name of the variable that has it
_FORM = "%Y-%m-%dT%H:%M:%SZ"


class Order(NamedTuple):
    """A certificate that was asked for. ``by`` is None for one without a signature."""

    file: str
    issued: str
    until: str
    by: CryptoSigner | None


def now(environ: Mapping[str, str] | None = None) -> str:
    """The time in UTC, to the second; SOURCE_DATE_EPOCH makes a run repeatable."""
    environ = os.environ if environ is None else environ
    epoch = environ.get("SOURCE_DATE_EPOCH", "")
    at = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    return at.strftime(_FORM)


def time_of(option: str, text: str) -> str:
    """The time as it was written. Raises click.UsageError for what is no time."""
    try:
        found = datetime.strptime(text, _FORM).replace(tzinfo=UTC)
    except ValueError:
        found = None
    if found is None or found.strftime(_FORM) != text:
        raise common.usage_error(f"{option} is {text!r}; write it in UTC, as in 2026-01-31T12:00:00Z")
    return text


def order(options: Mapping[str, Any]) -> Order | None:
    """What is to be issued; None for nothing. The key is read now, before anything is tested.

    Raises click.UsageError and click.ClickException.
    """
    if not options["certificate"]:
        if options["sign"]:
            raise common.usage_error("--sign needs --certificate FILE: where to write what is signed")
        if options["issued_at"]:
            time_of("--issued-at", options["issued_at"])
        _length(options["valid_for"])
        return None
    issued = time_of("--issued-at", options["issued_at"]) if options["issued_at"] else now()
    try:
        until = datetime.strptime(issued, _FORM).replace(tzinfo=UTC) + _length(options["valid_for"])
    except OverflowError:
        raise common.usage_error(f"--valid-for {options['valid_for']} ends after the year 9999") from None
    return Order(options["certificate"], issued, until.strftime(_FORM), _signer(options["sign"]))


def _length(text: str) -> timedelta:
    from policycheck.simulate.period import PeriodError, parse

    try:
        found = parse(text)
    except PeriodError as error:
        raise common.usage_error(f"--valid-for: {error}") from error
    if found < 1000:
        raise common.usage_error(f"--valid-for is {text}; a certificate counts for a second at least")
    return timedelta(seconds=found // 1000)


def _signer(key: str | None) -> CryptoSigner | None:
    if not key:
        return None
    password = os.environ.get(PASSWORD)
    with common.errors_of_use():
        from policycheck.certify.signing import signer

        return signer(read(key, "--sign"), password.encode() if password else None)


def read(file: str, option: str, most: int = 1 << 20) -> bytes:
    """The bytes of a small file; one more than ``most`` of a larger one. Raises click.UsageError."""
    try:
        with open(file, "rb") as held:  # noqa: PTH123 - as everywhere here
            return held.read(most + 1)
    except OSError as error:
        raise common.usage_error(f"{option} {file}: {error.strerror or error}") from error


def issue(asked: Order, done: Sequence[Certified]) -> None:
    """Writes the certificate, or says why there is none. Raises click.UsageError."""
    from policycheck.certify.canonical import encode
    from policycheck.certify.certificate import Certificate, statement
    from policycheck.certify.signing import sign
    from policycheck.certify.verdict import CERTIFIED

    if len(done) > 1:
        names = ", ".join(one.scope or "(no name)" for one in done)
        raise common.usage_error(f"a certificate is about one cluster; here are {names}: give one PATH")
    (one,) = done
    left = untested(one)
    if left:
        raise common.usage_error(f"a certificate is about all required claims; not tested: {', '.join(left)}")
    if one.result.outcome != CERTIFIED:
        common.say(f"no certificate is written: the outcome is {one.result.outcome}{_old(asked.file)}\n")
        return
    with common.errors_of_use():
        payload = encode(statement(Certificate(one.result, asked.issued, asked.until)))
        data = payload + b"\n" if asked.by is None else sign(payload, asked.by)
    _write(asked.file, data)
    how = (
        f"signed by key {asked.by.public_key.keyid[:16]}..."
        if asked.by
        else "not signed (--sign KEY signs it)"
    )
    common.say(f"wrote {asked.file}: counts until {asked.until}, {how}\n")


def untested(one: Certified) -> list[str]:
    """Required claims that were left out."""
    from policycheck.certify.claims import claims
    from policycheck.certify.claims.common import required

    tested = set(one.result.effort["claims"])
    known = [claim.name for claim in claims()]
    return [name for name in known if required(one.promises, name) and name not in tested]


def _old(file: str) -> str:
    return f"; {file} is left as it was" if os.path.exists(file) else ""  # noqa: PTH110 - as everywhere here


def _write(file: str, data: bytes) -> None:
    """All of it or nothing: a certificate that is cut off is refused, and looks like an attack."""
    made = f"{file}.new"
    try:
        with open(made, "wb") as held:  # noqa: PTH123 - as everywhere here
            held.write(data)
        os.replace(made, file)  # noqa: PTH105 - as everywhere here
    except OSError as error:
        raise common.usage_error(f"can not write {file}: {error.strerror}") from error
