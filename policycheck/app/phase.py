"""Where each cluster stands in its rollout."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from policycheck.app import _lint, rulebook
from policycheck.app.gather import Gathered, Sources, gather
from policycheck.app.linked import linked
from policycheck.lint.phase import Presence, Standing, stand
from policycheck.record import NamedTuple

if TYPE_CHECKING:
    from policycheck.lint.finding import LintResult
    from policycheck.lint.settings import Settings


class Rollout(NamedTuple):
    """Each scope's standing, and the run that it was read from."""

    standings: tuple[Standing, ...]
    result: LintResult


def rollout(
    sources: Sources, settings: Settings, known: Callable[[LintResult], LintResult], fail_on: str
) -> Rollout:
    """The standing of each scope; rules of every phase run. ``known`` takes out what a baseline knows."""
    settings = settings._replace(phase="")
    scopes = gather(sources, settings)
    result = known(_lint(scopes, sources, settings))
    rules = rulebook(settings.rules).rules
    standings = (stand(result, scope.name, rules, presence(scope), fail_on) for scope in scopes)
    return Rollout(tuple(standings), result)


def presence(scope: Gathered) -> dict[str, Presence]:
    """What of each step there is in a scope."""
    cluster = linked(scope)
    view = cluster.view
    reported = sum(entry.origin.reported for entry in cluster.entries.values())
    nodes = cluster.inventory.nodes if cluster.inventory.known else ()
    seen = f"{_plural(reported, 'object')}, {_plural(len(nodes), 'node')}"
    shared = sum(1 for queue in view.queues if queue.cohort)
    topologies = sum(1 for flavor in view.flavors if flavor.topology)
    return {
        "observe": Presence(reported > 0, seen),
        "pilot": Presence(bool(view.queues), _plural(len(view.queues), "queue")),
        "queues": Presence(len(view.queues) > 1, f"{shared} of {_plural(len(view.queues), 'queue')} share"),
        "topology": Presence(
            topologies > 0, f"{topologies} of {_plural(len(view.flavors), 'flavor')} with a topology"
        ),
    }


def _plural(amount: int, noun: str) -> str:
    return f"{amount:,} {noun}" if amount == 1 else f"{amount:,} {noun}s"
