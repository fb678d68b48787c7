"""A running server: TLS, rotation, health, hostile clients, deadlines, an orderly end."""

import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

import admission_worlds as worlds
import pytest
import yaml
from cryptography import x509
from keypairs import free_port, write_pair

from policycheck.adapters.webhook import review
from policycheck.adapters.webhook.keypair import KeyPair, KeyPairError

SOON = 20  # seconds, for what takes a moment


class Server:
    """``webhook serve`` in a process of its own, on files."""

    def __init__(self, folder, *options, tls=True):
        self.folder = folder
        state = folder / "state"
        state.mkdir(exist_ok=True)
        objects = [worlds.flavor(), worlds.queue("team-0", 8), worlds.local("main", "team-a", "team-0")]
        objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}})
        (state / "all.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
        nodes = {"apiVersion": "v1", "kind": "List", "items": [worlds.node("n0")]}
        (state / "nodes.json").write_text(json.dumps(nodes), encoding="utf-8")
        self.port, self.plain = free_port(), free_port()
        command = [sys.executable, "-m", "policycheck", "webhook", "serve", str(state)]
        command += ["--listen", f"127.0.0.1:{self.port}", "--plain", f"127.0.0.1:{self.plain}"]
        command += [] if "--config" in options else ["--isolated"]
        command += ["--log-level", "debug", "--drain", "0.5", *options]
        self.tls = tls
        if tls:
            command += ["--tls-cert", str(folder / "tls.crt"), "--tls-key", str(folder / "tls.key")]
        else:
            command += ["--no-tls"]
        self.log = (folder / "log").open("wb")
        self.process = subprocess.Popen(command, stderr=self.log, stdout=subprocess.DEVNULL)

    def started(self):
        end = time.monotonic() + SOON
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                self.get("/livez")
                return self
            assert self.process.poll() is None, (self.folder / "log").read_text(encoding="utf-8")
            time.sleep(0.05)
        raise AssertionError("it did not start")

    def get(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.plain, timeout=SOON)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def connect(self):
        if not self.tls:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=SOON)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=SOON, context=context)

    def lines(self):
        return [json.loads(line) for line in (self.folder / "log").read_text(encoding="utf-8").splitlines()]

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(SOON)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        return self.process.returncode


def asked(uid, value, operation="CREATE", **more):
    group, _, version = value["apiVersion"].rpartition("/")
    meta = value["metadata"]
    request = {
        "uid": uid,
        "operation": operation,
        "kind": {"group": group, "version": version, "kind": value["kind"]},
        "namespace": meta.get("namespace", ""),
        "name": meta["name"],
        "object": value,
        "userInfo": {"username": "eve"},
        **more,
    }
    return json.dumps({"apiVersion": review.API_VERSION, "kind": review.KIND, "request": request}).encode()


def post(connection, body, path="/validate-critical?timeout=10s", kind="application/json"):
    connection.request("POST", path, body, {"content-type": kind})
    answer = connection.getresponse()
    return answer.status, answer.read()


def response(data):
    return json.loads(data)["response"]


@pytest.fixture(scope="module")
def plain_server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("plain"), tls=False)
    try:
        yield server.started()
    finally:
        assert server.stop() == 0


def test_it_refuses_and_allows_with_the_uid_of_the_request(plain_server):
    connection = plain_server.connect()
    status, data = post(connection, asked("one", worlds.job("big", pods=40)))
    assert status == 200
    assert response(data)["uid"] == "one"
    assert response(data)["allowed"] is False
    assert response(data)["status"]["message"].startswith("KQ630 spec.parallelism:")
    status, data = post(connection, asked("two", worlds.job("small")))
    assert (status, response(data)) == (200, response(data) | {"uid": "two", "allowed": True})
    connection.close()


def test_health_and_metrics_are_told_without_tls(plain_server):
    assert plain_server.get("/livez") == (200, "ok\n")
    assert plain_server.get("/readyz") == (200, "ok\n")
    connection = plain_server.connect()
    post(connection, asked("m", worlds.job("big", pods=40)))
    post(connection, asked("m", worlds.job("big", pods=40), dryRun=True))
    connection.close()
    status, text = plain_server.get("/metrics")
    assert status == 200
    assert 'policycheck_webhook_requests_total{kind="Job",operation="CREATE",verdict="denied"}' in text
    assert 'policycheck_webhook_findings_total{rule="KQ630"}' in text
    assert "policycheck_webhook_request_seconds_bucket" in text
    assert "policycheck_cache_objects" in text


def test_logs_name_the_review_and_not_what_is_in_the_object(plain_server):
    connection = plain_server.connect()
    value = worlds.job("big", pods=40, annotations={"secret-token": "hunter2"})
    post(connection, asked("logged", value))
    connection.close()
    line = next(line for line in plain_server.lines() if line.get("uid") == "logged")
    assert (line["verdict"], line["rules"], line["name"], line["level"]) == (
        "denied",
        ["KQ630"],
        "big",
        "info",
    )
    assert "hunter2" not in (plain_server.folder / "log").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{}", "application/json", 400),
        (b"[" * 5000 + b"]" * 5000, "application/json", 400),
        (b'{"apiVersion": "admission.k8s.io/v1beta1", "kind": "AdmissionReview"}', "application/json", 400),
        (b"{}", "application/yaml", 415),
        (b"x" * (review.MOST_BYTES + 1), "application/json", 413),
    ],
)
def test_what_is_no_review_gets_a_status_that_says_so(plain_server, body, kind, status):
    connection = plain_server.connect()
    try:
        found, data = post(connection, body, kind=kind)
    except (BrokenPipeError, ConnectionResetError):
        assert status == 413  # refused before all of it was sent
        return
    finally:
        connection.close()
    assert found == status
    assert data.startswith(b"policycheck: ")


def test_a_flood_of_nonsense_does_not_flood_the_log(plain_server):
    before = len(plain_server.lines())
    connection = plain_server.connect()
    for _ in range(200):
        post(connection, b"{}")
        connection.close()
        connection = plain_server.connect()
    connection.close()
    told = [line for line in plain_server.lines()[before:] if line["message"].startswith("not a review")]
    seconds = {line["time"][:19] for line in told}
    assert len(told) <= 12 * (len(seconds) + 1)


def test_other_methods_and_paths_are_refused(plain_server):
    connection = plain_server.connect()
    connection.request("GET", "/validate-critical")
    assert connection.getresponse().status == 405
    connection.close()
    connection = plain_server.connect()
    assert post(connection, b"{}", "/elsewhere")[0] == 404
    connection.close()


def raw(server, data, wait):
    """What comes back for raw bytes, until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as one:
        one.sendall(data)
        found = b""
        with contextlib.suppress(TimeoutError):
            while part := one.recv(65536):
                found += part
        return found


def test_a_body_that_does_not_come_is_given_up(plain_server):
    head = b"POST /validate-critical HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{"
    assert raw(plain_server, head, SOON).startswith(b"HTTP/1.1 408")


def test_a_head_that_does_not_come_is_given_up(plain_server):
    assert raw(plain_server, b"POST /validate-cr", SOON) == b""


def test_a_body_that_says_it_is_huge_is_refused_at_once(plain_server):
    head = b"POST /validate-critical HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999999\r\n\r\n"
    assert raw(plain_server, head, SOON).startswith(b"HTTP/1.1 413")


def test_a_body_in_pieces_without_a_length_is_bounded(plain_server):
    head = b"POST /validate-critical HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n"
    piece = b"%x\r\n" % (1 << 20) + b"x" * (1 << 20) + b"\r\n"
    with socket.create_connection(("127.0.0.1", plain_server.port), timeout=SOON) as one:
        one.sendall(head)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(12):
                one.sendall(piece)
        found = b""
        with contextlib.suppress(ConnectionResetError, TimeoutError):
            found = one.recv(4096)
    assert not found or found.startswith(b"HTTP/1.1 413")
    assert plain_server.get("/livez")[0] == 200


def test_slow_clients_keep_nobody_waiting(plain_server):
    held = [socket.create_connection(("127.0.0.1", plain_server.port), timeout=SOON) for _ in range(100)]
    try:
        for one in held:
            one.sendall(b"POST /validate-critical HTTP/1.1\r\ncontent-length: 1000\r\n\r\n{")
        connection = plain_server.connect()
        assert post(connection, asked("w", worlds.job("small")))[0] == 200
        connection.close()
    finally:
        for one in held:
            one.close()


def test_a_deadline_that_can_not_be_met_is_answered_in_time(plain_server):
    for path, allowed in (("/validate-critical", False), ("/validate-advisory", True)):
        connection = plain_server.connect()
        began = time.monotonic()
        status, data = post(connection, asked("late", worlds.job("big", pods=40)), f"{path}?timeout=1ms")
        connection.close()
        assert status == 200
        assert time.monotonic() - began < SOON
        found = response(data)
        assert found["uid"] == "late"
        if found.get("auditAnnotations", {}).get("verdict") == "late":
            assert found["allowed"] is allowed
        else:  # it was quicker than that
            assert found["allowed"] is False


# -- TLS -----------------------------------------------------------------------------------------------


def serial(server):
    with socket.create_connection(("127.0.0.1", server.port), timeout=SOON) as one:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(one) as secure:
            return x509.load_der_x509_certificate(secure.getpeercert(binary_form=True)).serial_number


def test_the_key_pair_is_exchanged_without_a_lost_request(tmp_path):
    write_pair(tmp_path, serial=1)
    server = Server(tmp_path)
    lost, answered = [], []
    done = threading.Event()

    def knock():
        while not done.is_set():
            try:
                connection = server.connect()
                for n in range(5):
                    status, data = post(connection, asked(f"r{n}", worlds.job("small")))
                    answered.append(status == 200 and response(data)["allowed"])
                connection.close()
            except (OSError, http.client.HTTPException) as error:
                lost.append(error)

    try:
        server.started()
        assert serial(server) == 1
        threads = [threading.Thread(target=knock) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in (2, 3):
            write_pair(tmp_path, serial=number)
            end = time.monotonic() + SOON
            while serial(server) != number and time.monotonic() < end:
                time.sleep(0.05)
            assert serial(server) == number
        done.set()
        for thread in threads:
            thread.join()
    finally:
        done.set()
        code = server.stop()
    assert lost == []
    assert all(answered)
    assert len(answered) > 20
    assert code == 0


def test_old_versions_of_tls_are_refused(tmp_path):
    write_pair(tmp_path)
    pair = KeyPair(str(tmp_path / "tls.crt"), str(tmp_path / "tls.key"), time.time)
    assert pair.context.minimum_version == ssl.TLSVersion.TLSv1_2


def test_a_certificate_that_ends_within_a_day_is_not_ready(tmp_path):
    write_pair(tmp_path, days=0.5)
    server = Server(tmp_path)
    try:
        server.started()
        status, text = server.get("/readyz")
        assert status == 503
        assert "certificate of the server ends in 0.5 days" in text
        assert server.get("/livez")[0] == 200
    finally:
        server.stop()


def test_half_a_pair_is_not_taken_up(tmp_path):
    certificate, key = write_pair(tmp_path)
    pair = KeyPair(str(certificate), str(key), time.time)
    assert pair.is_good
    assert pair.refresh() is False
    (tmp_path / "other").mkdir()
    other, _ = write_pair(tmp_path / "other")
    os.replace(other, certificate)  # noqa: PTH105 - as Kubernetes does it
    with pytest.raises(KeyPairError, match="no key pair"):
        pair.refresh()
    assert pair.refresh() is False  # told once
    write_pair(tmp_path, serial=9)
    assert pair.refresh() is True


def test_what_is_under_way_is_answered_before_the_end(tmp_path):
    server = Server(tmp_path, tls=False)
    try:
        server.started()
        connection = server.connect()
        assert post(connection, asked("1", worlds.job("small")))[0] == 200
        server.process.send_signal(signal.SIGTERM)
        end = time.monotonic() + SOON
        while server.get("/readyz")[0] == 200 and time.monotonic() < end:
            time.sleep(0.01)
        assert "about to end" in server.get("/readyz")[1]
        assert post(connection, asked("2", worlds.job("small")))[0] == 200
        connection.close()
        assert server.process.wait(SOON) == 0
    finally:
        server.stop()
    messages = [line["message"] for line in server.lines()]
    assert messages[-2:] == ["ending", "ended"]


def test_the_settings_say_what_is_done(tmp_path):
    settings = tmp_path / "settings.yaml"
    settings.write_text("webhook: {mode: warn, rules: {KQ110: deny}, exempt: [quiet]}", encoding="utf-8")
    server = Server(tmp_path, "--config", str(settings), tls=False)
    try:
        connection = server.started().connect()
        warned = response(post(connection, asked("1", worlds.job("big", pods=40)))[1])
        denied = response(post(connection, asked("2", worlds.queue("team-0", 40)))[1])
        quiet = response(post(connection, asked("3", worlds.job("big", "quiet", pods=40)))[1])
        connection.close()
    finally:
        server.stop()
    assert warned["allowed"]
    assert warned["warnings"][0].startswith("KQ630")
    assert not denied["allowed"]
    assert denied["status"]["message"].startswith("KQ110")
    assert quiet["allowed"]
    assert "warnings" not in quiet


def test_only_what_is_certified_and_certificates_are_exchanged(tmp_path):
    from test_certified import certificate, key_pair, signed

    from policycheck.app.world import World

    def of(nominal):
        world = World("live", required=())
        for one in (
            worlds.flavor(),
            worlds.local("main", "team-a", "team-0"),
            worlds.queue("team-0", nominal),
        ):
            world.put(one)
        return world

    def change(new):
        return asked("c", worlds.queue("team-0", new), "UPDATE", oldObject=worlds.queue("team-0", 8))

    private, public = key_pair()
    (tmp_path / "key.pem").write_bytes(public)
    folder = tmp_path / "certificates"
    folder.mkdir()
    (folder / "old.json").write_bytes(
        signed(certificate(of(8), "2026-01-01T00:00:00Z", "2036-01-01T00:00:00Z"), private)
    )
    server = Server(tmp_path, "--certificate", str(folder), "--key", str(tmp_path / "key.pem"), tls=False)
    try:
        connection = server.started().connect()
        refused = response(post(connection, change(6))[1])
        assert not refused["allowed"]
        assert "certified with other contents" in refused["status"]["message"]
        new = signed(certificate(of(6), "2026-02-01T00:00:00Z", "2036-01-01T00:00:00Z"), private)
        (folder / "new.json").write_bytes(new)
        end = time.monotonic() + SOON
        found = refused
        while not found["allowed"] and time.monotonic() < end:
            time.sleep(0.1)
            found = response(post(connection, change(6))[1])
        connection.close()
    finally:
        server.stop()
    assert found["allowed"]
    assert found["auditAnnotations"]["certificate"] != refused["auditAnnotations"]["certificate"]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("webhook: {rules: {KQ63O: deny}}", "no rule 'KQ63O'; did you mean"),
        ("webhook: {namespaces: {a: {rules: {nothing: deny}}}}", "no rule 'nothing'"),
        ("select: [KQ63O]", "KQ63O"),
        ("webhook: {mode: block}", "block"),
    ],
)
def test_settings_that_mean_no_rule_are_told(tmp_path, text, word):
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(worlds.flavor()), encoding="utf-8")
    (tmp_path / "settings.yaml").write_text(text, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "policycheck",
        "webhook",
        "serve",
        "--config",
        "settings.yaml",
        "--no-tls",
        "a.yaml",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 2
    assert word in done.stderr


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ([], "--tls-cert"),
        (["--no-tls"], "give cluster:CONTEXT, or files"),
        (["--no-tls", "x.yaml"], "x.yaml"),
        (["--no-tls", "cluster:a", "x.yaml"], "not both"),
        (["--no-tls", ".", "--listen", "nowhere"], "HOST:PORT"),
        (["--no-tls", ".", "--certificate", "c.json"], "--key"),
        (["--no-tls", ".", "--self-signed", "a/b"], "cluster:CONTEXT"),
        (["--tls-cert", "none.crt", "--tls-key", "none.key", "."], "no key pair"),
    ],
)
def test_wrong_use_is_told(tmp_path, options, word):
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(worlds.flavor()), encoding="utf-8")
    command = [sys.executable, "-m", "policycheck", "webhook", "serve", "--isolated", *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 2
    assert word in done.stderr
    assert "Traceback" not in done.stderr
