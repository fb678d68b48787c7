"""What the API server and Kueue's webhooks refuse beyond types and enums, offline.

``validate`` answers as the admission webhooks do, for an object in its newest served form.
``problems`` presents the same for an object that was read, at its places in the written document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from policycheck.model.facts import Facts, Trouble
from policycheck.model.workload import Workload
from policycheck.systems.kueue import CONFIG_GROUP, GROUP
from policycheck.systems.kueue.target import Target
from policycheck.systems.kueue.validate import check, configuration, flavor, job, queue, schema, workload
from policycheck.systems.kueue.validate.gates import Gates, of_target
from policycheck.systems.kueue.validate.problem import Problem

__all__ = ["Gates", "Problem", "of_target", "problems", "validate"]

Value = Mapping[str, Any]
Validator = Callable[[Value, Value | None, Gates], list[Problem]]
_VALIDATORS: Mapping[str, Validator] = {
    "ClusterQueue": queue.cluster_queue,
    "Cohort": queue.cohort,
    "LocalQueue": queue.local_queue,
    "ResourceFlavor": flavor.resource_flavor,
    "Topology": flavor.topology,
    "AdmissionCheck": check.admission_check,
    "ProvisioningRequestConfig": check.provisioning_config,
    "MultiKueueConfig": check.multikueue_config,
    "MultiKueueCluster": check.multikueue_cluster,
    "Workload": workload.workload,
}


def validate(new: Value, old: Value | None = None, gates: Gates = Gates()) -> tuple[Problem, ...]:  # noqa: B008 - immutable
    """Every reason to refuse ``new``, created (``old`` is None) or updated from ``old``.

    Both in the newest served form. A kind without checks gives nothing.
    """
    kind = new.get("kind")
    validator = _VALIDATORS.get(kind) if isinstance(kind, str) else None
    if validator is None:
        return ()
    return tuple(validator(new, old, gates))


def problems(facts: Facts, old: Facts | None = None, target: Target | None = None) -> Iterable[Trouble]:
    """The same for what was read, as troubles of the written document, each place once.

    A place of which ``facts.troubles`` speaks already is left out. ``code`` is the problem's own
    name (``limit-outside-cohort``, ``resource-order``, ``immutable``, ...). Jobs that Kueue has an
    integration for are held against what it says of their labels and annotations.
    """
    gates = Gates() if target is None else of_target(target)  # the defaults are those of the newest
    before = None if old is None else old.value
    if facts.key.group == CONFIG_GROUP:
        found = tuple(configuration.validate(facts.value))
    elif facts.key.group == GROUP:
        found = (*validate(facts.value, before, gates), *schema.rules(facts.value, before))
    else:
        if isinstance(facts.typed, Workload):
            yield from job.problems(facts, old)
        return
    spoken = {trouble.path for trouble in facts.troubles}
    for one in found:
        path = facts.written(one.path)
        if path not in spoken:
            spoken.add(path)
            yield Trouble(one.code, path, one.message)
