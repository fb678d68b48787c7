"""The webhook as its manifests install it, on a real API server, from the side of those who apply changes."""

import base64
import datetime as dt
import json
import re
import signal
import socket
import ssl
import threading
import time

import pytest
import yaml

from policycheck.adapters.cli.webhook_manifests import render
from policycheck.adapters.install import Install, certificate
from policycheck.adapters.live import certs
from tests.e2e.apiserver import small
from tests.e2e.apiserver.client import Kubectl, Loader
from tests.e2e.apiserver.gate import Gate

pytestmark = pytest.mark.slow  # `make e2e` and CI run it
SETTINGS = yaml.safe_dump(
    {"target": {"kueue": "0.17"}, "webhook": {"override": {"users": ["admin"]}}, "ignore": ["KQ801"]}
)


@pytest.fixture(scope="module")
def kubectl(plane):
    """The real kubectl as an administrator, on the small cluster."""
    with plane.client() as client:
        _, left = Loader(client).create(small.cluster())
        assert not left
        # What was there before the webhook, and is wrong.
        wrong = small.queue("legacy", 0, cohortName="legacy")
        del wrong["spec"]["namespaceSelector"]
        Loader(client).create([wrong])
    return Kubectl(plane.programs / "kubectl", plane.admin, plane.folder)


@pytest.fixture(scope="module")
def install():
    return Install("registry.example/policycheck:1", certificates="self-signed", settings=SETTINGS)


@pytest.fixture(scope="module")
def gate(plane, kubectl, install, tmp_path_factory):
    """Two replicas with certificates that they made themselves."""
    made = Gate(plane, kubectl, tmp_path_factory.mktemp("gate"), render(install))
    try:
        made.start()
        yield made
    finally:
        made.close()


def audited(plane, name, verb=None):
    """Annotations of the newest record about an object of that name."""
    for _ in range(50):
        for one in reversed(plane.audited()):
            reference = one.get("objectRef", {})
            if reference.get("name") == name and verb in {None, one["verb"]}:
                return one.get("annotations", {})
        time.sleep(0.1)
    raise AssertionError(f"no record of {name}")


def test_the_good_change_passes_and_the_bad_queue_is_refused_with_place_value_rule_and_page(
    gate, kubectl, plane
):
    assert "configured" in kubectl.apply(small.queue("team-a", 15)).stdout
    done = kubectl.apply(small.queue("team-a", 40), check=False)
    assert done.returncode == 1
    print(done.stderr)
    assert "critical.policycheck.dev" in done.stderr
    assert "KQ110" in done.stderr
    path = "spec.resourceGroups[0].flavors[name=h100].resources[name=nvidia.com/gpu].nominalQuota"
    assert path in done.stderr
    assert '(found "40")' in done.stderr
    assert "docs/rules/KQ110.md" in done.stderr
    assert kubectl.get("clusterqueue", "team-a")["spec"] == _spec(kubectl, "team-a", 15)
    kubectl.apply(small.queue("team-a", 16))


def _spec(kubectl, name, gpus):
    found = kubectl.get("clusterqueue", name)["spec"]
    quotas = {r["name"]: r["nominalQuota"] for r in found["resourceGroups"][0]["flavors"][0]["resources"]}
    assert quotas["nvidia.com/gpu"] == str(gpus)
    return found


def test_a_job_that_can_never_run_is_refused_and_one_that_bypasses_the_queue(gate, kubectl):
    done = kubectl.apply(small.job("too-large", pods=6), check=False)
    assert done.returncode == 1
    assert "advisory.policycheck.dev" in done.stderr
    assert re.search(r"KQ63\d", done.stderr), done.stderr
    done = kubectl.apply(small.job("beside", queue=""), check=False)
    assert "KQ62" in done.stderr, done.stderr
    assert "created" in kubectl.apply(small.job("fits")).stdout


def test_a_warning_reaches_the_client_and_the_change_passes(gate, kubectl):
    changed = small.queue("team-b", 16, preemption={"withinClusterQueue": "LowerOrNewerEqualPriority"})
    done = kubectl.apply(changed)
    print(done.stderr)
    assert "Warning: KQ301" in done.stderr
    assert "configured" in done.stdout
    ours = [line.removeprefix("Warning: ") for line in done.stderr.splitlines() if ": KQ" in line]
    assert max(map(len, ours)) <= 120
    kubectl.apply(small.queue("team-b", 16))


def test_the_audit_log_says_which_rules_and_under_which_rulebook(gate, kubectl, plane):
    kubectl.apply(small.queue("audited", 64), check=False)
    notes = audited(plane, "audited")
    print(notes)
    assert "KQ110" in notes["critical.policycheck.dev/denied-rules"]
    assert re.fullmatch(r"(sha256:)?[0-9a-f]{64}", notes["critical.policycheck.dev/rulebook"])
    assert notes["critical.policycheck.dev/verdict"] == "denied"
    assert re.fullmatch(r"[0-9.]+s", notes["critical.policycheck.dev/staleness"])


def test_a_dry_run_is_judged_and_leaves_nothing(gate, kubectl):
    before = kubectl("get", "clusterqueues,jobs,reports", "-A", "-o", "name", check=False).stdout
    done = kubectl.apply(small.queue("tried", 64), args=("--dry-run=server",), check=False)
    assert "KQ110" in done.stderr
    # If a dry run were remembered, the second of two that fit alone would be refused.
    for name in ("tried-1", "tried-2"):
        cohort = {"cohortName": "tried"}
        done = kubectl.apply(small.queue(name, 0, **cohort), args=("--dry-run=server",))
        assert "(server dry run)" in done.stdout
    assert kubectl("get", "clusterqueues,jobs,reports", "-A", "-o", "name", check=False).stdout == before


def test_what_was_wrong_before_may_be_changed_and_not_made_worse(gate, kubectl):
    done = kubectl("annotate", "clusterqueue", "legacy", "note=1")
    assert "annotated" in done.stdout
    patch = '{"spec": {"stopPolicy": "Hold"}}'
    assert "patched" in kubectl("patch", "clusterqueue", "legacy", "--type=merge", "-p", patch).stdout
    worse = small.queue("legacy", 64, cohortName="legacy")
    del worse["spec"]["namespaceSelector"]
    done = kubectl.apply(worse, check=False)
    assert done.returncode == 1
    assert "KQ110" in done.stderr
    assert "KQ610" not in done.stderr


def test_deletions_finalizers_status_and_exempt_namespaces_are_never_in_the_way(gate, kubectl, plane):
    going = small.queue("going", 0, cohortName="going")
    going["metadata"]["finalizers"] = ["kueue.x-k8s.io/resource-in-use"]
    kubectl.apply(going)
    assert "deleted" in kubectl("delete", "clusterqueue", "going", "--wait=false").stdout
    remove = '[{"op": "remove", "path": "/metadata/finalizers"}]'
    kubectl("patch", "clusterqueue", "going", "--type=json", "-p", remove)
    assert "NotFound" in kubectl("get", "clusterqueue", "going", check=False).stderr
    status = '{"status": {"pendingWorkloads": 3}}'
    kubectl("patch", "clusterqueue", "legacy", "--subresource=status", "--type=merge", "-p", status)
    for name, labels in (("open", {"policycheck.dev/exempt": "true"}),):
        space = small.space(name)
        space["metadata"]["labels"] = labels
        kubectl.apply(space)
    assert "created" in kubectl.apply(small.job("beside", namespace="open", queue="")).stdout
    assert "created" in kubectl.apply(small.job("beside", namespace="kube-system", queue="")).stdout


def test_what_a_deletion_leaves_behind_is_warned_of(gate, kubectl):
    kubectl.apply(small.queue("left", 0), {**small.local("team-c"), "spec": {"clusterQueue": "left"}})
    done = kubectl("delete", "clusterqueue", "left")
    print(done.stderr)
    assert "deleted" in done.stdout
    assert re.search(r"Warning: KQ640 .*left", done.stderr)
    kubectl("delete", "localqueue", "main", "-n", "team-c")


def test_an_override_passes_for_whom_may_and_is_recorded(gate, kubectl, plane):
    how = {"policycheck.dev/override": "nodes arrive tomorrow; owner=ann; until=2099-01-01"}
    done = kubectl.apply(small.queue("rushed", 64, how))
    assert "would be refused" in done.stderr
    notes = audited(plane, "rushed", "create")
    assert "nodes arrive tomorrow" in notes["critical.policycheck.dev/override"]
    assert notes["critical.policycheck.dev/verdict"] == "overridden"
    kubectl("delete", "clusterqueue", "rushed")
    user = plane.kubeconfig("bob", plane.authority.user("bob", ("system:masters",)))
    bob = Kubectl(plane.programs / "kubectl", user, plane.folder)
    done = bob.apply(small.queue("rushed", 64, how), check=False)
    assert done.returncode == 1
    assert "may not override" in done.stderr


def test_another_version_of_the_api_is_judged_as_well(gate, kubectl):
    older = small.queue("older", 64)
    older["apiVersion"] = "kueue.x-k8s.io/v1beta1"
    older["spec"]["cohort"] = older["spec"].pop("cohortName")
    done = kubectl.apply(older, check=False)
    assert done.returncode == 1
    assert "KQ110" in done.stderr


def test_while_the_webhook_is_down_critical_changes_wait_and_advisory_ones_pass(gate, kubectl):
    gate.down()
    try:
        done = kubectl.apply(small.queue("team-a", 15), check=False)
        assert done.returncode == 1
        assert 'failed calling webhook "critical.policycheck.dev"' in done.stderr
        assert "created" in kubectl.apply(small.job("unchecked", queue="")).stdout
        # What repairs it goes on: deletions, its own namespace, the webhook configuration.
        kubectl("delete", "job", "unchecked", "-n", "team-a")
        assert "deleted" in kubectl("delete", "clusterqueue", "legacy").stdout
        # The scheduler goes on: it keeps finalizers on its own objects.
        scheduler = "system:serviceaccount:kueue-system:kueue-controller-manager"
        patch = '{"metadata": {"finalizers": ["kueue.x-k8s.io/resource-in-use"]}}'
        who = (f"--as={scheduler}", "--as-group=system:masters")
        change = ("patch", "clusterqueue", "team-a", "--type=merge", "-p", patch)
        assert "patched" in kubectl(*change, *who).stdout
        change = ("patch", "clusterqueue", "team-a", "--type=merge", "-p", '{"metadata": {"finalizers": []}}')
        assert "patched" in kubectl(*change, *who).stdout
        note = ("note=1", "-n", gate.namespace)
        assert "annotated" in kubectl("annotate", "deployment", "policycheck", *note).stdout
        kubectl("delete", "validatingwebhookconfiguration", "policycheck")
        assert "configured" in kubectl.apply(small.queue("team-a", 15)).stdout
    finally:
        gate.kubectl.apply(*(o for o in gate.objects if o["kind"] == "ValidatingWebhookConfiguration"))
        gate.up()
    assert "configured" in kubectl.apply(small.queue("team-a", 16)).stdout
    assert kubectl.apply(small.queue("team-a", 40), check=False).returncode == 1


class Traffic:
    """Changes that are good, one after another, until it is stopped; what failed is kept."""

    def __init__(self, plane):
        self.plane, self.failed, self.done = plane, [], 0
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        with self.plane.client() as client:
            while not self.stopped.is_set():
                patch = {"metadata": {"labels": {"turn": str(self.done)}}}
                answer = client.patch(
                    "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/team-b",
                    json=patch,
                    headers={"Content-Type": "application/merge-patch+json"},
                )
                self.done += 1
                if answer.status_code != 200:
                    self.failed.append(answer.text)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join(30)


def test_nothing_is_lost_while_one_of_two_replicas_is_replaced(gate, plane):
    with Traffic(plane) as traffic:
        time.sleep(1)
        gate.replicas[0].stop(signal.SIGTERM)
        time.sleep(1)
        gate.replicas[0].start()
        gate.wait()
        time.sleep(1)
    print(f"{traffic.done} changes, {len(traffic.failed)} failed")
    assert traffic.done > 20
    assert traffic.failed == []


def test_a_replica_that_is_killed_costs_what_it_was_at_and_no_more(gate, plane):
    with Traffic(plane) as traffic:
        time.sleep(1)
        gate.replicas[1].stop(signal.SIGKILL)
        time.sleep(2)
        gate.replicas[1].start()
        gate.wait()
    print(f"{traffic.done} changes, {len(traffic.failed)} failed: {traffic.failed[:1]}")
    assert traffic.done > 20
    assert len(traffic.failed) <= 1


def test_the_webhook_keeps_up_through_a_restart_of_the_api_server(gate, kubectl, plane):
    plane.stop_api(how=signal.SIGKILL)
    plane.start_api()
    deadline = time.monotonic() + 90
    while (done := kubectl.apply(small.queue("team-a", 15), check=False)).returncode:
        assert time.monotonic() < deadline, done.stderr
        time.sleep(0.5)
    # It knows what has happened since: the other team takes what was given back, and no more.
    kubectl.apply(small.queue("team-b", 17))
    done = kubectl.apply(small.queue("team-a", 16), check=False)
    assert "KQ110" in done.stderr
    kubectl.apply(small.queue("team-b", 16))
    kubectl.apply(small.queue("team-a", 16))


def served(replica):
    """The certificate that a replica shows."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(("127.0.0.1", replica.port), timeout=10) as plain,
        context.wrap_socket(plain) as one,
    ):
        return ssl.DER_cert_to_PEM_cert(one.getpeercert(binary_form=True)).encode()


def test_leaf_and_authority_are_exchanged_without_a_lost_request(gate, kubectl, plane):
    """The steps that replicas take over years, one after another as soon as all have followed."""
    hosts = tuple(certificate.hosts(gate.namespace))
    name = ("secret", certificate.TLS, "-n", gate.namespace)
    steps = []

    def take(what):
        held = certs.read({k: base64.b64decode(v) for k, v in kubectl.get(*name)["data"].items()})
        made = certs.after(held, what, hosts, dt.datetime.now(dt.UTC))
        data = {k: base64.b64encode(v).decode() for k, v in certs.write(made).items()}
        kubectl("patch", *name, "--type=merge", "-p", json.dumps({"data": data}))
        end = time.monotonic() + 60
        while not (
            bundles(kubectl) == {made.bundle}
            and all(served(one).strip() == made.leaf.certificate.strip() for one in gate.replicas)
        ):
            assert time.monotonic() < end, f"{what} has not reached everybody"
            time.sleep(0.2)
        steps.append(len(made.authorities))
        time.sleep(1)  # for the API server to take up the bundle

    with Traffic(plane) as traffic:
        for what in ("leaf", "announce", "switch", "drop"):
            take(what)
    print(f"{traffic.done} changes while leaf and authority were exchanged, {len(traffic.failed)} failed")
    assert steps == [1, 2, 2, 1]
    assert traffic.done > 50
    assert traffic.failed == []


def bundles(kubectl):
    hooks = kubectl.get("validatingwebhookconfiguration", "policycheck")["webhooks"]
    return {base64.b64decode(one["clientConfig"].get("caBundle", "")) for one in hooks}


def test_metrics_are_there_and_the_webhook_wrote_nothing(gate, plane):
    text = gate.replicas[0].metrics()
    assert 'policycheck_webhook_requests_total{kind="ClusterQueue"' in text
    user = f"system:serviceaccount:{gate.namespace}:policycheck"
    written = {
        (one["verb"], one["objectRef"]["resource"])
        for one in plane.audited()
        if one["user"]["username"] == user
    }
    assert written <= {("update", "secrets"), ("patch", "validatingwebhookconfigurations")}
