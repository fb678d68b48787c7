"""What makes the state of a scope undecidable: then nothing about it can be certified."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from policycheck.certify.verdict import PROOF, UNKNOWN, Verdict

if TYPE_CHECKING:
    from policycheck.app.gather import Gathered
    from policycheck.lint.settings import Target as Said
    from policycheck.model.cluster import Cluster, Entry

CLAIM = "state-known"
# Objects of other systems on which queues depend; a job that is refused is one that nobody runs.
_BESIDE = frozenset({"Namespace", "PriorityClass", "LimitRange"})
_JOBS = frozenset({"Workload"})


def doubts(scope: Gathered, cluster: Cluster, said: Said | None) -> Iterator[str]:
    """Why what will be in the cluster is not what is written, or can not be told; sentences with places."""
    yield from _refused(scope, said)
    for key in sorted(cluster.ambiguous):
        if key.group.endswith("kueue.x-k8s.io") and key.kind not in _JOBS:
            yield f"{key} is defined differently in several documents"
    kinds = _kinds()
    for kind, name in sorted(cluster.unseen):
        if kind in kinds:
            yield f"{kind} {name or '(name not known)'} stands in a text that could not be read"
    for report in scope.files:
        if report.failed:
            yield f"{_place(report.file, report.line)}: {report.why}"


def verdict(scope: str, found: Iterable[str]) -> Verdict | None:
    """UNKNOWN for a scope of which something can not be told; None when all can."""
    reasons = tuple(dict.fromkeys(found))
    if not reasons:
        return None
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return Verdict(
        CLAIM,
        "",
        scope,
        UNKNOWN,
        PROOF,
        f"what is written and what will be there may differ: {reasons[0]}{more}",
        evidence={"reasons": list(reasons)},
    )


def _kinds() -> frozenset[str]:
    from policycheck.systems.kueue import KINDS

    return frozenset(kind for _, kind in KINDS) - _JOBS - {"ConfigMap"}


def _refused(scope: Gathered, said: Said | None) -> Iterator[str]:
    """Objects that the API server, a webhook or a strict client refuses or changes on the way in."""
    from policycheck.systems.kueue.target import Target, parse_version
    from policycheck.systems.kueue.validate import problems

    target = Target(parse_version(said.version), said.gates, said.assumed) if said else Target()
    for entry in scope.entries:
        if not _counts(entry):
            continue
        found = [t.message for t in entry.facts.troubles if t.code != "version-deprecated"]
        found += [t.message for t in problems(entry.facts, None, target)]
        found += [t.message for t in scope.texts.get(entry.origin.id, ()) if t.code == "duplicate-key"]
        if found:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            where = _place(entry.origin.id.file, entry.origin.line)
            yield f"{where}: {entry.facts.key}: {found[0]}{more}"


def _counts(entry: Entry) -> bool:
    kind = entry.facts.key.kind
    return kind in _BESIDE or (entry.facts.system == "kueue" and kind not in _JOBS)


def _place(file: str, line: int | None) -> str:
    return f"{file}:{line}" if line else file
