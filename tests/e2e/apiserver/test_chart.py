import subprocess

import pytest
import yaml

from policycheck.adapters.cli.webhook_manifests import render
from policycheck.adapters.install import Install
from tests.e2e.conftest import ROOT

CHART = ROOT / "deploy" / "chart"
IMAGE = "registry.example/policycheck@sha256:0123"
CASES = {
    "as it comes": (Install(IMAGE), {}),
    "self-signed": (
        Install(IMAGE, certificates="self-signed", namespace="gpu-policy", replicas=3, memory="4Gi"),
        {"certificates": "self-signed", "replicas": 3, "memory": "4Gi"},
    ),
    "all there is": (
        Install(
            IMAGE,
            certificates="secret",
            ca_bundle="QUJD",
            scheduler_namespace="queues",
            exempt=("platform", "kube-system"),
            settings="ignore: [KQ101]\ntarget: {kueue: '0.17'}\n",
            certificate=True,
            scan="5 4 * * *",
            reports="openreports.io",
        ),
        {
            "certificates": "secret",
            "caBundle": "QUJD",
            "schedulerNamespace": "queues",
            "exempt": ["platform", "kube-system"],
            "settings": "ignore: [KQ101]\ntarget: {kueue: '0.17'}\n",
            "certified": True,
            "scan": "5 4 * * *",
            "reports": "openreports.io",
        },
    ),
    "nothing that can be left out": (
        Install(IMAGE, scheduler_namespace="", scan=""),
        {"schedulerNamespace": "", "scan": ""},
    ),
}


def helm(programs, *args, **options):
    return subprocess.run(
        [programs / "helm", *args], capture_output=True, text=True, check=False, timeout=120, **options
    )


def by_name(objects):
    found = {}
    for one in objects:
        meta = one["metadata"]
        found[one["kind"], meta.get("namespace", ""), meta["name"]] = one
    return found


@pytest.mark.parametrize("case", CASES)
def test_the_chart_renders_what_webhook_manifests_prints(programs, tmp_path, case):
    install, values = CASES[case]
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump({"image": IMAGE, "createNamespace": True, **values}))
    done = helm(programs, "template", "gate", CHART, "--namespace", install.namespace, "--values", file)
    assert done.returncode == 0, done.stderr
    charted = by_name(filter(None, yaml.safe_load_all(done.stdout)))
    printed = by_name(yaml.safe_load_all(render(install)))
    assert set(charted) == set(printed)
    for key, one in printed.items():
        assert charted[key] == one, key


def test_the_chart_is_good_to_helm_and_refuses_values_that_it_does_not_know(programs, tmp_path):
    assert helm(programs, "lint", CHART, "--strict").returncode == 0
    refused = helm(programs, "template", CHART, "--set", "failurePolicy=Ignore")
    assert refused.returncode != 0
    assert "failurePolicy" in refused.stderr
    refused = helm(programs, "template", CHART, "--set", "certificates=none")
    assert refused.returncode != 0
