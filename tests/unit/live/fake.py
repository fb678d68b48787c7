"""A small API server on loopback: lists in pages, watches, forgets, forbids; enough to be talked to."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from urllib.parse import parse_qs, urlsplit

import yaml

KUEUE = "kueue.x-k8s.io"
HAS = {
    "": {"v1": {"Node": ("nodes", False), "Pod": ("pods", True), "Namespace": ("namespaces", False)}},
    KUEUE: {
        "v1beta1": {"ClusterQueue": ("clusterqueues", False), "LocalQueue": ("localqueues", True)},
        "v1beta2": {
            "ClusterQueue": ("clusterqueues", False),
            "LocalQueue": ("localqueues", True),
            "Workload": ("workloads", True),
            "ResourceFlavor": ("resourceflavors", False),
        },
    },
}


class Server:
    """State, and what is to go wrong with it."""

    def __init__(self):
        self.objects = {}  # plural: {(namespace, name): object}
        self.version = 100
        self.forbidden = set()  # plurals
        self.gone_pages = 0  # this many continue tokens are answered with 410
        self.gone_watches = 0
        self.busy = 0  # this many requests are answered with 503
        self.broken_groups = set()
        self.has = json.loads(json.dumps(HAS))
        self.asked = []  # (path, parameters)
        self.watches = {}  # plural: queues
        self.lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}"

    def close(self):
        self.end_watches()
        self.http.shutdown()
        self.http.server_close()

    def kubeconfig(self, file, names=("here",)):
        file.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": names[0],
                    "clusters": [{"name": "c", "cluster": {"server": self.url}}],
                    "users": [{"name": "u", "user": {"token": "secret"}}],
                    "contexts": [{"name": n, "context": {"cluster": "c", "user": "u"}} for n in names],
                }
            )
        )
        return file

    def put(self, plural, value, event=None):
        with self.lock:
            self.version += 1
            meta = value["metadata"]
            meta["resourceVersion"] = str(self.version)
            meta.setdefault("uid", f"{plural}-{meta['name']}")
            key = (meta.get("namespace", ""), meta["name"])
            known = key in self.objects.setdefault(plural, {})
            self.objects[plural][key] = value
            self._send(plural, event or ("MODIFIED" if known else "ADDED"), value)

    def delete(self, plural, namespace, name):
        with self.lock:
            self.version += 1
            value = self.objects[plural].pop((namespace, name))
            value["metadata"]["resourceVersion"] = str(self.version)
            self._send(plural, "DELETED", value)

    def bookmark(self, plural):
        with self.lock:
            self.version += 1
            self._send(plural, "BOOKMARK", {"metadata": {"resourceVersion": str(self.version)}})

    def _send(self, plural, what, value):
        for queue in self.watches.get(plural, ()):
            queue.put({"type": what, "object": json.loads(json.dumps(value))})

    def forget(self, plural):
        """Ends the watches of a kind with 410 in the stream."""
        with self.lock:
            self._send(plural, "ERROR", {"code": 410, "message": "too old resource version"})

    def end_watches(self):
        with self.lock:
            for queues in self.watches.values():
                for queue in queues:
                    queue.put(None)

    def answer(self, request):
        split = urlsplit(request.path)
        params = {key: values[0] for key, values in parse_qs(split.query).items()}
        self.asked.append((split.path, params))
        if self.busy:
            self.busy -= 1
            _json(request, {"message": "busy", "code": 503}, 503)
            return
        parts = [part for part in split.path.split("/") if part]
        if parts == ["apis"]:
            _json(request, {"groups": [self._group(group) for group in self.has if group]})
            return
        group, rest = ("", parts[1:]) if parts[0] == "api" else (parts[1], parts[2:])
        version, *rest = rest
        if group in self.broken_groups:
            _json(request, {"message": "no endpoints available", "code": 503}, 503)
        elif not rest:
            kinds = self.has.get(group, {}).get(version, {})
            found = [
                {"name": plural, "kind": kind, "namespaced": spaced, "verbs": ["get", "list", "watch"]}
                for kind, (plural, spaced) in kinds.items()
            ]
            extra = [{"name": "nodes/status", "kind": "Node", "namespaced": False, "verbs": ["get"]}]
            _json(request, {"resources": extra + found})
        elif rest[-1] in self.forbidden:
            message = f'{rest[-1]} is forbidden: User "u" cannot list resource "{rest[-1]}"'
            _json(request, {"kind": "Status", "message": message, "reason": "Forbidden", "code": 403}, 403)
        elif params.get("watch"):
            self._watch(request, rest[-1])
        else:
            self._page(request, rest[-1], params)

    def _group(self, name):
        versions = [{"version": version} for version in self.has[name]]
        return {"name": name, "versions": versions, "preferredVersion": versions[-1]}

    def _page(self, request, plural, params):
        items = [self.objects.get(plural, {})[key] for key in sorted(self.objects.get(plural, {}))]
        start, limit = int(params.get("continue", 0)), int(params.get("limit", 0))
        if start and self.gone_pages:
            self.gone_pages -= 1
            _json(request, {"message": "the provided continue parameter is too old", "code": 410}, 410)
            return
        page = items[start : start + limit] if limit else items
        meta = {"resourceVersion": str(self.version)}
        if limit and start + limit < len(items):
            meta["continue"] = str(start + limit)
        _json(request, {"kind": "List", "metadata": meta, "items": page})

    def _watch(self, request, plural):
        if self.gone_watches:
            self.gone_watches -= 1
            _json(request, {"message": "too old resource version", "code": 410}, 410)
            return
        queue = Queue()
        with self.lock:
            self.watches.setdefault(plural, []).append(queue)
        request.send_response(200)
        request.send_header("Content-Type", "application/json")
        request.send_header("Transfer-Encoding", "chunked")
        request.end_headers()
        request.wfile.flush()
        while (event := queue.get()) is not None:
            line = json.dumps(event).encode() + b"\n"
            # In two pieces, as a network may bring it.
            for piece in (line[:7], line[7:]):
                request.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                request.wfile.flush()
        request.wfile.write(b"0\r\n\r\n")
        with self.lock:
            self.watches[plural].remove(queue)


def _json(request, value, status=200):
    body = json.dumps(value).encode()
    request.send_response(status)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def queue(name, **spec):
    return {
        "apiVersion": f"{KUEUE}/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": name},
        "spec": spec,
    }


def node(name, gpus=8):
    return {
        "metadata": {"name": name, "managedFields": [{"manager": "kubelet"}], "labels": {"gpu": "h100"}},
        "status": {"allocatable": {"nvidia.com/gpu": str(gpus), "cpu": "64"}},
    }
