from pathlib import Path

import pytest

from policycheck import data


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "somewhere" / "policycheck"
    folder.mkdir(parents=True)
    monkeypatch.setattr(data, "_PACKAGE", str(folder))
    monkeypatch.delenv("POLICYCHECK_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def test_this_checkout_is_found():
    assert (data.root() / "pyproject.toml").is_file()
    assert (data.root() / "fixtures" / "clusters" / "demo-bad").is_dir()


def test_a_checkout_goes_before_a_packaged_copy(package):
    (package / "_data" / "rules").mkdir(parents=True)
    assert data.root() == package / "_data"
    (package.parent / "rules").mkdir()
    assert data.root() == package / "_data"
    (package.parent / "pyproject.toml").touch()
    assert data.root() == package.parent


def test_a_broken_installation_is_named(package):
    with pytest.raises(FileNotFoundError, match="install it again"):
        data.root()


def test_what_is_compiled_is_kept_outside_the_project(package, monkeypatch, tmp_path):
    assert Path(data.cache()).parent == tmp_path / "cache" / "policycheck"
    (package.parent / "rules").mkdir()
    (package.parent / "pyproject.toml").touch()
    assert Path(data.cache()) == package.parent / ".policycheck-cache"
    monkeypatch.setenv("POLICYCHECK_CACHE_DIR", "/elsewhere")
    assert data.cache() == "/elsewhere"
