"""A run that is kept is the run that would be made: whatever a result depends on makes it anew."""

from pathlib import Path

import pytest

from policycheck.adapters.cli import main

QUEUE = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {{name: {}}}
spec:
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors:
    - name: h100
      resources:
      # policycheck: ignore[KQ101] until=2026-03-01: it joins in February
      - {{name: nvidia.com/gpu, nominalQuota: 8, borrowingLimit: 4}}
"""
RULE = """\
id: ACME101
name: a-limit
title: a limit
severity: {}
confidence: high
phase: queues
subject: kueue.x-k8s.io/ClusterQueue
expression: object.metadata.name != 'q0'
message: q0 is there
rationale: It is.
remediation: Take it away.
since: "1"
examples:
  bad: [{{manifest: "apiVersion: kueue.x-k8s.io/v1beta2\\nkind: ClusterQueue\\nmetadata: {{name: q0}}", findings: ["1:1"]}}]
  good: [{{manifest: "apiVersion: kueue.x-k8s.io/v1beta2\\nkind: ClusterQueue\\nmetadata: {{name: q1}}"}}]
"""
NODES = "pools:\n- {{name: a, nodes: {}, gpus: 8, product: NVIDIA-H100}}\n"


@pytest.fixture
def lint(tmp_path, monkeypatch, capsys):
    """Runs lint; gives what came out, and whether rules were run for it."""
    for folder in ("project", "beside", "rules", "context"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("POLICYCHECK_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")  # 2026-01-01
    for n in range(3):
        Path(f"q{n}.yaml").write_text(QUEUE.format(f"q{n}"))
    Path("../beside/nodes.yaml").write_text(NODES.format(2))
    Path("../rules/ACME101.yaml").write_text(RULE.format("warning"))
    from policycheck.lint import runner

    runs, inner = [], runner.looked
    monkeypatch.setattr(runner, "looked", lambda job: (runs.append(1), inner(job))[1])

    def run(*args):
        runs.clear()
        beside = ("--inventory", "../beside/nodes.yaml", "--rules", "../rules", "--context", "../context")
        code = main(["lint", ".", *beside, "--format", "json", *args])
        told = capsys.readouterr()
        return (code, told.out, told.err), bool(runs)

    return run


def test_what_has_not_changed_comes_out_as_it_did(lint):
    first, ran = lint()
    assert ran
    assert lint() == (first, False)
    assert lint("--no-cache") == (first, True)
    assert lint("--fail-on", "never")[0][1] == first[1]


def write(name, text):
    return lambda _: Path(name).write_text(text)


CHANGES = {
    "a file": write("q1.yaml", QUEUE.format("other")),
    "a comment": write("q1.yaml", "# moved\n" + QUEUE.format("q1")),
    "a new file": write("q9.yaml", QUEUE.format("q9")),
    "a file that is gone": lambda _: Path("q2.yaml").unlink(),
    "another name": lambda _: Path("q2.yaml").rename("r2.yaml"),
    "a file that can not be read any more": write("q1.yaml", "a: b: c\n"),
    "the inventory": write("../beside/nodes.yaml", "pools: 7\n"),
    "the context": write("../context/flavor.yaml", "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: h100}\nspec: {}\n"),
    "a rule": write("../rules/ACME101.yaml", RULE.format("error")),
    "a rule that is wrong": write("../rules/ACME101.yaml", "id: 7\n"),
    "settings": write(".policycheck.yaml", "severity: {ACME101: info}\n"),
    "a target in the settings": write(".policycheck.yaml", 'target: {kueue: "0.15"}\n'),
    "the day": lambda monkeypatch: monkeypatch.setenv("SOURCE_DATE_EPOCH", "1773014400"),
    "a bundle": write("kustomization.yaml", "resources: [q1.yaml]\n"),
    "a suppression": write("q0.yaml", QUEUE.format("q0").replace("ignore[KQ101] until=2026-03-01", "ignore[KQ204]")),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_is_different_is_found(lint, monkeypatch, what):
    before, _ = lint()
    CHANGES[what](monkeypatch)
    after, ran = lint()
    assert ran
    assert after == lint("--no-cache")[0]
    assert after != before
    again, ran = lint()
    assert again == after
    # What failed, and what was or could not be rendered here, is made each time.
    assert ran is (what == "a rule that is wrong") or what == "a bundle"


@pytest.mark.parametrize("args", [("--target", "kueue=0.15"), ("--select", "KQ"), ("--ignore", "ACME101"), ("--phase", "pilot"), ("q0.yaml",)])  # fmt: skip
def test_other_options_are_another_run(lint, args):
    lint()
    other, ran = lint(*args)
    assert ran
    assert other == lint("--no-cache", *args)[0]


def test_definitions_and_earlier_states_are_never_kept(lint, monkeypatch):
    Path("../beside/crd.yaml").write_text(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.ex.org}\n"
        "spec: {group: ex.org, names: {kind: A, plural: as}, scope: Cluster, versions: [{name: v1, served: true, "
        "storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n"
    )
    assert lint("--crds", "../beside/crd.yaml")[1]
    assert lint("--crds", "../beside/crd.yaml")[1]


def test_a_run_that_looked_elsewhere_is_not_kept(lint, monkeypatch):
    """Whatever reads a file that is no part of the key makes the result depend on more than the key."""
    from policycheck import app

    inner = app._lint

    def looking(scopes, sources, settings, before=None):
        sources.read("../rules/ACME101.yaml")
        return inner(scopes, sources, settings, before)

    monkeypatch.setattr(app, "_lint", looking)
    assert lint()[1]
    assert lint()[1]


@pytest.fixture
def near(monkeypatch):
    """Rules are asked again about a part however little there is; gives whether they were, cluster by cluster."""
    from policycheck.app import again, since

    asked, inner = [], since.since

    def spied(*args):
        found = inner(*args)
        asked.append(found is not None)
        return found

    monkeypatch.setattr(again, "FEW", 0)
    monkeypatch.setattr(since, "since", spied)
    return asked


@pytest.mark.parametrize("what", CHANGES)
def test_asking_about_a_part_finds_whatever_is_different(lint, near, monkeypatch, what):
    before, _ = lint()
    CHANGES[what](monkeypatch)
    after, _ = lint()
    assert after == lint("--no-cache")[0]
    assert after != before


def test_a_change_of_a_few_objects_asks_about_a_part(lint, near):
    lint()
    Path("q1.yaml").write_text(QUEUE.format("q1").replace("nominalQuota: 8", "nominalQuota: 80"))
    after, ran = lint()
    assert (near, ran) == ([True], False)
    assert after == lint("--no-cache")[0]


def test_of_several_clusters_those_are_asked_that_changed(lint, near):
    for name in ("east", "west"):
        Path(name).mkdir()
        Path(name, "q.yaml").write_text(QUEUE.format(f"of-{name}"))
    Path(".policycheck.yaml").write_text(
        "clusters:\n- {name: east, paths: [east]}\n- {name: west, paths: [west]}\n"
    )
    lint()
    Path("west", "q.yaml").write_text(QUEUE.format("of-west").replace("nominalQuota: 8", "nominalQuota: 80"))
    after, ran = lint()
    assert (near, ran) == ([True] * 3, False)
    assert after == lint("--no-cache")[0]


def test_what_can_not_be_told_apart_is_asked_anew(lint, near):
    """One name, defined twice: trees are linked of one definition, and others may mean the other."""
    lint()
    Path("q3.yaml").write_text(QUEUE.format("q1").replace("nominalQuota: 8", "nominalQuota: 80"))
    after, ran = lint()
    assert (near, ran) == ([False], True)
    assert after == lint("--no-cache")[0]


def test_in_another_file_other_settings_hold(lint, near):
    Path(".policycheck.yaml").write_text("per-path:\n- {paths: ['*old/*'], severity: {ACME101: info}}\n")
    Path("old").mkdir()
    lint()
    Path("q0.yaml").rename("old/q0.yaml")
    after, _ = lint()
    assert near == [True]
    assert after == lint("--no-cache")[0]
    assert '"severity": "info"' in after[1]
