"""A control plane for each module of tests, where its programs are built; skipped with the reason elsewhere."""

import pytest

from tests.e2e.apiserver import build, control


def _or_skip(make):
    try:
        return make()
    except build.Missing as missing:
        pytest.skip(f"needs a real API server: {missing}")


@pytest.fixture(scope="session")
def programs():
    """The folder with etcd, kube-apiserver, kubectl and helm."""
    return _or_skip(build.built)


@pytest.fixture(scope="session")
def definitions(programs):
    """Kueue's CustomResourceDefinitions."""
    return _or_skip(build.kueue_definitions)


@pytest.fixture(scope="module")
def plane(programs, definitions, tmp_path_factory):
    """etcd and an API server on loopback that serves Kueue's kinds."""
    made = control.ControlPlane(programs, tmp_path_factory.mktemp("plane"))
    try:
        made.start()
        with made.client() as client:
            control.install(client, definitions)
        yield made
    finally:
        made.stop()
