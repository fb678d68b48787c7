"""GPUs as nodes publish them: labels, resource names, MIG, sharing, instance types; and what tells the
operator, the device plugin and namespaces about them.
"""

KINDS = frozenset(
    {
        ("nvidia.com", "ClusterPolicy"),
        ("", "ConfigMap"),  # may carry layouts of MIG, or configurations of the device plugin
        ("", "ResourceQuota"),
        ("resource.k8s.io", "DeviceClass"),
        ("kubelet.config.k8s.io", "KubeletConfiguration"),
    }
)
