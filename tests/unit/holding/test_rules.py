"""The rules that ask whether nodes hold what quotas admit: where they speak, and where they do not."""

from check_help import flavor, gpu, job, local_queue, make_node, queue, quota, run

from policycheck.model.inventory import Range
from policycheck.simulate.draw import stream
from policycheck.systems.kueue import checks

LABEL = "kueue.x-k8s.io/queue-name: lq"
FABRIC = (
    "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\nmetadata: {name: fabric}\nspec:\n  levels:\n"
    "  - nodeLabel: rack\n  - nodeLabel: kubernetes.io/hostname\n"
)
H100 = flavor("h100", pool="h100")
TAS = FABRIC + H100.replace("spec:", "spec:\n  topologyName: fabric")
RACK = "kueue.x-k8s.io/podset-required-topology: rack"
PROVISIONED = (
    "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: AdmissionCheck\nmetadata: {name: more}\n"
    "spec: {controllerName: kueue.x-k8s.io/provisioning-request}\n"
)


def nodes(number, gpus=8, prefix="n", cpu=None, rack="", **more):
    where = {"rack": rack} if rack else {}
    made = [
        make_node(f"{prefix}{n}", gpus=gpus, cpu=cpu, pool="h100", **where, **more) for n in range(number)
    ]
    return [n._replace(labels={**n.labels, "kubernetes.io/hostname": n.name}) for n in made]


def pool(least, most, gpus=8, cpu=None, rack=""):
    where = {"rack": rack} if rack else {}
    return make_node(
        f"pool{rack}", gpus=gpus, cpu=cpu, machines=least, most=most, source="pool", pool="h100", **where
    )


def team(name, guaranteed, cpu=None, check=""):
    amounts = {"cpu": quota(cpu), **gpu(guaranteed)} if cpu else gpu(guaranteed)
    extra = f"admissionChecksStrategy: {{admissionChecks: [{{name: {check}}}]}}" if check else ""
    return queue(name, {"h100": amounts}, extra=extra) + local_queue(name, "lq", name)


def asks(namespace, name, pods, gpus, cpu=None, annotations=""):
    amounts = {"nvidia.com/gpu": gpus, **({"cpu": cpu} if cpu else {})}
    return job(namespace, name, amounts, pods=pods, labels=LABEL, annotations=annotations)


def told(check, text, some, *names, **params):
    return [tuple(h.values[n] for n in names) for h in run(check, text, some, **params)[0]]


# -- a gang that no flavor runs whole ----------------------------------------------------------------


def test_a_gang_within_quota_whose_pods_do_not_go_onto_the_nodes():
    text = H100 + team("a", 48)
    assert told(checks.fits_no_flavor, text + asks("a", "j", 8, 5), nodes(8)) == []
    (found,) = told(checks.fits_no_flavor, text + asks("a", "j", 9, 5), nodes(8), "why", "effect")
    assert found == (
        "9 pods of 5 nvidia.com/gpu, and 8 nodes of 8 nvidia.com/gpu take 1 each: 8",
        "a admits it, and pods of it stay Pending",
    )
    # a pool may have more nodes, and more quota would be needed in the first place
    assert told(checks.fits_no_flavor, text + asks("a", "j", 9, 5), [pool(4, 12)]) == []
    assert told(checks.fits_no_flavor, text + asks("a", "j", 10, 5), nodes(8)) == []


def test_with_a_topology_it_waits_instead():
    text = TAS + team("a", 48)
    (found,) = told(checks.fits_no_flavor, text + asks("a", "j", 9, 5), nodes(8, rack="r"), "effect")
    assert found == ("a has the quota, and it waits for ever all the same",)


def test_what_other_rules_say_is_not_said_again():
    text = TAS + team("a", 48)
    larger = asks("a", "j", 1, 9)
    assert run(checks.larger_than_node, text + larger, nodes(8, rack="r"))[0]
    assert run(checks.fits_no_flavor, text + larger, nodes(8, rack="r"))[0] == []
    required = asks("a", "j", 9, 5, annotations=RACK)
    assert run(checks.required_domain_too_small, text + required, nodes(8, rack="r"))[0]
    assert run(checks.fits_no_flavor, text + required, nodes(8, rack="r"))[0] == []


def test_amounts_that_nobody_tells_count_as_enough():
    text = H100 + team("a", 48, cpu=1000)
    assert told(checks.fits_no_flavor, text + asks("a", "j", 8, 4, cpu=100), nodes(4)) == []
    (found,) = told(checks.fits_no_flavor, text + asks("a", "j", 8, 4, cpu=100), nodes(4, cpu=128), "why")
    assert found[0].startswith("8 pods of 4 nvidia.com/gpu and 100 cpu, and 4 nodes of 128 cpu take 1 each")


def test_taints_keep_nothing_away_here():
    from policycheck.model.placement import Taint

    tainted = [n._replace(taints=(Taint("x", "", "NoSchedule"),)) for n in nodes(8)]
    assert told(checks.fits_no_flavor, H100 + team("a", 48) + asks("a", "j", 8, 5), tainted) == []


# -- what is declared --------------------------------------------------------------------------------


def test_declared_work_within_the_guarantees_that_does_not_fit_at_once():
    text = (
        H100
        + team("a", 44)
        + team("b", 20)
        + asks("a", "j", 4, 5)
        + asks("a", "k", 4, 6)
        + asks("b", "l", 1, 8)
    )
    (found,) = told(checks.declared_not_held, text, nodes(8), "workloads", "queues", "why")
    assert set(found[0].replace(" and ", ", ").split(", ")) == {"Job a/j", "Job a/k", "Job b/l"}
    assert found[1] == "a and b"
    assert found[2].endswith("together they take 9 nodes of 8, and there are 8")
    assert told(checks.declared_not_held, text, nodes(9)) == []
    (hit,), _ = run(checks.declared_not_held, text, nodes(8))
    assert len(hit.related) == 4  # the two others, and two quotas
    # The other queue is guaranteed less: its job may wait, and that is what quota is for.
    less = text.replace("nominalQuota: 20", "nominalQuota: 4")
    assert told(checks.declared_not_held, less, nodes(8)) == []


def test_only_as_many_as_the_guarantee_covers_count():
    text = H100 + team("a", 40) + "".join(asks("a", f"j{n}", 1, 5) for n in range(20))
    assert told(checks.declared_not_held, text, nodes(8)) == []
    assert len(told(checks.declared_not_held, text, nodes(7))) == 1


def test_numbers_that_do_not_add_up_are_another_rule():
    text = H100 + team("a", 64) + "".join(asks("a", f"j{n}", 1, 5) for n in range(9))
    assert len(run(checks.guarantees_beyond_hardware, text, nodes(7))[0]) == 1
    assert told(checks.declared_not_held, text, nodes(7)) == []


def test_required_levels_count_where_all_flavors_have_them():
    text = TAS + team("a", 64) + "".join(asks("a", f"j{n}", 3, 8, annotations=RACK) for n in range(2))
    racks = [
        *nodes(3, prefix="x", rack="r1"),
        *nodes(3, prefix="y", rack="r2"),
        *nodes(2, prefix="z", rack="r3"),
    ]
    assert told(checks.declared_not_held, text, racks) == []
    racks = [
        *nodes(4, prefix="x", rack="r1"),
        *nodes(2, prefix="y", rack="r2"),
        *nodes(2, prefix="z", rack="r3"),
    ]
    (found,) = told(checks.declared_not_held, text, racks, "why")
    # by themselves each finds its rack
    assert told(checks.required_domain_too_small, text, racks) == []
    assert found


def test_a_placeholder_is_no_guarantee():
    text = H100 + team("a", 10**9) + "".join(asks("a", f"j{n}", 1, 5) for n in range(9))
    assert told(checks.declared_not_held, text, nodes(8)) == []


def test_a_queue_that_takes_no_work_holds_nothing():
    text = H100 + team("a", 60) + "".join(asks("a", f"j{n}", 1, 5) for n in range(9))
    assert len(told(checks.declared_not_held, text, nodes(8))) == 1
    stopped = text.replace("namespaceSelector: {}", "namespaceSelector: {}\n  stopPolicy: Hold")
    assert told(checks.declared_not_held, stopped, nodes(8)) == []
    assert told(checks.guarantee_not_usable, stopped, nodes(8)) == []


def test_what_takes_too_long_is_said_not_guessed():
    draw = stream(3, "x")
    sizes = [(10 + draw.below(40), 10 + draw.below(40)) for _ in range(19)]
    jobs = "".join(asks("a", f"j{n}", 1, gpus, cpu=cpu) for n, (gpus, cpu) in enumerate(sizes))
    text = H100 + team("a", sum(g for g, _ in sizes), cpu=sum(c for _, c in sizes)) + jobs
    hits, skips = run(checks.declared_not_held, text, nodes(6, gpus=100, cpu=100))
    assert hits == []
    assert [why.partition(":")[0] for why in skips] == ["whether flavor h100 holds all that is declared"]


# -- what is promised --------------------------------------------------------------------------------


def test_a_guarantee_that_its_shapes_cannot_use():
    text = H100 + team("a", 64)
    (found,) = told(checks.guarantee_not_usable, text + asks("a", "j", 2, 5), nodes(8), "total", "used")
    assert found == ("64", ", at most 40")
    mixed = text + asks("a", "j", 2, 5) + asks("a", "k", 1, 3)
    assert told(checks.guarantee_not_usable, mixed, nodes(8)) == []
    assert told(checks.guarantee_not_usable, text, nodes(8)) == []  # nothing is declared
    assert told(checks.guarantee_not_usable, text + asks("a", "j", 2, 5), [pool(8, 13)]) == []


def test_guarantees_that_share_nodes_are_filled_together():
    text = H100 + team("a", 20) + team("b", 16) + asks("a", "j", 1, 5) + asks("b", "k", 1, 8)
    (found,) = told(checks.guarantee_not_usable, text, nodes(5), "queues", "total")
    assert found == ("a and b", "36")
    assert told(checks.guarantee_not_usable, text, nodes(6)) == []


def test_what_goes_with_the_accelerators_bounds_what_is_promised():
    shapes = asks("a", "j", 2, 5, cpu=10)
    assert told(checks.guarantee_not_usable, H100 + team("a", 64, cpu=80) + shapes, nodes(8, cpu=100)) == []
    assert (
        len(told(checks.guarantee_not_usable, H100 + team("a", 64, cpu=100) + shapes, nodes(8, cpu=100))) == 1
    )


def test_a_queue_is_told_of_once():
    text = H100 + team("a", 60) + "".join(asks("a", f"j{n}", 1, 5, cpu=90) for n in range(9))
    some = nodes(8, cpu=100)
    assert len(told(checks.declared_not_held, text, some)) == 1
    assert told(checks.guarantee_not_usable, text, some) == []
    assert told(checks.strands_accelerators, text, some) == []


# -- what is stranded --------------------------------------------------------------------------------


def test_cpu_that_ends_before_the_gpus():
    text = H100 + team("a", 16, cpu=1000)
    (found,) = told(
        checks.strands_accelerators,
        text + asks("a", "j", 8, 1, cpu=40),
        nodes(8, cpu=184),
        "pods",
        "left",
        "ratio",
    )
    assert found == (4, "4", "23")
    for quiet in (asks("a", "j", 4, 1, cpu=40), asks("a", "j", 8, 1, cpu=23), asks("a", "j", 8, 1)):
        assert told(checks.strands_accelerators, text + quiet, nodes(8, cpu=184)) == []
    # seven of eight are no more than a quarter
    assert told(checks.strands_accelerators, text + asks("a", "j", 9, 1, cpu=26), nodes(8, cpu=184)) == []
    assert told(checks.strands_accelerators, text + asks("a", "j", 8, 1, cpu=40), nodes(8)) == []


def test_a_better_node_is_enough():
    text = H100 + team("a", 16, cpu=1000) + asks("a", "j", 8, 1, cpu=40)
    some = [*nodes(4, cpu=184), *nodes(4, prefix="big", cpu=400)]
    assert told(checks.strands_accelerators, text, some) == []


# -- what pools have to grow for ---------------------------------------------------------------------


def test_a_guarantee_that_is_there_when_pools_have_grown():
    text = H100 + team("a", 64)
    assert told(checks.needs_growth, text, [pool(2, 8)], "least", "most") == [("16", "64")]
    assert told(checks.waits_for_growth, text, [pool(2, 8)]) == []
    assert told(checks.needs_growth, text, [pool(8, 16)]) == []
    assert told(checks.needs_growth, text, [pool(2, 7)]) == []  # short for good: another rule
    assert told(checks.needs_growth, text, [pool(2, None)], "most") == [("any number",)]
    assert told(checks.needs_growth, text, nodes(8)) == []


def test_who_makes_them_grow_decides_which_rule_speaks():
    elastic = [pool(2, 8)._replace(source="elastic")]
    assert told(checks.needs_growth, H100 + team("a", 64), elastic) == []
    (found,) = told(checks.waits_for_growth, H100 + team("a", 64), elastic, "grower")
    assert "autoscaler" in found[0]
    bounded = [elastic[0]._replace(labels={**elastic[0].labels, "alpha.eksctl.io/nodegroup-name": "x"})]
    assert len(told(checks.needs_growth, H100 + team("a", 64), bounded)) == 1
    text = H100 + PROVISIONED + team("a", 64, check="more")
    assert told(checks.needs_growth, text, [pool(2, 8)]) == []
    assert told(checks.waits_for_growth, text, [pool(2, 8)], "grower") == [
        ("an admission check provisions them",)
    ]


def test_one_pool_at_zero_is_told_of_once():
    text = TAS + team("a", 64)
    assert len(run(checks.scaled_to_zero, text, [pool(0, 8, rack="r1")])[0]) == 1
    assert told(checks.needs_growth, text, [pool(0, 8, rack="r1")]) == []
    assert len(told(checks.needs_growth, text, [pool(1, 8, rack="r1")])) == 1


# -- levels ------------------------------------------------------------------------------------------


def test_pods_that_do_not_go_onto_the_nodes_of_a_domain():
    text = TAS + team("a", 64)
    racks = [*nodes(4, prefix="x", rack="r1"), *nodes(4, prefix="y", rack="r2")]
    assert told(checks.required_domain_too_small, text + asks("a", "j", 4, 5, annotations=RACK), racks) == []
    found = told(
        checks.required_domain_too_small,
        text + asks("a", "j", 5, 5, annotations=RACK),
        racks,
        "needs",
        "largest",
    )
    assert found == [
        (
            "5 pods of 5 nvidia.com/gpu",
            "the roomiest takes 4 of them (4 nodes of 8 nvidia.com/gpu take 1 each)",
        )
    ]


def test_a_host_that_takes_fewer_pods_than_have_to_share_it():
    host = "kueue.x-k8s.io/podset-required-topology: kubernetes.io/hostname"
    text = TAS + team("a", 64, cpu=1000) + asks("a", "j", 3, 2, cpu=40, annotations=host)
    assert told(checks.required_domain_too_small, text, nodes(4, cpu=184, rack="r")) == []
    assert told(checks.required_domain_too_small, text, nodes(4, cpu=100, rack="r"), "largest") == [
        ("the largest has 100",)
    ]
    some = [*nodes(2, cpu=100, rack="r"), *nodes(2, gpus=2, cpu=184, prefix="m", rack="r")]
    assert told(checks.required_domain_too_small, text, some, "largest") == [("a node takes 2 of them",)]


def test_a_level_that_pools_at_their_minimum_do_not_hold():
    text = TAS + team("a", 64) + asks("a", "j", 4, 8, annotations=RACK)
    assert told(checks.level_needs_growth, text, [pool(1, 4, rack="r1")], "pools") == [("poolr1",)]
    assert told(checks.level_needs_growth, text, [pool(4, 8, rack="r1")]) == []
    assert told(checks.level_needs_growth, text, [pool(1, 3, rack="r1")]) == []  # never: another rule
    assert told(checks.level_needs_growth, text, [pool(0, 4, rack="r1")]) == []  # at zero: another rule
    assert len(run(checks.scaled_to_zero, text, [pool(0, 4, rack="r1")])[0]) == 1
    assert told(checks.level_needs_growth, text, [pool(1, 4)]) == []  # in which rack is not told
    provisioned = PROVISIONED + TAS + team("a", 64, check="more") + asks("a", "j", 4, 8, annotations=RACK)
    assert told(checks.level_needs_growth, provisioned, [pool(1, 4, rack="r1")]) == []


def test_a_level_that_a_little_of_others_makes_impossible():
    text = TAS + team("a", 32) + team("b", 32) + asks("a", "j", 4, 8, annotations=RACK)
    racks = [
        *nodes(4, prefix="x", rack="r1"),
        *nodes(2, prefix="y", rack="r2"),
        *nodes(2, prefix="z", rack="r3"),
    ]
    assert told(checks.sometimes_held, text, racks, "fits", "domains", "cost", "others") == [
        (1, 3, "8", "32")
    ]
    assert told(checks.sometimes_held, text, racks, share=0.2) == []
    alone = TAS + team("a", 64) + asks("a", "j", 4, 8, annotations=RACK)
    assert told(checks.sometimes_held, alone, racks) == []
    even = [*nodes(4, prefix="x", rack="r1"), *nodes(4, prefix="y", rack="r2")]
    assert told(checks.sometimes_held, text, even, "cost") == []  # 16 of 32 are more than a third
    smaller = TAS + team("a", 32) + team("b", 32) + asks("a", "j", 2, 8, annotations=RACK)
    assert told(checks.sometimes_held, smaller, racks) == []


def test_nothing_is_known_without_amounts():
    dark = [n._replace(allocatable=None) for n in nodes(2, rack="r1")]
    text = TAS + team("a", 64) + asks("a", "j", 9, 5, annotations=RACK)
    assert Range(0, None).high is None
    for check in (
        checks.fits_no_flavor,
        checks.declared_not_held,
        checks.guarantee_not_usable,
        checks.strands_accelerators,
        checks.required_domain_too_small,
        checks.sometimes_held,
        checks.level_needs_growth,
    ):
        assert run(check, text, dark)[0] == [], check
