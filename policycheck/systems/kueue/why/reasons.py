"""What stood in the way, in amounts and words: of every flavor tried, of victims, of those before it."""

from __future__ import annotations

from collections.abc import Iterable

from policycheck.model.amount import show
from policycheck.simulate.scheduler import Explanation, FlavorTried, Shortfall
from policycheck.simulate.why import Held, Looked, Short
from policycheck.systems.kueue.quota import INFINITE, Tree
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.scheduler.state import Item, Queue
from policycheck.systems.kueue.why.trial import Trial
from policycheck.wording import some

_FEW = 5


def looked(session: Session, queue: Queue, explanation: Explanation) -> tuple[Looked, ...]:
    """Every flavor tried, once for each set of podsets; of several tries the last."""
    found: dict[tuple[str, tuple[str, ...]], Looked] = {}
    for tried in explanation.tried:
        shorts = tuple(_short(session, queue, tried, s) for s in tried.shortfalls)
        key = tried.flavor, tried.pod_sets
        found[key] = Looked(tried.flavor, tried.pod_sets, tried.mode, tried.refusal, shorts)
    return tuple(found.values())


def _short(session: Session, queue: Queue, tried: FlavorTried, short: Shortfall) -> Short:
    tree = session.trees[queue.tree]
    cell = tree.cell(queue.node, (tried.flavor, short.resource))
    final = short.reason == "ExceedsMaxQuota"
    made_of = _ceiling(tree, cell, short.resource)
    held = () if final else tuple(_held(session, tree, queue, cell - queue.node))
    if not final:
        most = show(short.resource, min(tree.ceiling[cell], INFINITE))
        made_of = f"of at most {most} = {made_of}"
    return Short(short.resource, short.asked + short.assumed, short.limit, final, made_of, held)


def _ceiling(tree: Tree, cell: int, resource: str) -> str:
    """Where the most that the queue can have comes from."""
    nominal, limit, most = tree.nominal[cell], tree.limit[cell], tree.ceiling[cell]
    if tree.up[cell] < 0:
        return f"{show(resource, nominal)} nominal, in no cohort"
    if limit is not None and tree.subtree[cell] + limit == most:
        return f"{show(resource, nominal)} nominal + {show(resource, limit)} borrowingLimit"
    lent = most - nominal
    root = tree.nodes[0].name
    return f"{show(resource, nominal)} nominal + {show(resource, lent)} that cohort {root} can lend"


def _held(session: Session, tree: Tree, queue: Queue, base: int) -> Iterable[Held]:
    for other in session.members[queue.tree]:
        if other is not None and tree.usage[base + other.node] > 0:
            yield Held(other.name, tree.usage[base + other.node], tree.nominal[base + other.node])


def nobody(queue: Queue, explanation: Explanation) -> str:
    """Why nobody can be preempted for it; "" when somebody could, or nothing was short."""
    if any(v.taken for v in explanation.weighed) or not any(t.shortfalls for t in explanation.tried):
        return ""
    policy = queue.config.preemption
    if policy.within_cluster_queue == "Never" and policy.reclaim_within_cohort in ("Never", ""):
        return f"{queue.name} preempts nobody: withinClusterQueue and reclaimWithinCohort are Never"
    shorts = [s for t in explanation.tried if t.mode == "NoFit" for s in t.shortfalls]
    if not explanation.weighed and any(s.reason != "ExceedsMaxQuota" for s in shorts):
        return "not tried: it asks for more than its own quota, and borrowWithinCohort is Never"
    return ""


def before(trial: Trial, item: Item) -> tuple[str, ...]:
    """Workloads of its queue that are looked at before it, and what holds the whole queue up."""
    queue = item.queue
    if queue is None or item.reserved:
        return ()
    ahead = before_in_queue(trial, item)
    found = []
    if ahead:
        names = [f"{o.id} (priority {o.priority}, {o.reason or 'not looked at'})" for o in ahead]
        found.append(f"waiting before it in {queue.name}: {some(names, _FEW)}")
    if queue.strict and ahead:
        found.append(f"{queue.name} is StrictFIFO: {ahead[0].id} holds up everyone behind it")
    return tuple(found)


def before_in_queue(trial: Trial, item: Item) -> list[Item]:
    """Those that wait in its queue and are looked at first, in that order."""
    return sorted(
        (other for other in trial.session.items.values() if _is_ahead(other, item)),
        key=lambda o: (-o.priority, o.time, o.uid, o.id),
    )


def _is_ahead(other: Item, item: Item) -> bool:
    if other is item or other.queue is not item.queue or other.reserved:
        return False
    return (-other.priority, other.time, other.uid, other.id) < (-item.priority, item.time, item.uid, item.id)
