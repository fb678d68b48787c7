"""A cluster of four nodes and two teams that nothing is wrong with, and changes of it."""

KUEUE = "kueue.x-k8s.io/v1beta2"
GPUS = 32  # four nodes of eight


def node(number):
    room = {"cpu": "184", "memory": "1931Gi", "nvidia.com/gpu": "8", "pods": "110"}
    labels = {"kubernetes.io/hostname": f"gpu-{number}", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": f"gpu-{number}", "labels": labels},
        "status": {
            "allocatable": room,
            "capacity": room,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}],
        },
    }


def nodes():
    return [node(number) for number in range(4)]


def space(name):
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def flavor():
    return {
        "apiVersion": KUEUE,
        "kind": "ResourceFlavor",
        "metadata": {"name": "h100"},
        "spec": {"nodeLabels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}},
    }


def queue(name, gpus, annotations=None, **more):
    quotas = {"cpu": str(gpus * 20), "memory": f"{gpus * 200}Gi", "nvidia.com/gpu": str(gpus)}
    resources = [{"name": name, "nominalQuota": amount} for name, amount in quotas.items()]
    owner = {"policycheck.dev/owner": "platform@example.com", "policycheck.dev/explanation": "for tests"}
    spec = {
        "cohortName": "research",
        "namespaceSelector": {},
        "resourceGroups": [
            {"coveredResources": list(quotas), "flavors": [{"name": "h100", "resources": resources}]}
        ],
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        **more,
    }
    meta = {"name": name, "annotations": {**owner, **(annotations or {})}}
    return {"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": meta, "spec": spec}


def local(team):
    return {
        "apiVersion": KUEUE,
        "kind": "LocalQueue",
        "metadata": {"name": "main", "namespace": team},
        "spec": {"clusterQueue": team},
    }


def job(name, namespace="team-a", queue="main", gpus=8, pods=1):
    labels = {"kueue.x-k8s.io/queue-name": queue} if queue else {}
    room = {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": str(gpus)}
    container = {
        "name": "main",
        "image": "registry.example/train:1",
        "resources": {"requests": room, "limits": room},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "parallelism": pods,
            "completions": pods,
            "suspend": True,
            "template": {"spec": {"containers": [container], "restartPolicy": "Never"}},
        },
    }


def cluster():
    """Everything, in an order in which it can be created."""
    teams = ("team-a", "team-b")
    return [
        *map(space, (*teams, "team-c", "kueue-system")),
        *nodes(),
        flavor(),
        *(queue(team, GPUS // 2) for team in teams),
        *map(local, teams),
    ]
