import pytest

from policycheck.adapters.live.connect import connect
from tests.unit.live.fake import Server


@pytest.fixture
def server():
    made = Server()
    yield made
    made.close()


@pytest.fixture
def kubeconfig(server, tmp_path, monkeypatch):
    file = server.kubeconfig(tmp_path / "config", ("here", "there/with:slash"))
    monkeypatch.setenv("KUBECONFIG", str(file))
    return file


@pytest.fixture
def way(kubeconfig):
    """A connection that does not wait between tries."""
    made = connect("here", sleep=lambda _: None)
    yield made
    made.close()
