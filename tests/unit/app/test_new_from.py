"""``--new-from REV``: only what the change brought, and what only a change can break."""

import json
import os
import subprocess

import pytest

FLAVOR = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {{name: {}}}\nspec: {{}}\n"
JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  namespace: vision
  labels: {{kueue.x-k8s.io/queue-name: {queue}}}
spec:
  suspend: false
  template:
    spec:
      containers:
        - name: main
          resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
CHECK = """\
apiVersion: kueue.x-k8s.io/v1beta2
kind: AdmissionCheck
metadata:
  name: capacity
spec:
  controllerName: example.com/{name}
"""


@pytest.fixture
def git(folder):
    """Runs git in the folder, which is a repository of its own."""

    def run(*args):
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        done = subprocess.run(["git", *who, *args], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    run("init", "-q", "-b", "main")
    return run


@pytest.fixture
def commit(git, write):
    def commit(files):
        write(files)
        git("add", "-A")
        git("commit", "-q", "-m", "x")
        return git("rev-parse", "HEAD")

    return commit


@pytest.fixture
def flavors(lint, flavor_rule):
    """The flavors that are new, by name; all of them without ``--new-from``."""
    return lambda *args: lint(*args, *flavor_rule).flavors


def test_only_what_is_new_is_reported_and_the_rest_is_counted(commit, write, lint, flavor_rule):
    commit({"a.yaml": FLAVOR.format("old")})
    write({"a.yaml": "# moved\n\n" + FLAVOR.format("old"), "b.yaml": FLAVOR.format("new")})
    assert lint(".", *flavor_rule).flavors == ["old", "new"]
    ran = lint(".", "--new-from", "HEAD", *flavor_rule)
    assert ran.flavors == ["new"]
    assert ran.report["summary"]["knownBefore"] == len(lint(".", *flavor_rule).places) - len(ran.places)
    assert "known before" in ran.err
    assert any("only what is new since" in note for note in ran.report["summary"]["notes"])


def test_nothing_changed_nothing_new(commit, lint, queue):
    commit({"q.yaml": queue("a"), "f.yaml": FLAVOR.format("old")})
    assert lint(".").places
    ran = lint(".", "--new-from", "HEAD", "--fail-on", "info")
    assert (ran.places, ran.code) == ([], 0)


def test_a_file_may_be_renamed(commit, write, flavors):
    commit({"a.yaml": FLAVOR.format("old")})
    write({"a.yaml": None, "d/e/b.yaml": FLAVOR.format("old")})
    assert flavors(".", "--new-from", "HEAD") == []


def test_what_one_file_does_to_another_is_new(commit, write, lint, queue):
    commit({"q.yaml": queue("a"), "f.yaml": FLAVOR.format("h100")})
    write({"q.yaml": queue("a", flavor="h200")})
    ran = lint(".", "--new-from", "HEAD")
    assert ran.of("KQ503") == [("KQ503", "f.yaml", 3, "metadata.name")]


def test_a_branch_is_compared_with_what_it_was_cut_from(commit, git, write, flavors):
    commit({"a.yaml": FLAVOR.format("old"), "b.yaml": FLAVOR.format("other")})
    git("checkout", "-q", "-b", "work")
    commit({"c.yaml": FLAVOR.format("mine")})
    git("checkout", "-q", "main")
    commit({"b.yaml": None})  # others repaired it: that it is still there is not this branch's doing
    git("checkout", "-q", "work")
    assert flavors(".", "--new-from", "main") == ["mine"]


def test_a_change_that_the_webhook_refuses_is_found_in_a_renamed_file_too(commit, write, lint):
    commit({"c.yaml": CHECK.format(name="a")})
    assert lint(".").of("CR031") == []
    write({"c.yaml": None, "d.yaml": CHECK.format(name="b")})
    assert lint(".").of("CR031") == []
    ran = lint(".", "--new-from", "HEAD")
    assert ran.of("CR031") == [("CR031", "d.yaml", 6, "spec.controllerName")]
    assert ran.code == 1


def test_a_job_that_runs_stays_in_its_queue(commit, write, lint):
    commit({"j.yaml": JOB.format(queue="one")})
    write({"j.yaml": JOB.format(queue="two")})
    (found,) = lint(".", "--new-from", "HEAD").of("CR031")
    assert found[1:3] == ("j.yaml", 6)


DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "w"},
    "spec": {
        "group": "example.org", "names": {"kind": "Widget"},
        "versions": [{
            "name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                "type": "object", "properties": {"size": {"type": "integer"}},
                "x-kubernetes-validations": [{"rule": "self.size >= oldSelf.size", "message": "it only grows"}],
            }}}},
        }],
    },
}  # fmt: skip


def test_rules_of_a_definition_about_changes(commit, write, lint):
    def widget(size):
        return json.dumps(
            {
                "apiVersion": "example.org/v1",
                "kind": "Widget",
                "metadata": {"name": "w"},
                "spec": {"size": size},
            }
        )

    commit({"w.json": widget(5)})
    write({"w.json": widget(4), "../crd.json": json.dumps(DEFINITION)})  # not in git: counts as it is
    ran = lint(".", "--new-from", "HEAD", "--crds", "../crd.json")
    assert ran.of("CR031") == [("CR031", "w.json", 1, "spec")]
    write({"w.json": widget(6)})
    assert lint(".", "--new-from", "HEAD", "--crds", "../crd.json").places == []


def test_one_name_in_two_clusters_is_held_against_its_own(commit, write, lint):
    commit({"a/c.yaml": CHECK.format(name="a"), "b/c.yaml": CHECK.format(name="b")})
    write({"a/c.yaml": CHECK.format(name="b")})
    assert lint("a", "b", "--new-from", "HEAD").of("CR031") == [
        ("CR031", "a/c.yaml", 6, "spec.controllerName")
    ]


NODES = """\
{"kind": "List", "apiVersion": "v1", "items": [{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n",
 "labels": {"gpu": "h100"}}, "status": {"allocatable": {"nvidia.com/gpu": "4"}, "capacity": {"nvidia.com/gpu": "4"},
 "conditions": [{"type": "Ready", "status": "True"}]}}]}"""


def test_an_inventory_that_is_not_in_the_revision_counts_as_it_is(commit, write, lint, queue):
    commit(
        {"q.yaml": queue("a", 8), "f.yaml": FLAVOR.format("h100").replace("{}", "{nodeLabels: {gpu: h100}}")}
    )
    write({"nodes.json": NODES})
    assert lint("q.yaml", "f.yaml", "--inventory", "nodes.json").of("KQ110")
    ran = lint("q.yaml", "f.yaml", "--inventory", "nodes.json", "--new-from", "HEAD")
    assert ran.of("KQ110") == []


def test_from_a_folder_below_and_with_absolute_paths(commit, write, flavors, folder, monkeypatch):
    commit({"d/a.yaml": FLAVOR.format("old")})
    write({"d/b.yaml": FLAVOR.format("new")})
    monkeypatch.chdir(folder / "d")
    assert flavors(".", "--new-from", "HEAD") == ["new"]
    assert flavors("../d/*.yaml", "--new-from", "HEAD") == ["new"]
    monkeypatch.chdir("/")
    assert flavors(str(folder), "--new-from", "HEAD") == ["new"]


def test_links_are_followed_in_the_revision_too(commit, folder, write, flavors):
    (folder / "all").mkdir()
    (folder / "all/d").symlink_to("../d")
    commit({"d/a.yaml": FLAVOR.format("old")})
    write({"d/b.yaml": FLAVOR.format("new")})
    assert flavors("all", "--new-from", "HEAD") == ["new"]


def test_a_kustomization_is_rendered_as_it_was(commit, write, flavors, folder, monkeypatch):
    tool = folder / "bin/kustomize"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\ncat "$3"/*.txt\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}/bin:{os.environ['PATH']}")
    commit({"k/kustomization.yaml": "resources: []\n", "k/a.txt": FLAVOR.format("old")})
    write({"k/b.txt": "---\n" + FLAVOR.format("new")})
    assert flavors("k") == ["old", "new"]
    assert flavors("k", "--new-from", "HEAD") == ["new"]


@pytest.mark.parametrize(
    ("rev", "why"),
    [
        ("nowhere", "has no commit 'nowhere'"),
        ("--upload-pack=touch x", "is no revision"),
        ("--output=x", "is no revision"),
        ("", "is no revision"),
        ("HEAD..HEAD", "has no commit"),
        ("HEAD:a.yaml", "has no commit"),
        ("HEAD\nHEAD", "has no commit"),
        ("$(touch x)", "has no commit"),
    ],
)
def test_what_is_no_revision_ends_the_run(commit, lint, folder, rev, why):
    commit({"a.yaml": FLAVOR.format("old")})
    ran = lint("a.yaml", f"--new-from={rev}")
    assert ran.code == 2
    assert why in ran.err
    assert sorted(path.name for path in folder.iterdir()) == [".git", "a.yaml"]


def test_no_repository_ends_the_run(write, lint):
    write({"a.yaml": FLAVOR.format("old")})
    ran = lint(".", "--new-from", "HEAD")
    assert (ran.code, ran.report) == (2, None)
    assert "--new-from needs a git repository, and . is in none" in ran.err


def test_no_common_history_ends_the_run(commit, git, lint):
    commit({"a.yaml": FLAVOR.format("old")})
    git("checkout", "-q", "--orphan", "other")
    commit({"b.yaml": FLAVOR.format("new")})
    ran = lint(".", "--new-from", "main")
    assert ran.code == 2
    assert "git fetch --unshallow" in ran.err


def test_a_path_outside_of_the_repository_ends_the_run(commit, write, lint):
    commit({"a.yaml": FLAVOR.format("old")})
    write({"../elsewhere.yaml": FLAVOR.format("x")})
    ran = lint("a.yaml", "../elsewhere.yaml", "--new-from", "HEAD")
    assert ran.code == 2
    assert "../elsewhere.yaml is outside of the repository" in ran.err


def test_what_the_repository_configures_is_not_started(commit, git, write, flavors, folder):
    commit({"a.yaml": FLAVOR.format("old")})
    for name in ("core.fsmonitor", "core.sshCommand", "core.pager", "filter.x.smudge", "core.askPass"):
        git("config", name, f"touch {folder}/started")
    write({"b.yaml": FLAVOR.format("new"), ".gitattributes": "* filter=x\n"})
    assert flavors(".", "--new-from", "HEAD") == ["new"]
    assert not (folder / "started").exists()


def test_names_that_leave_the_tree_are_not_written(commit, git, flavors, folder):
    blob = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"], cwd=folder, input=b"x: 1\n", capture_output=True, check=True
    ).stdout.decode()
    tree = subprocess.run(
        ["git", "mktree"], cwd=folder, input=f"100644 blob {blob.strip()}\t..\n".encode(), capture_output=True,
        check=False,
    )  # fmt: skip
    commit({"a.yaml": FLAVOR.format("old")})
    if tree.returncode:
        pytest.skip("this git makes no such tree")
    made = git("commit-tree", tree.stdout.decode().strip(), "-p", "HEAD", "-m", "x")
    git("update-ref", "refs/heads/main", made)
    assert flavors(".", "--new-from", "HEAD") == ["old"]


def test_what_is_in_a_submodule_counts_as_it_is(commit, git, write, flavors, folder, lint):
    other = folder.parent / "other"
    other.mkdir()
    for args in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "x")):
        (other / "a.yaml").write_text(FLAVOR.format("theirs"))
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *args], cwd=other, check=True)
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    commit({"b.yaml": FLAVOR.format("old")})
    write({"c.yaml": FLAVOR.format("new")})
    assert flavors(".") == ["old", "new", "theirs"]
    assert flavors(".", "--new-from", "HEAD") == ["new"]
    notes = lint(".", "--new-from", "HEAD").report["summary"]["notes"]
    assert any("submodules (sub) counts as it is now" in note for note in notes)


def test_processes_that_share_the_rules_do_not_share_what_reads_the_revision(commit, folder):
    from policycheck.adapters.git import Blobs, state
    from policycheck.app.apart import done

    commit({f"{n}.yaml": FLAVOR.format(f"f{n}") * (n + 1) for n in range(40)})
    found = state("HEAD", str(folder))
    blobs = Blobs(found.top)
    assert blobs.read(found.blobs["0.yaml"]).decode() == FLAVOR.format("f0")
    first = blobs._process.pid

    def all_of_them():
        texts = {name: blobs.read(identity).decode() for name, identity in sorted(found.blobs.items())}
        return texts, blobs._process.pid, os.getpid()

    told = done([all_of_them] * 4, 2)
    blobs.close()
    assert os.getpid() not in {process for *_, process in told}
    assert first not in {reader for _, reader, _ in told}
    for texts, *_ in told:
        assert texts == {f"{n}.yaml": FLAVOR.format(f"f{n}") * (n + 1) for n in range(40)}
