import base64
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from policycheck import __version__
from policycheck.adapters.cli.webhook_manifests import IMAGE, manifests
from policycheck.adapters.install import CERTIFICATES, EXEMPT, Install, certificate, objects
from policycheck.adapters.install.rbac import plural
from policycheck.adapters.install.webhooks import ADVISORY, CRITICAL, SYSTEM, TIMEOUT
from policycheck.adapters.live import kinds
from policycheck.app.world import REQUIRED, WELCOME
from policycheck.systems import registry


def made(**options):
    found = {}
    for one in objects(Install("image", **options)):
        key = (one["kind"], one["metadata"]["name"])
        assert key not in found
        found[key] = one
    return found


def run(*args):
    return CliRunner().invoke(manifests, args, standalone_mode=False)


def hooks(found):
    return {
        one["name"].partition(".")[0]: one
        for one in found["ValidatingWebhookConfiguration", "policycheck"]["webhooks"]
    }


def test_it_prints_yaml_that_is_read_back_as_the_objects():
    done = run("--image", "image")
    assert done.exception is None, done.output
    assert list(yaml.safe_load_all(done.stdout)) == list(objects(Install("image")))
    assert "&id" not in done.stdout


def test_what_is_there_first_stands_first_and_the_hook_last():
    order = [one["kind"] for one in objects(Install("image", certificates="self-signed"))]
    assert order[0] == "Namespace"
    assert order[-1] == "ValidatingWebhookConfiguration"
    assert order.index("ServiceAccount") < order.index("Secret") < order.index("Deployment")


@pytest.mark.parametrize("kind", sorted({kind for _, kind in (*kinds.ALL, *REQUIRED, *WELCOME)}))
def test_plurals_are_as_the_api_has_them(kind):
    known = {
        "AdmissionCheck": "admissionchecks",
        "ClusterPolicy": "clusterpolicies",
        "DeviceClass": "deviceclasses",
        "PriorityClass": "priorityclasses",
        "RuntimeClass": "runtimeclasses",
        "Topology": "topologies",
        "WorkloadPriorityClass": "workloadpriorityclasses",
    }
    assert plural(kind) == known.get(kind, f"{kind.lower()}s")


def test_only_kinds_that_some_system_reads_are_asked_about_and_the_critical_ones_are_few():
    known = {}
    for name in registry.SYSTEMS:
        module = __import__(f"policycheck.systems.{name}", fromlist=["KINDS"])
        for group, kind in module.KINDS:
            known.setdefault(group, set()).add(plural(kind))
    for group, versions, resources in (*CRITICAL, *ADVISORY):
        assert set(resources) <= known[group]
        assert "*" not in (group, *versions, *resources)
    assert [resources for _, _, resources in CRITICAL] == [["clusterqueues", "cohorts", "resourceflavors"]]


def test_both_entries_leave_alone_what_repairs_the_cluster_and_deletions():
    found = hooks(made(namespace="gate", exempt=("platform",)))
    assert {name: one["failurePolicy"] for name, one in found.items()} == {
        "critical": "Fail",
        "advisory": "Ignore",
    }
    for one in found.values():
        names, label = one["namespaceSelector"]["matchExpressions"]
        assert names["operator"] == "NotIn"
        assert set(names["values"]) == {*SYSTEM, "gate", "platform"}
        assert label == {"key": EXEMPT, "operator": "DoesNotExist"}
        assert one["timeoutSeconds"] == TIMEOUT
        assert (one["sideEffects"], one["matchPolicy"]) == ("None", "Equivalent")
        assert one["admissionReviewVersions"] == ["v1"]
        condition = one["matchConditions"][0]["expression"]
        assert condition == "object == null || !has(object.metadata.deletionTimestamp)"
        operations = {operation for rule in one["rules"] for operation in rule["operations"]}
        assert operations == {"CREATE", "UPDATE"} | (
            {"DELETE"} if one["failurePolicy"] == "Ignore" else set()
        )
        for rule in one["rules"]:
            assert not any("/" in resource for resource in rule["resources"])


def test_the_webhook_writes_nothing_but_its_own_certificate():
    for certificates in CERTIFICATES:
        found = made(certificates=certificates, scan="")
        rules = [
            rule
            for (kind, _), one in found.items()
            if kind in {"Role", "ClusterRole"}
            for rule in one["rules"]
        ]
        writing = [rule for rule in rules if not set(rule["verbs"]) <= {"get", "list", "watch"}]
        if certificates != "self-signed":
            assert writing == []
        else:
            assert {tuple(rule["resourceNames"]) for rule in writing} == {
                ("policycheck-tls",),
                ("policycheck",),
            }
        assert not any("secrets" in rule["resources"] for rule in rules if rule not in writing)


def test_config_maps_are_read_in_one_namespace_alone():
    found = made(scheduler_namespace="queues")
    assert found["Role", "policycheck:configuration"]["metadata"]["namespace"] == "queues"
    for (kind, _), one in found.items():
        if kind == "ClusterRole":
            assert not any("configmaps" in rule["resources"] for rule in one["rules"])
    assert ("Role", "policycheck:configuration") not in made(scheduler_namespace="")


def test_every_binding_leads_to_a_role_and_accounts_that_are_there():
    found = made(certificates="self-signed")
    for (kind, _), one in found.items():
        if kind.endswith("Binding"):
            assert (one["roleRef"]["kind"], one["roleRef"]["name"]) in found
            for subject in one["subjects"]:
                account = found["ServiceAccount", subject["name"]]
                assert account["metadata"]["namespace"] == subject["namespace"]


def test_pods_are_hardened_bounded_and_spread():
    found = made(settings="{}", certificate=True)
    spec = found["Deployment", "policycheck"]["spec"]
    scan = found["CronJob", "policycheck-scan"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    pod = spec["template"]["spec"]
    for one in (pod, scan):
        assert one["securityContext"]["runAsNonRoot"] is True
        assert one["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        (container,) = one["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert set(container["resources"]["limits"]) == {"cpu", "memory"}
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in one["volumes"]}
    assert {one["topologyKey"] for one in pod["topologySpreadConstraints"]} == {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
    }
    assert pod["containers"][0]["lifecycle"]["preStop"]
    selector = spec["selector"]["matchLabels"].items()
    assert selector <= spec["template"]["metadata"]["labels"].items()
    for kind in ("PodDisruptionBudget", "NetworkPolicy"):
        chosen = found[kind, "policycheck"]["spec"]
        assert (chosen.get("selector") or chosen["podSelector"])["matchLabels"].items() == selector


def test_a_leaf_is_signed_by_an_authority_that_outlives_it():
    found = made(namespace="gate")
    leaf, authority = (found["Certificate", name]["spec"] for name in (certificate.TLS, certificate.CA))
    assert leaf["dnsNames"][0] == "policycheck.gate.svc"
    assert found["Issuer", leaf["issuerRef"]["name"]]["spec"] == {
        "ca": {"secretName": authority["secretName"]}
    }
    assert int(authority["duration"][:-1]) > 10 * int(leaf["duration"][:-1])
    hook = found["ValidatingWebhookConfiguration", "policycheck"]
    assert hook["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "gate/policycheck-tls"}


def test_certificates_of_others_need_what_signed_them(tmp_path):
    ca = tmp_path / "ca.pem"
    ca.write_text("pem")
    done = run("--certificates", "secret", "--ca-file", str(ca))
    assert done.exception is None
    bundles = {
        one["clientConfig"]["caBundle"]
        for made in yaml.safe_load_all(done.stdout)
        if made["kind"] == "ValidatingWebhookConfiguration"
        for one in made["webhooks"]
    }
    assert bundles == {base64.b64encode(b"pem").decode()}
    assert "needs --ca-file" in str(run("--certificates", "secret").exception)
    assert "goes with --certificates secret" in str(run("--ca-file", str(ca)).exception)


def test_settings_that_are_wrong_are_told_before_they_reach_a_cluster(tmp_path):
    file = tmp_path / "policycheck.yaml"
    file.write_text("selekt: [KQ101]\n")
    assert "selekt" in str(run("--config", str(file)).exception)
    file.write_text("ignore: [KQ801]\n")
    done = run("--config", str(file))
    held = [one for one in yaml.safe_load_all(done.stdout) if one["kind"] == "ConfigMap"]
    assert [one["data"] for one in held] == [{"policycheck.yaml": "ignore: [KQ801]\n"}]


def test_the_same_options_give_the_same_bytes():
    assert run("--replicas", "3").stdout == run("--replicas", "3").stdout


def test_the_chart_installs_the_version_that_it_lies_beside():
    chart = yaml.safe_load((Path(__file__).parents[3] / "deploy" / "chart" / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__
    assert IMAGE.endswith(f":{__version__}")
