"""``--crds``: the user's own definitions decide about the kinds that they cover."""

import json
import subprocess
import sys

import pytest

DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {plural}.{group}
spec:
  group: {group}
  names: {{kind: {kind}, plural: {plural}}}
  scope: Cluster
  versions:
    - name: {version}
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
{spec}"""
WIDGET = {
    "plural": "widgets", "group": "example.org", "kind": "Widget", "version": "v1",
    "spec": """\
              type: object
              required: [size]
              properties:
                size: {type: integer, maximum: 9}
                names: {type: array, items: {type: string}}
              x-kubernetes-validations:
                - rule: "!has(self.names) || self.names.isSorted()"
""",
}  # fmt: skip
FLAVOR = {
    "plural": "resourceflavors", "group": "kueue.x-k8s.io", "kind": "ResourceFlavor", "version": "v1beta2",
    "spec": """\
              type: object
              properties:
                nodeLabels: {type: object, additionalProperties: {type: string}}
                shade: {type: string}
""",
}  # fmt: skip


def widget(**spec):
    return json.dumps(
        {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}, indent=1
    )


def flavor(**spec):
    return json.dumps(
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "ResourceFlavor",
            "metadata": {"name": "f"},
            "spec": spec,
        },
        indent=1,
    )


def test_a_kind_that_nobody_reads_is_checked_against_its_definition(write, lint):
    write({"w.json": widget(sise=1), "crds/w.yaml": DEFINITION.format(**WIDGET)})
    without = lint("w.json")
    assert without.files["w.json"][0] == "notChecked"
    assert without.places == []
    ran = lint("w.json", "--crds", "crds")
    assert ran.files["w.json"][0] == "checked"
    assert ran.places == [("CR010", "w.json", 7, "spec.size"), ("CR011", "w.json", 8, "spec.sise")]
    assert "did you mean 'size'?" in ran.report["findings"][1]["message"]
    assert ran.code == 1


def test_the_definition_goes_before_our_own_table(write, lint):
    write({"f.json": flavor(shade="dark", nodeLables={}), "c.yaml": DEFINITION.format(**FLAVOR)})
    assert [p[3] for p in lint("f.json").of("CR011")] == ["spec.shade", "spec.nodeLables"]
    assert [p[3] for p in lint("f.json", "--crds", "c.yaml").of("CR011")] == ["spec.nodeLables"]


def test_a_place_of_which_both_speak_is_reported_once(write, lint):
    write({"f.json": flavor(nodeLabels=[]), "c.yaml": DEFINITION.format(**FLAVOR)})
    ran = lint("f.json", "--crds", "c.yaml")
    assert [p for p in ran.places if p[3] == "spec.nodeLabels"] == ran.of("CR012")
    assert len(ran.of("CR012")) == 1


def test_a_field_of_another_version_keeps_the_better_words(write, lint, queue):
    spec = (
        "              type: object\n              properties:\n                cohortName: {type: string}\n"
    )
    spec += "              x-kubernetes-preserve-unknown-fields: false\n"
    spec = spec.replace("properties:\n", "properties:\n                namespaceSelector: {type: object}\n")
    definition = {**FLAVOR, "kind": "ClusterQueue", "plural": "clusterqueues", "spec": spec}
    text = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: a}\nspec: {cohort: x}\n"
    write({"q.yaml": text, "c.yaml": DEFINITION.format(**definition)})
    ran = lint("q.yaml", "--crds", "c.yaml")
    assert ran.of("KQ001", "CR011") == [("KQ001", "q.yaml", 4, "spec.cohort")]


def test_a_rule_that_only_a_server_can_evaluate_is_listed_and_no_finding(write, lint):
    write({"w.json": widget(size=1, names=["b", "a"]), "c.yaml": DEFINITION.format(**WIDGET)})
    ran = lint("w.json", "--crds", "c.yaml")
    assert ran.places == []
    (skip,) = [s for s in ran.report["summary"]["skippedRules"] if s["rule"] == "CR030"]
    assert "isSorted" in skip["why"]
    assert ran.code == 0


def test_what_is_read_as_context_is_not_judged(write, lint):
    write({"w.json": widget(size=1), "x.json": widget(sise=1), "c.yaml": DEFINITION.format(**WIDGET)})
    assert lint("w.json", "--context", "x.json", "--crds", "c.yaml").places == []


def test_settings_name_definitions_too(write, lint):
    write(
        {
            "w.json": widget(size=10),
            "c.yaml": DEFINITION.format(**WIDGET),
            ".policycheck.yaml": "crds: c.yaml\n",
        }
    )
    assert lint("w.json").of("CR014") == [("CR014", "w.json", 8, "spec.size")]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "c.yaml stands for no file"),
        ("kind: [", "--crds: c.yaml:1: column "),
        ("kind: ConfigMap\napiVersion: v1\n", "c.yaml has no CustomResourceDefinition in it"),
        ("a: 1\n", "c.yaml has no CustomResourceDefinition in it (c.yaml:1: no Kubernetes object"),
        (DEFINITION.format(**WIDGET).replace("io/v1\n", "io/v1beta1\n", 1), "c.yaml: CustomResourceDefinition widgets"),
        ("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\n", "no spec.names"),
    ],
)  # fmt: skip
def test_definitions_that_can_not_be_used_end_the_run(write, lint, text, why):
    write({"w.json": widget(size=1)} | ({"c.yaml": text} if text else {}))
    ran = lint("w.json", "--crds", "c.yaml")
    assert ran.code == 2
    assert ran.report is None
    assert why in ran.err


def test_the_validator_loads_only_when_definitions_are_given(write, folder):
    write({"w.json": widget(size=1), "c.yaml": DEFINITION.format(**WIDGET)})
    script = (
        "import sys\nfrom policycheck.adapters.cli import main\n"
        "main(['lint', *sys.argv[1:]])\nprint('jsonschema_rs' in sys.modules)\n"
    )
    for more, loaded in ((), "False"), (("--crds", "c.yaml"), "True"):
        command = [sys.executable, "-c", script, "w.json", "--format", "concise", *more]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == loaded
