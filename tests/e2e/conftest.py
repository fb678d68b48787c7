"""Environments of their own, made quickly: the installed package is new, its dependencies are those of the tests."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GOOD = ROOT / "fixtures" / "clusters" / "demo-good"
BAD = ROOT / "fixtures" / "clusters" / "demo-bad"


def call(*args, check=True, **options):
    done = subprocess.run(
        [str(arg) for arg in args], capture_output=True, text=True, encoding="utf-8", check=False, **options
    )
    assert not check or done.returncode == 0, f"{args} exited {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def clean_environ(**more):
    """The environment without what colours output or leads to another package or repository."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if "COLOR" not in name and not name.startswith(("GIT_", "GITHUB_", "PYTHON", "POLICYCHECK_"))
    }
    return {**kept, **{name: str(value) for name, value in more.items()}}


def make_environment(folder):
    """A virtual environment in which only our own package is missing."""
    venv.create(folder, with_pip=False, symlinks=True)
    site = next((folder / "lib").glob("python3*")) / "site-packages"
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return folder / "bin" / "python"


def install(python, *what):
    """Installs without dependencies and without an environment for the build."""
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
    )
    call(*pip, "--disable-pip-version-check", *what)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    call(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel, tmp_path_factory):
    """The Python of an environment in which the wheel is installed, far from the checkout."""
    python = make_environment(tmp_path_factory.mktemp("installed") / "venv")
    install(python, wheel)
    return python
