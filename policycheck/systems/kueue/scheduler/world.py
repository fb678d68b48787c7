"""What no decision of a session changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from policycheck.systems.kueue.model import KueueObjects, LocalQueue
from policycheck.systems.kueue.scheduler.counts import Profile
from policycheck.systems.kueue.scheduler.limits import LimitRule
from policycheck.systems.kueue.scheduler.shape import Shapes
from policycheck.systems.kueue.scheduler.share import Shares
from policycheck.systems.kueue.target import Strategy


class Failing(NamedTuple):
    """When a node that is not Ready counts as failed, and whether its pods are then placed anew."""

    replaces: bool
    after: int | None  # nanoseconds; None: only when it is gone
    on_taints: bool  # as well when a taint drives its pods away


class World(NamedTuple):
    """What no decision changes; forks share it."""

    objects: KueueObjects
    strategy: Strategy
    namespaces: Mapping[str, Mapping[str, str]]
    limit_rules: tuple[LimitRule, ...]
    shapes: Shapes
    shares: tuple[Shares, ...]
    fair: tuple[str, ...] | None  # strategies of fair sharing; None: classical
    ignore_undeclared: bool
    locals: Mapping[str, LocalQueue]
    profile: Profile
    failing: Failing
    waits: bool  # waitForPodsReady is on where nobody configured it
