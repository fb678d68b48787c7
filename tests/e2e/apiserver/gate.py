"""The webhook as its manifests install it, without kubelet and kube-proxy: this plays both.

Replicas are processes with the very arguments of the Deployment, under the account that it names; the Service's
address is on loopback, and what comes there goes to a replica that is ready.
"""

import os
import signal
import socket
import subprocess
import sys
import time

import httpx2 as httpx
import yaml

from policycheck.adapters.install import PLAIN_PORT, PORT
from tests.e2e.apiserver.balancer import Balancer
from tests.e2e.apiserver.control import bound, free_port


class Replica:
    """One pod of the Deployment."""

    def __init__(self, gate, number):
        self.gate, self.number = gate, number
        self.port, self.plain = free_port(), free_port()
        self.folder = gate.folder / f"replica-{number}"
        self.folder.mkdir(exist_ok=True)
        self.log = self.folder / "log"
        self.process = None

    @property
    def ready_url(self):
        return f"http://127.0.0.1:{self.plain}/readyz"

    def metrics(self):
        return httpx.get(f"http://127.0.0.1:{self.plain}/metrics", timeout=5, trust_env=False).text

    def arguments(self):
        """Those of the container, with places of this machine."""
        places = {
            f"0.0.0.0:{PORT}": f"127.0.0.1:{self.port}",
            f"0.0.0.0:{PLAIN_PORT}": f"127.0.0.1:{self.plain}",
            **self.gate.mounts(self),
        }

        def here(arg):
            for theirs, ours in places.items():
                if arg.startswith(theirs):
                    return f"{ours}{arg[len(theirs) :]}"
            return arg

        return [here(arg) for arg in self.gate.container["args"]]

    def start(self):
        log = self.log.open("ab")
        environ = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")}
        for one in self.gate.container["env"]:
            said = one.get("value", self.gate.namespace)  # what comes from the pod is its namespace
            environ[one["name"]] = str(self.folder / "tmp") if said.startswith("/tmp/") else said
        self.process = subprocess.Popen(
            [*bound(), sys.executable, "-m", "policycheck", *self.arguments()],
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env={**environ, "KUBECONFIG": str(self.gate.account), "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
        log.close()

    def stop(self, how=signal.SIGTERM):
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


class Gate:
    """Manifests applied, replicas running, traffic flowing."""

    def __init__(self, plane, kubectl, folder, manifests):
        self.plane, self.kubectl, self.folder = plane, kubectl, folder
        self.folder.mkdir(parents=True, exist_ok=True)
        self.objects = [one for one in yaml.safe_load_all(manifests) if one]
        if not may_listen(443):
            self._move(10443)
        (deployment,) = [one for one in self.objects if one["kind"] == "Deployment"]
        self.spec = deployment["spec"]["template"]["spec"]
        (self.container,) = self.spec["containers"]
        self.namespace = deployment["metadata"]["namespace"]
        self.replicas = [Replica(self, number) for number in range(deployment["spec"]["replicas"])]
        user = f"system:serviceaccount:{self.namespace}:{self.spec['serviceAccountName']}"
        groups = (
            "system:serviceaccounts",
            f"system:serviceaccounts:{self.namespace}",
            "system:authenticated",
        )
        self.account = plane.kubeconfig(user, plane.authority.user(user, groups))
        self.balancer = None

    def _move(self, port):
        """Another port of the Service, where this machine keeps low ones to root."""
        for one in self.objects:
            if one["kind"] == "Service":
                one["spec"]["ports"][0]["port"] = port
            for hook in one.get("webhooks", ()):
                hook["clientConfig"]["service"]["port"] = port

    def mounts(self, replica):
        """Folders of this machine for what is mounted in the pod, filled from the cluster."""
        volumes = {one["name"]: one for one in self.spec["volumes"]}
        found = {}
        for mount in self.container["volumeMounts"]:
            place = replica.folder / mount["name"]
            place.mkdir(exist_ok=True)
            self._fill(place, volumes[mount["name"]])
            found[mount["mountPath"]] = str(place)
        return found

    def _fill(self, place, volume):
        for kind, key, decode in (("secret", "secretName", True), ("configMap", "name", False)):
            if kind in volume:
                name = volume[kind][key]
                done = self.kubectl("get", kind, name, "-n", self.namespace, "-o", "yaml", check=False)
                if done.returncode:
                    assert volume[kind].get("optional"), done.stderr
                    return
                write(place, yaml.safe_load(done.stdout).get("data") or {}, decode=decode)

    def refresh(self):
        """What a kubelet does every minute: mounted files follow the cluster."""
        for one in self.replicas:
            self.mounts(one)

    def start(self):
        """Applies everything but the webhook configuration, starts the replicas, then sends requests to them."""
        hooks = [one for one in self.objects if one["kind"] == "ValidatingWebhookConfiguration"]
        self.kubectl.apply(*(one for one in self.objects if one not in hooks))
        for one in self.replicas:
            one.start()
        service = self.kubectl.get("service", "policycheck", "-n", self.namespace)
        address = service["spec"]["clusterIP"], service["spec"]["ports"][0]["port"]
        self.balancer = Balancer(address, [(one.port, one.ready_url) for one in self.replicas])
        # With certificates of its own a replica is ready once the caBundle says so, and that needs the configuration.
        self.kubectl.apply(*hooks)
        self.wait()

    def wait(self):
        """Until all replicas are ready."""
        try:
            self.balancer.wait(len(self.replicas))
        except AssertionError as error:
            logs = [one.log.read_text(errors="replace")[-3000:] for one in self.replicas]
            raise AssertionError(f"{error}\n" + "\n".join(logs)) from error

    def down(self, how=signal.SIGKILL):
        """All replicas end."""
        for one in self.replicas:
            one.stop(how)
        time.sleep(0.5)

    def up(self):
        for one in self.replicas:
            one.start()
        self.wait()

    def close(self):
        self.kubectl("delete", "validatingwebhookconfiguration", "policycheck", check=False)
        for one in self.replicas:
            one.stop(signal.SIGKILL)
        if self.balancer:
            self.balancer.close()


def may_listen(port):
    """Whether we may listen on a port of loopback that nobody else has."""
    try:
        socket.create_server(("127.0.0.53", port)).close()
    except PermissionError:
        return False
    except OSError:
        return True
    return True


def write(place, data, *, decode):
    """Files of a mounted ConfigMap or Secret, each whole at every moment."""
    import base64

    for name, value in data.items():
        content = base64.b64decode(value) if decode else value.encode()
        if not (place / name).exists() or (place / name).read_bytes() != content:
            (place / f".{name}").write_bytes(content)
            (place / f".{name}").replace(place / name)
