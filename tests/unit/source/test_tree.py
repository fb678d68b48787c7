"""A tree that is known by a list behaves like one on the disk."""

import pytest

from policycheck.source.files import expand
from policycheck.source.scope import plan
from policycheck.source.tree import DISK, Listing

FILES = (
    "a.yaml",
    "d/b.yml",
    "d/e/f.yaml",
    "d/.hidden/x.yaml",
    "d/notes.txt",
    "k/kustomization.yaml",
    "k/c.yaml",
)
LINKS = {"d/up": "..", "l.yaml": "d/b.yml", "loop": "loop", "gone.yaml": "nowhere", "out.yaml": "/etc/passwd"}


@pytest.fixture
def trees(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("resources: [c.yaml]\n" if name.startswith("k/k") else "a: 1\n")
    for name, target in LINKS.items():
        if target != "/etc/passwd":
            (tmp_path / name).symlink_to(target)
    return DISK, Listing(FILES, {k: v for k, v in LINKS.items() if v != "/etc/passwd"})


@pytest.mark.parametrize(
    "paths",
    [
        ("d",), (".",), ("d/e", "a.yaml"), ("d/*.y*ml",), ("**/*.yaml",), ("*",), ("[ad]*",), ("l.yaml", "d/b.yml"),
        ("d/up/a.yaml",), ("nowhere", "*.toml"), ("d/.hidden/*",), ("d/e/../b.yml",), ("loop",),
    ],
)  # fmt: skip
def test_paths_stand_for_the_same_files(trees, paths):
    disk, listing = (expand(paths, tree=tree) for tree in trees)
    assert listing.files == disk.files
    assert listing.unmatched == disk.unmatched
    assert [t.file for t in listing.troubles] == [t.file for t in disk.troubles]


def test_scopes_are_the_same(trees):
    def read(name):
        return b"resources: [c.yaml]\n" if name.startswith("k/k") else b"a: 1\n"

    disk, listing = (plan(["."], (), read, tree) for tree in trees)
    assert [(s.name, s.files, s.bundles) for s in listing] == [(s.name, s.files, s.bundles) for s in disk]
    assert [s.name for s in disk] == [".", "k"]


def test_links_that_lead_in_circles_do_not_multiply_what_a_pattern_means(trees, tmp_path):
    for n in range(4):  # followed blindly these are 4 ** 40 names
        (tmp_path / f"d/back{n}").symlink_to("..")
    assert expand(["**/*.yaml"]).files == (
        "a.yaml",
        "d/e/f.yaml",
        "k/c.yaml",
        "k/kustomization.yaml",
        "l.yaml",
    )


def test_absolute_patterns(trees, tmp_path):
    assert expand([f"{tmp_path}/d/*.yml"]).files == (f"{tmp_path}/d/b.yml",)
    assert expand([f"{tmp_path}/d/../*.yaml"]).files[0] == f"{tmp_path}/a.yaml"


def test_a_link_that_leaves_the_tree_leads_nowhere():
    listing = Listing(("d/a.yaml",), {"out.yaml": "/etc/passwd", "d/up.yaml": "../../x.yaml"})
    assert listing.resolve("out.yaml") is None
    assert listing.resolve("d/up.yaml") is None
    assert {t.file for t in expand(["."], tree=listing).troubles} == {"out.yaml", "d/up.yaml"}
