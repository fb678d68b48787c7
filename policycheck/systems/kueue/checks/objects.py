"""Objects as such: kinds that do not exist, names that are missing, versions on their way out."""

from __future__ import annotations

import re
from collections import Counter

from policycheck.lint.hit import Hit, Related
from policycheck.model.cluster import Cluster
from policycheck.model.facts import Facts
from policycheck.model.origin import DocumentId, Path
from policycheck.source.document import Change
from policycheck.systems.core.mend import at, moved
from policycheck.systems.core.podspec import mapping
from policycheck.systems.kueue import CONFIG_GROUP, GROUP, KINDS
from policycheck.systems.kueue.checks.common import Found, Params, documents, near
from policycheck.systems.kueue.model import Configuration
from policycheck.systems.kueue.validate.names import subdomain
from policycheck.wording import plural

_OWN_KINDS = frozenset(kind for group, kind in KINDS if group == GROUP)
_DEPRECATED = ("v1beta1",)
_NEWEST = "v1beta2"
_NEAR_GROUP = re.compile(r"(?:^|\.)kueue\.|kueue\.x-k8s\.io")


def _version(facts: Facts) -> str:
    """The version as written, also of a Configuration that stands as text in something else."""
    written = facts.typed.api_version if isinstance(facts.typed, Configuration) else facts.api_version
    return written.rpartition("/")[2]


def deprecated_versions(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Objects in a version that is served and deprecated: one finding for all."""
    old: list[tuple[DocumentId, Facts]] = []
    for group, kind in sorted(cluster.index.kinds):
        if group in (GROUP, CONFIG_GROUP):
            old.extend(d for d in documents(cluster, kind, group) if _version(d[1]) in _DEPRECATED)
    reported = [d for d in old if cluster.entries[d[0]].origin.reported]
    if not reported:
        return
    reported.sort(key=lambda d: d[0])
    kinds = Counter(facts.key.kind for _, facts in reported)
    listed = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    rest = tuple(Related(i, ("apiVersion",), f"{f.key} too") for i, f in reported[1:4])
    verb = "is" if len(reported) == 1 else "are"
    values = {"objects": f"{plural(len(reported), 'object')} ({listed}) {verb}", "versions": "v1beta1"}
    made = [_converted(identity, facts) for identity, facts in reported]
    changes = tuple(change for one in made for change in one) if all(made) else ()
    yield Hit(reported[0][0], ("apiVersion",), values, rest, raw=True, changes=changes)


def _converted(identity: DocumentId, facts: Facts) -> tuple[Change, ...]:
    """What writes an object in the newest version, by what reading it did; () where that is more than names."""
    if facts.key.group != GROUP or facts.key.kind == "Workload":
        return ()
    changes = [Change(identity, ("apiVersion",), "set", f"{GROUP}/{_NEWEST}")]
    whole: list[Path] = []  # what was taken over with all that is in it
    for rename in facts.renames:
        if any(rename.written[: len(path)] == path for path in whole):
            continue
        if rename.new == rename.written:
            changes.append(Change(identity, rename.written, "set", at(facts.value, rename.new)))
        elif rename.new[:-1] == rename.written[:-1]:
            changes.append(Change(identity, rename.written, "rename", rename.new[-1]))
        else:
            whole.append(rename.written)
            changes += moved(identity, rename.written, rename.new, at(facts.value, rename.new))
    return tuple(changes)


def unknown_kind(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A kind that Kueue's group does not have, or a kind of Kueue's in a group that is not Kueue's."""
    for identity, entry in cluster.entries.items():
        facts = entry.facts
        group, kind = facts.key.group, facts.key.kind
        if facts.system or not facts.api_version:
            continue
        if group == GROUP and kind and kind not in _OWN_KINDS:
            other = near(kind, _OWN_KINDS, 0.8)
            if other:
                values = {"what": f"{GROUP} has no kind {kind}; did you mean {other}?", "right": other}
                yield Hit(identity, ("kind",), values)
        elif group == GROUP and not kind:
            yield Hit(identity, ("apiVersion",), {"what": "the object has no kind"})
        elif kind in _OWN_KINDS - {"Workload", "Topology"} and _NEAR_GROUP.search(group) and group != GROUP:
            values = {
                "what": f"there is no {kind} in {group}; write {GROUP}",
                "right": f"{GROUP}/{_NEWEST}",
            }
            yield Hit(identity, ("apiVersion",), values)


def bad_name(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """An object of Kueue's without name, or with one that the API server refuses."""
    for group, kind in sorted(cluster.index.kinds):
        if group != GROUP or kind not in _OWN_KINDS:
            continue
        for identity, facts in documents(cluster, kind):
            meta = mapping(facts.value.get("metadata"))
            name = meta.get("name")
            is_part = not meta and "spec" not in facts.value  # a part of an object, as documentation shows it
            if name is None and not meta.get("generateName") and not is_part:
                yield Hit(identity, ("metadata", "name"), {"what": f"the {kind} has no name"})
            elif isinstance(name, str) and (why := subdomain(name)):
                yield Hit(identity, ("metadata", "name"), {"what": f"{name!r} {why}"})


def version_unknown(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """One hit for the scope, at the Configuration or at the first of Kueue's objects.

    Which versions it is about says each rule that names it.
    """
    for group, kinds in ((CONFIG_GROUP, ("Configuration",)), (GROUP, tuple(sorted(_OWN_KINDS)))):
        for identity, _ in (d for kind in kinds for d in documents(cluster, kind, group)):
            if cluster.entries[identity].origin.reported:
                yield Hit(identity, ("apiVersion",))
                return
