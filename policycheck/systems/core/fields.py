"""Field tables of Kubernetes' own kinds: only the outline, since the API server checks them itself.

They let rule expressions name what they look at; what is open here is not checked for typing errors.
"""

from __future__ import annotations

from policycheck.model.schema import Field, Table, any_, boolean, but, integer, obj, string


def _open(**fields: Field) -> Field:
    return but(obj(**fields), open=True)


def tables() -> dict[tuple[str, str], Table]:
    """Every table by (group, kind)."""
    replicas = _open(replicas=integer(default=1), template=any_())
    job = _open(
        parallelism=integer(),
        completions=integer(),
        completionMode=string(),
        suspend=boolean(),
        activeDeadlineSeconds=integer(),
        backoffLimit=integer(),
        template=any_(),
    )
    made = [
        Table("", "Pod", ("v1",), _open(), namespaced=True),
        Table("", "Node", ("v1",), _open(unschedulable=boolean())),
        Table("", "Namespace", ("v1",), _open()),
        Table("", "LimitRange", ("v1",), _open(), namespaced=True),
        Table("batch", "Job", ("v1",), job, namespaced=True),
        Table("batch", "CronJob", ("v1beta1", "v1"), _open(jobTemplate=any_()), namespaced=True),
        Table("resource.k8s.io", "ResourceSlice", ("v1beta1", "v1beta2", "v1"), _open()),
        Table("resource.k8s.io", "ResourceClaim", ("v1beta1", "v1beta2", "v1"), _open(), namespaced=True),
        Table(
            "resource.k8s.io", "ResourceClaimTemplate", ("v1beta1", "v1beta2", "v1"), _open(), namespaced=True
        ),
        Table("node.k8s.io", "RuntimeClass", ("v1",), _open(handler=string()), whole=True),
        Table(
            "scheduling.k8s.io",
            "PriorityClass",
            ("v1",),
            _open(value=integer(), globalDefault=boolean(), preemptionPolicy=string(), description=string()),
            whole=True,
        ),
    ]
    made += [
        Table("apps", kind, ("v1",), replicas, namespaced=True)
        for kind in ("Deployment", "StatefulSet", "ReplicaSet", "DaemonSet")
    ]
    return {(t.group, t.kind): t for t in made}
