import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from policycheck.adapters.install import PLAIN_PORT, PORT, USER

ROOT = Path(__file__).parents[3]
FILE = ROOT / "deploy" / "Dockerfile"


def lines(instruction):
    return re.findall(rf"^{instruction} (.+)$", FILE.read_text(), re.MULTILINE)


def test_the_linter_of_dockerfiles_has_nothing_to_say():
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent))
    if hadolint is None:
        pytest.skip("hadolint is not installed here (its wheels are for Linux, macOS and Windows on x86-64)")
    done = subprocess.run(
        [hadolint, "--failure-threshold", "style", FILE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_is_pinned_by_digest_and_runs_as_the_user_that_the_manifests_say():
    bases = lines("FROM")
    assert len(bases) == 2
    assert all(base.startswith("${PYTHON_IMAGE}@${PYTHON_DIGEST}") for base in bases)
    assert lines("ARG")[1] == "PYTHON_DIGEST"  # no default
    assert lines("USER") == [f"{USER}:{USER}"]
    assert lines("EXPOSE") == [f"{PORT} {PLAIN_PORT}"]


def test_what_is_copied_is_there_and_let_through():
    copied = {name for line in lines("COPY") if "--from" not in line for name in line.split()[:-1]}
    let = (FILE.parent / "Dockerfile.dockerignore").read_text().splitlines()
    assert copied == {line[1:] for line in let if line.startswith("!")}
    assert all((ROOT / name).exists() for name in copied)


@pytest.mark.slow
def test_a_builder_builds_it():
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True, check=False).returncode:
        pytest.skip("no container builder runs here: the Dockerfile is linted and not built")
    digest = os.environ.get("PYTHON_DIGEST")
    if not digest:
        pytest.skip("a container builder runs here; set PYTHON_DIGEST to the digest of the base image")
    done = subprocess.run(
        [docker, "build", "--file", FILE, "--build-arg", f"PYTHON_DIGEST={digest}", ROOT],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
