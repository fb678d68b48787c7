"""Kueue's Configuration where people keep it: in a ConfigMap, in values of its chart, in what installs it."""

import pytest

CONFIGURATION = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
metrics:
  enableClusterQueueResource: true
"""


def indented(text, by):
    return "".join(" " * by + line + "\n" for line in text.splitlines())


VALUES = "replicas: 1\nmanagerConfig:\n  controllerManagerConfigYaml: |-\n" + indented(CONFIGURATION, 4)
RELEASE = (
    "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: kueue}\nspec:\n  values:\n"
)
APPLICATION = (
    "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: kueue}\nspec:\n  source:\n    helm:\n"
    "      values: |\n"
)
CONFIG_MAP = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  controller_manager_config.yaml: |\n"
    + indented(CONFIGURATION, 4)
)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        (CONFIGURATION, 4, 3),
        (CONFIG_MAP, 9, 7),
        (VALUES, 7, 7),
        ("kueue:\n" + indented(VALUES, 2), 8, 9),
        (RELEASE + indented(VALUES, 4), 12, 11),
        (APPLICATION + indented(VALUES, 8), 14, 15),
    ],
)
def test_a_misspelt_field_is_found_on_its_line(write, lint, text, line, column):
    write({"any.yaml": text})
    ran = lint("any.yaml")
    (found,) = [f for f in ran.report["findings"] if f["rule"] == "CR011"]
    assert (found["line"], found["column"]) == (line, column)
    assert found["path"].endswith("metrics.enableClusterQueueResource")
    assert found["object"]["kind"] == "Configuration"
    assert ran.files["any.yaml"][0] == "checked"


def test_text_in_quotes_is_pointed_at_by_its_key(write, lint):
    text = (
        CONFIG_MAP.partition("\ndata:")[0]
        + "\ndata:\n  config.yaml: "
        + repr(CONFIGURATION).replace("'", '"')
        + "\n"
    )
    write({"any.yaml": text})
    (found,) = lint("any.yaml").of("CR011")
    assert found[2] == 5


def test_values_that_nobody_knows_stay_unchecked(write, lint):
    write({"values.yaml": "kueue: {enabled: true}\nreplicas: 1\nreplicas: 2\n"})
    ran = lint("values.yaml")
    assert ran.files == {"values.yaml": ("notChecked", 1, "chart values, no Kubernetes object")}
    assert ran.places == []
    assert ran.report["summary"]["documents"] == 0


def test_values_beside_other_documents(write, lint, queue):
    write({"all.yaml": queue("a") + "---\na: 1\n---\n" + VALUES})
    ran = lint("all.yaml")
    assert ran.files["all.yaml"] == ("partly", 15, "no Kubernetes object: neither apiVersion nor kind")
    assert len(ran.of("CR011")) == 1


def test_values_that_are_a_template_are_not_checked(write, lint):
    write({"values.yaml": VALUES + "name: ${NAME}\n"})
    assert lint("values.yaml").files["values.yaml"][0] == "notChecked"


def test_what_is_no_object_may_tell_the_version(write, lint, queue):
    write(
        {
            "q.yaml": queue("a"),
            "values.yaml": "kueue:\n  controllerManager: {manager: {image: {tag: v0.16.2}}}\n",
        }
    )
    told = lint("q.yaml", "values.yaml").report["summary"]["targets"]["kueue"]
    assert told == {"version": "0.16.2", "assumed": False, "source": "image v0.16.2 in values.yaml"}


def test_objects_whose_text_could_not_be_read_are_named(write, lint, queue):
    template = queue("a").replace("nominalQuota: 8", "nominalQuota: ${GPUS}")
    write({"q.yaml": template, "r.yaml": queue("{{ .Values.name }}"), "s.yaml": queue("b")})
    (note,) = lint("q.yaml", "r.yaml", "s.yaml").report["summary"]["notes"]
    assert note.endswith("could not be read: ClusterQueue (name not known), ClusterQueue a")
