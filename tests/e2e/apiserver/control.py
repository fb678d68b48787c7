"""A control plane of real processes on loopback: etcd and kube-apiserver, with certificates of their own."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import httpx2 as httpx
import yaml
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.e2e.apiserver.pki import Authority, key_bytes

# Annotations of the webhook are in the records of requests; what nobody reads here is left out.
AUDIT = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "Metadata"},
    ],
}
SECONDS = 180  # to come up, on two busy cores


def bound():
    """What a command begins with so that it ends when the process that started it does, however that happens."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


def free_port():
    """A port on loopback that nobody listens on now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class ControlPlane:
    """etcd and one API server. ``stop`` ends what ``start`` began, and nothing else."""

    def __init__(self, programs, folder):
        self.programs, self.folder = Path(programs), Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.authority = Authority(self.folder / "pki", "test cluster")
        self.port, self.etcd_port = free_port(), free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.audit = self.folder / "audit.log"
        self.running = {}
        self._prepare()

    def _prepare(self):
        (self.folder / "audit.yaml").write_text(yaml.safe_dump(AUDIT))
        self.tls = self.authority.server("kube-apiserver", ("localhost", "127.0.0.1", "kubernetes.default"))
        self.accounts = self.folder / "pki" / "accounts.key"
        self.accounts.write_bytes(key_bytes(rsa.generate_private_key(65537, 2048)))
        self.admin = self.kubeconfig("admin", self.authority.user("admin", ("system:masters",)))

    def kubeconfig(self, user, pair, server=None):
        """The file with which a user with this certificate comes in; the context has the user's name."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": user,
            "clusters": [
                {
                    "name": "test",
                    "cluster": {
                        "server": server or self.url,
                        "certificate-authority": str(self.authority.file),
                    },
                }
            ],
            "users": [
                {"name": user, "user": {"client-certificate": str(pair[0]), "client-key": str(pair[1])}}
            ],
            "contexts": [{"name": user, "context": {"cluster": "test", "user": user}}],
        }
        file = self.folder / f"{user.replace(':', '-')}.kubeconfig"
        file.write_text(yaml.safe_dump(config))
        return file

    def start(self):
        """Starts both and waits until the API server is ready."""
        self._start_etcd()
        self.start_api()

    def _start_etcd(self):
        client, peer = f"http://127.0.0.1:{self.etcd_port}", f"http://127.0.0.1:{free_port()}"
        self._run(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        )
        self._wait("etcd", lambda: httpx.get(f"{client}/health", timeout=2).status_code == 200)

    def start_api(self):
        """Starts the API server alone and waits until it is ready."""
        self._run(
            "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{self.etcd_port}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            f"--cert-dir={self.folder / 'pki'}",
            f"--tls-cert-file={self.tls[0]}",
            f"--tls-private-key-file={self.tls[1]}",
            f"--client-ca-file={self.authority.file}",
            f"--service-account-key-file={self.accounts}",
            f"--service-account-signing-key-file={self.accounts}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=127.96.0.0/16",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",
            f"--audit-policy-file={self.folder / 'audit.yaml'}",
            f"--audit-log-path={self.audit}",
            "--audit-log-mode=blocking",
            "--profiling=false",
            "--v=1",
        )
        with self.client() as client:
            self._wait("kube-apiserver", lambda: client.get("/readyz").status_code == 200)

    def client(self, user="admin", groups=("system:masters",)):
        """An HTTP client of a user."""
        import ssl

        context = ssl.create_default_context(cafile=str(self.authority.file))
        context.load_cert_chain(*map(str, self.authority.user(user, groups)))
        return httpx.Client(base_url=self.url, verify=context, timeout=30, trust_env=False)

    def stop_api(self, *, how=signal.SIGTERM):
        """Ends the API server; etcd goes on."""
        self._end("kube-apiserver", how)

    def stop(self):
        """Ends what runs; what it held is of no use to anybody any more."""
        for name in ("kube-apiserver", "etcd"):
            self._end(name, signal.SIGKILL)

    def compact(self):
        """Makes etcd forget everything but the newest state."""
        base = f"http://127.0.0.1:{self.etcd_port}/v3/kv"
        newest = httpx.post(f"{base}/range", json={"key": "AA=="}).json()["header"]["revision"]
        done = httpx.post(f"{base}/compaction", json={"revision": newest, "physical": True})
        assert done.status_code == 200, done.text

    def audited(self):
        """The records of the audit log, oldest first."""
        with suppress(FileNotFoundError):
            return [json.loads(line) for line in self.audit.read_text().splitlines() if line.endswith("}")]
        return []

    def _run(self, name, *args):
        log = (self.folder / f"{name}.log").open("ab")
        self.running[name] = subprocess.Popen(
            [*bound(), self.programs / name, *args],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "GOMAXPROCS": "2"},
            start_new_session=True,
        )
        log.close()

    def _wait(self, name, ready):
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            if self.running[name].poll() is not None:
                raise RuntimeError(f"{name} ended with {self.running[name].returncode}: {self._log(name)}")
            with suppress(httpx.HTTPError):
                if ready():
                    return
            time.sleep(0.2)
        raise RuntimeError(f"{name} is not ready after {SECONDS} s: {self._log(name)}")

    def _log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")[-3000:]

    def _end(self, name, how=signal.SIGTERM):
        process = self.running.pop(name, None)
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
            try:
                process.wait(timeout=40)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def install(client, files, seconds=60):
    """Applies CustomResourceDefinitions and waits until the API server serves them.

    Conversion by a webhook that does not run here is left out; versions differ in schema alone then.
    """
    names = []
    for file in files:
        for definition in yaml.safe_load_all(file.read_text()):
            if definition:
                definition["spec"].pop("conversion", None)
                done = client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=definition)
                assert done.status_code in {201, 409}, f"{file.name}: {done.text}"
                names.append(definition["metadata"]["name"])
    until = time.monotonic() + seconds
    waiting = names
    while waiting:
        waiting = [name for name in waiting if not _is_served(client, name)]
        assert time.monotonic() < until, f"not established: {waiting}"
        time.sleep(0.2 * bool(waiting))
    return names


def _is_served(client, name):
    found = client.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}").json()
    conditions = (found.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
