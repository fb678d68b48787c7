"""Many runs of ``policycheck simulate``: from options to a report."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from policycheck.adapters.cli import asking, common, exitcode, pooling, simulating
from policycheck.adapters.cli.progress import Progress

if TYPE_CHECKING:
    from policycheck.app import Sources
    from policycheck.app.sweep import Offered
    from policycheck.simulate.sweep import Swept


def run(paths: tuple[str, ...], options: Mapping[str, Any]) -> int:
    """Every mix with every trace and every seed. Returns the exit code. Raises click.UsageError."""
    if options["form"] == "html" or options["events"]:
        what = "--events" if options["events"] else "--format html"
        raise common.usage_error(f"{what} is for one run: leave out --seeds, and give one mix and one trace")
    sources, settings = asking.input_of(paths, options)
    quiet, verbose, output = options["quiet"], options["verbose"], options["output"]
    common.guard((output,), (*options["trace"], *options["mix"]))
    pool = pooling.pool(options)
    with Progress(quiet=quiet) as told:
        offered = _offered(sources, options)
        if offered is None:
            return exitcode.UNREAD
        with common.errors_of_use():
            from policycheck.app.simulate import Options
            from policycheck.app.sweep import sweep

            how = Options(
                horizon=simulating.period("--horizon", options["horizon"], least=1),
                service_time=simulating.period("--service-time", options["service_time"]),
                placing=not options["no_nodes"],
            )
            done, files = sweep(offered, settings, pooling.seeds(options), how, told, pool)
            text = _report(done, options)
    asking.guard(output, files, settings)
    if not done:
        common.say("policycheck: no queue in what was given; PATH must hold the queues\n")
    elif not any(any(one.jobs) for one in done):
        common.say("policycheck: no job in what was given; PATH, --mix or --trace must hold some\n")
    common.emit(text, output)
    code = asking.account(files, empty=not done, verbose=verbose, quiet=quiet)
    return exitcode.worst([code, exitcode.OK if any(any(one.jobs) for one in done) else exitcode.UNREAD])


def _offered(sources: Sources, options: Mapping[str, Any]) -> list[Offered] | None:
    """Each mix with each trace; None when a trace can not be read, which is said."""
    from policycheck.app.arrivals import Offering
    from policycheck.app.sweep import Offered

    horizon = simulating.period("--horizon", options["horizon"], least=1)
    usual = simulating.period("--usual", options["usual"], least=1)
    load = options["load"] or 0.0
    found = []
    for trace_name in options["trace"] or (None,):
        recorded = simulating.recording({**options, "trace": trace_name}, sources)
        if recorded is None:
            return None
        trace, setting = recorded
        for mix_name in options["mix"] or (None,):
            with common.errors_of_use():
                mix, held = simulating.mix_of(sources, {**options, "mix": mix_name})
            offering = Offering(mix, trace, setting, 0, horizon, load, options["manifests"], usual)
            found.append(Offered(held, offering))
    return found


def _report(done: Sequence[Swept], options: Mapping[str, Any]) -> str:
    from policycheck.report import sweep as report

    if options["form"] == "json":
        return report.render_json(done)
    if options["form"] == "csv":
        return report.render_csv(done)
    style = common.style_for(
        None if options["output"] else sys.stdout,
        options["color"],
        quiet=options["quiet"],
        verbose=options["verbose"],
    )
    return report.render_text(done, style)
