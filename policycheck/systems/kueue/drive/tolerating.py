"""Jobs with the tolerations that the flavors of their queues would give their pods.

Kueue adds them when it starts a job; who leaves Kueue out (first come, first served) or asks before it
decides (what is free, measured against the jobs to come) has to add them too, else no pod tolerates a
tainted node.
"""

from __future__ import annotations

from collections.abc import Iterable

from policycheck.model.placement import Toleration
from policycheck.model.workload import PodSet
from policycheck.simulate.job import Job
from policycheck.systems.kueue.model import KueueObjects


def tolerating(objects: KueueObjects, jobs: Iterable[Job]) -> tuple[Job, ...]:
    """The jobs, each podset with the tolerations of all flavors of its queue. Podsets that are one stay one."""
    extra = {
        (namespace, name): _of(objects, local.cluster_queue)
        for (namespace, name), local in objects.local_queues.items()
    }
    kept: dict[tuple[int, tuple[Toleration, ...]], tuple[tuple[PodSet, ...], tuple[PodSet, ...]]] = {}
    found = []
    for job in jobs:
        more = extra.get((job.namespace, job.queue), ())
        if more:
            key = (id(job.pod_sets), more)
            made = kept.get(key)
            if made is None:
                # The old podsets are kept, so that their identity goes to no others.
                made = kept[key] = (job.pod_sets, tuple(_with(spec, more) for spec in job.pod_sets))
            job = job._replace(pod_sets=made[1])  # noqa: PLW2901 - the same job, tolerating
        found.append(job)
    return tuple(found)


def _of(objects: KueueObjects, queue: str) -> tuple[Toleration, ...]:
    config = objects.cluster_queues.get(queue)
    if config is None:
        return ()
    names = [flavor.name for group in config.groups for flavor in group.flavors]
    known = (objects.flavors[name] for name in names if name in objects.flavors)
    return tuple(dict.fromkeys(t for flavor in known for t in flavor.tolerations))


def _with(spec: PodSet, more: tuple[Toleration, ...]) -> PodSet:
    return spec._replace(tolerations=(*spec.tolerations, *(t for t in more if t not in spec.tolerations)))
