"""What pods in queues say of themselves: nothing at all, too little, groups that never are complete."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from policycheck.lint.hit import Hit, Related
from policycheck.model.amount import scale, show
from policycheck.model.cluster import Cluster
from policycheck.model.origin import DocumentId, ObjectKey
from policycheck.model.workload import Workload
from policycheck.systems.core import defaults
from policycheck.systems.core.podspec import mapping, plain_number, whole
from policycheck.systems.gpu.resources import is_accelerator
from policycheck.systems.kueue import assembly
from policycheck.systems.kueue.checks.ask import (
    Ask,
    asks,
    count_place,
    is_refused,
    place_in,
    spec_place,
)
from policycheck.systems.kueue.checks.common import Found, Params, ceilings, core, quota_place, state
from policycheck.systems.kueue.jobs import PRIORITY_LABEL, QUEUE_LABEL
from policycheck.systems.kueue.state import FlavorResource
from policycheck.wording import join, plural

_ROLES = 18  # that Kueue tells apart in a pod group


def no_requests(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Pods that ask for nothing: admitted without flavor, quota or node selector."""
    for ask in asks(cluster):
        covered = {r for group in ask.queue.groups for r in group.covered}
        if not covered or "pods" in covered or any(ask.each.values()) or ask.pods.claims:
            continue
        values = {"workload": ask.workload, "queue": ask.queue.name, "covered": join(sorted(covered))}
        yield Hit(ask.id, spec_place(ask, "containers", 0), values)


def charged_less(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Limits without requests under a LimitRange: Kueue charges its default, the pods request the limit.

    The order of defaulting differs from the API server's (kubernetes-sigs/kueue#15020).
    """
    around = assembly.surroundings(cluster.index).defaults
    if not around.limit_ranges:
        return
    for key, workload in core(cluster).workloads.items():
        if key not in state(cluster).claimed or key.namespace not in around.limit_ranges:
            continue
        for pods in workload.pod_sets:
            charged = defaults.charged(pods, key.namespace, around).requests
            real = defaults.admitted(pods, key.namespace, around).requests
            short = [r for r, amount in real.items() if charged.get(r, 0) < amount]
            if not short:
                continue
            resource = short[0]
            identity = cluster.index.ids(key)[0]
            values = {
                "workload": str(key),
                "resource": resource,
                "charged": show(resource, charged.get(resource, 0)),
                "real": show(resource, real[resource]),
                "range": around.limit_ranges[key.namespace][0].name,
            }
            yield Hit(identity, place_in(workload, pods, resource) or (*pods.path, "spec"), values)


def pod_group(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Pods of a group that do not add up, or do not agree on queue, priority or count."""
    members: dict[tuple[str, str], list[Workload]] = {}
    for workload in core(cluster).workloads.values():
        name = assembly.group_of(workload)
        if name and workload.owner is None and not workload.phase:
            members.setdefault((workload.key.namespace, name), []).append(workload)
    for (_, name), pods in sorted(members.items()):
        told = _group_trouble(pods)
        if told is None:
            continue
        pod, path, what = told
        ids = [cluster.index.ids(p.key)[0] for p in pods]
        at = cluster.index.ids(pod.key)[0]
        rest = tuple(Related(i, ("metadata", "name"), "of the same group") for i in ids if i != at)[:4]
        yield Hit(at, path, {"group": name, "what": what}, rest)


def _group_trouble(pods: list[Workload]) -> tuple[Workload, tuple[str, ...], str] | None:
    totals = [p.annotations.get(assembly.TOTAL, "") for p in pods]
    if "" in totals:
        return None  # its absence is refused, which another rule says
    notes, labels = ("metadata", "annotations"), ("metadata", "labels")
    odd = _odd(totals)
    if odd is not None:
        what = f"{pods[odd].key.name} counts {totals[odd]} pods and {pods[0 if odd else 1].key.name} "
        return pods[odd], (*notes, assembly.TOTAL), what + f"{totals[0 if odd else 1]}: no Workload is made"
    for label, thing in ((QUEUE_LABEL, "queues"), (PRIORITY_LABEL, "priority classes")):
        values = [p.labels.get(label, "") for p in pods]
        odd = _odd(values)
        if odd is not None:
            other = values[0 if odd else 1]
            what = f"its pods name different {thing}, {values[odd] or 'none'} and {other or 'none'}"
            return pods[odd], (*labels, label), what
    total = plain_number(totals[0]) or 0
    is_fast = all(p.annotations.get(assembly.FAST) == "true" for p in pods)
    if total > len(pods) and not is_fast:
        what = (
            f"it counts {total} pods and {plural(len(pods), 'is', 'are')} in sight: it waits for the others"
        )
        return pods[0], (*notes, assembly.TOTAL), what
    if 0 < total < len(pods):
        what = f"it counts {plural(total, 'pod')} and {len(pods)} are in sight: those too many are deleted"
        return pods[-1], (*notes, assembly.TOTAL), what
    roles = len({_role(p) for p in pods})
    if roles > _ROLES:
        what = f"its pods have {roles} different shapes, and Kueue takes at most {_ROLES}"
        return pods[-1], ("spec",), what
    return None


def _role(pod: Workload) -> tuple[object, ...]:
    one = pod.pod_sets[0]
    return tuple(sorted(one.requests.items())), tuple(sorted(one.node_selector.items())), one.tolerations


def _odd(values: list[str]) -> int | None:
    """The one that differs from most; None when all agree."""
    if len(set(values)) < 2:
        return None
    common = max(sorted(set(values)), key=values.count)
    return next(n for n, value in enumerate(values) if value != common)


def replicas_beyond_limits(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Replicas that are admitted one by one, more than the queue can ever hold."""
    limits = ceilings(cluster)
    for ask in asks(cluster):
        if ask.copies < 2:
            continue
        told = _fitting(cluster, ask, limits.most)
        if told is None or told[0] >= ask.copies or told[0] == 0:
            continue  # none at all is another rule's
        fit, resource, most, flavor = told
        place = quota_place(cluster, "ClusterQueue", ask.queue.name, (flavor, resource))
        because = () if place is None else (Related(*place, f"at most {show(resource, most)}"),)
        values = {
            "workload": ask.workload,
            "queue": ask.queue.name,
            "replicas": ask.copies,
            "fit": fit,
            "resource": resource,
            "each": show(resource, ask.each[resource]),
            "most": show(resource, most),
        }
        yield Hit(ask.id, count_place(cluster, ask), values, because)


def _fitting(
    cluster: Cluster, ask: Ask, most_of: Callable[[str, FlavorResource], int]
) -> tuple[int, str, int, str] | None:
    """How many copies the flavors of the tightest group hold together; the resource that ends it."""
    worst: tuple[int, str, int, str] | None = None
    flavors = state(cluster).objects.flavors
    for group in ask.queue.groups:
        wanted = [r for r in group.covered if ask.charge(r) > 0]
        if not wanted:
            continue
        total, told = 0, ("", 0, "")
        for flavor in group.flavors:
            if flavor.name in flavors and is_refused(flavors[flavor.name], ask):
                continue
            each = [(most_of(ask.queue.name, (flavor.name, r)), r) for r in wanted]
            count, resource, most = min((m // ask.charge(r), r, m) for m, r in each)
            total += count
            told = told if told[0] else (resource, most, flavor.name)
        if worst is None or total < worst[0]:
            worst = (total, *told)
    return worst


def rollout_without_room(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """A rolling update that needs more than the queue can ever hold: it stands still at full quota."""
    limits = ceilings(cluster)
    for ask in asks(cluster):
        surge = _surge(cluster, ask)
        if not surge or not any(is_accelerator(r) and v for r, v in ask.each.items()):
            continue
        told = _fitting(cluster, ask, limits.most)
        if told is None or told[0] < ask.copies or told[0] >= ask.copies + surge:
            continue
        fit, resource, most, _ = told
        values = {
            "workload": ask.workload,
            "queue": ask.queue.name,
            "replicas": plural(ask.copies, "replica"),
            "surge": surge,
            "fit": fit,
            "resource": resource,
            "each": show(resource, ask.each[resource]),
            "total": show(resource, scale(ask.each[resource], ask.copies + surge)),
            "most": show(resource, most),
        }
        yield Hit(ask.id, ("spec", "strategy", "rollingUpdate"), values)


def _surge(cluster: Cluster, ask: Ask) -> int:
    """Pods that a Deployment's update starts before it stops one, where it may stop none before."""
    if ask.key.kind != "Deployment":
        return 0
    spec = mapping(cluster.entries[ask.id].facts.value.get("spec"))
    strategy = mapping(spec.get("strategy"))
    if strategy.get("type") == "Recreate":
        return 0
    rolling = mapping(strategy.get("rollingUpdate"))
    surge = _share(rolling.get("maxSurge", "25%"), ask.copies, up=True)
    gone = _share(rolling.get("maxUnavailable", "25%"), ask.copies, up=False)
    return surge if gone == 0 else 0


def _share(value: object, of: int, *, up: bool) -> int:
    if isinstance(value, str) and value.endswith("%"):
        part = whole(value[:-1]) * of
        return -(-part // 100) if up else part // 100
    return whole(value)


def priority_preempts(cluster: Cluster, params: Params) -> Found:  # noqa: ARG001
    """Batch pods in a queue whose PriorityClass preempts: kube-scheduler evicts behind Kueue's back."""
    classes = core(cluster).priority_classes
    lowest = min((c.value for c in classes.values()), default=0)
    said: set[tuple[DocumentId, str]] = set()
    per_class: dict[str, list[Ask]] = {}
    for ask in asks(cluster):
        found = classes.get(ask.pods.priority_class)
        source = core(cluster).workloads.get(ask.key)
        if found is None or source is None or source.nature == "service" or not found.preempts:
            continue
        if found.value > min(0, lowest) and (ask.id, found.name) not in said:
            said.add((ask.id, found.name))
            per_class.setdefault(found.name, []).append(ask)
    for name, held in sorted(per_class.items()):
        yield _preempting(cluster, name, classes[name].value, held)


def _preempting(cluster: Cluster, name: str, value: int, held: list[Ask]) -> Hit:
    """One finding a class, at the class when it is in sight and several use it."""
    ids = cluster.index.ids(ObjectKey("scheduling.k8s.io", "PriorityClass", "", name))
    who = f"the pods of {held[0].workload}" + (f" and of {len(held) - 1} more" if len(held) > 1 else "")
    values: Mapping[str, object] = {"who": who, "name": name, "value": f"{value:,}"}
    where = [(a.id, spec_place(a, "priorityClassName")) for a in held]
    rest = tuple(Related(i, p, "uses it too") for i, p in where[1:4])
    because = (*(Related(i, ("preemptionPolicy",), f"PriorityClass {name}") for i in ids[:1]), *rest)
    return Hit(*where[0], values, because, discriminator=name)
