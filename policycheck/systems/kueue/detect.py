"""Which Kueue is meant, from what is in sight: images, charts, labels, flags, the Configuration.

Sources: Kueue's installation pages (image ``registry.k8s.io/kueue/kueue``, chart ``kueue``, flag
``--feature-gates``); labels as Helm and Kubernetes recommend them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from policycheck.model.origin import DocumentId, Path
from policycheck.record import NamedTuple
from policycheck.systems.core.podspec import items, labels, mapping, text
from policycheck.systems.kueue import CONFIG_GROUP
from policycheck.systems.kueue.target import Target, TargetError, parse_version

_IMAGE = re.compile(r"(?:^|/)kueue:(v?\d[\w.\-]*)(?:@|\Z)", re.ASCII)
_CHART = re.compile(r"kueue-(v?\d[\w.\-]*)\Z", re.ASCII)
_EXACT = re.compile(r"[=~^v\s]*(\d+\.\d+(?:\.(?:\d+|x|\*))?(?:-[\w.]+)?)\s*\Z", re.ASCII)
_RELEASE = re.compile(r"kubernetes-sigs/kueue\b.*?[/=@]v(\d+\.\d+(?:\.\d+)?)", re.ASCII)
_TAG = re.compile(r"v?(\d+\.\d+(?:\.\d+)?(?:-[\w.\-]+)?)\Z", re.ASCII)
_GATES_FLAG = "--feature-gates"
# What is believed first when several things say different versions.
_RANKS = {"image": 0, "chart": 1, "release": 1, "label": 2, "flag": 3, "configuration": 3}


class Sighting(NamedTuple):
    """One thing that says a version, or gates, or both. ``path`` is in the document as written."""

    what: str  # image | chart | release | label | flag | configuration
    text: str  # what was read
    path: Path
    version: str = ""  # as in 0.19.2; "" when it says none
    gates: Mapping[str, bool] = {}


class Detected(NamedTuple):
    """The version and gates that are seen, and what says so.

    ``assumed`` means that nothing says a version; gates may be known all the same. ``conflict``
    tells of things that say different versions.
    """

    version: str
    assumed: bool
    gates: Mapping[str, bool]
    sightings: tuple[tuple[DocumentId, Sighting], ...]
    conflict: str = ""

    def target(self, default: Target = Target()) -> Target:  # noqa: B008 - immutable
        """The Target, with the version of ``default`` when none was seen."""
        version = default.version if self.assumed else parse_version(self.version)
        return Target(version, {**default.gates, **self.gates}, self.assumed)


def detect(documents: Iterable[tuple[DocumentId, Mapping[str, Any]]]) -> Detected:
    """What all ``documents`` say together; their order does not matter."""
    found = [(identity, one) for identity, value in documents for one in sightings(value)]
    found.sort(key=lambda pair: (_RANKS[pair[1].what], pair[0], pair[1].path))
    gates: dict[str, bool] = {}
    for _, one in reversed(found):
        gates.update(one.gates)
    versions = [(identity, one) for identity, one in found if one.version]
    if not versions:
        return Detected("", True, gates, tuple(found))
    best = versions[0][1]
    others = [(i, s) for i, s in versions if parse_version(s.version) != parse_version(best.version)]
    conflict = ""
    if others:
        identity, other = others[0]
        conflict = (
            f"the {best.what} {best.text!r} says Kueue {best.version}, the {other.what} {other.text!r} in "
            f"{identity.file} says {other.version}; {best.version} is taken: set --target kueue=VERSION to decide"
        )
    return Detected(best.version, False, gates, tuple(found), conflict)


def sightings(value: Mapping[str, Any]) -> Iterator[Sighting]:
    """Everything one document says of Kueue's version and gates; any YAML will do."""
    kind = text(value.get("kind"))
    group = text(value.get("apiVersion")).rpartition("/")[0]
    yield from _labels(value)
    if kind == "Deployment":
        yield from _deployment(value)
    elif group == CONFIG_GROUP or kind == "ConfigMap":
        yield from _configuration(value)
    elif kind in ("HelmRelease", "Application", "HelmChart"):
        yield from _released(mapping(value.get("spec")))
    elif not group and not kind:
        yield from _chart(value)
        yield from _values(value, ())
    for field in ("resources", "bases"):
        for n, entry in enumerate(items(value.get(field))):
            match = _RELEASE.search(entry) if isinstance(entry, str) else None
            if match:
                yield Sighting("release", entry, (field, n), match[1])


def _version(raw: object, pattern: re.Pattern[str]) -> str:
    """The version in ``raw``, when it is one of Kueue's (a tag such as ``main`` is none)."""
    match = pattern.search(text(raw))
    found = match[1].removeprefix("v").replace(".x", "").replace(".*", "") if match else ""
    try:
        parse_version(found)
    except TargetError:
        return ""
    return found


def _labels(value: Mapping[str, Any]) -> Iterator[Sighting]:
    found = labels(mapping(value.get("metadata")).get("labels"))
    at: Path = ("metadata", "labels")
    chart = found.get("helm.sh/chart", "")
    if version := _version(chart, _CHART):
        yield Sighting("chart", chart, (*at, "helm.sh/chart"), version)
    key = "app.kubernetes.io/version"
    if found.get("app.kubernetes.io/name") == "kueue" and (version := _version(found.get(key), _TAG)):
        yield Sighting("label", found[key], (*at, key), version)


def _deployment(value: Mapping[str, Any]) -> Iterator[Sighting]:
    spec = mapping(mapping(mapping(value.get("spec")).get("template")).get("spec"))
    for n, raw in enumerate(items(spec.get("containers"))):
        container = mapping(raw)
        at: Path = ("spec", "template", "spec", "containers", n)
        image = text(container.get("image"))
        if not re.search(r"(?:^|/)kueue(?::|@|\Z)", image):
            continue
        if version := _version(image, _IMAGE):
            yield Sighting("image", image, (*at, "image"), version)
        arguments = [text(a) for a in items(container.get("args"))]
        for m, argument in enumerate(arguments):
            name, _, given = argument.partition("=")
            if name == _GATES_FLAG:
                given = given or (arguments[m + 1] if m + 1 < len(arguments) else "")
                yield Sighting("flag", argument, (*at, "args", m), gates=_flag(given))


def _flag(raw: str) -> dict[str, bool]:
    """``A=true,B=false``."""
    pairs = (part.partition("=") for part in raw.split(","))
    states = {"true": True, "false": False}
    return {k.strip(): states[v.strip().lower()] for k, _, v in pairs if v.strip().lower() in states}


def _configuration(value: Mapping[str, Any]) -> Iterator[Sighting]:
    from policycheck.systems.kueue.facts import read
    from policycheck.systems.kueue.model import Configuration

    group, _, version = text(value.get("apiVersion")).rpartition("/")
    facts = read(value, group, text(value.get("kind")), version)
    if facts is not None and isinstance(facts.typed, Configuration) and facts.typed.feature_gates:
        path = facts.written(("featureGates",))
        yield Sighting("configuration", "featureGates", path, gates=facts.typed.feature_gates)


def _released(spec: Mapping[str, Any]) -> Iterator[Sighting]:
    """A chart as Flux, Argo CD or k3s install it, with the values they hand to it."""
    flux = mapping(mapping(spec.get("chart")).get("spec"))
    places: list[tuple[Path, Mapping[str, Any], str]] = [
        (("spec", "chart", "spec"), flux, "version"),
        (("spec",), spec, "version"),
        (("spec", "source"), mapping(spec.get("source")), "targetRevision"),
    ]
    for n, source in enumerate(items(spec.get("sources"))):
        places.append((("spec", "sources", n), mapping(source), "targetRevision"))
    for at, holder, field in places:
        chart = text(holder.get("chart"))
        if chart.rpartition("/")[2] == "kueue" and (version := _version(holder.get(field), _EXACT)):
            yield Sighting("chart", f"{chart} {text(holder.get(field))}", (*at, field), version)
    yield from _values(mapping(spec.get("values")), ("spec", "values"))


def _chart(value: Mapping[str, Any]) -> Iterator[Sighting]:
    """A chart's own description: itself, or what it depends on."""
    if value.get("name") == "kueue" and (version := _version(value.get("appVersion"), _TAG)):
        yield Sighting("chart", text(value.get("appVersion")), ("appVersion",), version)
    for n, raw in enumerate(items(value.get("dependencies"))):
        one = mapping(raw)
        if one.get("name") == "kueue" and (version := _version(one.get("version"), _EXACT)):
            yield Sighting("chart", f"kueue {text(one['version'])}", ("dependencies", n, "version"), version)


def _values(value: Mapping[str, Any], at: Path) -> Iterator[Sighting]:
    """Values for the chart, directly or below the name of a subchart."""
    for path, holder in ((at, value), ((*at, "kueue"), mapping(value.get("kueue")))):
        manager = mapping(holder.get("controllerManager"))
        image = mapping(mapping(manager.get("manager")).get("image"))
        where: Path = (*path, "controllerManager")
        if version := _version(image.get("tag"), _TAG):
            yield Sighting("image", text(image["tag"]), (*where, "manager", "image", "tag"), version)
        gates = {
            text(mapping(g).get("name")): mapping(g).get("enabled") is True
            for g in items(manager.get("featureGates"))
        }
        if gates:
            yield Sighting("flag", "featureGates", (*where, "featureGates"), gates=gates)
