"""Field tables of these jobs: only the outline that rules name; what is below is open."""

from __future__ import annotations

from policycheck.model.schema import Field, Table, any_, boolean, but, integer, list_of, map_of, obj, string
from policycheck.systems.jobs import KUBEFLOW, TRAINER


def _open(**fields: Field) -> Field:
    return but(obj(**fields), open=True)


def _replicas() -> Field:
    return map_of(_open(replicas=integer(), template=any_(), restartPolicy=string()))


def _replicated() -> Field:
    return list_of(_open(name=string(), replicas=integer(), template=any_()), key="name")


def tables() -> dict[tuple[str, str], Table]:
    """Every table by (group, kind)."""
    fields = {
        "PyTorchJob": "pytorchReplicaSpecs",
        "TFJob": "tfReplicaSpecs",
        "XGBoostJob": "xgbReplicaSpecs",
        "PaddleJob": "paddleReplicaSpecs",
        "JAXJob": "jaxReplicaSpecs",
        "MPIJob": "mpiReplicaSpecs",
    }
    made = [
        Table(
            "kubeflow.org",
            kind,
            ("v1", "v2beta1") if kind == "MPIJob" else ("v1",),
            _open(**{fields[kind]: _replicas(), "runPolicy": _open(suspend=boolean())}),
            namespaced=True,
        )
        for kind in sorted(KUBEFLOW)
    ]
    runtime = _open(mlPolicy=any_(), template=_open(spec=_open(replicatedJobs=_replicated())))
    trainer = _open(numNodes=integer(), resourcesPerNode=any_())
    template = _open(size=integer(), leaderTemplate=any_(), workerTemplate=any_())
    role = _open(cores=integer(), memory=string(), instances=integer(), template=any_())
    component = _open(template=any_(), podSets=any_())
    made += [
        Table(
            "jobset.x-k8s.io",
            "JobSet",
            ("v1alpha1", "v1alpha2"),
            _open(replicatedJobs=_replicated(), suspend=boolean()),
            namespaced=True,
        ),
        Table(
            TRAINER,
            "TrainJob",
            ("v1alpha1",),
            _open(runtimeRef=any_(), trainer=trainer, suspend=boolean()),
            namespaced=True,
        ),
        Table(TRAINER, "TrainingRuntime", ("v1alpha1",), runtime, namespaced=True),
        Table(TRAINER, "ClusterTrainingRuntime", ("v1alpha1",), runtime),
        Table(
            "leaderworkerset.x-k8s.io",
            "LeaderWorkerSet",
            ("v1",),
            _open(replicas=integer(default=1), leaderWorkerTemplate=template),
            namespaced=True,
        ),
        Table(
            "workload.codeflare.dev",
            "AppWrapper",
            ("v1beta2",),
            _open(components=list_of(component), suspend=boolean()),
            namespaced=True,
        ),
        Table(
            "sparkoperator.k8s.io",
            "SparkApplication",
            ("v1beta1", "v1beta2"),
            _open(driver=role, executor=role, suspend=boolean()),
            namespaced=True,
        ),
    ]
    return {(t.group, t.kind): t for t in made}
