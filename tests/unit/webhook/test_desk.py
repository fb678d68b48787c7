"""Nobody waits longer than the API server does, and one lane does not wait for the other."""

import asyncio
import io
import json
import threading
import time

import admission_worlds as worlds
import pytest

from policycheck.adapters.webhook import review
from policycheck.adapters.webhook.answer import Answer
from policycheck.adapters.webhook.desk import Desk, allowance, is_work
from policycheck.adapters.webhook.journal import Journal
from policycheck.adapters.webhook.metrics import Metrics
from policycheck.adapters.webhook.service import Outcome


class Slow:
    """A service that answers when it is let."""

    def __init__(self):
        self.free = threading.Event()
        self.begun = threading.Event()

    def at_once(self, _):
        return None

    def review(self, _, late, *, critical):  # noqa: ARG002 - as the service has it
        self.begun.set()
        self.free.wait(20)
        return Outcome(Answer(allowed=True), "late" if late() else "allowed")

    def late(self, *, critical):
        return Outcome(Answer(allowed=not critical), "late")

    def failed(self, what, *, critical):
        return Outcome(Answer(allowed=not critical), "failed", what)

    def unready(self, why, *, critical):
        return Outcome(Answer(allowed=not critical), "failed", why)


async def until(is_so):
    while not is_so():  # noqa: ASYNC110 - of a thread
        await asyncio.sleep(0.01)


def request(kind="Job", group="batch", uid="u"):
    value = {"metadata": {"name": "x"}}
    asked = {
        "uid": uid,
        "operation": "CREATE",
        "kind": {"group": group, "version": "v1", "kind": kind},
        "object": value,
    }
    body = {"apiVersion": review.API_VERSION, "kind": review.KIND, "request": asked}
    return review.read(json.dumps(body).encode())


@pytest.mark.parametrize(
    ("text", "wanted"), [("10s", 8), ("5s", 4), ("1s", 0.8), ("", 8), ("nonsense", 8), ("90s", 24), ("0s", 8)]
)
def test_four_fifths_of_the_time_are_ours(text, wanted):
    assert allowance(text) == pytest.approx(wanted)


@pytest.mark.parametrize("critical", [True, False])
def test_an_answer_comes_in_time_though_judging_goes_on(critical):
    slow = Slow()
    desk = Desk(slow, slow, lambda: "")

    async def ask():
        began = time.monotonic()
        found = await desk.review(request(), "250ms", critical=critical)
        return found, time.monotonic() - began

    found, spent = asyncio.run(ask())
    slow.free.set()
    desk.close()
    assert (found.verdict, found.answer.allowed) == ("late", not critical)
    assert 0.2 <= spent < 15


def test_what_waits_too_long_is_not_begun():
    slow = Slow()
    desk = Desk(slow, slow, lambda: "")
    begun = []
    inner = slow.review
    slow.review = lambda asked, late, *, critical: (
        begun.append(asked.uid),
        inner(asked, late, critical=critical),
    )[1]

    async def ask():
        first = asyncio.create_task(desk.review(request(uid="first"), "10s", critical=True))
        await until(slow.begun.is_set)
        found = await desk.review(request(uid="second"), "100ms", critical=True)
        slow.free.set()
        await first
        await until(lambda: not desk.waiting)
        return found

    assert asyncio.run(ask()).verdict == "late"
    desk.close()
    assert begun == ["first"]


def test_work_does_not_wait_for_the_configuration():
    slow, quick = Slow(), Slow()
    quick.free.set()
    desk = Desk(quick, slow, lambda: "")

    async def ask():
        queue = asyncio.create_task(
            desk.review(request("ClusterQueue", "kueue.x-k8s.io"), "10s", critical=True)
        )
        await until(slow.begun.is_set)
        found = await desk.review(request(), "10s", critical=False)
        slow.free.set()
        return found, await queue

    work, queue = asyncio.run(ask())
    desk.close()
    assert (work.verdict, queue.verdict) == ("allowed", "allowed")


@pytest.mark.parametrize(
    ("group", "kind", "wanted"),
    [
        ("batch", "Job", True),
        ("", "Pod", True),
        ("kueue.x-k8s.io", "Workload", True),
        ("ray.io", "RayJob", True),
        ("kueue.x-k8s.io", "ClusterQueue", False),
        ("", "Namespace", False),
    ],
)
def test_what_is_work(group, kind, wanted):
    assert is_work(request(kind, group)) is wanted


def test_before_the_cluster_is_in_sight_it_is_as_if_late():
    slow = Slow()
    desk = Desk(slow, slow, lambda: "the cluster is not in sight yet")
    found = asyncio.run(desk.review(request(), "10s", critical=False))
    desk.close()
    assert (found.verdict, found.answer.allowed) == ("failed", True)
    assert "not in sight" in found.why


def test_kinds_that_senders_make_up_are_counted_together():
    metrics = Metrics()
    for n in range(200):
        metrics.reviewed(
            request(f"Kind{n}", "made.up"), Outcome(Answer(allowed=True), "skipped"), 0.001, "/x"
        )
    lines = [
        line
        for line in metrics.text().decode().splitlines()
        if line.startswith("policycheck_webhook_requests_total")
    ]
    assert len(lines) <= 61
    assert any('kind="other"' in line for line in lines)


def test_an_override_in_a_dry_run_took_place_nowhere():
    from policycheck.adapters.webhook.override import Override

    metrics = Metrics()
    outcome = Outcome(Answer(allowed=True), "overridden", override=Override("r", "o", "2026-01-01"))
    metrics.reviewed(request()._replace(dry_run=True), outcome, 0.001, "/x")
    assert "policycheck_webhook_overrides_total 0.0" in metrics.text().decode()
    metrics.reviewed(request(), outcome, 0.001, "/x")
    assert "policycheck_webhook_overrides_total 1.0" in metrics.text().decode()


def test_gauges_are_asked_when_they_are_scraped():
    metrics = Metrics()
    world = worlds.small()
    metrics.watch(
        lambda: {("kueue.x-k8s.io", "ClusterQueue"): 3.5}, lambda: len(world), lambda: {"server": 29.5}
    )
    text = metrics.text().decode()
    assert 'policycheck_cache_age_seconds{kind="ClusterQueue.kueue.x-k8s.io"} 3.5' in text
    assert 'policycheck_expiry_days{certificate="server"} 29.5' in text


def test_lines_are_json_with_a_level():
    stream = io.StringIO()
    journal = Journal(stream, "info")
    journal("debug", "not told")
    journal("warning", "told\nonce", name="x" * 2000, empty="")
    (line,) = map(json.loads, stream.getvalue().splitlines())
    assert (line["level"], line["message"]) == ("warning", "told\nonce")
    assert len(line["name"]) < 600
    assert "empty" not in line


def test_a_log_that_nobody_reads_stops_nothing():
    stream = io.StringIO()
    stream.close()
    Journal(stream)("error", "lost")
