"""One Kueue document to Facts: conformed to v1beta2, read into its type, with what moved where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from policycheck.model.conform import conform, prune
from policycheck.model.facts import Facts, Rename, Trouble
from policycheck.model.origin import ObjectKey, Path
from policycheck.model.schema import Table
from policycheck.source.document import Mend
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.kueue import CONFIG_GROUP, GROUP
from policycheck.systems.kueue.configuration import configuration
from policycheck.systems.kueue.fields import tables
from policycheck.systems.kueue.read import READERS, name, namespace

Value = dict[str, Any]
CONFIG_FILE = "controller_manager_config.yaml"
_CHART_FIELD = "controllerManagerConfigYaml"


@lru_cache(maxsize=1)
def _tables() -> Mapping[tuple[str, str], Table]:
    return tables()


def read(value: Mapping[str, Any], group: str, kind: str, version: str) -> Facts | None:
    """Facts of one document, or None when it turns out not to be Kueue's (a foreign ConfigMap)."""
    if (group, kind) == ("", "ConfigMap"):
        return _config_map(value)
    table = _tables()[group, kind]
    made = conform(value, table, version)
    renames = [*made.renames, *_moves(kind, made.value)]
    troubles = _version(table, version)
    if not any(t.code == "dead-version" for t in troubles):
        troubles += made.troubles  # of a version that nobody serves, its fields say nothing
    if group == CONFIG_GROUP:
        typed = configuration(prune(value), [])
        key = ObjectKey(group, kind, "", "")
        return Facts(
            key, str(value.get("apiVersion")), "kueue", made.value, typed, tuple(renames), tuple(troubles)
        )
    found: list[Trouble] = []
    reader = READERS.get(kind)
    typed_object = reader(made.value, found) if reader else None
    key = ObjectKey(group, kind, namespace(made.value) if table.namespaced else "", name(made.value))
    facts = Facts(key, text(value.get("apiVersion")), "kueue", made.value, typed_object, tuple(renames), ())
    known = {t.path for t in troubles}
    if any(t.code == "dead-version" for t in troubles):
        found = []
    more = [t._replace(path=facts.written(t.path)) for t in found]
    return facts._replace(troubles=(*troubles, *(t for t in more if t.path not in known)))


def _version(table: Table, version: str) -> list[Trouble]:
    """What is to be said of the version itself; a deprecated one is counted by a rule."""
    path: Path = ("apiVersion",)
    newest = Mend(path, "set", f"{table.group}/{table.newest}", is_sure=False)
    if not version:
        say = f"apiVersion is missing; write {table.group}/{table.newest}, or nobody can apply this {table.kind}"
        return [Trouble("missing-field", path, say)]
    if version in table.dead:
        say = f"{table.group}/{version} {table.kind}: {table.dead[version]}"
        return [Trouble("dead-version", path, say, mend=newest)]
    if version not in table.versions:
        served = " and ".join(table.versions)
        say = f"{table.group} has no version {version!r}; served are {served}"
        return [Trouble("dead-version", path, say, mend=newest)]
    return []


def _moves(kind: str, value: Value) -> list[Rename]:
    """Moves between versions that are more than a new name (facts 1a, change table)."""
    spec = value.get("spec")
    if not isinstance(spec, dict):
        return []
    if kind == "ClusterQueue" and isinstance(spec.get("admissionChecks"), list):
        return _checks(spec)
    if kind == "MultiKueueCluster" and isinstance(spec.get("kubeConfig"), dict):
        spec["clusterSource"] = {"kubeConfig": spec.pop("kubeConfig")}
        return [Rename(("spec", "clusterSource", "kubeConfig"), ("spec", "kubeConfig"))]
    if kind == "Workload" and isinstance(spec.get("priorityClassName"), str):
        return _priority(spec)
    return []


def _checks(spec: Value) -> list[Rename]:
    old = items(spec.pop("admissionChecks"))
    if spec.get("admissionChecksStrategy"):
        return []  # the two exclude each other; the API server refuses both
    spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": text(n)} for n in old]}
    base: Path = ("spec", "admissionChecksStrategy", "admissionChecks")
    return [
        Rename(base, ("spec", "admissionChecks")),
        *(Rename((*base, n, "name"), ("spec", "admissionChecks", n)) for n in range(len(old))),
    ]


def _priority(spec: Value) -> list[Rename]:
    source = text(spec.pop("priorityClassSource", ""))
    is_pod = source == "scheduling.k8s.io/priorityclass"
    kind = "PriorityClass" if is_pod else "WorkloadPriorityClass"
    group = "scheduling.k8s.io" if is_pod else GROUP
    spec["priorityClassRef"] = {"group": group, "kind": kind, "name": spec.pop("priorityClassName")}
    return [
        Rename(("spec", "priorityClassRef", "name"), ("spec", "priorityClassName")),
        Rename(("spec", "priorityClassRef", "kind"), ("spec", "priorityClassSource")),
    ]


def _config_map(value: Mapping[str, Any]) -> Facts | None:
    """The Configuration that a ConfigMap carries as text."""
    for key, raw in mapping(value.get("data")).items():
        found = _configuration_text(raw, ("data", key), text(value.get("apiVersion")))
        if found is not None:
            return found
    return None


def read_values(value: Mapping[str, Any]) -> Facts | None:
    """The Configuration in values for Kueue's chart, or None.

    Chart values have no kind; a subchart's are below its name, Flux and Argo CD hold theirs in their
    own objects. Source: the chart's ``managerConfig.controllerManagerConfigYaml``.
    """
    for at, values in _all_values(value):
        for path, holder in ((at, values), *(((*at, str(k)), mapping(v)) for k, v in values.items())):
            raw = mapping(holder.get("managerConfig")).get(_CHART_FIELD)
            where: Path = (*path, "managerConfig", _CHART_FIELD)
            found = _configuration_text(raw, where, text(value.get("apiVersion")))
            if found is not None:
                return found
    return None


def _all_values(value: Mapping[str, Any]) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Where values may be, in a values file or in what installs a chart."""
    if not value.get("kind"):
        yield (), value
        return
    spec = mapping(value.get("spec"))
    holders: list[tuple[Path, Mapping[str, Any]]] = [
        (("spec",), spec),
        (("spec", "source", "helm"), mapping(mapping(spec.get("source")).get("helm"))),
    ]
    for n, source in enumerate(items(spec.get("sources"))):
        holders.append((("spec", "sources", n, "helm"), mapping(mapping(source).get("helm"))))
    for at, holder in holders:
        for field in ("values", "valuesObject", "valuesContent"):
            held = holder.get(field)
            if isinstance(held, str):
                held = _values_text(held)
            if isinstance(held, dict):
                yield (*at, field), held


def _values_text(raw: str) -> object:
    from policycheck.source.text import TextError

    if _CHART_FIELD not in raw:
        return None
    try:
        return next((d for d in _parsed(raw) if isinstance(d, dict)), None)
    except TextError:
        return None  # whoever installs the chart refuses it; it is no configuration of ours


def _parsed(raw: str) -> list[Any]:
    """The values of a text; raises TextError."""
    from policycheck.source.yamldoc import load_values

    return [value for _, value in load_values("text", raw.encode())]


def _configuration_text(raw: object, at: Path, api_version: str) -> Facts | None:
    """The Configuration that stands as text at ``at``.

    Paths go on inside the text: (*at, "metrics", "bindAddress").
    """
    if not isinstance(raw, str) or CONFIG_GROUP not in raw:
        return None
    from policycheck.source.text import TextError

    try:
        documents = _parsed(raw)
    except TextError as error:
        say = f"the Configuration in it cannot be read ({error}): Kueue's controller does not start with it"
        key = ObjectKey(CONFIG_GROUP, "Configuration", "", "")
        troubles = (Trouble("wrong-type", at, say),)
        return Facts(key, api_version, "kueue", {}, None, (Rename((), at),), troubles)
    for inner in documents:
        group, _, version = text(mapping(inner).get("apiVersion")).rpartition("/")
        if group == CONFIG_GROUP and inner.get("kind") == "Configuration":
            facts = read(inner, group, "Configuration", version)
            if facts is not None:
                return _embedded(facts, at, api_version)
    return None


def _embedded(facts: Facts, at: Path, api_version: str) -> Facts:
    """``facts`` of a document that is written as text at ``at`` of another."""
    renames = tuple(Rename(r.new, at + r.written) for r in facts.renames)
    troubles = tuple(t._replace(path=at + t.path) for t in facts.troubles)
    return facts._replace(api_version=api_version, renames=(Rename((), at), *renames), troubles=troubles)
