"""What watching feeds and judging reads: events, relists, age, hardware, workloads by shape."""

import threading

import admission_worlds as worlds
import pytest

from policycheck.app.world import SETTLE, World
from policycheck.model.cluster import link
from policycheck.model.origin import ObjectKey
from policycheck.systems import registry

QUEUES = ("kueue.x-k8s.io", "ClusterQueue")
NODES = ("", "Node")
GPU = worlds.GPU


def live(value, version="1", **meta):
    made = {
        **value,
        "metadata": {**value["metadata"], "uid": value["metadata"]["name"], "resourceVersion": version},
    }
    made["metadata"].update(meta)
    return made


def pod(name, node="n0", gpus=2, owner=None, **labels):
    limits = {GPU: str(gpus)}
    meta = {"name": name, "namespace": "team-a", "labels": labels}
    if owner:
        kind, named = owner
        meta["ownerReferences"] = [
            {"apiVersion": "batch/v1", "kind": kind, "name": named, "controller": True}
        ]
    spec = {
        "nodeName": node,
        "containers": [{"name": "c", "resources": {"requests": limits, "limits": limits}}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec, "status": {"phase": "Running"}}


def names(world, kind="ClusterQueue"):
    return sorted(e.facts.key.name for e in world.cluster().entries.values() if e.facts.key.kind == kind)


def free(world):
    return {n.name: n.free(GPU) for n in world.cluster().inventory.nodes}


def test_it_is_ready_when_every_required_kind_was_listed():
    world = World("live", required=(QUEUES, NODES))
    assert not world.is_ready
    world.replace_all(QUEUES, [worlds.queue("a")], version="5", now=1.0)
    assert world.missing == (NODES,)
    world.absent(NODES, now=2.0)
    assert world.is_ready
    assert world.versions()[QUEUES] == "5"


def test_a_relist_is_exactly_what_there_is():
    world = World("live")
    for name in "abc":
        world.put(worlds.queue(name))
    assert world.replace_all(QUEUES, (worlds.queue(name) for name in "bd")) == 2
    assert names(world) == ["b", "d"]


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        (NODES, worlds.node("n0"), worlds.node("n1")),
        (("batch", "Job"), worlds.job("a", pods=1), worlds.job("b", pods=2)),
        (("", "Pod"), pod("a"), pod("b")),
    ],
)
def test_so_it_is_for_what_is_kept_otherwise(kind, old, new):
    world = World("live")
    for one in (worlds.node("n9"), worlds.queue("q"), worlds.local("main", "team-a", "q"), old):
        world.put(one)
    world.replace_all(kind, [new])
    plain = World("live")
    for one in (worlds.node("n9"), worlds.queue("q"), worlds.local("main", "team-a", "q"), new):
        plain.put(one)
    if kind == NODES:
        plain.drop("v1", "Node", "", "n9")
    assert world.cluster() == plain.cluster()
    assert [e.facts.value for e in world.samples([("team-a", "main")])[0]] == [
        e.facts.value for e in plain.samples([("team-a", "main")])[0]
    ]


def test_a_list_that_breaks_off_drops_nothing():
    world = World("live")
    world.put(worlds.queue("a"))

    def broken():
        yield worlds.queue("b")
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        world.replace_all(QUEUES, broken())
    assert names(world) == ["a", "b"]
    assert not world.synced(QUEUES)


def test_age_is_that_of_the_last_word():
    world = World("live")
    world.replace_all(QUEUES, [], now=10.0)
    world.put(worlds.queue("a"), now=12.0)
    assert world.staleness(15.0) == {QUEUES: 3.0}
    world.heard(QUEUES, version="9", now=14.0)
    assert world.staleness(15.0) == {QUEUES: 1.0}
    assert world.versions()[QUEUES] == "9"
    world.absent(NODES, now=1.0)
    assert NODES not in world.staleness(15.0)


def test_events_give_what_linking_everything_gives():
    world = World("live")
    world.put(worlds.flavor())
    for n in range(5):
        world.put(live(worlds.queue(f"q{n}", cohort="c")))
    world.cluster()
    world.put(live(worlds.queue("q3", 1, cohort="d"), "2"))
    world.drop(worlds.KUEUE, "ClusterQueue", "", "q4")
    after = world.cluster()
    assert after == link("live", after.entries.values(), registry.linkers(), after.inventory, is_named=True)
    assert names(world) == ["q0", "q1", "q2", "q3"]


def test_what_is_known_already_makes_no_new_picture():
    world = World("live")
    world.put(live(worlds.queue("a")))
    before = world.picture()
    world.put(live(worlds.queue("a"), managedFields=[{"a": 1}]))
    assert world.picture() == before
    world.put(live(worlds.queue("a"), "2"))
    assert world.picture().generation > before.generation


def test_what_servers_note_is_not_kept():
    world = World("live")
    notes = {"kubectl.kubernetes.io/last-applied-configuration": "x" * 1000, "mine": "y"}
    world.put(live(worlds.queue("a"), managedFields=[{"a": 1}], annotations=notes))
    (entry,) = world.cluster().entries.values()
    assert "managedFields" not in entry.facts.value["metadata"]
    assert entry.facts.value["metadata"]["annotations"] == {"mine": "y"}


def test_pods_outside_of_queues_hold_their_part_of_nodes():
    world = World("live")
    world.put(worlds.node("n0"))
    world.put(pod("loose"))
    assert free(world) == {"n0": 6}
    world.put(pod("queued", **{"kueue.x-k8s.io/queue-name": "main"}))
    world.put(pod("of-a-job", **{"kueue.x-k8s.io/podset": "main"}))
    assert free(world) == {"n0": 6}
    world.put(pod("loose") | {"status": {"phase": "Succeeded"}})
    assert free(world) == {"n0": 8}


def test_pods_of_what_a_queue_admitted_are_not_taken_off_twice():
    world = World("live")
    world.put(worlds.node("n0"))
    world.put(pod("worker", owner=("Job", "train")))
    assert free(world) == {"n0": 6}
    meta = {
        "name": "job-train",
        "namespace": "team-a",
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}],
    }
    spec = {
        "queueName": "main",
        "podSets": [{"name": "main", "count": 1, "template": worlds.job("x")["spec"]["template"]}],
    }
    world.put({"apiVersion": worlds.KUEUE, "kind": "Workload", "metadata": meta, "spec": spec})
    assert free(world) == {"n0": 8}


def test_with_a_clock_hardware_is_taken_up_every_few_seconds():
    world = World("live")
    world.put(worlds.node("n0"), now=100.0)
    assert world.settle(100.0)
    assert free(world) == {"n0": 8}
    world.put(pod("loose"), now=101.0)
    assert world.settle(101.0) is False
    assert free(world) == {"n0": 8}
    assert world.settle(100.0 + SETTLE)
    assert free(world) == {"n0": 6}
    assert world.settle(300.0) is False


def test_workloads_that_wait_are_kept_by_shape():
    world = worlds.small()
    for n in range(40):
        world.put(worlds.job(f"a-{n}", pods=1 + n % 2))
    entries, left = world.samples([("team-a", "main")])
    assert (len(entries), left) == (2, 0)
    for n in range(0, 40, 2):
        world.drop("batch/v1", "Job", "team-a", f"a-{n}")
    (entry,), _ = world.samples([("team-a", "main")])
    assert entry.facts.value["spec"]["parallelism"] == 2
    assert world.samples([("team-b", "main")]) == ((), 0)


def test_a_sample_is_one_that_is_still_there():
    world = worlds.small()
    world.put(worlds.job("a"))
    world.put(worlds.job("b"))
    world.drop("batch/v1", "Job", "team-a", "a")
    (entry,), _ = world.samples([("team-a", "main")])
    assert entry.facts.key == ObjectKey("batch", "Job", "team-a", "b")


def test_what_is_admitted_waits_no_more():
    world = worlds.small()
    spec = {
        "queueName": "main",
        "podSets": [{"name": "main", "count": 1, "template": worlds.job("x")["spec"]["template"]}],
    }
    waits = {
        "apiVersion": worlds.KUEUE,
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "team-a"},
        "spec": spec,
    }
    world.put(waits)
    assert len(world.samples([("team-a", "main")])[0]) == 1
    world.put(waits | {"status": {"admission": {"clusterQueue": "team-0"}}})
    assert world.samples([("team-a", "main")]) == ((), 0)


def config_map(text, name="kueue-manager-config"):
    meta = {"name": name, "namespace": "kueue-system"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta,
        "data": {"controller_manager_config.yaml": text},
    }


MAPS = ("", "ConfigMap")
MANAGES = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nmanageJobsWithoutQueueName: true\n"


def manages(world):
    return world.cluster().systems["kueue"].objects.configuration.manage_jobs_without_queue_name


def test_the_configuration_comes_and_goes_with_its_config_map():
    world = World("live")
    world.put(config_map(MANAGES), now=3.0)
    assert manages(world)
    assert world.versions().keys() == {MAPS}
    world.put(config_map("nothing"))
    assert not manages(world)
    world.put(config_map(MANAGES))
    world.drop("v1", "ConfigMap", "kueue-system", "kueue-manager-config")
    assert not manages(world)
    world.put(config_map(MANAGES))
    world.replace_all(MAPS, [config_map("nothing", "other")])
    assert not manages(world)


def test_it_may_be_fed_and_read_by_several_threads():
    world = World("live")
    wrong = []

    def feed(letter):
        try:
            for n in range(60):
                world.put(worlds.queue(f"{letter}{n}", cohort="c"))
                world.put(pod(f"{letter}{n}"))
                if n % 3 == 0:
                    world.drop(worlds.KUEUE, "ClusterQueue", "", f"{letter}{n}")
        except Exception as error:  # noqa: BLE001 - told by the test
            wrong.append(error)

    threads = [threading.Thread(target=feed, args=(letter,)) for letter in "ab"]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        world.cluster()
        world.settle(0.0)
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(names(world)) == 80
