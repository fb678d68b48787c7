"""Everything that a running webhook is made of, put together out of what the user said."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from policycheck.adapters.webhook import server, web
from policycheck.adapters.webhook.desk import Desk
from policycheck.adapters.webhook.issued import Issued
from policycheck.adapters.webhook.journal import Journal
from policycheck.adapters.webhook.keypair import KeyPair, KeyPairError
from policycheck.adapters.webhook.metrics import Metrics
from policycheck.adapters.webhook.service import Conditions, Service
from policycheck.app.admission import Judge
from policycheck.app.bench import Bench
from policycheck.app.world import World
from policycheck.record import NamedTuple

if TYPE_CHECKING:
    from policycheck.lint.rule import Systems
    from policycheck.lint.rulebook import Rulebook
    from policycheck.lint.settings import Settings, Target
    from policycheck.model.cluster import GroupKind


class Options(NamedTuple):
    """How to serve. ``stale`` is in seconds: with an older picture of the cluster requests should go elsewhere."""

    at: server.Address
    plain_at: server.Address
    pair: KeyPair | None
    issued: Issued | None = None
    namespace: str = ""
    allow_late: bool = False
    stale: float = 300.0
    drain: float = 5.0
    log: str = "info"


class Rules(NamedTuple):
    """What is judged by."""

    rulebook: Rulebook
    systems: Systems
    settings: Settings
    targets: Mapping[str, Target]


def serve(world: World, rules: Rules, options: Options, today: Callable[[], str]) -> None:
    """Serves until it is told to end. Raises OSError for an address that can not be had."""
    journal = Journal(sys.stderr, options.log)
    metrics = Metrics()
    judges = [
        Judge(Bench(world, rules.rulebook, rules.systems, rules.settings, rules.targets)) for _ in range(2)
    ]
    for error in judges[0].bench.failed:
        journal("error", "a rule can not run", rule=error.rule, why=error.why)
    issued = options.issued
    conditions = Conditions(
        settings=rules.settings.webhook,
        today=today,
        now=_now,
        age=lambda: max(_ages(world).values(), default=0.0),
        certificates=lambda: issued.standing if issued is not None else None,
        namespace=options.namespace,
        allow_late=options.allow_late,
    )
    work, configuration = (Service(judge, conditions) for judge in judges)
    metrics.watch(lambda: _ages(world), lambda: len(world), lambda: _days(options))
    with _quick_turns(), asyncio.Runner(loop_factory=_loop()) as runner:
        runner.run(_serve(world, work, configuration, options, metrics, journal))


def _loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The faster loop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


async def _serve(
    world: World,
    work: Service,
    configuration: Service,
    options: Options,
    metrics: Metrics,
    journal: Journal,
) -> None:
    life = server.Life(options.drain)
    desk = Desk(work, configuration, lambda: _unseen(world))

    def unready() -> str:
        if life.draining:
            return "about to end"
        pair = options.pair
        if pair is not None and not pair.is_good:
            return f"the certificate of the server ends in {pair.days:.1f} days"
        ages = _ages(world)
        old = max(ages, key=lambda kind: ages[kind], default=None)
        if old is not None and ages[old] > options.stale:
            return f"nothing was heard of {old[1]} for {ages[old]:.0f} seconds"
        return _unseen(world)

    frozen: list[int] = []

    def tick() -> None:
        _refresh(options, metrics, journal)
        world.settle(time.monotonic())
        if world.is_ready:
            work.judge.warm()  # before somebody waits for it
            if not frozen:
                # What is known by now stays: looking through it for garbage would stop everything again and again.
                gc.collect()
                gc.freeze()
                frozen.append(gc.get_freeze_count())

    faces = server.Faces(
        web.admission(desk, metrics, journal, lambda: life.draining),
        web.plain(metrics, unready),
        options.at,
        options.plain_at,
        options.pair,
    )
    try:
        await server.run(faces, life, tick, journal)
    finally:
        desk.close()


def _refresh(options: Options, metrics: Metrics, journal: Journal) -> None:
    """Takes up files that changed; what is wrong with them is told, and what was there before stays."""
    for what, refresh in (
        ("key-pair", options.pair.refresh if options.pair is not None else None),
        ("certificate", options.issued.refresh if options.issued is not None else None),
    ):
        if refresh is None:
            continue
        try:
            done = refresh()
        except (KeyPairError, ValueError) as error:
            metrics.reloads.labels(what, "failed").inc()
            journal("error", f"the {what} was not taken up; the one before stays", why=str(error))
        else:
            if done:
                metrics.reloads.labels(what, "done").inc()
                journal("info", f"the {what} was taken up again")


def _unseen(world: World) -> str:
    """Why the cluster is not in sight; "" when it is."""
    missing = world.missing
    return f"the cluster is not in sight yet: {', '.join(kind for _, kind in missing[:4])}" if missing else ""


def _ages(world: World) -> Mapping[GroupKind, float]:
    return world.staleness(time.monotonic())


def _days(options: Options) -> Mapping[str, float]:
    found = {}
    if options.pair is not None:
        found["server"] = options.pair.days
    if options.issued is not None:
        found["promises"] = options.issued.days(time.time())
    return found


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


@contextmanager
def _quick_turns() -> Iterator[None]:
    """Lets the loop take over from the thread that judges after a millisecond: connections are not kept waiting."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
