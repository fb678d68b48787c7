"""The checks about accelerators, by area; ``check: gpu.NAME`` in a rule file means one of these.

Numbers of rules, each area with a module of its own: GP1xx what pods ask for and where (requests,
selectors), GP2xx nodes that contradict themselves, GP3xx MIG, GP4xx sharing (time slices, MPS),
GP5xx the operator, the device plugin and layouts of MIG. Beside them stand CR1xx in
``systems/core``: priority classes of pods, quotas and limit ranges of namespaces, device classes,
and taints of nodes against what pods and flavors tolerate. All of these are being written.
"""

from policycheck.systems.gpu.checks.requests import request_differs_from_limit

__all__ = ["request_differs_from_limit"]
