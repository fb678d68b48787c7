"""Ray on Kubernetes: RayJob, RayCluster, RayService."""

KINDS = frozenset({("ray.io", "RayJob"), ("ray.io", "RayCluster"), ("ray.io", "RayService")})
