"""Why a Workload waits at the end of a simulation: Kueue's reason, and a sentence with the amounts."""

from __future__ import annotations

from policycheck.model.amount import show
from policycheck.simulate.scheduler import Explanation, FlavorTried
from policycheck.systems.kueue.model import KueueWorkload
from policycheck.systems.kueue.scheduler.session import Session
from policycheck.systems.kueue.why.reasons import nobody

_PLACE = "no place on nodes"  # how the note begins that tells of topology


def nowhere(session: Session, workload: KueueWorkload) -> tuple[str, str]:
    """Why a Workload is in no ClusterQueue, or in one that takes none; ("", "") when neither is so."""
    objects = session.world.objects
    local = objects.local_queues.get((workload.namespace, workload.queue))
    if local is None:
        return "Inadmissible", f"there is no LocalQueue {workload.queue} in namespace {workload.namespace}"
    if local.stop_policy != "None":
        return "Inadmissible", f"LocalQueue {workload.queue} is stopped"
    queue = session.queues.get(local.cluster_queue)
    if queue is None:
        return (
            "Inadmissible",
            f"LocalQueue {workload.queue} names ClusterQueue {local.cluster_queue}, which is not there",
        )
    if queue.inactive:
        return "Inadmissible", f"ClusterQueue {queue.name} admits nothing: {queue.inactive}"
    return "", ""


def sentence(session: Session, name: str, explanation: Explanation, message: str) -> str:
    """What stood in the way in the queue ``name`` when it was looked at last: amounts, places, and why nobody
    made room; else ``message``.
    """
    parts = [_tried(one) for one in _last(explanation)]
    parts += [note for note in explanation.notes if note.startswith(_PLACE) or not any(parts)]
    queue = session.queues.get(name)
    parts.append(nobody(queue, explanation) if queue is not None else "")
    found = dict.fromkeys(part for part in parts if part)
    return "; ".join(found) or message


def _last(explanation: Explanation) -> list[FlavorTried]:
    """Of several tries of one flavor for the same podsets the last."""
    return list({(one.flavor, one.pod_sets): one for one in explanation.tried}.values())


def _tried(one: FlavorTried) -> str:
    if one.refusal:
        return f"flavor {one.flavor}: {one.refusal}"
    shorts = []
    for short in one.shortfalls:
        asked = show(short.resource, short.asked + short.assumed)
        limit = show(short.resource, short.limit)
        final = short.reason == "ExceedsMaxQuota"
        shorts.append(
            f"{asked} {short.resource} asked, {'at most ' if final else ''}{limit} {'possible' if final else 'free'}"
        )
    return f"flavor {one.flavor}: {', '.join(shorts)}" if shorts else ""
