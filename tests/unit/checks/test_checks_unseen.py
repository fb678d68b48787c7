from policycheck.app import lint_texts
from policycheck.lint.settings import Settings

QUEUE = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: %s
spec:
  namespaceSelector: {}
"""
LOCAL = """
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: q, namespace: team}
spec: {clusterQueue: %s}
"""


def told(*texts):
    result = lint_texts({"a.yaml": "---".join(texts)}, Settings(select=("KQ601", "KQ640")))
    return [f.rule for f in result.findings], [s.why for s in result.skipped]


def test_a_reference_that_a_template_may_hold_is_not_called_broken():
    template = QUEUE.replace("%s", "{{ .Values.queue }}")
    findings, skipped = told(QUEUE % "other", template, LOCAL % "team-b")
    assert findings == []
    assert "ClusterQueue team-b may stand in a text that could not be read" in skipped


def test_a_template_with_another_name_excuses_nothing():
    template = QUEUE % "team-c" + "  stopPolicy: {{ .Values.stop }}\n"
    findings, _ = told(QUEUE % "other", template, LOCAL % "team-b")
    assert findings == ["KQ640"]


def test_a_misspelling_beside_a_template_of_that_name_is_left_open():
    template = QUEUE % "team-bb" + "  stopPolicy: {{ .Values.stop }}\n"
    assert told(QUEUE % "team-b", template, LOCAL % "team-bb")[0] == []
