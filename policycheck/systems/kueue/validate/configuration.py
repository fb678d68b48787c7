"""The Configuration that the controller refuses to start with.

Source: the Configuration API reference (facts 1a). Both versions; fields that only one of them has
are the schema check's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policycheck.model.amount import QuantityError, quantity
from policycheck.model.origin import Path
from policycheck.systems.core.podspec import items, mapping, selector, text
from policycheck.systems.kueue.configuration import seconds
from policycheck.systems.kueue.validate.names import label_selector
from policycheck.systems.kueue.validate.problem import (
    DUPLICATE,
    FORBIDDEN,
    NOT_SUPPORTED,
    TOO_MANY,
    Problem,
    invalid,
    problem,
)

Value = Mapping[str, Any]
_STRATEGIES = (
    ["LessThanOrEqualToFinalShare"],
    ["LessThanInitialShare"],
    ["LessThanOrEqualToFinalShare", "LessThanInitialShare"],
)
_MOST_LABELS = 20
_LABELS_BY_SOURCE = {"Workload": 2}
FRAMEWORKS = (
    "batch/job",
    "kubeflow.org/mpijob",
    "ray.io/rayjob",
    "ray.io/raycluster",
    "ray.io/rayservice",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "kubeflow.org/jaxjob",
    "trainer.kubeflow.org/trainjob",
    "workload.codeflare.dev/appwrapper",
    "sparkoperator.k8s.io/sparkapplication",
    "pod",
    "deployment",
    "statefulset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
)


def validate(value: Value) -> Iterator[Problem]:
    """Every reason why Kueue's controller would not start with this Configuration."""
    yield from _waiting(mapping(value.get("waitForPodsReady")))
    yield from _fair_sharing(mapping(value.get("fairSharing")))
    yield from _admission_fair_sharing(mapping(value.get("admissionFairSharing")))
    yield from _integrations(value)
    yield from _resources(mapping(value.get("resources")))
    yield from _multikueue(mapping(value.get("multiKueue")))
    yield from _custom_labels(mapping(value.get("metrics")))


def _waiting(value: Value) -> Iterator[Problem]:
    at: Path = ("waitForPodsReady",)
    for field in ("timeout", "recoveryTimeout"):
        if seconds(value.get(field), 0.0) < 0:
            yield invalid((*at, field), "negative", f"{field} is {value[field]}; it has to be 0 or more")
    strategy = mapping(value.get("requeuingStrategy"))
    stamp = text(strategy.get("timestamp"))
    if stamp not in ("", "Eviction", "Creation"):
        say = f"timestamp is {stamp!r}; allowed are Eviction, Creation"
        yield problem(NOT_SUPPORTED, (*at, "requeuingStrategy", "timestamp"), "bad-enum", say)
    for field in ("backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds"):
        count = strategy.get(field)
        if isinstance(count, int) and count < 0:
            say = f"{field} is {count}; it has to be 0 or more"
            yield invalid((*at, "requeuingStrategy", field), "negative", say)


def _fair_sharing(value: Value) -> Iterator[Problem]:
    strategies = [text(s) for s in items(value.get("preemptionStrategies"))]
    if strategies and strategies not in _STRATEGIES:
        allowed = "; ".join(f"[{', '.join(s)}]" for s in _STRATEGIES)
        say = f"preemptionStrategies is [{', '.join(strategies)}]; allowed are {allowed}"
        yield problem(NOT_SUPPORTED, ("fairSharing", "preemptionStrategies"), "bad-strategies", say)


def _admission_fair_sharing(value: Value) -> Iterator[Problem]:
    at: Path = ("admissionFairSharing",)
    if not value:
        return
    if seconds(value.get("usageHalfLifeTime"), 0.0) < 0:
        say = f"usageHalfLifeTime is {value['usageHalfLifeTime']}; it has to be 0 or more"
        yield invalid((*at, "usageHalfLifeTime"), "negative", say)
    if seconds(value.get("usageSamplingInterval"), 300.0) <= 0:
        say = f"usageSamplingInterval is {value['usageSamplingInterval']}; it has to be more than 0"
        yield invalid((*at, "usageSamplingInterval"), "negative", say)
    for name, weight in mapping(value.get("resourceWeights")).items():
        if isinstance(weight, (int, float)) and weight < 0:
            say = f"the weight of {name} is {weight}; it has to be 0 or more"
            yield invalid((*at, "resourceWeights", str(name)), "negative", say)


def _integrations(value: Value) -> Iterator[Problem]:
    integrations, at = mapping(value.get("integrations")), ("integrations", "frameworks")
    frameworks = [text(f) for f in items(integrations.get("frameworks"))]
    for n, name in enumerate(frameworks):
        if name not in FRAMEWORKS:
            from policycheck.model.schema import suggest

            say = f"there is no framework {name!r}{suggest(name, FRAMEWORKS)}"
            yield problem(NOT_SUPPORTED, (*at, n), "unknown-framework", say)
        elif name in frameworks[:n]:
            yield problem(DUPLICATE, (*at, n), "duplicate-item", f"{name} stands twice; remove one")
    field = "managedJobsNamespaceSelector"
    raw = value.get(field)
    yield from label_selector(raw, (field,))
    found = selector(raw)
    if found is None:
        return
    own = text(value.get("namespace")) or "kueue-system"
    for name in ("kube-system", own):
        if found.matches({"kubernetes.io/metadata.name": name}):
            say = (
                f"{field} matches {name}, whose own pods Kueue would then hold back; add "
                f"{{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, {own}]}}"
            )
            yield invalid((field,), "selector-matches-system", say)
            return


def _resources(value: Value) -> Iterator[Problem]:
    at: Path = ("resources",)
    if text(value.get("quotaCheckStrategy")) == "IgnoreUndeclared" and items(
        value.get("excludeResourcePrefixes")
    ):
        say = (
            "excludeResourcePrefixes does not go with quotaCheckStrategy IgnoreUndeclared; remove one of them"
        )
        yield problem(FORBIDDEN, (*at, "excludeResourcePrefixes"), "excluded-undeclared", say)
    seen: set[str] = set()
    for n, raw in enumerate(items(value.get("transformations"))):
        one, where = mapping(raw), (*at, "transformations", n)
        name, strategy = text(one.get("input")), text(one.get("strategy"))
        if name in seen:
            say = f"{name} is transformed twice; write one transformation with all its outputs"
            yield problem(DUPLICATE, (*where, "input"), "duplicate-item", say)
        seen.add(name)
        if strategy not in ("", "Retain", "Replace"):
            say = f"strategy is {strategy!r}; allowed are Retain, Replace"
            yield problem(NOT_SUPPORTED, (*where, "strategy"), "bad-enum", say)
        if strategy == "Replace" and not mapping(one.get("outputs")):
            continue  # drops the resource: allowed, and sometimes wanted
        for output, factor in mapping(one.get("outputs")).items():
            try:
                quantity(factor)
            except QuantityError as error:
                yield invalid((*where, "outputs", str(output)), "bad-quantity", str(error))
    yield from _device_classes(items(value.get("deviceClassMappings")), (*at, "deviceClassMappings"))


def _device_classes(mappings: list[Any], at: Path) -> Iterator[Problem]:
    classes: dict[str, str] = {}
    for n, raw in enumerate(mappings):
        one = mapping(raw)
        name, sources = text(one.get("name")), items(one.get("sources"))
        for m, entry in enumerate(items(one.get("deviceClassNames"))):
            known = classes.setdefault(text(entry), name)
            if known != name and not sources:
                say = f"device class {entry} is mapped by {known} already; a class may be in one mapping only"
                yield problem(DUPLICATE, (*at, n, "deviceClassNames", m), "duplicate-class", say)
        for m, raw_source in enumerate(sources):
            given = [k for k in ("counter", "capacity") if mapping(raw_source).get(k) is not None]
            if len(given) != 1:
                say = (
                    f"a source has {' and '.join(given) or 'neither'}; write exactly one of counter, capacity"
                )
                yield invalid((*at, n, "sources", m), "device-source", say)


def _multikueue(value: Value) -> Iterator[Problem]:
    at: Path = ("multiKueue",)
    for field in ("gcInterval", "workerLostTimeout"):
        if seconds(value.get(field), 0.0) < 0:
            yield invalid((*at, field), "negative", f"{field} is {value[field]}; it has to be 0 or more")
    incremental = value.get("incrementalDispatcherConfig")
    if not isinstance(incremental, dict):
        return
    if text(value.get("dispatcherName")) != "kueue.x-k8s.io/multikueue-dispatcher-incremental":
        say = "incrementalDispatcherConfig needs dispatcherName kueue.x-k8s.io/multikueue-dispatcher-incremental"
        yield invalid((*at, "incrementalDispatcherConfig"), "dispatcher", say)
    step = incremental.get("stepSize")
    if isinstance(step, int) and step < 1:
        say = f"stepSize is {step}; it has to be 1 or more"
        yield invalid((*at, "incrementalDispatcherConfig", "stepSize"), "negative", say)


def _custom_labels(value: Value) -> Iterator[Problem]:
    entries = [mapping(e) for e in items(value.get("customLabels"))]
    at: Path = ("metrics", "customLabels")
    if len(entries) > _MOST_LABELS:
        say = f"customLabels has {len(entries)} entries; at most {_MOST_LABELS} are allowed"
        yield problem(TOO_MANY, at, "too-many", say)
    by_source: dict[str, int] = {}
    for n, entry in enumerate(entries):
        source = text(entry.get("sourceKind"))
        by_source[source] = by_source.get(source, 0) + 1
        most = _LABELS_BY_SOURCE.get(source, 6)
        if source and by_source[source] == most + 1:
            say = f"more than {most} customLabels take their value from {source}; remove some"
            yield problem(TOO_MANY, (*at, n), "too-many", say)
