"""Field tables of Ray's kinds: only the outline that rules name."""

from __future__ import annotations

from policycheck.model.schema import Table, any_, boolean, but, integer, list_of, obj, string


def tables() -> dict[tuple[str, str], Table]:
    """Every table by (group, kind)."""
    group = but(
        obj(
            groupName=string(),
            replicas=integer(),
            minReplicas=integer(),
            maxReplicas=integer(),
            numOfHosts=integer(),
            rayStartParams=any_(),
            template=any_(),
        ),
        open=True,
    )
    cluster = but(
        obj(
            enableInTreeAutoscaling=boolean(),
            headGroupSpec=but(obj(rayStartParams=any_(), template=any_()), open=True),
            workerGroupSpecs=list_of(group, key="groupName"),
            suspend=boolean(),
        ),
        open=True,
    )
    job = but(
        obj(
            shutdownAfterJobFinishes=boolean(),
            suspend=boolean(),
            clusterSelector=any_(),
            submissionMode=string(),
            rayClusterSpec=cluster,
        ),
        open=True,
    )
    service = but(obj(rayClusterConfig=cluster, serveConfigV2=string()), open=True)
    versions = ("v1alpha1", "v1")
    made = (
        Table("ray.io", "RayCluster", versions, cluster, namespaced=True),
        Table("ray.io", "RayJob", versions, job, namespaced=True),
        Table("ray.io", "RayService", versions, service, namespaced=True),
    )
    return {(t.group, t.kind): t for t in made}
