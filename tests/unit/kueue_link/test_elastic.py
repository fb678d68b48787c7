import pytest

from policycheck.systems.kueue.link import is_provisioned
from policycheck.systems.kueue.model import AdmissionCheck


@pytest.mark.parametrize(
    ("controller", "elastic"),
    [
        ("kueue.x-k8s.io/provisioning-request", True),
        ("kueue.x-k8s.io/multikueue", True),
        ("example.org/karpenter-provision", True),
        ("example.org/budget", False),
    ],
)
def test_whose_checks_bring_nodes(controller, elastic):
    checks = {"c": AdmissionCheck("c", controller)}
    assert is_provisioned(checks, ["c"]) is elastic
    assert is_provisioned(checks, ["not-in-sight"])
    assert not is_provisioned(checks, [])
