"""Field tables of the kinds about GPUs: only the outline that rules name."""

from __future__ import annotations

from policycheck.model.schema import Table, any_, but, map_of, obj, string


def tables() -> dict[tuple[str, str], Table]:
    """Every table by (group, kind)."""
    policy = but(
        obj(
            mig=but(obj(strategy=string()), open=True),
            migManager=but(obj(config=any_()), open=True),
            devicePlugin=but(obj(config=any_()), open=True),
        ),
        open=True,
    )
    device_class = but(obj(extendedResourceName=string()), open=True)
    kubelet = but(
        obj(
            topologyManagerPolicy=string(),
            topologyManagerScope=string(),
            cpuManagerPolicy=string(),
            reservedSystemCPUs=string(),
            kubeReserved=any_(),
            systemReserved=any_(),
        ),
        open=True,
    )
    carrier = but(obj(data=map_of(string())), open=True)
    made = (
        Table("", "ConfigMap", ("v1",), carrier, namespaced=True, whole=True),
        Table("nvidia.com", "ClusterPolicy", ("v1",), policy),
        Table("", "ResourceQuota", ("v1",), but(obj(hard=map_of(any_())), open=True), namespaced=True),
        Table("resource.k8s.io", "DeviceClass", ("v1beta1", "v1beta2", "v1"), device_class),
        Table("kubelet.config.k8s.io", "KubeletConfiguration", ("v1beta1",), kubelet, whole=True),
    )
    return {(t.group, t.kind): t for t in made}
