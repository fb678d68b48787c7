"""What a certificate rests on: objects, inputs, rules, hardware; and whether other hardware has it."""

from __future__ import annotations

import pytest

from policycheck.app import Sources
from policycheck.app.book import rulebook
from policycheck.app.certify import Options, certify, exact, prepare
from policycheck.app.subjects import inputs, rules, subjects
from policycheck.app.undecided import doubts
from policycheck.certify.canonical import encode
from policycheck.certify.needed import Group, Matter, NeededError, missing, read, stated
from policycheck.lint.settings import Settings
from policycheck.model.inventory import Inventory, Node
from policycheck.model.placement import Taint
from policycheck.source.tree import Listing

GPU = "nvidia.com/gpu"
MATTER = Matter(frozenset({"gpu", "rack", "host"}), frozenset({GPU, "cpu"}), lambda labels: "gpu" in labels)


def node(name, gpus=8, rack="a", **more):
    more.setdefault("labels", {"gpu": "h100", "rack": rack, "host": name, "build": "17"})
    more.setdefault("allocatable", {GPU: gpus, "cpu": 64_000, "memory": 2**39})
    return Node(name, **more)


def inventory(*nodes):
    return Inventory(tuple(nodes), known=True)


# -- hardware -----------------------------------------------------------------------------------


def test_alike_nodes_are_one_group_of_what_matters():
    nodes = (
        node("n1"),
        node("n2"),
        node("n3", rack="b", committed={"cpu": 500}),
        node("n4", ready=False),
        node("n5", labels={"host": "n5"}),  # nothing leads to it
        node("n6", machines=0, most=4),
    )
    assert stated(inventory(*nodes), MATTER) == [
        {
            "nodes": 2,
            "labels": {"gpu": "h100", "rack": "a"},
            "ownLabels": ["host"],
            "taints": [],
            "free": {"cpu": "64", GPU: "8"},
        },
        {
            "nodes": 1,
            "labels": {"gpu": "h100", "rack": "b"},
            "ownLabels": ["host"],
            "taints": [],
            "free": {"cpu": "63500m", GPU: "8"},
        },
    ]


def test_soft_taints_keep_nobody_off_and_are_left_out():
    soft, hard = Taint("a", "", "PreferNoSchedule"), Taint("b", "x", "NoExecute")
    (group,) = stated(inventory(node("n", taints=(soft, hard))), MATTER)
    assert group["taints"] == ["b=x:NoExecute"]


def needed(*nodes):
    return read(stated(inventory(*nodes), MATTER))


def test_other_names_and_more_hardware_contain_what_is_needed():
    need = needed(node("n1"), node("n2", rack="b"))
    assert missing(need, inventory(node("x"), node("y", rack="b"), node("z", rack="c"))) == []
    assert missing(need, inventory(node("x", gpus=16), node("y", rack="b", machines=3))) == []
    assert missing([], Inventory()) == []


@pytest.mark.parametrize(
    ("live", "what", "said"),
    [
        (
            (node("x"),),
            "node",
            "needed: 1 node with gpu=h100, rack=b (64 cpu, 8 nvidia.com/gpu free each); there: 0",
        ),
        ((node("x"), node("y", gpus=7, rack="b")), "free", "has 7 nvidia.com/gpu free, not 8"),
        ((node("x"), node("y", rack="b", committed={"cpu": 1})), "free", "has 63.999 cpu free, not 64"),
        ((node("x"), node("y", rack="c")), "label", "has rack=c"),
        (
            (node("x"), node("y", labels={"gpu": "h100", "host": "y"})),
            "label",
            "has no label rack",
        ),
        ((node("x"), node("y", labels={"gpu": "h100", "rack": "b"})), "label", "has no label host"),
        (
            (node("x"), node("y", rack="b", taints=(Taint("k", "v", "NoSchedule"),))),
            "taint",
            "has the taint k=v:NoSchedule",
        ),
        ((node("x"), node("y", rack="b", unschedulable=True)), "node", "takes no pods"),
        ((node("x"), node("y", rack="c", gpus=1)), "node", "there: 0"),
    ],
)
def test_what_is_short_is_told_with_what_comes_nearest(live, what, said):
    (short,) = missing(needed(node("n1"), node("n2", rack="b")), inventory(*live))
    assert (short.what, short.name) == (what, "gpu=h100, rack=b")
    assert said in short.why


def test_one_node_does_not_stand_for_two():
    """Both groups could have the large one; one of them has to go without."""
    need = [
        Group(1, {"gpu": "h100"}, frozenset(), frozenset(), {GPU: 8}),
        Group(1, {"gpu": "h100"}, frozenset(), frozenset(), {GPU: 4}),
    ]
    assert missing(need, inventory(node("x"), node("y", gpus=4))) == []
    short = missing(need, inventory(node("x")))
    assert {one.what for one in short} == {"node"}
    assert any("which others need too" in one.why for one in short)


def test_without_an_inventory_nothing_is_contained():
    assert [one.what for one in missing(needed(node("n")), Inventory())] == ["inventory"]


@pytest.mark.parametrize(
    "group",
    [
        {},
        {"nodes": "2", "labels": {}, "ownLabels": [], "taints": [], "free": {}},
        {"nodes": 0, "labels": {}, "ownLabels": [], "taints": [], "free": {}},
        {"nodes": 1, "labels": [], "ownLabels": [], "taints": [], "free": {}},
        {"nodes": 1, "labels": {}, "ownLabels": 7, "taints": [], "free": {}},
        {"nodes": 1, "labels": {}, "ownLabels": [], "taints": [], "free": {"cpu": "many"}},
        {"nodes": 1, "labels": {}, "ownLabels": [], "taints": [], "free": {}, "more": 1},
        {"nodes": True, "labels": {}, "ownLabels": [], "taints": [], "free": {}},
        7,
    ],
)
def test_hardware_that_is_not_ours_is_refused(group):
    with pytest.raises(NeededError):
        read([group])


# -- objects ------------------------------------------------------------------------------------


def prepared(texts, promises=""):
    held = {name: text.encode() for name, text in texts.items()}
    sources = Sources(tuple(held), held.__getitem__, tree=Listing(held), in_memory=True)
    (one,), _ = prepare(sources, Settings(), promises)
    return one, sources


QUEUE = """apiVersion: kueue.x-k8s.io/{version}
kind: ClusterQueue
metadata:
  name: a
  uid: "{uid}"
spec:
  {cohort}: all
  namespaceSelector: {{}}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{{name: h100, resources: [{{name: nvidia.com/gpu, nominalQuota: {quota}}}]}}]
status: {{pendingWorkloads: {pending}}}
"""
NODE = "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {allocatable: {nvidia.com/gpu: 8}}\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: x}\nspec: {containers: [{name: c, image: i}]%s}\n"


def queue(version="v1beta2", cohort="cohortName", quota="8", uid="1", pending="0"):
    return QUEUE.format(version=version, cohort=cohort, quota=quota, uid=uid, pending=pending)


def test_how_an_object_is_written_does_not_matter():
    first, _ = prepared({"q.yaml": queue()})
    second, _ = prepared({"q.yaml": queue("v1beta1", "cohort", '"8000m"', uid="2", pending="7")})
    other, _ = prepared({"q.yaml": queue(quota="9")})
    assert subjects(first.cluster) == subjects(second.cluster) != subjects(other.cluster)


def test_hardware_and_what_runs_on_it_are_no_subjects():
    one, sources = prepared(
        {"q.yaml": queue(), "n.yaml": NODE, "bound.yaml": POD % ", nodeName: n", "free.yaml": POD % ""}
    )
    assert list(subjects(one.cluster)) == ["Pod/x/p", "kueue.x-k8s.io/ClusterQueue/a"]
    assert list(inputs(one.scope, sources, "").files) == [
        "free.yaml",
        "inventory:bound.yaml",
        "inventory:n.yaml",
        "q.yaml",
    ]


def test_an_object_with_two_contents_has_a_digest_of_both():
    one, _ = prepared({"q.yaml": queue(), "r.yaml": queue(quota="4")})
    two, _ = prepared({"q.yaml": queue(quota="4"), "r.yaml": queue()})
    assert subjects(one.cluster) == subjects(two.cluster)
    assert subjects(one.cluster) != subjects(prepared({"q.yaml": queue()})[0].cluster)


# -- doubts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ({"q.yaml": queue("v1beta2", "cohort")}, "q.yaml:1: ClusterQueue a: cohort is a field of v1beta1"),
        ({"q.yaml": queue(quota="many")}, "q.yaml:1: ClusterQueue a:"),
        ({"q.yaml": queue().replace("spec:", "spec: {}\nspec:")}, "q.yaml:1: ClusterQueue a:"),
        ({"q.yaml": queue(), "r.yaml": queue(quota="1")}, "ClusterQueue a is defined differently"),
        (
            {"q.yaml": queue(), "r.yaml": queue().replace("name: a", "name: {{ .Values.name }}")},
            "ClusterQueue (name not known) stands in a text that could not be read",
        ),
        ({"q.yaml": queue(), "r.yaml": "kind: ClusterQueue\n  spec: {"}, "r.yaml:"),
    ],
)
def test_what_can_not_be_known_is_a_doubt(texts, said):
    one, _ = prepared(texts)
    found = list(doubts(one.scope, one.cluster, one.said))
    assert any(doubt.startswith(said) or said in doubt for doubt in found), found
    assert one.doubt is not None
    assert one.doubt.outcome == "UNKNOWN"


def test_a_whole_configuration_leaves_no_doubt():
    assert prepared({"q.yaml": queue()})[0].doubt is None


# -- rules and values ---------------------------------------------------------------------------


def test_rules_are_as_strict_as_the_settings_make_them():
    book = rulebook()
    plain = rules(book, Settings())
    assert plain["KQ110"].startswith("error stable ")
    changed = rules(book, Settings(ignore=("KQ110",), severity={"KQ305": "error"}))
    assert changed["KQ110"].startswith("off stable ")
    assert changed["KQ305"].startswith("error ")
    assert {rule for rule in plain if plain[rule] != changed[rule]} == {"KQ110", "KQ305"}


def test_values_without_a_canonical_text_are_written_as_text():
    value = exact({1: (1.5, 2**60, True, None), "s": {"b", "a"}})
    assert value == {"1": ["1.5", "1152921504606846976", True, None], "s": ["a", "b"]}
    encode(value)


def test_what_is_said_can_be_digested(cluster):
    from policycheck.source.files import Reader

    (done,), _ = certify(Sources((str(cluster.root),), Reader()), Settings(), Options(scenarios=2))
    assert len(done.result.digest) == 64
    again, _ = certify(Sources((str(cluster.root),), Reader()), Settings(), Options(scenarios=2))
    assert again[0].result == done.result


@pytest.mark.parametrize("written", [True, False])
def test_one_by_one_gives_what_all_at_once_gives(cluster, written):
    from policycheck.app.certify import chosen_claims, verdicts_of
    from policycheck.certify.claim import Effort
    from policycheck.source.files import Reader

    if not written:
        (cluster.root / "promises.yaml").unlink()
    (one,), _ = prepare(Sources((str(cluster.root),), Reader()), Settings(), "")
    options = Options(scenarios=3)
    claims = chosen_claims(options)
    whole = [v for claim in claims for v in claim.test(one.arena, one.promises, Effort(3, 1))]
    assert list(verdicts_of(one, claims, options)) == whole
    assert list(verdicts_of(one, claims, options._replace(processes=3))) == whole
