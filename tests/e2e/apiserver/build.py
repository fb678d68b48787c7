"""etcd, kube-apiserver, kubectl and helm, built from their Go modules at the versions of tools/go.mod.

Built once and kept in a cache folder that is named by what goes into the build. ``python -m
tests.e2e.apiserver.build`` builds them and prints where they are.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

TOOLS = Path(__file__).parent / "tools"
KUBERNETES = "v1.37.2"
PROGRAMS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "helm": "helm.sh/helm/v4/cmd/helm",
}
KUEUE = "sigs.k8s.io/kueue@v0.17.0"
OPENREPORTS = "github.com/openreports/reports-api@v0.2.1"
CERT_MANAGER = "github.com/cert-manager/cert-manager@v1.20.0"
KYVERNO = "github.com/kyverno/kyverno@v1.19.1"
# Without symbols; without cgo, so that no C compiler is needed. The version is what discovery shows.
FLAGS = (
    "-mod=readonly",
    "-trimpath",
    "-buildvcs=false",
    "-ldflags",
    f"-s -w -X k8s.io/component-base/version.gitVersion={KUBERNETES}",
)
MINUTES = 75  # for all that one program needs, on two busy cores from nothing


class Missing(Exception):  # noqa: N818 - a reason to skip, no error
    """Why the programs can not be had here."""


def go():
    """The Go toolchain. Raises Missing."""
    found = shutil.which("go")
    if found is None:
        raise Missing("no Go toolchain: etcd and kube-apiserver are built from their Go modules")
    return found


def folder():
    """Where the programs of this go.sum and toolchain are, or will be. Raises Missing."""
    version = subprocess.run([go(), "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout
    made_of = hashlib.sha256(version.encode() + repr((FLAGS, PROGRAMS)).encode())
    for name in ("go.mod", "go.sum"):
        made_of.update((TOOLS / name).read_bytes())
    home = os.environ.get("POLICYCHECK_E2E_CACHE") or Path.home() / ".cache" / "policycheck-e2e"
    return Path(home) / made_of.hexdigest()[:16]


def built():
    """The folder of the programs when all are there. Raises Missing, saying how to have them."""
    at = folder()
    absent = [name for name in PROGRAMS if not (at / name).is_file()]
    if absent:
        raise Missing(f"{', '.join(absent)} not built yet: `make e2e` builds and keeps them")
    return at


def build(say=lambda _: None):
    """The folder of the programs, built when they are not there. Raises Missing or CalledProcessError."""
    at = folder()
    at.mkdir(parents=True, exist_ok=True)
    for name, package in PROGRAMS.items():
        if (at / name).is_file():
            continue
        began = time.monotonic()
        say(f"building {name} from {package} (kept in {at})")
        # Built beside and moved: a build that is cut off leaves no half program.
        beside = at / f".{name}.{os.getpid()}"
        subprocess.run(
            [go(), "build", *FLAGS, "-o", str(beside), package],
            cwd=TOOLS,
            env={**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOWORK": "off"},
            check=True,
            timeout=MINUTES * 60,
        )
        beside.replace(at / name)
        say(f"built {name} in {time.monotonic() - began:.0f} s")
    return at


def kueue_definitions():
    """The CustomResourceDefinitions in Kueue's own module, as files. Raises Missing."""
    return sorted((module(KUEUE) / "config" / "components" / "crd" / "bases").glob("*.yaml"))


def report_definitions(group):
    """Those of policy reports, out of the modules of projects that ship them. Raises Missing."""
    if group == "openreports.io":
        return sorted((module(OPENREPORTS) / "config" / "crd").glob("*.yaml"))
    return sorted((module(KYVERNO) / "config" / "crds" / "policyreport").glob("*.yaml"))


def manager_definitions():
    """cert-manager's of certificates and issuers. Raises Missing."""
    return sorted((module(CERT_MANAGER) / "deploy" / "crds").glob("cert-manager.io_*.yaml"))


def module(name):
    """The folder of a Go module, downloaded when it is not there. Raises Missing."""
    done = subprocess.run(
        [go(), "mod", "download", "-json", name],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "GOFLAGS": "-mod=mod", "GOWORK": "off"},
    )
    if done.returncode:
        raise Missing(f"{name} can not be downloaded: {done.stderr.strip() or done.stdout.strip()}")
    return Path(json.loads(done.stdout)["Dir"])


if __name__ == "__main__":
    try:
        print(build(lambda text: print(text, file=sys.stderr, flush=True)))
        kueue_definitions()
    except Missing as missing:
        sys.exit(f"not available: {missing}")
