"""What belongs together, end to end: sums stay within a cluster, and no file is lost or counted twice."""

import json
from pathlib import Path

import pytest

from policycheck.app.gather import Sources, gather
from policycheck.lint.settings import ClusterScope, Settings

FLAVOR = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: h100}\nspec: {}\n"
CSV = "sn,cpu_milli,memory_mib,gpu,model\nnode-1,64000,262144,8,V100M32\n"
DAEMON = """\
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: monitor, namespace: kube-system}
spec:
  selector: {matchLabels: {app: m}}
  template:
    metadata: {labels: {app: m}}
    spec:
      tolerations: [{operator: Exists}]
      containers:
        - {name: m, image: x, resources: {limits: {nvidia.com/gpu: 1}}}
"""


def nodes(*names, gpus=8):
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "NodeList",
            "items": [
                {
                    "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                    "status": {
                        "allocatable": {"nvidia.com/gpu": str(gpus)},
                        "capacity": {"nvidia.com/gpu": str(gpus)},
                        "conditions": [{"type": "Ready", "status": "True"}],
                    },
                }
                for name in names
            ],
        }
    )


def beyond(ran):
    """Scope and message of quotas that hardware does not hold."""
    return [(f["scope"], f["message"]) for f in ran.report["findings"] if f["rule"] == "KQ110"]


def test_quotas_of_two_folders_do_not_add_up(write, lint, queue):
    write(
        {
            "a/q.yaml": queue("one") + "---\n" + FLAVOR,
            "b/q.yaml": queue("two") + "---\n" + FLAVOR,
            "n.json": nodes("n"),
        }
    )
    assert beyond(lint("a", "b", "--inventory", "n.json")) == []
    ((scope, message),) = beyond(lint(".", "--inventory", "n.json"))
    assert scope == "."
    assert "16 = 2 queues x 8, nodes offer 8" in message


def test_one_name_in_two_folders_is_two_queues(write, lint, queue):
    write(
        {
            "a/q.yaml": queue("team", 4) + "---\n" + FLAVOR,
            "b/q.yaml": queue("team", 9) + "---\n" + FLAVOR,
            "n.json": nodes("n"),
        }
    )
    ran = lint("a", "b", "--inventory", "n.json")
    assert [scope for scope, _ in beyond(ran)] == ["b"]
    assert ran.report["summary"]["skippedRules"] == []


def test_named_clusters_have_hardware_and_versions_of_their_own(write, lint, queue):
    write(
        {
            ".policycheck.yaml": "clusters:\n"
            "  - {name: prod, paths: [shared, prod], inventory: prod.json, target: {kueue: 0.17}}\n"
            "  - {name: lab, paths: [shared, lab], inventory: lab.json}\n",
            "shared/f.yaml": FLAVOR,
            "prod/q.yaml": queue("team", 16),
            "lab/q.yaml": queue("team", 16),
            "prod.json": nodes("a", "b"),
            "lab.json": nodes("a"),
        }
    )
    ran = lint("shared", "prod", "lab")
    assert [scope for scope, _ in beyond(ran)] == ["lab"]
    assert ran.report["summary"]["scopes"] == ["prod", "lab"]
    targets = ran.report["summary"]["targets"]
    assert {name: one["version"] for name, one in targets.items()} == {"kueue": "0.19", "prod/kueue": "0.17"}
    assert lint("prod").report["summary"]["scopes"] == ["prod"]


def test_the_rest_of_a_cluster_counts_and_is_not_reported(write, lint, queue):
    write(
        {
            ".policycheck.yaml": "clusters:\n  - {name: prod, paths: [prod], inventory: n.json}\n",
            "prod/a.yaml": queue("one") + "---\n" + FLAVOR,
            "prod/b.yaml": queue("two"),
            "n.json": nodes("n"),
        }
    )
    ran = lint("prod/b.yaml")
    assert {f["file"] for f in ran.report["findings"]} == {"prod/b.yaml"}
    assert set(ran.files) == {"prod/a.yaml", "prod/b.yaml", "n.json"}
    ((_, message),) = beyond(lint("prod"))
    assert "16 = 2 queues x 8" in message


def test_context_is_read_and_not_reported(write, lint, queue, flavor_rule):
    write({"q.yaml": queue("one"), "c/f.yaml": FLAVOR, "n.json": nodes("n", gpus=4)})
    alone = lint("q.yaml", "--inventory", "n.json", *flavor_rule)
    assert beyond(alone) == []
    ran = lint("q.yaml", "--context", "c", "--inventory", "n.json", *flavor_rule)
    assert beyond(ran)
    assert ran.flavors == []
    assert ran.report["summary"]["documents"] == 1
    assert set(ran.files) == {"q.yaml", "c/f.yaml", "n.json"}


def test_daemons_take_their_share_of_a_table_too(write, lint, queue):
    write({"q.yaml": queue("one") + "---\n" + FLAVOR, "d.yaml": DAEMON, "n.csv": CSV})
    assert beyond(lint("q.yaml", "--inventory", "n.csv")) == []
    ((_, message),) = beyond(lint("q.yaml", "d.yaml", "--inventory", "n.csv"))
    assert "8 (queue one), nodes offer 7 = 1 node x 7" in message
    ran = lint("q.yaml", "--context", "d.yaml", "--inventory", "n.csv")
    assert len(beyond(ran)) == 1


def test_nodes_among_the_manifests_are_the_inventory(write, lint, queue):
    write({"all/q.yaml": queue("one", 9) + "---\n" + FLAVOR, "all/n.json": nodes("n")})
    ((_, message),) = beyond(lint("all"))
    assert "nodes offer 8 = 1 node x 8" in message


def test_a_file_that_is_not_there_fails_the_run_wherever_it_is_named(write, lint, queue):
    write({"q.yaml": queue("one")})
    for option in ("--context", "--inventory"):
        ran = lint("q.yaml", option, "absent.json")
        assert ran.code == 3
        assert ran.files["absent.json"] == ("notChecked", None, "no such file")


SUPPRESSED = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: a  # policycheck: ignore[{rule}]{more}: on purpose
"""


@pytest.mark.parametrize(
    ("rule", "more", "rules"),
    [
        ("TT101", "", []),
        ("a-flavor", " until=2999-01-01 owner=@team", []),
        ("TT101", " until=2000-01-01", ["CR091", "TT101"]),
        ("TT999", "", ["CR090", "TT101"]),
        ("KQ001", "", ["CR092", "TT101"]),
        ("TT101", " until=soon", ["CR090", "TT101"]),
    ],
)
def test_suppressions(write, lint, flavor_rule, rule, more, rules):
    write({"f.yaml": SUPPRESSED.format(rule=rule, more=more)})
    ran = lint("f.yaml", *flavor_rule)
    assert sorted(p[0] for p in ran.of("TT101", "CR090", "CR091", "CR092")) == rules
    assert ran.report["summary"]["suppressed"] == (0 if rules else 1)


def test_suppressions_in_annotations(write, lint, flavor_rule):
    text = FLAVOR.replace(
        "{name: h100}", '{name: h100, annotations: {policycheck.dev/ignore.TT101: "a reason"}}'
    )
    write({"f.yaml": text, "g.yaml": text.replace("h100", "b").replace("TT101", "KQ001")})
    ran = lint("f.yaml", "g.yaml", *flavor_rule)
    assert ran.flavors == ["b"]
    assert [p[1] for p in ran.of("CR092")] == ["g.yaml"]


def test_a_suppression_in_utf_16(folder, lint, flavor_rule):
    (folder / "f.yaml").write_bytes(SUPPRESSED.format(rule="TT101", more="").encode("utf-16"))
    assert lint("f.yaml", *flavor_rule).report["summary"]["suppressed"] == 1


TREE = {
    "c/plain/a.yaml": FLAVOR,
    "c/plain/list.json": nodes("x"),
    "c/plain/template.yaml": "kind: {{ .Values.kind }}\n",
    "c/plain/broken.yaml": "kind: ConfigMap\n\ta: 1\n",
    "c/plain/values.yaml": "a: 1\n",
    "c/plain/other.txt": "words",
    "c/plain/empty.yaml": "",
    "c/chart/Chart.yaml": "name: x\n",
    "c/chart/values.yaml": "a: 1\n",
    "c/chart/templates/t.yaml": "{{ x }}\n",
    "c/base/kustomization.yaml": "resources: [x.yaml]\n",
    "c/base/x.yaml": FLAVOR,
    "c/over/kustomization.yaml": "resources: [../base]\n",
    "c/over/beside.yaml": FLAVOR,
    "c/old/o.yaml": FLAVOR,
    "n.json": nodes("n"),
    "n.csv": CSV,
    "ctx/a.yaml": FLAVOR,
}


def given(folder, *tops):
    names = (p.relative_to(folder).as_posix() for p in Path(folder).rglob("*") if p.is_file())
    return {n for n in names if n.startswith(tops) and n.endswith((".yaml", ".json", ".csv"))}


@pytest.mark.parametrize("render", [None, lambda _: FLAVOR.encode()])
@pytest.mark.parametrize(
    "clusters",
    [
        (),
        (
            ClusterScope("one", ("c/plain", "c/chart"), ("n.csv",), ("ctx",)),
            ClusterScope("two", ("c",), ("n.json",)),
        ),
    ],
)
def test_every_file_is_accounted_for_once_in_its_scope(write, folder, render, clusters):
    write(TREE)
    settings = Settings(clusters=clusters, exclude=("c/old/*",))
    sources = Sources(
        ("c", "c/plain/a.yaml", "./c/plain"),
        lambda name: Path(name).read_bytes(),
        context=("ctx", "c/plain/a.yaml"),
        inventory=("n.json", "n.csv", "c/plain/list.json"),
        render=render,
    )
    scopes = gather(sources, settings)
    for scope in scopes:
        names = [report.file for report in scope.files]
        assert len(names) == len(set(names)), (scope.name, sorted(names))
    seen = {report.file for scope in scopes for report in scope.files} - {
        name for scope in scopes for name in scope.rendered
    }
    assert seen == given(folder, "c/", "ctx/", "n.")
    for scope in scopes:
        states = {report.file: report.state for report in scope.files}
        assert {d.id.file for d in scope.documents.values()} <= {
            n for n, s in states.items() if s != "notChecked"
        }


def test_what_fails_in_one_scope_is_not_hidden_by_another(write, lint, queue):
    write(
        {
            "a/q.yaml": queue("one"),
            "b/kustomization.yaml": "resources: [../a/q.yaml]\n",
            "b/r.yaml": queue("two"),
        }
    )
    ran = lint("a", "b")
    assert ran.files["a/q.yaml"][0] == "checked"
    assert ran.files["b/kustomization.yaml"][0] == "notChecked"
    assert set(ran.files) == {"a/q.yaml", "b/kustomization.yaml", "b/r.yaml"}


def test_an_inventory_that_no_cluster_uses_is_said(write, lint, queue):
    write(
        {
            ".policycheck.yaml": "clusters:\n  - {name: prod, paths: [prod], inventory: n.json}\n",
            "prod/q.yaml": queue("one"),
            "n.json": nodes("n"),
            "more.json": nodes("m"),
        }
    )
    ran = lint("prod", "--inventory", "more.json")
    assert ran.files["more.json"] == (
        "notChecked",
        None,
        "each cluster of the settings has an inventory of its own",
    )
    assert ran.files["n.json"][0] == "checked"
    assert beyond(ran) == []


def test_what_is_excluded_is_so_from_any_folder(write, folder, monkeypatch):
    write({"c/a.yaml": "a: 1\n", "c/old/b.yaml": "b: 1\n", ".policycheck.yaml": "exclude: [c/old/*]\n"})
    monkeypatch.chdir(folder / "c")
    settings = Settings(exclude=("c/old/*",), file="../.policycheck.yaml")
    (scope,) = gather(Sources((".",), lambda name: Path(name).read_bytes()), settings)
    whys = {report.file: report.why for report in scope.files}
    assert whys["old/b.yaml"] == "excluded by the settings"
    assert whys["a.yaml"] != whys["old/b.yaml"]
