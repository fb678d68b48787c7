"""Whether a certificate still counts: signature, validity, digests, hardware, and every verdict once more.

Entry points: ``opened(data, key, unsigned=...)`` reads it, ``verify(certificate, sources, settings, ...)`` holds it
against a configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from policycheck.app.certify import (
    Options,
    Prepared,
    Watch,
    chosen_claims,
    once,
    prepare,
    result_of,
    verdicts_of,
)
from policycheck.app.gather import Sources
from policycheck.app.subjects import INVENTORY
from policycheck.certify.canonical import MOST_BYTES, CanonicalError, decode, digest
from policycheck.certify.certificate import (
    Certificate,
    CertificateError,
    Difference,
    Result,
    differences,
    holds_at,
    read,
)
from policycheck.certify.verdict import CERTIFIED
from policycheck.report.verified import Verified

if TYPE_CHECKING:
    from policycheck.lint.settings import Settings
    from policycheck.source.document import FileReport

_EFFORT = ("claims", "scenarios", "seed")
_MOST_SCENARIOS = 1_000_000
_SEVERITIES = ("error", "warning", "info", "off")
_MOST_SAME = 3  # verdicts on other evidence that are named
# What may differ without harm when all verdicts come out the same.
_NOTES = frozenset({"policycheck", "more-hardware", "rule-stricter", "rule-new", "evidence"})


class Opened(NamedTuple):
    """A certificate whose text is whole, and the key that signed it; "" for none."""

    certificate: Certificate
    signed_by: str


class Terms(NamedTuple):
    """How it is verified. ``live``: nodes of the inventory that is given replace those in the paths, and are held
    against the hardware that is needed rather than against the bytes of a file.
    """

    now: str
    promises: str = ""
    live: bool = False
    late: Callable[[], bool] = lambda: False
    processes: int = 1


class RefusedError(ValueError):
    """It can not be relied on; ``what`` is the kind of reason."""

    def __init__(self, what: str, why: str) -> None:
        super().__init__(why)
        self.what = what


def opened(data: bytes, key: bytes | None, *, unsigned: bool = False) -> Opened:
    """The certificate in a file. ``key`` is the public key in PEM. Raises RefusedError, and SigningError for a
    key that is none, or when the libraries are missing.
    """
    from policycheck.certify import signing

    if len(data) > MOST_BYTES:
        raise RefusedError("read", f"it has more than {MOST_BYTES:,} bytes; a certificate has not")
    if not signing.is_envelope(data):
        if not unsigned:
            raise RefusedError(
                "signature", "it is not signed, or is no certificate (--unsigned accepts a bare one)"
            )
        return Opened(_certificate(data[:-1] if data.endswith(b"\n") else data), "")
    if key is None:
        raise RefusedError("signature", f"it is signed; give the public key{_claimed(data)}")
    public = signing.verifier(key)
    try:
        payload = signing.opened(data, public)
    except signing.MissingError:
        raise
    except signing.SigningError as error:
        raise RefusedError("signature", str(error)) from error
    return Opened(_certificate(payload), public.keyid)


def _claimed(data: bytes) -> str:
    from policycheck.certify import signing

    try:
        return f" (it claims to be of key {signing.signed_by(data)[:16]}...)"
    except signing.SigningError as error:
        return f"; besides, {error}"


def _certificate(payload: bytes) -> Certificate:
    try:
        return read(decode(payload))
    except CanonicalError as error:
        raise RefusedError("read", f"it is {error}") from error
    except CertificateError as error:
        raise RefusedError("read", str(error)) from error


def refused(error: RefusedError) -> Verified:
    """The answer for what can not be relied on at all."""
    return Verified(None, (Difference(error.what, "", str(error)),))


def standing(found: Opened, now: str) -> Verified:
    """Signature and validity alone. Raises CertificateError when ``now`` is no time."""
    return Verified(found.certificate, tuple(_standing(found.certificate, now)), (), found.signed_by)


def _standing(certificate: Certificate, now: str) -> Iterator[Difference]:
    why = holds_at(certificate, now)
    if why:
        yield Difference("validity", "", why)
    if certificate.result.outcome != CERTIFIED:
        yield Difference("read", "", f"it says {certificate.result.outcome}, and only {CERTIFIED} is issued")


def verify(
    found: Opened, sources: Sources, settings: Settings, terms: Terms, watch: Watch = lambda _: None
) -> tuple[Verified, tuple[FileReport, ...]]:
    """All of it. Raises PromisesError, TargetError and CertificateError (for a time that is none)."""
    old = found.certificate.result
    refusals = list(_standing(found.certificate, terms.now))
    watch("reading the configuration")
    sources = once(sources)
    prepared, files = prepare(sources, settings, terms.promises, live=terms.live)
    refusals += [
        Difference("input", report.file, f"{report.file} can not be read: {report.why}")
        for report in files
        if report.failed
    ]
    try:
        options, one = _options(old, terms), _one(prepared)
    except RefusedError as error:
        refusals.append(Difference(error.what, "", str(error)))
        return Verified(found.certificate, tuple(refusals), (), found.signed_by), files
    claims = chosen_claims(options)
    verdicts = verdicts_of(one, claims, options, watch)
    new = result_of(one, sources, settings, options, claims, verdicts)
    notes: list[Difference] = []
    for what in _few(list(_changes(old, new, one, live=terms.live))):
        (notes if what.what in _NOTES else refusals).append(_plain(what))
    answer = Verified(
        found.certificate, tuple(refusals), tuple(notes), found.signed_by, verdicts, replayed=True
    )
    return answer, files


def _one(prepared: tuple[Prepared, ...]) -> Prepared:
    if len(prepared) != 1:
        names = ", ".join(one.label for one in prepared)
        what = f"these have queues: {names}; give one PATH" if prepared else "no queue in what was given"
        raise RefusedError("scope", f"a certificate is about one cluster; {what}")
    return prepared[0]


def _options(old: Result, terms: Terms) -> Options:
    """What was tested, as it is recorded. Raises RefusedError for what can not be."""
    from policycheck.certify.claims import UnknownClaimError, find

    claims, scenarios, seed = (old.effort.get(name) for name in _EFFORT)
    if (
        not isinstance(claims, list)
        or not (isinstance(scenarios, int) and isinstance(seed, int))
        or min(scenarios, seed) < 0
        or set(old.effort) != set(_EFFORT)
    ):
        raise RefusedError("effort", "what was tested is not recorded as this version records it")
    if scenarios > _MOST_SCENARIOS:
        raise RefusedError(
            "effort", f"it asks for {scenarios:,} scenarios a verdict; {_MOST_SCENARIOS:,} are played"
        )
    try:
        names = tuple(find(str(name)).name for name in claims)
    except UnknownClaimError as error:
        raise RefusedError("effort", f"it was tested for what is no claim here: {error}") from error
    if not names:
        raise RefusedError("effort", "no claim was tested")
    accepted = frozenset(map(str, old.accepted))
    return Options(names, scenarios, seed, accepted, terms.promises, terms.late, terms.processes)


# -- what changed -------------------------------------------------------------------------------


def _changes(old: Result, new: Result, one: Prepared, *, live: bool) -> Iterator[Difference]:
    if live:  # what the nodes are is compared, not how they were written down
        old, new = _without_inventory(old), _without_inventory(new)
    moved = old.hardware != new.hardware or old.version != new.version
    for what in differences(old, new):
        if what.what == "rulebook":
            continue  # told rule by rule
        if what.what == "verdict" and moved and what.why.endswith("on other evidence"):
            yield what._replace(what="evidence")
        elif what.what == "promises":
            yield what
            yield from _owners(old.promises.get("owners"), new.promises.get("owners", {}))
        elif what.what == "effort":
            yield from _effort(old, new, what)
        else:
            yield what
    if old.rulebook != digest(old.rules):
        yield Difference("rule", "", "its rulebook is not that of the rules in it")
    here = [name for name in old.owners if name in new.subjects]  # what is gone is told already
    yield from _owners({name: old.owners[name] for name in here}, new.owners)
    yield from _rules(old.rules, new.rules)
    yield from _hardware(old, new, one)


def _few(found: list[Difference]) -> list[Difference]:
    """Verdicts that rest on something else now and come out the same, in one sentence where they are many."""
    same = [one for one in found if one.what == "evidence"]
    if len(same) <= _MOST_SAME:
        return found
    told = Difference("evidence", "", f"{len(same)} verdicts come out the same on other evidence")
    return [told if one is same[0] else one for one in found if one.what != "evidence" or one is same[0]]


def _plain(what: Difference) -> Difference:
    """With the kind that is told."""
    kinds = {"more-hardware": "inventory", "evidence": "verdict"}
    kind = "rule" if what.what.startswith("rule") else kinds.get(what.what, what.what)
    return what._replace(what=kind)


def _without_inventory(result: Result) -> Result:
    files = {name: sha for name, sha in result.files.items() if not name.startswith(INVENTORY)}
    return result._replace(files=files)


def _effort(old: Result, new: Result, what: Difference) -> Iterator[Difference]:
    """Claims that came to be since are none that were promised to be tested."""
    if {**old.effort, "claims": []} != {**new.effort, "claims": []}:
        yield what


def _rules(old: Mapping[str, Any], new: Mapping[str, str]) -> Iterator[Difference]:
    for rule in sorted({*old, *new}):
        before, after = str(old.get(rule, "")).split(), new.get(rule, "").split()
        if before == after:
            continue
        if not before:
            yield Difference("rule-new", rule, f"rule {rule} is new")
        elif not after:
            yield Difference("rule-retired", rule, f"rule {rule} is gone")
        elif len(before) != 3:
            yield Difference("rule", rule, f"what is recorded of rule {rule} can not be read")
        else:
            yield _rule(rule, before, after)


def _rule(rule: str, before: list[str], after: list[str]) -> Difference:
    if after[1] == "deprecated" != before[1]:
        return Difference("rule-retired", rule, f"rule {rule} is retired")
    if before[0] != after[0]:
        told = f"rule {rule} was {before[0]} and is {after[0]}"
        known = before[0] in _SEVERITIES and after[0] in _SEVERITIES
        if known and _SEVERITIES.index(after[0]) < _SEVERITIES.index(before[0]):
            return Difference("rule-stricter", rule, told)
        return Difference("rule-relaxed", rule, f"{told}: it was relaxed")
    return Difference("rule-changed", rule, f"rule {rule} says something else")


def _owners(before: Any, after: Mapping[str, Any]) -> Iterator[Difference]:
    """Teams, or objects, whose owner left or is another."""
    for name, owner in sorted(before.items()) if isinstance(before, dict) else ():
        if name not in after:
            yield Difference("owner", name, f"{name} has no owner any more; it was {owner}")
        elif after[name] != owner:
            yield Difference("owner", name, f"{name} was owned by {owner}, and is by {after[name]}")


def _hardware(old: Result, new: Result, one: Prepared) -> Iterator[Difference]:
    from policycheck.certify.needed import NeededError, missing
    from policycheck.certify.needed import read as groups

    try:
        short = missing(groups(old.inventory), one.cluster.inventory)
    except NeededError as error:
        yield Difference("inventory", "", str(error))
        return
    for what in short:
        yield Difference(what.what, what.name, what.why)
    if not short and old.hardware != new.hardware:
        before, after = (sum(int(group["nodes"]) for group in result.inventory) for result in (old, new))
        yield Difference(
            "more-hardware",
            "",
            f"all nodes that are needed are there: {before} of the {after} that there are now",
        )
