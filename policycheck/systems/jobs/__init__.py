"""Jobs of other projects that make pods: JobSet, Kubeflow, TrainJob, LeaderWorkerSet, AppWrapper, Spark."""

KUBEFLOW = frozenset({"PyTorchJob", "TFJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob"})
TRAINER = "trainer.kubeflow.org"

KINDS = frozenset(
    {
        ("jobset.x-k8s.io", "JobSet"),
        *(("kubeflow.org", kind) for kind in KUBEFLOW),
        (TRAINER, "TrainJob"),
        (TRAINER, "TrainingRuntime"),
        (TRAINER, "ClusterTrainingRuntime"),
        ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
        ("workload.codeflare.dev", "AppWrapper"),
        ("sparkoperator.k8s.io", "SparkApplication"),
    }
)
