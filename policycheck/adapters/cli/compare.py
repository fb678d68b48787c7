"""``policycheck compare``: what a change does to each team."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import click

from policycheck.adapters.cli import asking, common, exitcode, pooling
from policycheck.adapters.cli.options import finite

if TYPE_CHECKING:
    from policycheck.app.compare import Side
    from policycheck.app.judged import Trial
    from policycheck.lint.settings import Settings

_GIT = "git:"
_MOST_SEEDS = 100


@click.command("compare")
@click.argument("old")
@click.argument("new")
@click.option("--mix", metavar="FILE|PRESET", help="Jobs by a mix: philly, production, research, ...")
@click.option("--trace", metavar="FILE", help="Recorded jobs (CSV).")
@click.option("--manifests", is_flag=True, help="The jobs of the manifests as well.")
@click.option(
    "--seeds",
    type=click.IntRange(1, _MOST_SEEDS),
    default=3,
    show_default=True,
    help="How many times, each with other draws, the same for both sides.",
)
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="The first of them.")
@click.option("--horizon", metavar="TIME", help="How long, as in 7d.")
@click.option(
    "--load",
    type=click.FloatRange(0, min_open=True),
    callback=finite,
    help="Of a mix: asked for over what there is.",
)
@click.option("--usual", metavar="TIME", help="How long jobs of the manifests run that do not say it.")
@click.option("--service-time", metavar="TIME", help="What one admission takes the scheduler, as in 20ms.")
@click.option("--no-nodes", is_flag=True, help="Quota alone decides; where pods go is not simulated.")
@click.option(
    "--accept", multiple=True, type=click.Choice(["broken-lines"]), help="Leave out broken lines of a trace."
)
@click.option(
    "--claim",
    "claims",
    multiple=True,
    metavar="NAME|all|none",
    help="Claims to hold against both sides; those that take seconds. Repeatable.",
)
@click.option(
    "--promises", metavar="FILE", help="What teams were told; else the document of kind Promises in OLD."
)
@pooling.pool_options
@click.option("--old-target", multiple=True, metavar="SYSTEM=VERSION", help="The scheduler of OLD.")
@click.option("--new-target", multiple=True, metavar="SYSTEM=VERSION", help="The scheduler of NEW.")
@click.option(
    "--format", "form", type=click.Choice(["text", "markdown", "json"]), default="text", help="text"
)
@common.input_options
@common.look_options
def compare(old: str, new: str, **options: Any) -> int:
    """What changes for each team between OLD and NEW: guarantees, bursts, who may take from whom, waits.

    OLD and NEW are folders or files, or git:REVISION:PATH. OLD may be first-come-first-served: the nodes of
    NEW under the default scheduler, without queues. Both sides get the same jobs.
    """
    from policycheck.adapters.cli import simulating
    from policycheck.adapters.cli.progress import Progress

    quiet, verbose, output = options["quiet"], options["verbose"], options["output"]
    common.guard((output,), (options["trace"] or "", options["mix"] or ""))
    horizon = simulating.period("--horizon", options["horizon"], least=1)
    service = simulating.period("--service-time", options["service_time"])
    usual = simulating.period("--usual", options["usual"], least=1)
    with Progress(quiet=quiet) as told, ExitStack() as stack, common.errors_of_use():
        from policycheck.app.arrivals import Offering, load_mix
        from policycheck.app.compare import Way
        from policycheck.app.compare import compare as use_case
        from policycheck.app.simulate import Options

        before = stack.enter_context(_side(old, options, options["old_target"], is_old=True))
        after = stack.enter_context(_side(new, options, options["new_target"], is_old=False))
        assert after.sources is not None  # noqa: S101 - only the old side may be without
        # What arrives is the same for both, and as it is now: no revision has a say in it.
        today = after.sources._replace(read=common.reader())
        mix = load_mix(options["mix"], today.read) if options["mix"] else None
        recorded = simulating.recording(options, today)
        if recorded is None:
            return exitcode.UNREAD
        trace, setting = recorded
        load = options["load"] or 0.0
        how = Options(horizon=horizon, service_time=service, placing=not options["no_nodes"])

        offering = Offering(mix, trace, setting, 0, horizon, load, options["manifests"], usual)
        seeds = tuple(range(options["seed"], options["seed"] + options["seeds"]))
        way = Way(pooling.pool(options), _trial(options))
        found, files = use_case(before, after, offering, seeds, how, told, way)
        asking.guard(output, files, after.settings)
    if not found:
        common.say(
            "policycheck: no scope with queues is on both sides; OLD and NEW must both hold queues, and of the same "
            "scope where there are several\n"
        )
    elif not any(one.jobs for one in found):
        common.say(
            "policycheck: no job to compare waits by; the manifests, --mix or --trace must hold some\n"
        )
    common.emit(_report(found, options), output)
    return asking.account(files, empty=not found, verbose=verbose, quiet=quiet)


def _trial(options: Mapping[str, Any]) -> Trial | None:
    """What is tested on both sides. Raises click.UsageError for a claim that there is not."""
    from policycheck.app.judged import QUICK, Trial
    from policycheck.certify.claims import UnknownClaimError, find

    names: tuple[str, ...] = options["claims"] or QUICK
    if "none" in names:
        if len(names) > 1:
            raise common.usage_error("--claim none goes with no other claim")
        return None
    if "all" in names:
        names = ()
    try:
        for name in names:
            find(name)
    except UnknownClaimError as error:
        raise common.usage_error(f"--claim: {error}") from error
    return Trial(names, promises=options["promises"] or "")


def _report(found: Sequence[Any], options: Mapping[str, Any]) -> str:
    from policycheck.report import compare as report

    if options["form"] == "json":
        return report.render_json(found)
    if options["form"] == "markdown":
        return report.render_markdown(found)
    style = common.style_for(
        None if options["output"] else sys.stdout,
        options["color"],
        quiet=options["quiet"],
        verbose=options["verbose"],
    )
    return report.render_text(found, style)


@contextmanager
def _side(given: str, options: Mapping[str, Any], target: Sequence[str], *, is_old: bool) -> Iterator[Side]:
    """One side of the comparison. Raises click.UsageError, GitError."""
    from policycheck.app.compare import FIRST_COME, Side

    label = "old" if is_old else "new"
    if given == FIRST_COME:
        if not is_old:
            raise common.usage_error(f"only OLD may be {FIRST_COME}")
        if target:
            raise common.usage_error(f"--old-target does not go with {FIRST_COME}: no queue system is there")
        yield Side("first come, first served", None, _settings((), options))
        return
    own = {one.partition("=")[0].strip() for one in target}
    common_targets = (one for one in options["target"] if one.partition("=")[0].strip() not in own)
    told = dict(options) | {"target": (*common_targets, *target)}
    if not given.startswith(_GIT):
        sources, settings = asking.input_of((given,), told)
        yield Side(given if given != "-" else label, sources, settings)
        return
    rev, _, path = given.removeprefix(_GIT).partition(":")
    if not rev or not path:
        raise common.usage_error(f"{given!r} is no revision and path; write git:main:clusters/prod")
    from policycheck.adapters.revision import revised

    sources, settings = asking.input_of((path,), told)
    with revised(rev, sources, f"{_GIT}{rev}") as past:
        yield Side(f"{rev}:{path}", past, settings)


def _settings(paths: tuple[str, ...], options: Mapping[str, Any]) -> Settings:
    return common.load_settings(options["config"], paths, isolated=options.get("isolated", False))
