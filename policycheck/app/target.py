"""The version of each system: as the user says, as something in sight tells, or assumed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered
    from policycheck.lint.settings import Target
    from policycheck.model.origin import DocumentId

ASSUMED = "0.19"
# What may tell a version; a look at every object of a large repository would tell no more.
_TELLING = frozenset(
    {
        "Application",
        "ApplicationSet",
        "ConfigMap",
        "Configuration",
        "CustomResourceDefinition",
        "Deployment",
        "HelmChart",
        "HelmRelease",
        "Kustomization",
    }
)


def targets_of(scope: Gathered, given: tuple[str, ...]) -> Mapping[str, Target]:
    """The target of every system that has versions to tell apart and objects in ``scope``.

    What the user says goes first, gates too; then what is seen; then the newest release that is
    known, said to be assumed.
    """
    from policycheck.lint.settings import Target, parse_target

    found = {target.system: target for target in map(parse_target, given)}
    if "kueue" in found or not any(entry.facts.system == "kueue" for entry in scope.entries):
        return found
    telling = list(_telling(scope))
    if not telling:
        return {**found, "kueue": Target("kueue", ASSUMED, assumed=True)}
    from policycheck.systems.kueue.detect import detect

    seen = detect(telling)
    source = ""
    if not seen.assumed:
        identity, sighting = next(pair for pair in seen.sightings if pair[1].version)
        source = f"{sighting.what} {sighting.text} in {identity.file}"
        source += f" ({seen.conflict})" if seen.conflict else ""
    version = ASSUMED if seen.assumed else seen.version
    return {**found, "kueue": Target("kueue", version, seen.gates, seen.assumed, source)}


def complaints(scope: Gathered, given: tuple[str, ...]) -> Iterator[str]:
    """Targets of systems that there are not: a misspelt one must not look heeded."""
    from policycheck.app.book import PREFIXES
    from policycheck.lint.settings import parse_target
    from policycheck.model.schema import suggest

    known = sorted(PREFIXES.values())
    for target in map(parse_target, (*scope.targets, *given)):
        if target.system not in known:
            yield f"target: no system {target.system!r}{suggest(target.system, known)}"


def remark(target: Target) -> str:
    """What to say of a version that nothing here was held against; "" when there is nothing."""
    if target.system != "kueue":
        return ""
    from policycheck.systems.kueue.target import LATEST, OLDEST, default, parse_version

    version = parse_version(target.version)
    strange = sorted(gate for gate in target.gates if default(gate, LATEST) is None)
    if OLDEST <= version <= LATEST:
        if not strange:
            return ""
        names = ", ".join(strange)
        return f"kueue: no decision or rule here depends on {names}; it is as if not said"
    spelled = [".".join(map(str, one)) for one in (OLDEST, LATEST)]
    near = spelled[0] if version < OLDEST else spelled[1]
    return (
        f"kueue {target.version} is not known here, {spelled[0]} to {spelled[1]} are: "
        f"what is said is what holds for {near}, and may not hold for yours"
    )


def _telling(scope: Gathered) -> Iterator[tuple[DocumentId, Mapping[str, Any]]]:
    for identity, document in scope.documents.items():
        kind = document.value.get("kind")
        if isinstance(kind, str) and kind in _TELLING:
            yield identity, document.value
    for parsed in scope.parsed.values():
        yield from ((other.id, other.value) for other in parsed.others)
