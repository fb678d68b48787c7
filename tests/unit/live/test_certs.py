import base64
import datetime as dt
import json
import socket
import ssl
import threading

import pytest
from cryptography import x509

from policycheck.adapters.live import certs
from policycheck.adapters.live.connect import ApiError, LiveError
from policycheck.adapters.live.keeper import Keeper, Place

HOSTS = ("policycheck.gate.svc", "policycheck.gate.svc.cluster.local")
START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
MINUTE, DAY = dt.timedelta(minutes=1), dt.timedelta(days=1)


def begin(now=START):
    return certs.after(None, "begin", HOSTS, now)


def trusted(held, bundle):
    """Whether the leaf is signed by one of the authorities."""
    leaf = x509.load_pem_x509_certificate(held.leaf.certificate)
    found = x509.load_pem_x509_certificates(bundle)
    return any(certs._signed(leaf, one) for one in found)


def test_what_is_written_is_read():
    held = begin()
    assert certs.read(certs.write(held)) == held


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "tls.crt", "tls.key"])
def test_a_secret_of_which_a_part_is_missing_broken_or_of_another_is_made_anew(name):
    good, other = certs.write(begin()), certs.write(begin())
    assert certs.read({}) is None
    assert certs.read({**good, name: b"nonsense"}) is None
    assert certs.read({key: value for key, value in good.items() if key != name}) is None
    assert certs.read({**good, name: other[name]}) is None
    assert certs.step(None, HOSTS, START) == "begin"


def test_a_leaf_is_renewed_by_the_same_authority_when_a_third_is_left():
    held = begin()
    assert certs.step(held, HOSTS, START + 59 * DAY) == "keep"
    later = START + 61 * DAY
    assert certs.step(held, HOSTS, later) == "leaf"
    renewed = certs.after(held, "leaf", HOSTS, later)
    assert renewed.bundle == held.bundle
    assert renewed.leaf != held.leaf
    assert certs.days_left(renewed, later) == pytest.approx(90)
    assert trusted(renewed, held.bundle)


def test_other_host_names_ask_for_another_leaf_at_once():
    held = begin()
    others = ("policycheck.other.svc",)
    assert certs.step(held, others, START) == "leaf"
    assert certs.step(certs.after(held, "leaf", others, START), others, START) == "keep"


def test_what_has_run_out_is_made_anew():
    held = begin()
    assert certs.step(held, HOSTS, START + 91 * DAY) == "leaf"
    assert certs.step(held, HOSTS, START + 3651 * DAY) == "begin"


def test_an_authority_is_announced_then_used_then_alone():
    held = begin()
    now = START + 2440 * DAY
    held = certs.after(held, "leaf", HOSTS, now)
    assert certs.step(held, HOSTS, now) == "announce"
    both = certs.after(held, "announce", HOSTS, now)
    assert both.leaf == held.leaf
    assert both.authorities[0] == held.authorities[0]
    assert certs.step(both, HOSTS, now + MINUTE) == "keep"
    switched = certs.after(both, "switch", HOSTS, now + 10 * MINUTE)
    assert certs.step(both, HOSTS, now + 10 * MINUTE) == "switch"
    assert trusted(switched, both.authorities[1])
    assert not trusted(switched, both.authorities[0])
    assert certs.step(switched, HOSTS, now + 19 * MINUTE) == "keep"
    assert certs.step(switched, HOSTS, now + 20 * MINUTE) == "drop"
    alone = certs.after(switched, "drop", HOSTS, now + 20 * MINUTE)
    assert alone.authorities == both.authorities[1:]
    assert certs.step(alone, HOSTS, now + 21 * MINUTE) == "keep"


def test_over_years_no_replica_serves_what_an_api_server_does_not_trust_however_late_both_are():
    """Every state that a replica may still serve, against every bundle that an API server may still have."""
    held, now = begin(), START
    seen = [(START, held)]
    steps = []
    for _ in range(4000):
        what = certs.step(held, HOSTS, now)
        if what != "keep":
            held = certs.after(held, what, HOSTS, now)
            seen.append((now, held))
            steps.append(what)
            late = dt.timedelta(minutes=9)
            alive = [state for at, state in _states(seen, now - late)]
            for served in alive:
                for believed in alive:
                    assert trusted(served, believed.bundle), (what, now)
        quick = len(held.authorities) > 1
        now += MINUTE if quick else 3 * DAY
    assert steps.count("announce") == steps.count("switch") == steps.count("drop") >= 3
    assert steps.count("leaf") > 100


def _states(seen, since):
    """The states that held at or after ``since``."""
    first = max((i for i, (at, _) in enumerate(seen) if at <= since), default=0)
    return seen[first:]


def test_a_client_that_trusts_the_bundle_takes_the_leaf(tmp_path):
    now = dt.datetime.now(dt.UTC)
    held = begin(now)
    (tmp_path / "crt").write_bytes(held.leaf.certificate)
    (tmp_path / "key").write_bytes(held.leaf.key)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "crt", tmp_path / "key")
    client = ssl.create_default_context(cadata=held.bundle.decode())
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    ours, theirs = socket.socketpair()
    done = []

    def serve():
        with server.wrap_socket(theirs, server_side=True) as one:
            done.append(one.recv(4))

    thread = threading.Thread(target=serve)
    thread.start()
    with client.wrap_socket(ours, server_hostname=HOSTS[0]) as one:
        one.sendall(b"good")
    thread.join(10)
    assert done == [b"good"]


class Api:
    """A Secret and a webhook configuration, with the server's check of versions."""

    def __init__(self):
        self.version = 1
        self.secret = {"metadata": {"name": "s", "resourceVersion": "1"}}
        hooks = [{"name": name, "clientConfig": {"service": {}}} for name in ("critical", "advisory")]
        self.hooks = {"metadata": {"resourceVersion": "1"}, "webhooks": hooks}
        self.before_put = None
        self.down = False
        self.puts = 0

    def get(self, path):
        if self.down:
            raise LiveError("not there")
        return json.loads(json.dumps(self.secret if "secrets" in path else self.hooks))

    def send(self, method, path, body, *, kind=""):
        if self.down:
            raise LiveError("not there")
        if method == "PUT":
            if self.before_put:
                hook, self.before_put = self.before_put, None
                hook()
            if body["metadata"]["resourceVersion"] != self.secret["metadata"]["resourceVersion"]:
                raise ApiError(409, "the object has been modified")
            self.puts += 1
            self.secret = self._newer(body)
            return
        assert (method, path, kind) == (
            "PATCH",
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/policycheck",
            "application/json-patch+json",
        )
        assert body[0] == {
            "op": "test",
            "path": "/metadata/resourceVersion",
            "value": self.hooks["metadata"]["resourceVersion"],
        }
        for one in body[1:]:
            number = int(one["path"].split("/")[2])
            self.hooks["webhooks"][number]["clientConfig"]["caBundle"] = one["value"]
        self.hooks = self._newer(self.hooks)

    def _newer(self, value):
        self.version += 1
        return {**value, "metadata": {**value["metadata"], "resourceVersion": str(self.version)}}

    @property
    def bundles(self):
        found = [hook["clientConfig"].get("caBundle", "") for hook in self.hooks["webhooks"]]
        return {base64.b64decode(one) for one in found}

    @property
    def held(self):
        return certs.read({k: base64.b64decode(v) for k, v in self.secret["data"].items()})


@pytest.fixture
def api():
    return Api()


def keeper(api, folder, clock):
    return Keeper(api, Place("gate", "s", "policycheck", str(folder), HOSTS), lambda: clock[0])


def test_the_first_look_fills_the_secret_the_bundle_and_the_files(api, tmp_path):
    clock = [START]
    one = keeper(api, tmp_path / "tls", clock)
    kept = one.look()
    assert (kept.step, kept.why) == ("begin", "")
    assert kept.days == pytest.approx(90)
    assert api.bundles == {api.held.bundle}
    assert (tmp_path / "tls" / "tls.crt").read_bytes() == api.held.leaf.certificate
    assert (tmp_path / "tls" / "tls.key").stat().st_mode & 0o777 == 0o600
    before = api.version
    assert one.look().step == "keep"
    assert api.version == before


def test_two_replicas_that_begin_at_once_end_with_one_certificate(api, tmp_path):
    clock = [START]
    one, two = keeper(api, tmp_path / "1", clock), keeper(api, tmp_path / "2", clock)
    api.before_put = two.look  # the other is faster between our look and our writing
    one.look()
    assert api.puts == 1
    assert api.bundles == {api.held.bundle}
    certificates = {(tmp_path / name / "tls.crt").read_bytes() for name in "12"}
    assert certificates == {api.held.leaf.certificate}


def test_a_bundle_that_somebody_emptied_is_put_back(api, tmp_path):
    one = keeper(api, tmp_path, [START])
    one.look()
    for hook in api.hooks["webhooks"]:
        del hook["clientConfig"]["caBundle"]
    one.look()
    assert api.bundles == {api.held.bundle}


def test_a_whole_rotation_serves_only_what_is_announced(api, tmp_path):
    clock = [START]
    both = [keeper(api, tmp_path / name, clock) for name in "12"]
    for one in both:
        one.look()
    clock[0] = START + 2400 * DAY
    steps = []
    for _ in range(60):
        for number, one in enumerate(both):
            steps.append(one.look().step)
            served = (tmp_path / "12"[number] / "tls.crt").read_bytes()
            held = api.held._replace(leaf=certs.Pair(served, b""))
            (bundle,) = api.bundles
            assert trusted(held, bundle)
        clock[0] += MINUTE if len(api.held.authorities) > 1 else 3 * DAY
    assert [one for one in steps if one != "keep"][:4] == ["leaf", "announce", "switch", "drop"]


def test_a_server_that_is_down_is_told_and_what_is_served_stays(api, tmp_path):
    one = keeper(api, tmp_path, [START])
    one.look()
    api.down = True
    kept = one.look()
    assert kept.why == "not there"
    assert kept.days == pytest.approx(90)
    assert (tmp_path / "tls.crt").read_bytes() == api.held.leaf.certificate
    api.down = False
    assert one.look().why == ""
