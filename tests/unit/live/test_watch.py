import itertools
import threading
import time

import pytest

from policycheck.adapters.live import watch
from policycheck.adapters.live.connect import connect
from policycheck.adapters.live.watch import Feed
from tests.unit.live.fake import KUEUE, node, queue

QUEUE, NODE = (KUEUE, "ClusterQueue"), ("", "Node")
COHORT = (KUEUE, "Cohort")
SECONDS = 20  # that anything here may take; what is waited for comes in milliseconds


def until(what):
    """Waits for a state that has to come."""
    end = time.monotonic() + SECONDS
    while not what():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.005)


class Book:
    """What was told, and no more: what the world of the webhook takes in has tests of its own."""

    def __init__(self):
        self.objects = {}  # (kind, namespace, name): object
        self.told = {}  # kind: (version, when)
        self.whole = set()
        self.lock = threading.Lock()

    def put(self, value, *, now):
        meta = value["metadata"]
        kind = (value["apiVersion"].rpartition("/")[0], value["kind"])
        with self.lock:
            self.objects[kind, meta.get("namespace", ""), meta["name"]] = value
            self.told[kind] = meta["resourceVersion"], now

    def drop(self, api_version, kind, namespace, name, *, version, now):
        both = (api_version.rpartition("/")[0], kind)
        with self.lock:
            del self.objects[both, namespace, name]
            self.told[both] = version, now

    def replace_all(self, kind, values, *, version, now):
        held = {(kind, one["metadata"].get("namespace", ""), one["metadata"]["name"]): one for one in values}
        with self.lock:
            self.objects = {key: one for key, one in self.objects.items() if key[0] != kind} | held
            self.whole.add(kind)
        self.heard(kind, version=version, now=now)
        return len(held)

    def heard(self, kind, *, version, now):
        with self.lock:
            self.told[kind] = version, now

    def absent(self, kind, *, now):
        self.replace_all(kind, (), version="", now=now)


@pytest.fixture
def fast(monkeypatch):
    for name, value in (("FIRST", 0.01), ("LONGEST", 0.05), ("RECHECK", 0.05)):
        monkeypatch.setattr(watch, name, value)


@pytest.fixture
def fed(server, kubeconfig, fast):
    """Makes a world that keeps up with kinds of the server."""
    made = []

    def feed(*kinds):
        world = Book()
        clock = itertools.count(1)
        way = connect("here", sleep=lambda _: time.sleep(0.01))
        one = Feed(way, world, kinds, now=lambda: float(next(clock)))
        one.start()
        made.append(one)
        return world, one

    yield feed
    server.end_watches()
    for one in made:
        threading.Timer(0.05, server.end_watches).start()
        one.stop()


def names(book):
    return {name for _, _, name in book.objects}


def status(feed):
    return {one.kind: one for one in feed.status}


def test_a_list_then_every_change_in_order(server, fed):
    server.put("clusterqueues", queue("a"))
    world, feed = fed(QUEUE)
    until(lambda: QUEUE in world.whole)
    assert names(world) == {"a"}
    until(lambda: server.watches.get("clusterqueues"))
    server.put("clusterqueues", queue("b"))
    server.put("clusterqueues", queue("a", cohortName="all"))
    server.delete("clusterqueues", "", "b")
    server.put("clusterqueues", queue("c"))
    until(lambda: "c" in names(world))
    assert names(world) == {"a", "c"}
    assert world.objects[QUEUE, "", "a"]["spec"]["cohortName"] == "all"
    assert status(feed)[QUEUE][1:] == ("watching", "", 1, 0)


def test_a_bookmark_moves_the_place_and_shows_that_the_watch_is_alive(server, fed):
    world, _ = fed(NODE)
    until(lambda: server.watches.get("nodes"))
    before = world.told[NODE][1]
    server.bookmark("nodes")
    until(lambda: world.told[NODE][0] == str(server.version))
    assert world.told[NODE][1] > before
    server.end_watches()
    until(
        lambda: (
            [p for path, p in server.asked if p.get("watch")][-1]["resourceVersion"] == str(server.version)
        )
    )
    assert all(p["allowWatchBookmarks"] == "true" for _, p in server.asked if p.get("watch"))


@pytest.mark.parametrize("how", ["in the stream", "at the start"])
def test_after_410_there_is_a_new_list_and_what_went_in_between_is_gone(server, fed, how):
    server.put("nodes", node("old"))
    world, feed = fed(NODE)
    until(lambda: server.watches.get("nodes"))
    # Nobody is told of these two: the server has forgotten them.
    with server.lock:
        del server.objects["nodes"]["", "old"]
        server.version += 1
        new = node("new")
        new["metadata"] |= {"resourceVersion": str(server.version), "uid": "new"}
        server.objects["nodes"]["", "new"] = new
    if how == "in the stream":
        server.forget("nodes")
    else:
        server.gone_watches = 1
        server.end_watches()
    until(lambda: names(world) == {"new"})
    assert status(feed)[NODE].lists == 2


def test_a_connection_that_breaks_is_made_anew_from_where_it_was(server, fed):
    server.put("nodes", node("a"))
    world, feed = fed(NODE)
    until(lambda: server.watches.get("nodes"))
    server.busy = 3
    server.end_watches()
    until(lambda: server.busy == 0 and server.watches.get("nodes"))
    server.put("nodes", node("b"))
    until(lambda: names(world) == {"a", "b"})
    assert status(feed)[NODE].lists == 1
    assert status(feed)[NODE].state == "watching"
    assert status(feed)[NODE].failures == 3


def test_a_kind_that_is_not_served_is_told_and_taken_up_once_it_is(server, fed):
    world, feed = fed(COHORT)
    until(lambda: status(feed)[COHORT].state == "absent")
    assert COHORT in world.whole
    server.has[KUEUE]["v1beta2"]["Cohort"] = ("cohorts", False)
    server.put("cohorts", {**queue("all"), "kind": "Cohort"})
    until(lambda: names(world) == {"all"})
    assert status(feed)[COHORT].state == "watching"


def test_a_kind_that_is_not_ours_to_read_keeps_the_world_waiting_and_is_told(server, fed):
    server.forbidden = {"nodes"}
    world, feed = fed(NODE, QUEUE)
    until(lambda: status(feed)[NODE].state == "forbidden" and QUEUE in world.whole)
    assert NODE not in world.whole
    assert "cannot list" in status(feed)[NODE].why
    server.forbidden = set()
    until(lambda: NODE in world.whole)
    assert status(feed)[NODE].why == ""


def test_what_is_no_event_ends_that_watch_and_no_more(server, fed):
    world, feed = fed(NODE)
    until(lambda: server.watches.get("nodes"))
    with server.lock:
        for one in server.watches["nodes"]:
            one.put({"kind": "nonsense"})
            one.put(None)
    until(lambda: status(feed)[NODE].failures == 1)
    until(lambda: server.watches.get("nodes"))
    server.put("nodes", node("a"))
    until(lambda: names(world) == {"a"})


def test_an_error_inside_is_told_and_tried_again(server, fed, monkeypatch):
    calls = []

    def broken(self, value, *, now):
        calls.append(value)
        if len(calls) == 1:
            raise ZeroDivisionError("a bug")
        put(self, value, now=now)

    put = Book.put
    world, feed = fed(NODE)
    until(lambda: server.watches.get("nodes"))
    monkeypatch.setattr(Book, "put", broken)
    server.put("nodes", node("a"))
    until(lambda: status(feed)[NODE].failures == 1)
    assert "ZeroDivisionError: a bug" in status(feed)[NODE].why or status(feed)[NODE].state == "watching"
    until(lambda: names(world) == {"a"})  # by the list that follows


def test_a_server_that_always_forgets_is_not_asked_without_rest(server, fed, monkeypatch):
    monkeypatch.setattr(watch, "LONGEST", 1e6)
    monkeypatch.setattr(watch, "FIRST", 0.01)
    server.gone_watches = 1000
    _, feed = fed(NODE)
    until(lambda: status(feed)[NODE].lists >= 4)
    waits = status(feed)[NODE].lists
    # Each pause is twice the one before: from 0.01 s on, the tenth would end after ten seconds.
    assert waits < 12


def test_how_a_watch_fares_is_told_when_it_changes_and_not_every_time(server, kubeconfig, fast):
    lines = []
    server.forbidden = {"nodes"}
    way = connect("here", sleep=lambda _: None)
    feed = Feed(
        way, Book(), (NODE,), now=time.monotonic, tell=lambda *said, **fields: lines.append((said, fields))
    )
    feed.start()
    until(lambda: status(feed)[NODE].failures > 2)
    server.forbidden = set()
    until(lambda: status(feed)[NODE].state == "watching")
    threading.Timer(0.05, server.end_watches).start()
    feed.stop()
    states = [(said[0], fields["state"]) for said, fields in lines]
    assert states[:2] == [("warning", "forbidden"), ("info", "watching")]
    assert "cannot list" in lines[0][1]["why"]
