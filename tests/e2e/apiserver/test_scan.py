"""The background scan against real definitions of policy reports."""

import pytest
from click.testing import CliRunner

from policycheck.adapters.cli.webhook_scan import scan as command
from policycheck.report.policyreport import FORMS
from tests.e2e.apiserver import build, control
from tests.e2e.apiserver.client import Kubectl, Loader, documents
from tests.e2e.conftest import BAD


@pytest.fixture(scope="module")
def kubectl(plane):
    made = Kubectl(plane.programs / "kubectl", plane.admin, plane.folder)
    with plane.client() as client:
        for group in FORMS:
            try:
                control.install(client, build.report_definitions(group))
            except build.Missing as missing:
                pytest.skip(str(missing))
        Loader(client).create(list(documents(BAD)))
    return made


@pytest.fixture
def scan(plane, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", str(plane.admin))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")

    def run(*args):
        done = CliRunner().invoke(command, ["cluster:", *args], standalone_mode=False)
        assert done.exception is None, done.output
        return done

    return run


def writes(plane, since):
    found = plane.audited()[since:]
    return [one for one in found if "report" in one["objectRef"]["resource"] and "dryRun" not in one]


@pytest.mark.parametrize("group", FORMS)
def test_reports_say_what_lint_says_and_are_written_when_that_changes_alone(plane, kubectl, scan, group):
    form = FORMS[group]
    of_cluster, of_space = f"{form.cluster_plural}.{group}", f"{form.plural}.{group}"
    done = scan("--reports", group)
    assert "0 unchanged, 0 deleted" in done.stdout, done.output
    reports = kubectl.get(of_cluster)["items"]
    by_scope = {one["scope"]["name"]: one for one in reports if "scope" in one}
    dev = by_scope["vision-dev"]
    (owner,) = dev["metadata"]["ownerReferences"]
    queue = kubectl.get("clusterqueue", "vision-dev")
    assert (owner["kind"], owner["uid"]) == ("ClusterQueue", queue["metadata"]["uid"])
    assert dev["summary"]["fail"] == 1
    (result,) = [one for one in dev["results"] if one["rule"] == "KQ610"]
    assert (result["result"], result["severity"], result["source"]) == ("fail", "high", "policycheck")
    assert result["timestamp"]["seconds"] == 1800000000
    assert result["properties"]["path"] == "spec.namespaceSelector"
    jobs = kubectl.get(of_space, "--namespace", "team-speech")["items"]
    assert "recognition-large" in {one["scope"]["name"] for one in jobs}
    (whole,) = [one for one in reports if "scope" not in one]
    assert whole["summary"]["pass"] > 30
    # Again: nothing has changed, and nothing is written.
    before = len(plane.audited())
    done = scan("--reports", group)
    assert "0 written" in done.stdout
    assert "0 deleted" in done.stdout
    assert not writes(plane, before)
    # Repaired: the report goes. Another object is not touched.
    kubectl(
        "patch", "clusterqueue", "vision-dev", "--type=merge", "-p", '{"spec": {"namespaceSelector": {}}}'
    )
    before = len(plane.audited())
    done = scan("--reports", group)
    names = {one["objectRef"].get("name") for one in writes(plane, before)}
    assert dev["metadata"]["name"] in names
    left = {one["scope"]["name"]: one for one in kubectl.get(of_cluster)["items"] if "scope" in one}
    rules = {one["rule"] for one in left.get("vision-dev", {}).get("results", ())}
    assert "KQ610" not in rules
    assert left["foundation"] == by_scope["foundation"]
    kubectl(
        "patch",
        "clusterqueue",
        "vision-dev",
        "--type=json",
        "-p",
        '[{"op": "remove", "path": "/spec/namespaceSelector"}]',
    )


def test_reports_of_others_are_left_alone(kubectl, scan):
    form = FORMS["wgpolicyk8s.io"]
    other = {
        "apiVersion": form.api_version,
        "kind": form.cluster_kind,
        "metadata": {"name": "of-somebody-else"},
        "summary": {"pass": 1, "fail": 0, "warn": 0, "error": 0, "skip": 0},
    }
    kubectl.apply(other)
    scan()
    assert kubectl.get(form.cluster_plural, "of-somebody-else")["summary"]["pass"] == 1


def test_the_account_of_the_scan_may_do_what_it_does_and_no_more(plane, kubectl, monkeypatch):
    """With the very role that the manifests give it."""
    from policycheck.adapters.install import Install, objects

    install = Install("registry.example/image")
    kubectl("create", "namespace", install.namespace, check=False)
    roles = [
        one for one in objects(install) if one["kind"].endswith(("Role", "RoleBinding", "ServiceAccount"))
    ]
    kubectl.apply(*roles)
    account = f"system:serviceaccount:{install.namespace}:policycheck-scan"
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{install.namespace}", "system:authenticated")
    monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig(account, plane.authority.user(account, groups))))
    done = CliRunner().invoke(command, ["cluster:"], standalone_mode=False)
    assert done.return_value == 0, done.output
    assert "forbidden" not in done.output
    clerk = Kubectl(
        plane.programs / "kubectl",
        plane.kubeconfig(account, plane.authority.user(account, groups)),
        plane.folder,
    )
    for verb, what in (
        ("get", "secrets"),
        ("create", "pods"),
        ("update", "clusterqueues"),
        ("get", "configmaps"),
    ):
        assert clerk("auth", "can-i", verb, what, check=False).stdout.strip() == "no"
