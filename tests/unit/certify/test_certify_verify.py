"""``policycheck verify``: what counts, what changed, and that hostile input is refused in a sentence."""

from __future__ import annotations

import base64
import json

import pytest

from policycheck.app.verify import _few
from policycheck.certify.canonical import decode, encode
from policycheck.certify.certificate import Difference
from policycheck.simulate.draw import stream

CERTIFY = (
    "certify",
    "cluster",
    "--accept",
    "search",
    "--budget",
    "3",
    "--certificate",
    "c.json",
    "--issued-at",
    "2026-01-01T00:00:00Z",
)
AT = ("--at", "2026-01-15T00:00:00Z")
VERIFY = ("verify", "c.json", "cluster", "--key", "mine.pub", *AT)


@pytest.fixture
def issued(cluster, run, keys):
    """The folder with a certificate, signed by "mine"."""
    done = run(*CERTIFY, "--sign", "mine.key")
    assert done.code == 0, done.err
    assert "counts until 2026-01-31T00:00:00Z, signed by key" in done.err
    return keys


def told(done):
    return [(one["what"], one["name"]) for one in done.json["refusals"]]


def test_an_unchanged_configuration_comes_out_the_same(issued, run):
    done = run(*VERIFY)
    assert done.code == 0, done.out
    assert done.out.startswith("VALID: all ")
    told = run(*VERIFY, "--format", "json").json
    assert (told["outcome"], told["replayed"], told["refusals"], told["notes"]) == ("VALID", True, [], [])
    assert told["certificate"]["validUntil"] == "2026-01-31T00:00:00Z"


def test_the_folder_may_lie_elsewhere(issued, run, cluster, tmp_path):
    cluster.root.rename(tmp_path / "moved")
    assert run("verify", "c.json", "moved", *VERIFY[3:]).code == 0


def test_the_same_is_issued_in_the_same_bytes(issued, run):
    first = (issued / "c.json").read_bytes()
    run(*CERTIFY, "--sign", "mine.key")
    assert (issued / "c.json").read_bytes() == first  # Ed25519 draws nothing


def test_one_without_signature_needs_to_be_accepted(cluster, run, tmp_path):
    assert run(*CERTIFY).code == 0
    refused = run("verify", "c.json", "cluster", *AT)
    assert refused.code == 1
    assert "--unsigned accepts a bare one" in " ".join(refused.out.split())
    accepted = run("verify", "c.json", "cluster", "--unsigned", *AT)
    assert accepted.code == 0
    assert "not signed" in accepted.out
    payload = decode((tmp_path / "c.json").read_bytes()[:-1])
    assert payload["_type"] == "https://in-toto.io/Statement/v1"
    payload["predicate"]["seed"] = 2
    (tmp_path / "c.json").write_bytes(encode(payload) + b"\n")
    assert run("verify", "c.json", "cluster", "--unsigned", *AT).code == 1


@pytest.mark.parametrize(
    ("options", "what", "said"),
    [
        (("--key", "other.pub"), "signature", "not by"),
        ((), "signature", "give the public key"),
        (("--key", "mine.pub", "--at", "2025-12-31T23:59:59Z"), "validity", "it is issued for"),
        (("--key", "mine.pub", "--at", "2026-01-31T00:00:00Z"), "validity", "it ended at"),
        (("--key", "mine.pub", "--target", "kueue=0.16"), "target", "another version"),
    ],
)
def test_the_wrong_key_time_or_target_is_refused(issued, run, options, what, said):
    done = run(
        "verify", "c.json", "cluster", "--format", "json", *(() if "--at" in options else AT), *options
    )
    assert done.code == 1
    found = [one for one in done.json["refusals"] if one["what"] == what]
    assert found
    assert said in found[0]["why"]


def test_a_key_that_is_none_is_a_mistake(issued, run):
    done = run("verify", "c.json", "cluster", "--key", "mine.key", *AT)
    assert done.code == 2
    assert "give the public one" in done.err


def test_signature_only_tests_nothing_again(issued, run, cluster):
    cluster.write("queues/a.yaml", "nothing")
    done = run("verify", "c.json", "--signature-only", "--key", "mine.pub", *AT)
    assert done.code == 0
    assert "nothing was tested again" in " ".join(done.out.split())
    assert run("verify", "c.json", "--key", "mine.pub").code == 2


def test_a_change_that_breaks_a_promise_is_named_with_what_changed(issued, run, cluster):
    cluster.replace("queues/a.yaml", "reclaimWithinCohort: Any", "reclaimWithinCohort: Never")
    done = run(*VERIFY, "--format", "json")
    assert done.code == 1
    assert told(done)[:2] == [("object", "kueue.x-k8s.io/ClusterQueue/a"), ("input", "queues/a.yaml")]
    assert ("verdict", "guarantee-honoured (a)") in told(done)[2:]
    text = run(*VERIFY, "--drift").out
    assert "guarantee-honoured (a) was HOLDS and is FAILS" in text
    assert "How it breaks: guarantee-honoured: a" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_comment_is_a_change_of_the_file_and_of_no_object(issued, run, cluster):
    cluster.replace("queues/a.yaml", "spec:\n  cohortName", "spec: # all\n  cohortName")
    done = run(*VERIFY, "--format", "json")
    assert (done.code, told(done)) == (1, [("input", "queues/a.yaml")])


def test_a_new_object_and_a_lost_one_are_named(issued, run, cluster):
    cluster.write("more.yaml", "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: all}\n")
    (cluster.root / "flavor.yaml").unlink()
    found = told(run(*VERIFY, "--format", "json"))
    assert ("object", "kueue.x-k8s.io/Cohort/all") in found
    assert ("object", "kueue.x-k8s.io/ResourceFlavor/h100") in found
    assert ("input", "more.yaml") in found


def test_other_promises_and_an_owner_who_left(issued, run, cluster):
    cluster.replace("promises.yaml", "    owner: a@example.com\n", "")
    found = run(*VERIFY, "--format", "json")
    assert ("owner", "a") in told(found)
    assert "a has no owner any more; it was a@example.com" in found.out
    assert {what for what, _ in told(found)} == {"promises", "owner", "input"}


OWNED = "metadata: {name: a, annotations: {policycheck.dev/owner: ana@example.com}}"


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ("metadata: {name: a}", "has no owner any more; it was ana@example.com"),
        (OWNED.replace("ana", "bob"), "was owned by ana@example.com, and is by bob@example.com"),
    ],
)
def test_a_queue_whose_owner_left(cluster, run, keys, now, said):
    cluster.replace("queues/a.yaml", "metadata: {name: a}", OWNED)
    assert run(*CERTIFY, "--sign", "mine.key").code == 0
    assert run(*VERIFY).code == 0
    cluster.replace("queues/a.yaml", OWNED, now)
    done = run(*VERIFY, "--format", "json")
    name = "kueue.x-k8s.io/ClusterQueue/a"
    assert told(done) == [("object", name), ("input", "queues/a.yaml"), ("owner", name)]
    assert done.json["refusals"][-1]["why"] == f"{name} {said}"
    (cluster.root / "queues/a.yaml").write_text("")  # an object that is gone has no owner to lose
    assert "owner" not in {what for what, _ in told(run(*VERIFY, "--format", "json"))}


def test_one_run_a_week_says_all_of_it(issued, run, cluster, tmp_path):
    """Hardware, labels, rules, owners, and which promise no longer holds, in words and in one report."""
    cluster.replace("queues/a.yaml", "nominalQuota: 8", "nominalQuota: 4")
    cluster.replace("promises.yaml", "    owner: b@example.com\n", "")
    live = cluster.nodes(8, 8, 8, name="../live.yaml")
    text = live.read_text().replace(
        "gpu: h100, kubernetes.io/hostname: node-2", "kubernetes.io/hostname: node-2"
    )
    live.write_text(
        text.replace("gpu: h100, kubernetes.io/hostname: node-3", "kubernetes.io/hostname: node-3")
    )
    (tmp_path / ".policycheck.yaml").write_text("ignore: [KQ305]\n")
    done = run(*VERIFY, "--drift", "--inventory", "live.yaml", "--config", ".policycheck.yaml")
    assert done.code == 1
    flat = " ".join(done.out.split())
    for said in (
        "guarantee-honoured (a) was HOLDS and is FAILS",
        "needed: 2 nodes with gpu=h100 (8 nvidia.com/gpu free each); there: 1",
        "one that is else like them has no label gpu",
        "the object kueue.x-k8s.io/ClusterQueue/a was changed",
        "b has no owner any more; it was b@example.com",
        "rule KQ305 was warning and is off: it was relaxed",
        "How it breaks: guarantee-honoured: a",
    ):
        assert said in flat, said


def test_a_rule_that_was_relaxed_is_drift(issued, run, tmp_path):
    (tmp_path / ".policycheck.yaml").write_text("severity: {KQ110: info}\nignore: [KQ305]\n")
    done = run(*VERIFY, "--format", "json", "--config", ".policycheck.yaml")
    why = [one["why"] for one in done.json["refusals"]]
    assert (done.code, told(done)) == (1, [("rule", "KQ110"), ("rule", "KQ305")])
    assert why == [
        "rule KQ110 was error and is info: it was relaxed",
        "rule KQ305 was warning and is off: it was relaxed",
    ]


def test_a_stricter_rule_is_no_reason(issued, run, tmp_path):
    (tmp_path / ".policycheck.yaml").write_text("severity: {KQ305: error}\n")
    done = run(*VERIFY, "--format", "json", "--config", ".policycheck.yaml")
    assert (done.code, done.json["refusals"]) == (0, [])
    assert [one["why"] for one in done.json["notes"]] == ["rule KQ305 was warning and is error"]


# -- hardware -----------------------------------------------------------------------------------


def test_hardware_that_shrank_is_refused(issued, run, cluster):
    cluster.nodes(8)
    done = run(*VERIFY, "--format", "json")
    assert done.code == 1
    assert ("node", "gpu=h100") in told(done)
    assert "needed: 2 nodes with gpu=h100 (8 nvidia.com/gpu free each); there: 1" in done.out


def test_a_live_inventory_replaces_the_nodes_in_the_paths(issued, run, cluster, tmp_path):
    live = cluster.nodes(8, 8, 8, name="../live.yaml")
    live.write_text(live.read_text().replace("node-", "other-"))
    done = run(*VERIFY, "--inventory", "live.yaml", "--format", "json")
    assert (done.code, done.json["refusals"]) == (0, [])
    assert any("all nodes that are needed are there" in one["why"] for one in done.json["notes"])
    cluster.nodes(8, 7, name="../live.yaml")
    less = run(*VERIFY, "--inventory", "live.yaml", "--format", "json")
    assert less.code == 1
    assert ("free", "gpu=h100") in told(less)


def test_a_label_that_vanished_is_named(issued, run, cluster):
    live = cluster.nodes(8, 8, name="../live.yaml")
    live.write_text(
        live.read_text().replace(
            "gpu: h100, kubernetes.io/hostname: node-2", "kubernetes.io/hostname: node-2"
        )
    )
    done = run(*VERIFY, "--inventory", "live.yaml", "--format", "json")
    assert ("label", "gpu=h100") in told(done)
    assert "has no label gpu" in done.out


# -- hostile input ------------------------------------------------------------------------------


def test_single_bytes_of_a_certificate_or_its_inputs(issued, run, cluster):
    """A few here; thousands in the long run. Only signature and reading for the certificate: no replay needed."""
    whole = (issued / "c.json").read_bytes()
    draw = stream(1, "bytes")
    for _ in range(60):
        at = draw.below(len(whole))
        changed = bytearray(whole)
        changed[at] ^= 1 << draw.below(8)
        (issued / "c.json").write_bytes(bytes(changed))
        done = run("verify", "c.json", "--signature-only", "--key", "mine.pub", *AT)
        assert (done.code, "Traceback" in done.err) == (1, False), at
        assert done.out.startswith("REFUSED")
    (issued / "c.json").write_bytes(whole)
    for name in ("queues/a.yaml", "flavor.yaml", "promises.yaml", "nodes.yaml"):
        path = cluster.root / name
        text = path.read_bytes()
        for _ in range(3):
            changed = bytearray(text)
            changed[draw.below(len(text))] ^= 1 << draw.below(8)
            path.write_bytes(bytes(changed))
            done = run(*VERIFY)
            assert done.code in (1, 2, 3), (name, bytes(changed))
            assert "Traceback" not in done.err
        path.write_bytes(text)
    assert run(*VERIFY).code == 0


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"{}",
        b"null\n",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"payload":' * 50_000,
        b'{"payload":"' + b"A" * 1000,
        b'{"payload":"AAAA","payloadType":"application/vnd.in-toto+json","signatures":[]}\n',
        b'{"payload":1e999,"payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"x","sig":""}]}\n',
    ],
)
def test_what_is_no_certificate_is_refused_in_a_sentence(cluster, run, keys, tmp_path, data):
    (tmp_path / "c.json").write_bytes(data)
    for options in (("--key", "mine.pub"), ("--unsigned",)):
        done = run("verify", "c.json", "cluster", *options, *AT)
        assert (done.code, done.err) == (1, ""), (data[:40], done.err)
        assert done.out.startswith("REFUSED: this can not be relied on\n")


def test_one_that_is_huge_is_not_read_to_its_end(cluster, run, keys, tmp_path):
    with (tmp_path / "c.json").open("wb") as held:
        held.truncate((64 << 20) + 10)
    done = run("verify", "c.json", "cluster", "--key", "mine.pub", *AT)
    assert done.code == 1
    assert "it has more than 67,108,864 bytes" in done.out


def test_a_signed_statement_of_other_contents_is_refused(issued, run):
    """Signed by the right key, and not what certify writes."""
    from policycheck.certify.signing import sign, signer

    by = signer((issued / "mine.key").read_bytes())
    payload = json.loads(base64.b64decode(json.loads((issued / "c.json").read_bytes())["payload"]))

    def refusals(change):
        value = json.loads(json.dumps(payload))
        change(value["predicate"])
        from policycheck.certify.certificate import Result

        body = {
            **value["predicate"],
            "subjects": {s["name"]: s["digest"]["sha256"] for s in value["subject"]},
        }
        names = {"policycheck": "version"}
        fields = {
            names.get(k, k): v for k, v in body.items() if k not in ("resultDigest", "issuedAt", "validUntil")
        }
        value["predicate"]["resultDigest"] = Result(**fields).digest
        (issued / "c.json").write_bytes(sign(encode(value), by))
        done = run(*VERIFY, "--format", "json")
        assert done.code == 1
        assert "Traceback" not in done.err
        return [one["what"] for one in done.json["refusals"]]

    assert "read" in refusals(lambda p: p.update(outcome="REFUSED"))
    assert refusals(lambda p: p["effort"].update(scenarios=10**9)) == ["effort"]
    assert refusals(lambda p: p["effort"].update(scenarios="3")) == ["effort"]
    assert refusals(lambda p: p["effort"].update(claims=["nothing"])) == ["effort"]
    assert "inventory" in refusals(lambda p: p.update(inventory=[{"nodes": "many"}]))
    assert "verdict" in refusals(lambda p: p["verdicts"][0]["evidence"].update(scenarios=1))
    assert "accepted" in refusals(lambda p: p.update(accepted=["search", "measured"]))
    assert "rule" in refusals(lambda p: p["rules"].update(KQ110="off"))


def test_the_certificate_has_to_be_there(cluster, run, keys):
    done = run("verify", "gone.json", "cluster", "--key", "mine.pub")
    assert done.code == 2
    assert "gone.json: No such file" in done.err


def test_time_that_is_up_refuses(issued, run):
    done = run(*VERIFY, "--timeout", "0.000001", "--format", "json")
    assert done.code == 1
    assert {what for what, _ in told(done)} == {"verdict"}


def test_verdicts_on_other_evidence_are_counted_where_they_are_many():
    found = [Difference("evidence", str(n), f"{n} comes out the same on other evidence") for n in range(5)]
    other = Difference("label", "x", "it has no label x")
    assert _few([found[0], other, *found[1:]]) == [
        Difference("evidence", "", "5 verdicts come out the same on other evidence"),
        other,
    ]
    assert _few([*found[:3], other]) == [*found[:3], other]
