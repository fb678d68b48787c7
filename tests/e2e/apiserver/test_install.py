"""The manifests, as a real API server takes them."""

import pytest

from policycheck.adapters.cli.webhook_manifests import render
from policycheck.adapters.install import CERTIFICATES, Install, objects
from policycheck.adapters.live import kinds
from policycheck.app.world import REQUIRED, WELCOME
from tests.e2e.apiserver import build, control
from tests.e2e.apiserver.client import Kubectl


@pytest.fixture(scope="module")
def kubectl(plane):
    made = Kubectl(plane.programs / "kubectl", plane.admin, plane.folder)
    made("create", "namespace", "kueue-system")
    with plane.client() as client:
        try:
            control.install(client, build.manager_definitions())
        except build.Missing as missing:
            pytest.skip(str(missing))
    return made


@pytest.mark.parametrize("certificates", CERTIFICATES)
def test_every_object_is_taken_without_a_warning_and_twice(kubectl, certificates):
    install = Install(
        "registry.example/policycheck:1", certificates=certificates, settings="{}", certificate=True
    )
    done = kubectl("apply", "--validate=strict", "-f", "-", manifest=render(install))
    assert done.stderr == ""
    again = kubectl("apply", "--validate=strict", "-f", "-", manifest=render(install))
    changed = [line for line in again.stdout.splitlines() if not line.endswith("unchanged")]
    # kubectl can not tell that the selector of a disruption budget stays the same (it is replaced as a whole).
    assert changed == ["poddisruptionbudget.policy/policycheck configured"]
    kubectl("delete", "validatingwebhookconfiguration", "policycheck")


def test_pods_of_ours_meet_the_restricted_standard(kubectl):
    install = Install("registry.example/policycheck:1")
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "strict", "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
    }
    kubectl.apply(namespace)
    for made in objects(install._replace(namespace="strict")):
        if made["kind"] == "Deployment":
            spec = made["spec"]["template"]["spec"]
        elif made["kind"] == "CronJob":
            spec = made["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        else:
            continue
        # Refused by the server where it is not met; the priority class is for the system's namespaces and ours.
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": made["kind"].lower(), "namespace": "strict"},
            "spec": spec,
        }
        kubectl.apply(pod, args=("--dry-run=server",))


def test_the_webhook_may_read_what_it_watches_and_no_more(plane, kubectl):
    install = Install("registry.example/policycheck:1")
    kubectl.apply(
        *(one for one in objects(install) if one["kind"].endswith(("Namespace", "Role", "RoleBinding")))
    )
    account = f"system:serviceaccount:{install.namespace}:policycheck"
    clerk = Kubectl(
        plane.programs / "kubectl",
        plane.kubeconfig(account, plane.authority.user(account, ("system:authenticated",))),
        plane.folder,
    )
    with plane.client() as client:
        served = kinds.discover(lambda path: client.get(path).json(), (*REQUIRED, *WELCOME)).served
    assert len(served) > 18
    for one in served.values():
        place = ["--namespace", one.namespace] if one.namespace else []
        for verb in ("list", "watch"):
            what = f"{one.plural}.{one.group}" if one.group else one.plural
            found = clerk("auth", "can-i", verb, what, *(place or ["--all-namespaces"]), check=False)
            assert found.stdout.strip() == "yes", (verb, what)
    for verb, what in (("get", "secrets"), ("list", "configmaps"), ("create", "pods"), ("update", "nodes")):
        assert clerk("auth", "can-i", verb, what, "--all-namespaces", check=False).stdout.strip() == "no"
