"""One story for the reports: five teams over two days, with everything in it that a report tells of."""

from timeline_help import life, line, stay, step, supply, timeline

from policycheck.report.simulation import Result, Scenario
from policycheck.simulate.metrics import measure
from policycheck.simulate.timeline import PENDING, REFUSED, RUNNING, Happening, Loop

H = 3600
NAMES = {
    "jobs.wait": "sys_admission_wait_seconds",
    "queues.*.pending": "sys_pending",
    "preemption.byReason": "sys_preempted_total{reason}",
}
RACKS = (("example.com/block", 1, 1), ("example.com/rack", 2, 1))
HUGE = {
    "reason": "ExceedsMaxQuota",
    "why": "512 nvidia.com/gpu asked, the queue may have 96 at most = 32 nominal + 64 that its cohort lends",
}

LIVES = (
    life(
        "pretrain",
        0,
        20 * H,
        stay(0, 4 * H, by="team/eval-1", lost=H, domains=RACKS),
        stay(10 * H, 26 * H, domains=(("example.com/block", 1, 1), ("example.com/rack", 1, 1))),
        queue="foundation",
        amount=64,
        pods=8,
        priority=100,
        priority_class="prod",
        klass="training",
    ),
    life("eval-1", 4 * H, 2 * H, stay(4 * H + 1, 6 * H + 1), queue="research", amount=16, klass="eval"),
    life(
        "eval-2",
        4 * H,
        2 * H,
        *(stay(h * H, h * H + 600, by="team/pretrain", cause="InClusterQueue") for h in (5, 6, 7)),
        stay(9 * H, 11 * H),
        queue="research",
        amount=16,
        klass="eval",
        requeues=3,
    ),
    life("eval-3", 5 * H, 600, stay(9 * H, 9 * H + 600), queue="research", amount=16, klass="eval"),
    life("quick", 6 * H, 60, stay(6 * H, 6 * H + 60), queue="research", klass="eval"),
    life("huge", 2 * H, 2 * H, state=PENDING, queue="vision", amount=512, pods=64, **HUGE),
    life("also-huge", 3 * H, 2 * H, state=PENDING, queue="vision", amount=512, pods=64, **HUGE),
    life("chat", 0, 100 * H, stay(1), state=RUNNING, nature="service", queue="serving", priority=1000),
    life("torn", 0, H, stay(1, ready=-1, unplaced=3), state=RUNNING, queue="serving", pods=4),
    life("lost", 0, H, state=REFUSED, queue="", reason="NoLocalQueue", why="no LocalQueue main in team"),
)
QUEUES = (
    line("foundation", step(0, 64), step(4 * H, 0, 64, 48), step(10 * H, 64), step(26 * H, 0), nominal=48),
    line("idle", nominal=16, cohort=""),
    line("research", step(0, 0), step(4 * H, 16, 16, 8), step(9 * H, 32), step(11 * H, 0), nominal=24),
    line("serving", step(0, 0, 16, 8), step(1, 16), nominal=8),
    line("vision", step(0, 0), step(2 * H, 0, 512), step(3 * H, 0, 1024), nominal=32, limit=96),
)
SUPPLY = (
    supply(0, 128, 56, 56, 56, 0),
    supply(4 * H, 128, 104, 64, 104, 8),
    supply(10 * H, 128, 24, 8, 24, 4),
    supply(26 * H, 128, 120, 120, 120, 0),
)
WHOLE = timeline(
    48 * H,
    LIVES,
    QUEUES,
    SUPPLY,
    cycles=120,
    nominations=400,
    loops=(Loop(7 * H * 1000, ("team/eval-2", "team/pretrain"), 4),),
    happenings=(Happening(0, "submitted", "team/pretrain"), Happening(1, "reserved", "team/chat", "serving")),
    notes=("no durations are written for 3 jobs: 4h assumed",),
    gangs={"partial": 1},
)
SCENARIO = Scenario(
    target="Some 1.2",
    assumed=True,
    source="preset example",
    seed=7,
    horizon=48 * H * 1000,
    digests={"trace": "sha256:00ff"},
    nodes=16,
    names=NAMES,
    paths=("clusters/prod",),
)


def story(**changes):
    return result(WHOLE, **changes)


def result(whole, **changes):
    return Result(SCENARIO._replace(**changes), whole, measure(whole))
