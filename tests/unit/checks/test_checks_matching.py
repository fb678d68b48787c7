"""Which flavors and nodes pods may have, and where rules about that stay silent."""

from __future__ import annotations

from check_help import flavor, gpu, job, local_queue, make_node, queue, quota, run

from policycheck.model.placement import Taint
from policycheck.systems.kueue import checks

LABEL = "kueue.x-k8s.io/queue-name: lq"
H100, A100 = flavor("h100", pool="h100"), flavor("a100", pool="a100")
BOTH = H100 + A100 + queue("a", {"h100": gpu(64), "a100": gpu(8)}) + local_queue("team", "lq", "a")


def asks(more="", amount=8):
    made = job("team", "j", {"nvidia.com/gpu": amount}, labels=LABEL)
    return made.replace("      restartPolicy", f"      {more}\n      restartPolicy") if more else made


def test_a_selector_that_one_flavor_has_is_enough():
    assert run(checks.no_matching_flavor, BOTH + asks("nodeSelector: {pool: a100}"))[0] == []
    assert len(run(checks.no_matching_flavor, BOTH + asks("nodeSelector: {pool: l4}"))[0]) == 1


def test_a_label_that_flavors_do_not_declare_refuses_nobody():
    assert run(checks.no_matching_flavor, BOTH + asks("nodeSelector: {zone: a}"))[0] == []


def test_a_flavor_that_is_not_in_sight_may_match():
    unseen = queue("a", {"h100": gpu(64), "other": gpu(8)}) + local_queue("team", "lq", "a")
    assert run(checks.no_matching_flavor, H100 + unseen + asks("nodeSelector: {pool: l4}"))[0] == []


def test_groups_that_are_not_asked_for_do_not_count():
    cpu = job("team", "j", {"cpu": 4}, labels=LABEL).replace(
        "      restartPolicy", "      nodeSelector: {pool: l4}\n      restartPolicy"
    )
    assert run(checks.no_matching_flavor, BOTH + cpu)[0] == []


def test_affinity_and_hostnames_choose_nodes():
    affinity = (
        "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: "
        "[{matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]}}}"
    )
    nodes = [make_node("n1", pool="h100"), make_node("n2", pool="a100")]
    assert run(checks.selects_no_node, BOTH + asks(affinity), nodes)[0] == []
    hits, _ = run(checks.selects_no_node, BOTH + asks(affinity.replace("n1", "n9")), nodes)
    assert [h.values["why"] for h in hits] == ["none satisfies the required node affinity"]


def test_a_flavor_without_any_node_is_another_rules():
    assert (
        run(checks.selects_no_node, BOTH + asks("nodeSelector: {zone: a}"), [make_node("n", pool="l4")])[0]
        == []
    )


def tainted(name, *taints, **labels):
    return make_node(name, **labels)._replace(taints=taints)


TEAM = Taint("team", "ml", "NoSchedule")
ONE = H100 + queue("a", {"h100": gpu(64)}) + local_queue("team", "lq", "a")


def test_a_taint_is_told_once_a_flavor_with_those_who_suffer():
    nodes = [tainted("n1", TEAM, pool="h100"), tainted("n2", TEAM, pool="h100"), make_node("n3", pool="h100")]
    hits, _ = run(checks.taint_untolerated, ONE + asks(), nodes)
    assert [(h.values["some"], h.values["who"]) for h in hits] == [("2 of 3", ": Job team/j, for one")]
    assert hits[0].related


def test_taints_that_come_and_go_or_that_the_cloud_tolerates_are_left_out():
    passing = Taint("node.kubernetes.io/not-ready", "", "NoSchedule")
    soft = Taint("team", "ml", "PreferNoSchedule")
    assert run(checks.taint_untolerated, ONE, [tainted("n", passing, soft, pool="h100")])[0] == []
    cloud = {"pool": "h100", "cloud.google.com__gke-nodepool": "gpus"}
    driver = Taint("nvidia.com/gpu", "present", "NoSchedule")
    assert run(checks.taint_untolerated, ONE, [tainted("n", driver, **cloud)])[0] == []
    assert len(run(checks.taint_untolerated, ONE, [tainted("n", driver, pool="h100")])[0]) == 1


def test_a_taint_that_the_flavor_declares_is_no_surprise():
    declared = (
        flavor("h100", pool="h100").rstrip()
        + "\n  nodeTaints: [{key: team, value: ml, effect: NoSchedule}]\n"
    )
    text = declared + queue("a", {"h100": gpu(8)})
    assert run(checks.taint_untolerated, text, [tainted("n", TEAM, pool="h100")])[0] == []


def test_gpus_are_scattered_only_where_several_are_asked_for():
    nodes = [make_node(f"n{n}", pool="h100") for n in range(2)]
    hits, _ = run(checks.gpus_scattered, ONE + asks(), nodes)
    assert [(h.values["free"], h.values["nodes"]) for h in hits] == [(14, "2 nodes x 8")]
    assert run(checks.gpus_scattered, ONE + asks(amount=1), nodes)[0] == []
    assert run(checks.gpus_scattered, ONE + asks(), nodes[:1])[0] == []


def test_what_may_be_borrowed_is_weighed_in_the_queues_own_ratio():
    def two(limit):
        mine = queue("a", {"h100": {"cpu": quota(80, limit), **gpu(8, 8)}}, "ml")
        return mine + queue("b", {"h100": {"cpu": quota(800), **gpu(80)}}, "ml")

    hits, _ = run(checks.companions_not_borrowable, two(20), share=0.5)
    assert [(h.values["enough"], h.values["more"], h.values["wanted"]) for h in hits] == [(2, 8, "80")]
    assert run(checks.companions_not_borrowable, two(40), share=0.5)[0] == []
    assert run(checks.companions_not_borrowable, two(None), share=0.5)[0] == []


def test_podsets_are_divided_as_kueue_does_and_as_one_could():
    def sets(flavors):
        text = queue("a", flavors) + local_queue("team", "lq", "a")
        worker = (
            "---\napiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: l, namespace: team, "
            "labels: {kueue.x-k8s.io/queue-name: lq}}\nspec:\n  replicas: 1\n  leaderWorkerTemplate:\n    size: 3\n"
        )
        pod = "{spec: {containers: [{name: m, resources: {limits: {nvidia.com/gpu: 8}}}]}}"
        return text + worker + f"    leaderTemplate: {pod}\n    workerTemplate: {pod}\n"

    hits, _ = run(checks.podsets_split, sets({"large": gpu(16), "small": gpu(8)}))
    assert [h.values["better"] for h in hits] == ["leader in small, worker in large"]
    assert run(checks.podsets_split, sets({"small": gpu(8), "large": gpu(16)}))[0] == []
    assert run(checks.podsets_split, sets({"large": gpu(16), "small": gpu(4)}))[0] == []  # no division fits
