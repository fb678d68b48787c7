import pytest

from policycheck.adapters import render as module
from policycheck.adapters.render import RenderError, ToolMissingError, render


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """An empty PATH to put stand-ins for the tools on, and a folder with a kustomization and one with a chart."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    monkeypatch.setenv("PATH", str(bin_folder))
    for folder, name in (("overlay", "kustomization.yaml"), ("chart", "Chart.yaml"), ("plain", "x.yaml")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text("{}\n")
    monkeypatch.chdir(tmp_path)

    def add(name, script):
        path = bin_folder / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return add


def test_without_a_tool_it_says_which_is_missing(tools):
    with pytest.raises(ToolMissingError, match="neither kustomize nor kubectl is installed"):
        render("overlay")
    with pytest.raises(ToolMissingError, match="helm is not installed"):
        render("chart")
    with pytest.raises(ToolMissingError, match="neither a kustomization nor a chart"):
        render("plain")


@pytest.mark.parametrize(
    ("tool", "folder", "said"),
    [
        ("kustomize", "overlay", b"build -- overlay\n"),
        ("kubectl", "overlay", b"kustomize -- overlay\n"),
        ("helm", "chart", b"template policycheck -- chart\n"),
    ],
)
def test_the_tool_that_is_there_renders(tools, tool, folder, said):
    tools(tool, 'echo "$@"')
    assert render(folder) == said


def test_a_folder_that_looks_like_an_option_stays_a_folder(tools, tmp_path):
    tools("helm", 'echo "$@"')
    (tmp_path / "--post-renderer").mkdir()
    (tmp_path / "--post-renderer" / "Chart.yaml").write_text("{}\n")
    assert render("--post-renderer") == b"template policycheck -- --post-renderer\n"


def test_nothing_is_fetched(tools):
    tools("kustomize", 'echo "$https_proxy $GIT_ALLOW_PROTOCOL"')
    assert render("overlay") == b"http://127.0.0.1:9 file\n"


def test_what_the_tool_says_last_is_told(tools):
    tools("helm", "echo first >&2; echo 'Error: no values' >&2; exit 3")
    with pytest.raises(RenderError, match="helm failed on chart: Error: no values"):
        render("chart")
    tools("helm", "exit 3")
    with pytest.raises(RenderError, match="exit code 3"):
        render("chart")


def test_a_tool_that_hangs_or_floods_is_given_up(tools, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT", 0.2)
    tools("helm", "exec /bin/sleep 20")
    with pytest.raises(RenderError, match="did not finish within"):
        render("chart")
    monkeypatch.setattr(module, "TIMEOUT", 20.0)
    monkeypatch.setattr(module, "LARGEST", 10)
    tools("helm", "echo a longer text")
    with pytest.raises(RenderError, match=r"wrote 14 bytes .* at most 10"):
        render("chart")


def test_a_tool_that_does_not_start(tools, tmp_path):
    tools("helm", "")
    (tmp_path / "bin" / "helm").write_text("no program\0")
    with pytest.raises(RenderError):
        render("chart")
