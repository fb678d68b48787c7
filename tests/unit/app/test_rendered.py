"""Findings in what kustomize and helm make stand in the files that people write."""

import pytest

from policycheck import app
from policycheck.app.overlay import Named, resolved, steps_of
from policycheck.lint.settings import Settings

QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: {name}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources:
      - name: nvidia.com/gpu
        nominalQuota: {quota}
{more}"""
LIMIT = "        borrowingLimit: 4\n"
BASE = QUEUE.format(name="vision", quota=8, more="")
RENDERED = QUEUE.format(name="prod-vision", quota=8, more=LIMIT)
PATCH = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: vision}
spec:
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources:
      - {name: nvidia.com/gpu, nominalQuota: 8, borrowingLimit: 4}
"""
OPERATIONS = """\
- {op: add, path: /metadata/labels, value: {team: vision}}
- op: add
  path: /spec/resourceGroups/0/flavors/0/resources/0/borrowingLimit
  value: 4
"""
OVERLAY = "resources: [../base]\nnamePrefix: prod-\n"


@pytest.fixture
def lint(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(files, rendered, rerender=None, path="."):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        sources = app.Sources(
            paths=(path,),
            read=lambda name: (tmp_path / name).read_bytes(),
            render=lambda _: rendered.encode(),
            rerender=rerender,
        )
        return app.lint(sources, Settings())

    return run


def place(result, rule):
    (one,) = [f for f in result.findings if f.rule == rule]
    span = one.place.span
    return one.place.file, span.line, span.column


def kustomized(overlay, **files):
    return {
        "base/kustomization.yaml": "resources: [queue.yaml]\n",
        "base/queue.yaml": BASE,
        "prod/kustomization.yaml": OVERLAY + overlay,
        **{f"prod/{name}.yaml": text for name, text in files.items()},
    }


@pytest.mark.parametrize(
    ("overlay", "files", "where"),
    [
        ("patches:\n- path: limit.yaml\n", {"limit": PATCH}, ("prod/limit.yaml", 10, 49)),
        ("patchesStrategicMerge: [limit.yaml]\n", {"limit": PATCH}, ("prod/limit.yaml", 10, 49)),
        (
            "patches:\n- path: ops.yaml\n  target: {kind: ClusterQueue}\n",
            {"ops": OPERATIONS},
            ("prod/ops.yaml", 4, 3),
        ),
        (
            "patches:\n- target: {kind: ClusterQueue, name: .*}\n  patch: |-\n"
            + "".join(f"    {line}\n" for line in OPERATIONS.splitlines()),
            {},
            ("prod/kustomization.yaml", 9, 7),
        ),
    ],
)
def test_what_an_overlay_adds_stands_in_its_patch(lint, overlay, files, where):
    result = lint(kustomized(overlay, **files), RENDERED)
    assert place(result, "KQ101") == where
    assert result.findings[0].object.name == "prod-vision"
    assert not any("rendered text" in note for note in result.notes)


def test_what_the_base_writes_stands_in_the_base(lint):
    files = kustomized("") | {"base/queue.yaml": BASE + LIMIT}
    assert place(lint(files, RENDERED), "KQ101") == ("base/queue.yaml", 14, 9)


def test_the_outermost_that_writes_the_value_is_the_place(lint):
    files = kustomized("patches:\n- path: limit.yaml\n", limit=PATCH) | {"base/queue.yaml": BASE + LIMIT}
    assert place(lint(files, RENDERED), "KQ101") == ("prod/limit.yaml", 10, 49)
    other = files | {"prod/limit.yaml": PATCH.replace("borrowingLimit: 4", "borrowingLimit: 2")}
    assert place(lint(other, RENDERED), "KQ101") == ("base/queue.yaml", 14, 9)


def test_what_is_missing_is_missed_where_the_object_begins(lint):
    assert place(lint(kustomized(""), RENDERED), "KQ801") == ("base/queue.yaml", 3, 1)


def test_what_nobody_writes_so_stays_and_is_said(lint):
    result = lint(kustomized(""), RENDERED)
    assert place(result, "KQ101")[0] == "prod/<rendered>"
    assert (
        "1 finding stands in the rendered text of prod: no file could be told that writes it so"
        in result.notes
    )


VALUES = """\
quota: 8
other: 4
limits:
  vision: 4   # beyond its own
"""


def chart(text):
    """A chart's output as its template would make it of the values."""

    def made(values):
        numbers = {"quota": 8, "other": 4, "limits": {"vision": 4}}
        numbers |= {key: value for key, value in values.items() if key != "limits"}
        limit = values.get("limits", numbers["limits"])["vision"]
        body = text.format(name="vision", quota=numbers["quota"], more=f"        borrowingLimit: {limit}\n")
        return f"---\n# Source: queues/templates/queue.yaml\n{body}".encode()

    return made


CHART = {
    "queues/Chart.yaml": "apiVersion: v2\nname: queues\nversion: 1.0.0\n",
    "queues/values.yaml": VALUES,
    "queues/templates/queue.yaml": "{{ stand-in }}\n",
}


def test_a_value_of_a_chart_is_found_by_changing_it(lint):
    made = chart(QUEUE)
    asked = []

    def rerender(folder, values):
        asked.append((folder, values))
        return made(values)

    result = lint(CHART, made({}).decode(), rerender, path="queues")
    assert place(result, "KQ101") == ("queues/values.yaml", 4, 3)
    assert ("queues", {"limits": {"vision": 5}}) in asked


def test_where_no_value_reaches_it_the_template_is_named(lint):
    result = lint(CHART, chart(QUEUE)({}).decode(), lambda *_: chart(QUEUE)({}), path="queues")
    (one,) = [f for f in result.findings if f.rule == "KQ101"]
    assert one.place.file == "queues/<rendered>"
    assert one.related[-1].file == "queues/templates/queue.yaml"
    assert any("rendered text of queues" in note for note in result.notes)


def test_a_chart_that_can_not_be_rendered_again_changes_nothing(lint):
    def refuse(folder, values):
        raise OSError("helm is gone")

    result = lint(CHART, chart(QUEUE)({}).decode(), refuse, path="queues")
    assert place(result, "KQ101")[0] == "queues/<rendered>"


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("spec.resourceGroups[0].flavors[name=h100].name", ("spec", "resourceGroups", 0, "flavors", Named("h100"), "name")),
        ("metadata.labels['a.b/c']", ("metadata", "labels", "a.b/c")),
        ("", ()),
        ("a[", None),
    ],
)  # fmt: skip
def test_paths_are_read_back(text, steps):
    assert steps_of(text) == steps


def test_paths_lead_as_far_as_there_is_something():
    value = {"a": [{"name": "x"}, {"name": "y", "b": 1}]}
    assert resolved(value, ("a", Named("y"), "b")) == (("a", 1, "b"), True, 1)
    assert resolved(value, ("a", Named("z"), "b")) == (("a",), False, value["a"])
