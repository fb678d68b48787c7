"""Admission checks: parameters that are not there, checks that exclude each other or do nothing."""

from __future__ import annotations

from collections.abc import Iterator

from policycheck.lint.hit import Hit
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, Path
from policycheck.systems.core.podspec import items, mapping, text
from policycheck.systems.kueue import GROUP
from policycheck.systems.kueue.checks.common import Found, Params, documents, near, state
from policycheck.systems.kueue.link import MULTIKUEUE, PROVISIONING
from policycheck.systems.kueue.model import AdmissionCheck, CheckRule, ClusterQueue
from policycheck.wording import join

_PARAMETERS = {PROVISIONING: "ProvisioningRequestConfig", MULTIKUEUE: "MultiKueueConfig"}
_CHECKS: Path = ("spec", "admissionChecksStrategy", "admissionChecks")
_QUEUED = ("queued-provisioning", "flex-start")


def _each(cluster: Cluster) -> Iterator[tuple[DocumentId, AdmissionCheck]]:
    for identity, facts in documents(cluster, "AdmissionCheck"):
        if isinstance(facts.typed, AdmissionCheck):
            yield identity, facts.typed


def check_parameters(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Parameters that are missing, of another kind, or not there: the check never becomes active."""
    for identity, check in _each(cluster):
        kind = _PARAMETERS.get(check.controller)
        if kind is None:
            continue
        given = check.parameters
        at: Path = ("spec", "parameters")
        told = ""
        if given is None:
            told = f"it has no parameters; its controller reads a {kind}"
        elif not (given.kind and given.name):
            continue  # incomplete, which is refused
        elif (given.group, given.kind) != (GROUP, kind):
            at = (*at, "kind" if given.kind != kind else "apiGroup")
            told = f"its parameters are a {given.kind} of {given.group}; its controller reads a {kind} of {GROUP}"
        else:
            known = {key.name for key in cluster.index.kinds.get((GROUP, kind), {})}
            if given.name in known:
                continue
            other = near(given.name, known)
            hint = f"; did you mean {other!r}?" if other else ""
            at, told = (*at, "name"), f"{kind} {given.name} is not in sight{hint}"
        yield Hit(identity, at, {"check": check.name, "what": told})


def controller_misspelt(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A controller's name that is nearly one of Kueue's own: nobody answers to it."""
    for identity, check in _each(cluster):
        other = near(check.controller, _PARAMETERS, 0.85) if check.controller not in _PARAMETERS else ""
        if other:
            values = {"check": check.name, "controller": check.controller, "meant": other}
            yield Hit(identity, ("spec", "controllerName"), values)


def checks_exclude(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """MultiKueue twice, for some flavors only, or beside provisioning: the queue is inactive."""
    known = state(cluster).objects.checks
    for identity, facts in documents(cluster, "ClusterQueue"):
        queue = facts.typed
        if not isinstance(queue, ClusterQueue):
            continue
        by: dict[str, list[tuple[int, CheckRule]]] = {}
        for n, rule in enumerate(queue.checks):
            if rule.name in known:
                by.setdefault(known[rule.name].controller, []).append((n, rule))
        told = _excluded(by.get(MULTIKUEUE, []), by.get(PROVISIONING, []))
        if told is not None:
            yield Hit(identity, (*_CHECKS, told[0], "name"), {"queue": queue.name, "what": told[1]})


def _excluded(
    remote: list[tuple[int, CheckRule]], provisioning: list[tuple[int, CheckRule]]
) -> tuple[int, str] | None:
    if len(remote) > 1:
        return remote[1][0], f"{join([r.name for _, r in remote])} are MultiKueue checks, and one is allowed"
    if remote and provisioning:
        names = f"{remote[0][1].name} (MultiKueue) and {provisioning[0][1].name} (provisioning)"
        return remote[0][0], f"{names} do not go together"
    if remote and remote[0][1].on_flavors:
        flavors = join(remote[0][1].on_flavors)
        return remote[0][0], f"MultiKueue check {remote[0][1].name} is on {flavors} only; it has to be on all"
    return None


def provisions_nothing(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """ManagedResources that no flavor with the check has quota of: the check passes without a node."""
    objects = state(cluster).objects
    for identity, facts in documents(cluster, "ProvisioningRequestConfig"):
        config = objects.provisioning.get(facts.key.name)
        if config is None or not config.managed_resources:
            continue
        covered: set[str] = set()
        queues = []
        for queue in objects.cluster_queues.values():
            rules = [r for r in queue.checks if _uses(objects.checks.get(r.name), config.name)]
            if not rules:
                continue
            queues.append(queue.name)
            for flavor in (f for g in queue.groups for f in g.flavors):
                if any(not r.on_flavors or flavor.name in r.on_flavors for r in rules):
                    covered |= set(flavor.resources)
        for n, resource in enumerate(config.managed_resources):
            if not covered or resource in covered:
                continue
            other = near(resource, covered)
            values = {
                "config": config.name,
                "resource": resource,
                "queues": join(queues),
                "hint": f"; did you mean {other!r}?" if other else f"; they have {join(sorted(covered))}",
            }
            yield Hit(identity, ("spec", "managedResources", n), values)


def _uses(check: AdmissionCheck | None, config: str) -> bool:
    if check is None or check.controller != PROVISIONING or check.parameters is None:
        return False
    return check.parameters.name == config


def holds_quota(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Queued provisioning: the workload holds its quota for as long as the provider takes."""
    for identity, facts in documents(cluster, "ProvisioningRequestConfig"):
        spec = mapping(facts.value.get("spec"))
        name = text(spec.get("provisioningClassName"))
        if not any(part in name for part in _QUEUED):
            continue
        used = [c.name for _, c in _each(cluster) if _uses(c, facts.key.name)]
        queues = [
            q.name
            for q in state(cluster).objects.cluster_queues.values()
            if any(rule.name in used for rule in q.checks)
        ]
        if queues:
            verb = "charges" if len(queues) == 1 else "charge"
            values = {"name": name, "queues": f"{join(queues)} {verb}"}
            yield Hit(identity, ("spec", "provisioningClassName"), values)


def clusters_missing(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A MultiKueueConfig that names clusters which are not defined, while others are."""
    known = {key.name for key in cluster.index.kinds.get((GROUP, "MultiKueueCluster"), {})}
    if not known:
        return
    for identity, facts in documents(cluster, "MultiKueueConfig"):
        for n, raw in enumerate(items(mapping(facts.value.get("spec")).get("clusters"))):
            name = text(raw)
            if name and name not in known:
                other = near(name, known)
                hint = f"did you mean {other!r}?" if other else f"there are {join(sorted(known))}"
                values = {"config": facts.key.name, "name": name, "hint": hint}
                yield Hit(identity, ("spec", "clusters", n), values)
