"""The background scan: what a cluster holds now, linted as files are, and written down as policy reports.

What is written is what changed: a report whose digest is the one that is there is left alone, and one whose
object has no findings any more is deleted. Only reports of our own label are ever touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from policycheck.adapters.live import kinds
from policycheck.adapters.live.connect import ApiError, Connection, LiveError
from policycheck.adapters.live.listing import Listing
from policycheck.adapters.live.snapshot import Clusters, Found, as_snapshot, fetch
from policycheck.model.origin import ObjectKey
from policycheck.record import NamedTuple
from policycheck.report.policyreport import DIGEST, FORMS, MANAGED, Form, Subject, reports, stamped

if TYPE_CHECKING:
    from policycheck.app import Sources
    from policycheck.lint.finding import LintResult
    from policycheck.lint.settings import Settings

MOST = 5000  # reports of one scan
_CONFLICTS = frozenset({404, 409})  # the object went, or somebody else wrote: the next scan sees it


class Outcome(NamedTuple):
    """What a scan came to."""

    result: LintResult
    note: str
    written: int
    unchanged: int
    deleted: int
    left: int  # reports beyond ``MOST``
    failed: tuple[str, ...]  # writes that the server refused


def scan(
    connection: Connection,
    sources: Sources,
    settings: Settings,
    *,
    group: str,
    now: int,
) -> Outcome:
    """One scan. ``sources`` are what is read beside the cluster; ``now`` is in seconds since 1970.

    Raises LiveError when the cluster can not be read, or serves no reports of ``group``.
    """
    from policycheck import app

    form = FORMS[group]
    places = _places(connection, form)
    found = fetch(connection)
    folder = connection.context
    held = as_snapshot(folder, found)
    clusters = Clusters([held])
    asked = sources._replace(paths=(folder,), read=clusters.reader(sources.read), tree=clusters)
    result = app.lint(asked, settings)
    subjects, owned = _subjects(found)
    result = result._replace(findings=tuple(one for one in result.findings if one.object not in owned))
    wanted = reports(result, subjects, form)
    unread = frozenset(kind for _, kind in found.refused)
    return _write(connection, places, wanted, now, unread)._replace(result=result, note=held.note)


def _subjects(found: Found) -> tuple[list[Subject], set[ObjectKey]]:
    """What may have a report, and what a controller made: its owner has the finding, and stays."""
    subjects: list[Subject] = []
    owned: set[ObjectKey] = set()
    for served, objects in found.objects.items():
        for value in objects:
            meta = value["metadata"]
            key = ObjectKey(served.group, served.kind, meta.get("namespace") or "", meta["name"])
            if any(owner.get("controller") for owner in meta.get("ownerReferences") or ()):
                owned.add(key)
            else:
                subjects.append(Subject(key, served.api_version, meta["uid"]))
    return subjects, owned


def _places(connection: Connection, form: Form) -> Mapping[str, kinds.Served]:
    """Where reports of both kinds are, by kind. Raises LiveError."""
    group = form.api_version.partition("/")[0]
    served, _ = kinds.discover(connection.get, [(group, form.kind), (group, form.cluster_kind)])
    places = {one.kind: one for one in served.values() if one.api_version == form.api_version}
    if len(places) < 2:
        raise LiveError(
            f"{connection.context} has no {form.api_version}: install its CustomResourceDefinitions, "
            f"or choose another of {', '.join(FORMS)} with --reports"
        )
    return places


def _write(
    connection: Connection,
    places: Mapping[str, kinds.Served],
    wanted: Iterable[dict[str, Any]],
    now: int,
    unread: frozenset[str],
) -> Outcome:
    before = {_where(one): one for kind in places.values() for one in _ours(connection, kind)}
    every = tuple(wanted)
    written = unchanged = deleted = 0
    failed: list[str] = []
    for report in every[:MOST]:
        old = before.pop(_where(report), None)
        if old is not None and _digest(old) == _digest(report):
            unchanged += 1
            continue
        done = _put(connection, places[report["kind"]], stamped(report, now), old)
        written += not done
        failed.extend(filter(None, [done]))
    kept = {_where(report) for report in every[MOST:]}
    for where, old in before.items():
        # Of a kind that could not be read this time nobody knows what became of its findings.
        if where not in kept and (old.get("scope") or {}).get("kind") not in unread:
            done = _delete(connection, places[old["kind"]], old)
            deleted += not done
            failed.extend(filter(None, [done]))
    from policycheck.lint.finding import LintResult

    nothing = LintResult((), (), (), (), (), {}, 0)
    return Outcome(nothing, "", written, unchanged, deleted, len(every[MOST:]), tuple(failed))


def _ours(connection: Connection, served: kinds.Served) -> Iterator[dict[str, Any]]:
    selector = ",".join(f"{key}={value}" for key, value in MANAGED.items())

    def get(path: str, params: Mapping[str, str] | None = None) -> Any:
        return connection.get(path, {**(params or {}), "labelSelector": selector})

    return iter(Listing(get, served))


def _where(report: Mapping[str, Any]) -> tuple[str, str, str]:
    meta = report["metadata"]
    return report["kind"], meta.get("namespace") or "", meta["name"]


def _digest(report: Mapping[str, Any]) -> str:
    return str((report["metadata"].get("annotations") or {}).get(DIGEST, ""))


def _path(served: kinds.Served, meta: Mapping[str, Any]) -> str:
    return served._replace(namespace=meta.get("namespace") or "").path


def _put(
    connection: Connection, served: kinds.Served, report: dict[str, Any], old: Mapping[str, Any] | None
) -> str:
    """Creates or replaces a report; "" or why that was refused."""
    path = _path(served, report["metadata"])
    try:
        if old is None:
            connection.send("POST", path, report)
        else:
            meta = {**report["metadata"], "resourceVersion": old["metadata"]["resourceVersion"]}
            connection.send("PUT", f"{path}/{meta['name']}", {**report, "metadata": meta})
    except ApiError as error:
        return "" if error.code in _CONFLICTS else f"{report['metadata']['name']}: {error}"
    return ""


def _delete(connection: Connection, served: kinds.Served, old: Mapping[str, Any]) -> str:
    meta = old["metadata"]
    only = {"preconditions": {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}}
    try:
        connection.send("DELETE", f"{_path(served, meta)}/{meta['name']}", only)
    except ApiError as error:
        return "" if error.code in _CONFLICTS else f"{meta['name']}: {error}"
    return ""
