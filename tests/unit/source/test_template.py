import pytest

from policycheck.source.template import sketch
from policycheck.source.yamldoc import parse

HEAD = "apiVersion: v1\nkind: X\n"


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (
            HEAD + "metadata:\n  name: {{ .Release.Name }}\n",
            4,
            "Go template: render it first (helm template)",
        ),
        ("{{- if .Values.on }}\n" + HEAD + "{{- end }}\n", 1, "Go template"),
        (HEAD + "spec:\n  q: '{{ .Values.quota }}'\n", 4, "Go template"),
        (HEAD + "metadata: {name: '{{.Name}}'}\n", 3, "Go template"),
        ("{% if x %}\n" + HEAD + "{% endif %}\n", 1, "Jinja template"),
        ("%{ if x ~}\n" + HEAD + "%{ endif ~}\n", 1, "Terraform template"),
        (HEAD + "spec:\n  q: ${gpus}\n", 4, "placeholder ${gpus}"),
        (HEAD + "metadata: {name: 'q-${team}'}\n", 3, "placeholder ${team}"),
    ],
)
def test_templates_are_not_checked_and_no_failure(read, text, line, says):
    report = read(text).report
    assert (report.state, report.line, report.failed) == ("notChecked", line, False)
    assert says in report.why


@pytest.mark.parametrize(
    "text",
    [
        "spec:\n  message: '{{ $labels.pod }} waits'\n  value: '{{ $value }}'\n",
        "spec: {name: '{{inputs.parameters.x}}'}\n",
        "spec: {args: ['${HOME}'], command: [sh, -c, 'echo ${X}'], env: [{name: a, value: '${B}'}]}\n",
        "data: {script: '${X}', a: '{{ .Values.x }}'}\n",
        "spec: {text: 'cost ${X} each'}\n",
        "# {{ .Values.x }} ${y}\nspec: {}\n",
    ],
)
def test_what_is_filled_in_at_run_time_is_checked(read, text):
    assert read(HEAD + text).report.state == "checked"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HEAD + "spec:\n  a: 1\n  ...\n b: 2\n", 5),
        (HEAD + "spec:\n  a: 1   // the number of a\n  b: c: d\n", 4),
        (HEAD + "spec:\n  a: [1\n  <more>\n", 5),
    ],
)
def test_fragments_of_documentation_are_no_failure(read, text, line):
    report = read(text).report
    assert (report.state, report.line, report.failed) == ("notChecked", line, False)
    assert "documentation fragment" in report.why


def test_prose_is_no_failure(read):
    report = read("Dear all: the queue: is full\n  [see", "notes.txt").report
    assert (report.state, report.failed) == ("notChecked", False)
    assert "nothing in it looks like a Kubernetes object" in report.why


def test_a_template_spares_its_neighbours(read):
    parsed = read(f"{HEAD}---\n{HEAD}a: {{{{ x }}}}\n---\n{HEAD}")
    assert [d.id.document for d in parsed.documents] == [0, 2]
    assert (parsed.report.state, parsed.report.line, parsed.report.failed) == ("partly", 6, False)


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("a/kustomization.yaml", "resources: [x.yaml]\n", "kustomization"),
        ("a/x.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n", "kustomization"),
        ("Chart.yaml", "apiVersion: v2\nname: x\nversion: 1.0.0\n", "chart description"),
        ("values-prod.yaml", "quota: 8\n", "chart values"),
        (".github/workflows/ci.yaml", "on: push\njobs: {}\n", "workflow"),
        ("compose.yaml", "services: {a: {image: b}}\n", "no Kubernetes object"),
        ("drone.yml", "kind: pipeline\ntype: docker\nname: x\n", "no Kubernetes object"),
        ("a.json", "[1, 2]", "a list, no Kubernetes object"),
        ("a.yaml", "just words\n", "a single value"),
    ],
)
def test_other_formats_are_named(read, file, text, says):
    parsed = read(text, file)
    assert (parsed.documents, parsed.report.state, parsed.report.failed) == ((), "notChecked", False)
    assert says in parsed.report.why


def test_a_kustomization_of_flux_is_an_object(read):
    text = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: a}\nspec: {}\n"
    assert len(read(text).documents) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind: Queue\nmetadata:\n  name: a\nspec: {n: ${N}}\n", ("Queue", "a")),
        ("kind: Queue\nmetadata: {name: a}\nspec: {n: '${N}'}\n", ("Queue", "a")),
        ("kind: Queue\nmetadata: {name: '${NAME}'}\n", ("Queue", "")),
        ("kind: Queue\nmetadata:\n  name: {{ .Values.name }}-x\n", ("Queue", "")),
        ("kind: Queue # words\nmetadata:\n  labels:\n    a: b\n\n  name: 'a'  # words\nspec: {{ x }}\n", ("Queue", "a")),
        ("spec:\n  kind: Inner\n  name: b\nkind: Queue\nother: {{ x }}\n", ("Queue", "")),
        ("{{- range .Values.queues }}\nkind: Queue\nmetadata:\n  name: {{ . }}\n{{- end }}\n", ("Queue", "")),
        ("kind: Queue\nmetadata:\n  labels:\n    name: b\n  name: a\nother: {{ x }}\n", ("Queue", "a")),
        ("a: {{ x }}\n", ("", "")),
    ],
)  # fmt: skip
def test_what_a_template_would_be_is_told_as_far_as_its_text_shows(text, expected):
    (unchecked,) = parse("q.yaml", text.encode()).unchecked
    assert (unchecked.kind, unchecked.name) == expected


def test_long_texts_that_are_no_yaml_are_sketched_quickly():
    assert sketch("metadata:\n" + "  a: b\n" * 200_000 + "kind: x" * 100_000)[0] == ""
    assert sketch("metadata:\n" + " " * 1_000_000)[1] == ""
