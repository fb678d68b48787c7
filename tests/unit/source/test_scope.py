from typing import NamedTuple

import pytest

from policycheck.source.scope import plan, render_bundles


class Cluster(NamedTuple):
    name: str
    paths: tuple[str, ...]
    inventory: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    target: tuple[str, ...] = ()


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def make(**files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return lambda files: make(**files)


def shape(scopes):
    return [(s.name, s.files, tuple(b.folder for b in s.bundles), s.is_named) for s in scopes]


OVERLAYS = {
    "base/kustomization.yaml": "resources: [queues.yaml, ../shared]\n",
    "base/queues.yaml": "",
    "shared/kustomization.yml": "resources: [flavors.yaml]\n",
    "shared/flavors.yaml": "",
    "overlays/prod/kustomization.yaml": "resources: [../../base]\npatches: [{path: more.yaml}]\n"
    "components: [../../extra]\n",
    "overlays/prod/more.yaml": "",
    "overlays/prod/forgotten.yaml": "",
    "overlays/dev/Kustomization": "bases:\n- ../../base\npatchesStrategicMerge: ['less.yaml', 'kind: X\n\n']\n",
    "overlays/dev/less.yaml": "",
    "extra/kustomization.yaml": "kind: Component\nresources: [x.yaml]\n",
    "extra/x.yaml": "",
    "loose/a.yaml": "",
}


def test_every_folder_is_a_scope_and_loose_files_are_one(tree):
    tree({"a/x.yaml": "", "a/b/y.yaml": "", "c/z.yaml": "", "l1.yaml": "", "l2.yaml": ""})
    assert shape(plan(["l1.yaml", "c/", "a", "l2.yaml"])) == [
        ("c", ("c/z.yaml",), (), False),
        ("a", ("a/b/y.yaml", "a/x.yaml"), (), False),
        ("", ("l1.yaml", "l2.yaml"), (), False),
    ]


def test_a_folder_in_a_folder_that_is_named_too_is_its_own(tree):
    tree({"a/x.yaml": "", "a/b/y.yaml": ""})
    assert shape(plan(["a", "a/b", "a/b/y.yaml"])) == [
        ("a", ("a/x.yaml",), (), False),
        ("a/b", ("a/b/y.yaml",), (), False),
    ]


def test_only_kustomizations_that_no_other_uses_are_scopes(tree):
    tree(OVERLAYS)
    assert shape(plan(["."])) == [
        (".", ("loose/a.yaml",), (), False),
        ("overlays/dev", (), ("overlays/dev",), True),
        ("overlays/prod", (), ("overlays/prod",), True),
    ]


def test_what_goes_into_a_kustomization(tree):
    tree(OVERLAYS)
    prod = plan(["."])[2].bundles[0]
    assert prod.files == (
        "base/kustomization.yaml",
        "base/queues.yaml",
        "extra/kustomization.yaml",
        "extra/x.yaml",
        "overlays/prod/kustomization.yaml",
        "overlays/prod/more.yaml",
        "shared/flavors.yaml",
        "shared/kustomization.yml",
    )
    assert prod.idle == ("overlays/prod/forgotten.yaml",)


def test_every_file_is_accounted_for(tree):
    tree(OVERLAYS)
    for render in (None, lambda _: b""):
        told = set()
        for scope in plan(["."]):
            told |= {r.file for r in (*scope.reports, *render_bundles(scope, render).reports)} | set(
                scope.files
            )
        assert told == set(OVERLAYS)


def test_a_base_outside_of_the_paths_is_known(tree):
    tree(OVERLAYS)
    (scope,) = plan(["overlays/prod"])
    assert "base/queues.yaml" in scope.bundles[0].files


def test_remote_and_missing_references_are_left_out(tree):
    text = "resources: [https://x.org/a.yaml, 'git@x:y', 'x.org/a?ref=1', gone.yaml, 5, {}]\npatches: 7\n"
    tree({"k/kustomization.yaml": text})
    assert plan(["k"])[0].bundles[0].files == ("k/kustomization.yaml",)


def test_a_component_alone_is_not_checked_and_no_failure(tree):
    tree({"c/kustomization.yaml": "kind: Component\nresources: [x.yaml]\n", "c/x.yaml": "", "c/y.yaml": ""})
    (scope,) = plan(["c"])
    assert (scope.files, scope.bundles) == ((), ())
    assert {(r.file, r.state, r.failed) for r in scope.reports} == {
        ("c/kustomization.yaml", "notChecked", False),
        ("c/x.yaml", "notChecked", False),
        ("c/y.yaml", "notChecked", False),
    }


def test_a_circle_of_kustomizations_is_a_failure(tree):
    tree({"a/kustomization.yaml": "resources: [../b]\n", "b/kustomization.yaml": "resources: [../a]\n"})
    (scope,) = plan(["."])
    assert [(r.file, r.failed) for r in scope.reports] == [
        ("a/kustomization.yaml", True),
        ("b/kustomization.yaml", True),
    ]


def test_a_kustomization_that_uses_itself_is_built(tree):
    tree({"a/kustomization.yaml": "resources: [., ../a]\n"})
    assert shape(plan(["a"])) == [("a", (), ("a",), True)]


def test_a_broken_kustomization_is_left_to_the_tool(tree):
    tree({"a/kustomization.yaml": "resources: [: x\n", "a/x.yaml": ""})
    (scope,) = plan(["a"])
    assert (scope.bundles[0].files, scope.bundles[0].idle) == (("a/kustomization.yaml",), ("a/x.yaml",))


def test_charts_are_scopes_with_all_that_is_in_them(tree):
    files = {
        "c/Chart.yaml": "",
        "c/values.yaml": "",
        "c/templates/q.yaml": "{{ x }}",
        "c/charts/sub/Chart.yaml": "",
        "c/charts/sub/templates/r.yaml": "",
        "d/e.yaml": "",
    }
    tree(files)
    scopes = plan(["."])
    assert shape(scopes) == [(".", ("d/e.yaml",), (), False), ("c", (), ("c",), True)]
    assert scopes[1].bundles[0].files == tuple(sorted(name for name in files if name.startswith("c/")))


def test_other_files_of_a_folder_that_is_itself_a_bundle(tree):
    tree({"k/kustomization.yaml": "", "k/docs/a.yaml": ""})
    assert shape(plan(["k"])) == [
        ("k (other files)", ("k/docs/a.yaml",), (), False),
        ("k", (), ("k",), True),
    ]


def test_named_clusters_come_first_and_keep_what_was_not_asked_for_as_context(tree):
    tree({"p/a.yaml": "", "p/b.yaml": "", "q/c.yaml": "", "r/d.yaml": "", "n.csv": "", "p/nodes.yaml": ""})
    clusters = (
        Cluster(
            "prod", ("p", "shared*"), inventory=("n.csv", "p/nodes.yaml"), context=("r",), target=("x=1",)
        ),
        Cluster("idle", ("q",)),
    )
    (prod, rest) = plan(["p/a.yaml", "r"], clusters)
    assert (prod.name, prod.files, prod.context) == ("prod", ("p/a.yaml",), ("p/b.yaml", "r/d.yaml"))
    assert (prod.inventory, prod.target, prod.is_named) == (("n.csv", "p/nodes.yaml"), ("x=1",), True)
    assert shape([rest]) == [("r", ("r/d.yaml",), (), False)]


def test_a_cluster_may_be_a_kustomization(tree):
    tree(OVERLAYS)
    (prod,) = plan(["overlays/prod"], (Cluster("prod", ("overlays/prod",)),))
    assert shape([prod]) == [("prod", (), ("overlays/prod",), True)]


def test_nothing_makes_no_scope(tree):
    tree({"e/x.txt": ""})
    assert plan(["e", "nowhere.yaml"]) == ()


def test_rendered_text_goes_under_a_name_of_its_own(tree):
    tree({"k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": ""})
    asked = []

    def render(folder):
        asked.append(folder)
        return b"kind: A\n"

    found = render_bundles(plan(["k"])[0], render)
    assert (asked, found.texts) == (["k"], {"k/<rendered>": b"kind: A\n"})
    assert {(r.file, r.state) for r in found.reports} == {
        ("k/kustomization.yaml", "checked"),
        ("k/a.yaml", "checked"),
    }


@pytest.mark.parametrize(
    ("error", "failed", "says"),
    [
        (None, False, "a kustomization, and nothing here renders it"),
        (FileNotFoundError("no kustomize here"), False, "no kustomize here"),
        (OSError("it said no"), True, "it said no"),
    ],
)
def test_what_can_not_be_rendered_is_not_checked(tree, error, failed, says):
    tree({"k/kustomization.yaml": "resources: [a.yaml]\n", "k/a.yaml": ""})

    def render(_):
        raise error

    found = render_bundles(plan(["k"])[0], render if error else None)
    assert found.texts == {}
    own, other = found.reports
    assert (own.file, own.state, own.failed, own.why) == ("k/kustomization.yaml", "notChecked", failed, says)
    assert (other.file, other.state, other.failed) == ("k/a.yaml", "notChecked", False)
