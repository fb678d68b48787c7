"""Who answers for a queue, and why its numbers are what they are.

Our convention: the labels or annotations ``policycheck.dev/owner`` and ``policycheck.dev/explanation``;
other keys that people use are parameters of the rule.
"""

from __future__ import annotations

from collections.abc import Mapping

from policycheck.lint.hit import Hit, Related
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.systems.kueue.checks.common import Found, Params, documents, texts
from policycheck.systems.kueue.model import ClusterQueue
from policycheck.wording import join, plural

_AT: Path = ("metadata", "annotations")


def owner_missing(cluster: Cluster, params: Params) -> Found:
    """Queues without owner or explanation.

    Where most queues of the scope say neither, one finding speaks for all: the convention is not
    known there, and a finding for every queue would only be noise.
    """
    owner, explanation = texts(params.get("owner")), texts(params.get("explanation"))
    bare: list[tuple[DocumentId, str, list[str]]] = []
    total = 0
    for identity, facts in documents(cluster, "ClusterQueue"):
        queue = facts.typed
        if not isinstance(queue, ClusterQueue):
            continue
        total += 1
        said = {**queue.labels, **queue.annotations}
        missing = [n for n, keys in (("owner", owner), ("explanation", explanation)) if not _has(said, keys)]
        if missing:
            bare.append((identity, queue.name, missing))
    silent = [one for one in bare if len(one[2]) == 2]
    if len(silent) > 1 and 2 * len(silent) > total:
        names = join(sorted({name for _, name, _ in silent}))
        who = f"{len(silent)} of {plural(total, 'ClusterQueue')} ({names}) do not say"
        rest = tuple(Related(i, _AT, f"nor does ClusterQueue {n}") for i, n, _ in silent[1:4])
        yield Hit(silent[0][0], _AT, {"who": who, "missing": _words(silent[0][2])}, rest)
        bare = [one for one in bare if one not in silent]
    for identity, name, missing in bare:
        yield Hit(identity, _AT, {"who": f"ClusterQueue {name} does not say", "missing": _words(missing)})


def _has(said: Mapping[str, str], keys: tuple[str, ...]) -> bool:
    return any(said.get(key, "").strip() for key in keys)


def _words(missing: list[str]) -> str:
    words = {"owner": "who owns it", "explanation": "why its quotas are what they are"}
    return " and ".join(words[m] for m in missing)
