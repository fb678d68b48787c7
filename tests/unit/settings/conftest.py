"""Settings files in a scratch repository, as somebody would lay them out."""

from __future__ import annotations

import pytest


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository in which the command runs; its parent is a place for what is shared."""
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("POLICYCHECK_CONFIG", raising=False)
    return folder


@pytest.fixture
def write(repository):
    """Writes files by name."""

    def write(files):
        for name, text in files.items():
            path = repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Installs a Python package that holds nothing but files; importing it would be noticed."""

    def install(name, files):
        site = tmp_path / "site"
        for inner, text in {"__init__.py": "raise SystemExit('imported')\n", **files}.items():
            path = site / name / inner
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        monkeypatch.syspath_prepend(str(site))
        return site / name

    return install
