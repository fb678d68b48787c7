"""Only what is certified: one object after another from an old configuration to a new one."""

import datetime as dt
import json
import os

import admission_worlds as worlds
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519

from policycheck.adapters.webhook import review
from policycheck.adapters.webhook.issued import Issued
from policycheck.adapters.webhook.override import ANNOTATION
from policycheck.adapters.webhook.service import Conditions, Service
from policycheck.app.certified import Register, standing
from policycheck.app.subjects import subjects
from policycheck.app.world import World, read
from policycheck.certify import signing
from policycheck.certify.canonical import encode
from policycheck.certify.certificate import Certificate, Result, statement
from policycheck.lint.settings import Admission, Settings

DAY = dt.timedelta(days=1)


def certificate(world, issued="2026-01-01T00:00:00Z", until="2027-01-01T00:00:00Z"):
    result = Result(
        outcome="CERTIFIED",
        scope="live",
        verdicts=[],
        subjects=subjects(world.cluster()),
        files={},
        inventory=[],
        rulebook="r",
        target={},
        promises={},
        effort={},
        accepted=[],
        version="0",
    )
    return Certificate(result, issued, until)


def configuration(first, second, third):
    """Three queues of one cohort, with so many GPUs each."""
    world = World("live", required=())
    for one in (
        worlds.flavor(),
        *(worlds.node(f"n{n}") for n in range(4)),
        worlds.queue("a", first, "all"),
        worlds.queue("b", second, "all"),
        worlds.queue("c", third, "all"),
    ):
        world.put(one)
    return world


def service(world, certificates, settings=Admission(), now="2026-06-01T00:00:00Z"):  # noqa: B008 - a tuple
    judge = worlds.judge_of(world, Settings(webhook=settings))
    conditions = Conditions(settings, lambda: now[:10], lambda: now, lambda: 0.0, lambda: certificates)
    return Service(judge, conditions)


def asked(new, operation="UPDATE", old=None, user="eve"):
    value = new or old
    group, _, version = value["apiVersion"].rpartition("/")
    request = {
        "uid": "u",
        "operation": operation,
        "kind": {"group": group, "version": version, "kind": value["kind"]},
        "name": value["metadata"]["name"],
        "namespace": value["metadata"].get("namespace", ""),
        "object": new,
        "oldObject": old,
        "userInfo": {"username": user},
    }
    return review.read(
        json.dumps({"apiVersion": review.API_VERSION, "kind": review.KIND, "request": request}).encode()
    )


def give(made, new, old=None):
    return made.review(asked(new, "UPDATE" if old else "CREATE", old), lambda: False, critical=True)


OLD, NEW = (12, 12, 8), (8, 8, 16)


def pair():
    old = certificate(configuration(*OLD), "2026-01-01T00:00:00Z")
    new = certificate(configuration(*NEW), "2026-05-01T00:00:00Z")
    return standing([new, old])


def test_a_change_of_three_objects_goes_through_one_by_one():
    world = configuration(*OLD)
    made = service(world, pair())
    for name, was, will in zip("abc", OLD, NEW, strict=True):
        old, new = worlds.queue(name, was, "all"), worlds.queue(name, will, "all")
        found = give(made, new, old)
        assert found.answer.allowed, found.answer.message
        assert found.answer.notes["certificate"] == pair().digest
        world.put(new)


def test_an_order_that_breaks_a_rule_on_the_way_is_refused():
    world = configuration(*OLD)
    found = give(service(world, pair()), worlds.queue("c", 16, "all"), worlds.queue("c", 8, "all"))
    assert not found.answer.allowed
    assert "breaks KQ110" in found.answer.message


def test_what_is_not_certified_is_refused():
    made = service(configuration(*OLD), pair())
    other = give(made, worlds.queue("a", 9, "all"), worlds.queue("a", 12, "all"))
    assert "certified with other contents" in other.answer.message
    unknown = give(made, worlds.queue("d", 1, "all"))
    assert "ClusterQueue/d is no subject" in unknown.answer.message
    back = give(
        made, worlds.queue("b", 12, "all", queueingStrategy="StrictFIFO"), worlds.queue("b", 12, "all")
    )
    assert not back.answer.allowed


def test_how_it_is_written_does_not_matter():
    made = service(configuration(*OLD), pair())
    new = worlds.queue("a", "8", "all")
    new["metadata"].update(resourceVersion="7", uid="x", managedFields=[{}])
    new["status"] = {"pendingWorkloads": 3}
    assert give(made, new, worlds.queue("a", 12, "all")).answer.allowed


def test_a_stranger_in_the_cluster_stops_everything_until_it_is_gone():
    world = configuration(*OLD)
    world.put(worlds.queue("stranger", 0, "all"))
    made = service(world, pair())
    change = worlds.queue("a", 8, "all"), worlds.queue("a", 12, "all")
    assert "stranger is in the cluster" in give(made, *change).answer.message
    gone = made.review(
        asked(None, "DELETE", worlds.queue("stranger", 0, "all")), lambda: False, critical=True
    )
    assert gone.answer.allowed
    world.drop(worlds.KUEUE, "ClusterQueue", "", "stranger")
    assert give(made, *change).answer.allowed


@pytest.mark.parametrize("now", ["2025-12-31T00:00:00Z", "2027-01-01T00:00:00Z"])
def test_a_certificate_counts_in_its_time_alone(now):
    found = give(
        service(configuration(*OLD), pair(), now=now),
        worlds.queue("a", 8, "all"),
        worlds.queue("a", 12, "all"),
    )
    assert "does not count" in found.answer.message


def test_work_is_not_certified():
    world = configuration(*OLD)
    world.put(worlds.local("main", "team-a", "a"))
    world.drop(worlds.KUEUE, "LocalQueue", "team-a", "main")
    made = service(world, pair())
    found = made.review(asked(worlds.job("j", queue=""), "CREATE"), lambda: False, critical=False)
    assert found.answer.allowed


def test_objects_that_every_cluster_has_need_none():
    found = give(
        service(configuration(*OLD), pair()),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}},
    )
    assert found.answer.allowed


def test_an_override_admits_and_is_recorded():
    made = service(configuration(*OLD), pair(), Admission(users=("eve",)))
    new = worlds.queue("a", 9, "all")
    new["metadata"]["annotations"] = {ANNOTATION: "outage 12; owner=ann; until=2026-06-01"}
    found = give(made, new, worlds.queue("a", 12, "all"))
    assert found.verdict == "overridden"
    assert "outage 12" in found.answer.notes["override"]


def test_digests_are_looked_up_again_only_for_what_changed():
    world = configuration(*OLD)
    register = Register()
    seen = []
    inner = register.digest
    register.digest = lambda facts: seen.append(facts.key.name) or inner(facts)
    change = read(worlds.queue("a", 8, "all"))
    for generation in (1, 1, 2):
        register.refusal(change, world.cluster(), generation, pair(), "2026-06-01T00:00:00Z")
    assert sorted(seen) == ["a", "a", "a", "a", "b", "c", "h100"]


# -- files ---------------------------------------------------------------------------------------------


def key_pair():
    """A private key and its public one, as files hold them."""
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private, public


@pytest.fixture
def keys():
    return key_pair()


def signed(one, private):
    return signing.sign(encode(statement(one)), signing.signer(private))


def write(path, data, at):
    path.write_bytes(data)
    os.utime(path, (at, at))


def test_files_are_verified_and_taken_up_again(tmp_path, keys):
    private, public = keys
    old, new = (
        certificate(configuration(*OLD), "2026-01-01T00:00:00Z"),
        certificate(configuration(*NEW), "2026-05-01T00:00:00Z"),
    )
    file = tmp_path / "promises.json"
    write(file, signed(old, private), 1)
    issued = Issued([str(file)], [public])
    assert issued.standing.digest == old.result.digest
    assert issued.refresh() is False
    write(file, signed(new, private), 2)
    assert issued.refresh() is True
    assert issued.standing.digest == new.result.digest
    assert issued.days(dt.datetime(2026, 12, 31, tzinfo=dt.UTC).timestamp()) == pytest.approx(1)


def test_a_folder_holds_old_and_new(tmp_path, keys):
    private, public = keys
    write(tmp_path / "1.json", signed(certificate(configuration(*OLD), "2026-01-01T00:00:00Z"), private), 1)
    issued = Issued([str(tmp_path)], [public])
    write(tmp_path / "2.json", signed(certificate(configuration(*NEW), "2026-05-01T00:00:00Z"), private), 1)
    assert issued.refresh()
    assert len(issued.standing.old) == 1
    assert issued.standing.new.issued == "2026-05-01T00:00:00Z"


def test_what_is_not_signed_by_the_key_is_refused_and_the_one_before_stays(tmp_path, keys):
    private, public = keys
    file = tmp_path / "promises.json"
    one = certificate(configuration(*OLD))
    write(file, signed(one, private), 1)
    issued = Issued([str(file)], [public])
    other = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write(file, signed(certificate(configuration(*NEW)), other), 2)
    with pytest.raises(ValueError, match="not by"):
        issued.refresh()
    assert issued.standing.digest == one.result.digest
    write(file, encode(statement(one)), 3)
    with pytest.raises(ValueError, match="not signed"):
        issued.refresh()


def test_no_certificate_and_one_that_certifies_nothing_are_refused():
    with pytest.raises(ValueError, match="no certificate"):
        standing([])
    one = certificate(configuration(*OLD))
    with pytest.raises(ValueError, match="REFUSED"):
        standing([one._replace(result=one.result._replace(outcome="REFUSED"))])
