"""Kustomizations and charts to manifests, with the tools of the user's machine when they are there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TIMEOUT = 60.0  # seconds for one folder
LARGEST = 64 * 1024 * 1024  # bytes of rendered text
_KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
# A check of files fetches nothing: remote bases fail at once, with words that say so.
_OFFLINE = {
    "GIT_ALLOW_PROTOCOL": "file",
    "GIT_TERMINAL_PROMPT": "0",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "NO_PROXY": "",
    "no_proxy": "",
}


class ToolMissingError(FileNotFoundError):
    """No tool here renders this folder: it is not checked, which is no failure."""


class RenderError(OSError):
    """The tool is here and refused, hung, or wrote too much: the folder could not be read."""


def render(folder: str, values: Mapping[str, Any] | None = None) -> bytes:
    """The manifests that the kustomization or chart in ``folder`` stands for, the chart with ``values`` over its own.

    Raises ToolMissingError when nothing installed can render it, RenderError when it failed.
    """
    args = command(folder)
    if values is None:
        return _run(args, folder)
    *head, end, last = args
    return _run([*head, "--values", "-", end, last], folder, json.dumps(values).encode())


def command(folder: str) -> list[str]:
    """The command line that renders ``folder``. Raises ToolMissingError, naming what to install."""
    if any((Path(folder) / name).is_file() for name in _KUSTOMIZATIONS):
        if shutil.which("kustomize"):
            return ["kustomize", "build", "--", folder]
        if shutil.which("kubectl"):
            return ["kubectl", "kustomize", "--", folder]
        raise ToolMissingError("a kustomization, and neither kustomize nor kubectl is installed to render it")
    if (Path(folder) / "Chart.yaml").is_file():
        if shutil.which("helm"):
            return ["helm", "template", "policycheck", "--", folder]
        raise ToolMissingError("a Helm chart, and helm is not installed to render it")
    raise ToolMissingError("neither a kustomization nor a chart")


def _run(args: Sequence[str], folder: str, given: bytes = b"") -> bytes:
    tool = args[0]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed tool, its arguments never pass a shell
            args,
            input=given,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
            env=_environment(),
        )
    except subprocess.TimeoutExpired as error:
        raise RenderError(f"{tool} did not finish within {TIMEOUT:.0f} s") from error
    except OSError as error:
        raise RenderError(f"{tool} did not start: {error.strerror}") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise RenderError(
            f"{tool} failed on {folder}: {said[-1][:300] if said else f'exit code {done.returncode}'}"
        )
    if len(done.stdout) > LARGEST:
        raise RenderError(
            f"{tool} wrote {len(done.stdout):,} bytes for {folder}; at most {LARGEST:,} are read"
        )
    return done.stdout


def _environment() -> Mapping[str, str]:
    return {**os.environ, **_OFFLINE}
