"""``policycheck webhook scan``: what a cluster holds now, linted, and written down as policy reports."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

import click

from policycheck.adapters.cli import asking, common, exitcode
from policycheck.report.policyreport import FORMS

if TYPE_CHECKING:
    from policycheck.adapters.live.scan import Outcome


@click.command("scan")
@click.argument("cluster", metavar="cluster:CONTEXT")
@click.option(
    "--reports",
    type=click.Choice(sorted(FORMS)),
    default="wgpolicyk8s.io",
    show_default=True,
    help="The API group of the reports.",
)
@common.input_options
def scan(cluster: str, reports: str, **options: Any) -> int:
    """Lint what a running cluster holds, and write policy reports: one for each object with findings, owned by
    it, and one about the cluster. What did not change is not written again.

    `cluster:` alone is the current context, or inside of a pod its service account. One scan at a time: run it
    as a CronJob that forbids two (`webhook manifests` has one).
    """
    if not cluster.startswith(common.CLUSTER):
        raise common.usage_error(f"{cluster!r} is no running cluster: write cluster:CONTEXT")
    settings = common.load_settings(options["config"], (), isolated=options["isolated"])
    settings = settings._replace(
        inventory=options["inventory"] or settings.inventory,
        target=options["target"] or settings.target,
        rules=settings.rules + options["rules"],
        crds=settings.crds + options["crds"],
        clusters=(),  # one cluster is scanned, whatever others the settings name
    )
    common.check_targets(settings.target)
    with common.errors_of_use():
        from policycheck.adapters.live import scan as use_case
        from policycheck.adapters.live.connect import connect

        way = connect(cluster.removeprefix(common.CLUSTER))
        sources = common.sources_of((), settings)
        try:
            outcome = use_case.scan(way, sources, settings, group=reports, now=_now())
        finally:
            way.close()
    _tell(outcome)
    if outcome.result.errors:
        return exitcode.USAGE
    unread = any(file.failed for file in outcome.result.files) or bool(outcome.failed)
    return exitcode.UNREAD if unread else exitcode.OK


def _now() -> int:
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    return int(epoch) if epoch.isdigit() else int(time.time())


def _tell(outcome: Outcome) -> None:
    common.say(f"{outcome.note}\n")
    asking.account(outcome.result.files, empty=False)
    for error in outcome.result.errors:
        common.say(f"{error.rule}: {error.why}\n")
    for why in outcome.failed:
        common.say(f"not written: {why}\n")
    if outcome.left:
        common.say(f"{outcome.left} reports more were left out: fix what most of them say first\n")
    counts = f"{outcome.written} written, {outcome.unchanged} unchanged, {outcome.deleted} deleted"
    common.emit(f"{len(outcome.result.findings)} findings; reports: {counts}\n")
