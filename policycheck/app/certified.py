"""Only what is certified is admitted: certificates as the list of what may exist.

The API server takes one object at a time, so between an old configuration and a new one there are mixtures. An
object is admitted when it is a subject of the new certificate as it is there, and everything else that exists is
a subject of the new or of an old one. That the mixture breaks no rule is for the judge to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from policycheck.app.reach import is_work
from policycheck.app.subjects import is_subject
from policycheck.certify import normal
from policycheck.certify.certificate import Certificate, holds_at
from policycheck.certify.verdict import CERTIFIED
from policycheck.model.cluster import Cluster
from policycheck.model.facts import Facts
from policycheck.model.origin import DocumentId
from policycheck.record import NamedTuple
from policycheck.systems.registry import tables
from policycheck.wording import some

_SHOWN = 3


class Standing(NamedTuple):
    """The certificates that count: the newest, by when it was issued, and the others."""

    new: Certificate
    old: tuple[Certificate, ...] = ()

    @property
    def digest(self) -> str:
        """What the newest is known by."""
        return self.new.result.digest


class NotCertified(NamedTuple):
    """Why an object is not admitted."""

    why: str
    name: str = ""  # of the object that is in the way, "" for the one that is asked about


def standing(certificates: Iterable[Certificate]) -> Standing:
    """The newest certificate and the others. Raises ValueError when there is none, or one that certifies nothing."""
    found = sorted(certificates, key=lambda one: (one.issued, one.until, one.result.digest))
    if not found:
        raise ValueError("no certificate is given")
    for one in found:
        if one.result.outcome != CERTIFIED:
            raise ValueError(f"one says {one.result.outcome}; only what is {CERTIFIED} can be relied on")
    return Standing(found[-1], tuple(found[:-1]))


class Register:
    """Which objects of a cluster are certified. Not for several threads at once."""

    def __init__(self) -> None:
        self._tables = tables()
        self._digests: dict[
            DocumentId, tuple[str, str, str]
        ] = {}  # origin's digest, name, digest of the form
        self._strangers: tuple[object, frozenset[str]] | None = None

    def digest(self, facts: Facts) -> str:
        """The digest of an object as certificates have it."""
        return normal.digest_of(facts, self._tables.get((facts.key.group, facts.key.kind)))

    def is_about(self, facts: Facts) -> bool:
        """Whether objects of this kind have to be certified: configuration, not work."""
        return is_subject(facts) and not is_work(facts)

    def refusal(
        self, facts: Facts, cluster: Cluster, generation: object, certificates: Standing, now: str
    ) -> NotCertified | None:
        """Why the object may not be created or changed so; None when it may, or is none that certificates are about."""
        if not self.is_about(facts):
            return None
        name = normal.name_of(facts)
        every = (certificates.new, *certificates.old)
        if _is_beside(facts) and not any(name in one.result.subjects for one in every):
            return None
        over = holds_at(certificates.new, now)
        if over:
            return NotCertified(f"the certificate does not count: {over}")
        wanted = certificates.new.result.subjects.get(name)
        if wanted is None:
            return NotCertified(f"{name} is no subject of the certificate")
        if wanted != self.digest(facts):
            return NotCertified(f"{name} is certified with other contents")
        others = self._unknown(cluster, generation, certificates) - {name}
        if others:
            verb = "is" if len(others) == 1 else "are"
            return NotCertified(
                f"{some(sorted(others), _SHOWN)} {verb} in the cluster and certified neither now nor before",
                min(others),
            )
        return None

    def _unknown(self, cluster: Cluster, generation: object, certificates: Standing) -> frozenset[str]:
        """Names of live objects that no certificate has as they are."""
        key = (generation, certificates.digest, tuple(one.result.digest for one in certificates.old))
        if self._strangers is None or self._strangers[0] != key:
            known = [one.result.subjects for one in (certificates.new, *certificates.old)]
            self._strangers = (key, frozenset(self._uncertified(cluster, known)))
        return self._strangers[1]

    def _uncertified(self, cluster: Cluster, known: Sequence[Mapping[str, str]]) -> Iterable[str]:
        for identity, entry in cluster.entries.items():
            if not is_subject(entry.facts) or _is_beside(entry.facts):
                continue
            held = self._digests.get(identity)
            if held is None or held[0] != entry.origin.digest:
                name = normal.name_of(entry.facts)
                held = self._digests[identity] = (entry.origin.digest, name, self.digest(entry.facts))
            if not any(subjects.get(held[1]) == held[2] for subjects in known):
                yield held[1]


def _is_beside(facts: Facts) -> bool:
    """Objects of Kubernetes itself, of which every cluster has some that nobody certifies."""
    return facts.system != "kueue"
