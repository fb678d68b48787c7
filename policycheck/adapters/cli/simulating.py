"""One run of ``policycheck simulate`` over time: from options to a report."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from policycheck.adapters.cli import asking, common, exitcode, pooling
from policycheck.adapters.cli.progress import Progress
from policycheck.report.screen import clean

if TYPE_CHECKING:
    from policycheck.app import Sources
    from policycheck.lint.settings import Settings
    from policycheck.report.simulation import Result
    from policycheck.simulate.mix import Mix
    from policycheck.simulate.trace import Trace
    from policycheck.simulate.tracesetting import TraceSetting

_PROBLEMS = 20  # of a trace that are told
_NOWHERE = (
    "nothing to simulate: give PATH with the queues, or --mix with a preset that brings its own: {presets}"
)


def run(paths: tuple[str, ...], options: Mapping[str, Any]) -> int:
    """Simulates, writes the report, and returns the exit code. Raises click.UsageError."""
    options = {**options, **{name: next(iter(options[name]), None) for name in ("mix", "trace")}}
    sources, settings = asking.input_of(paths, options)
    quiet, verbose, output = options["quiet"], options["verbose"], options["output"]
    common.guard((output,), (options["trace"] or "", options["mix"] or ""))
    if options["form"] == "csv":
        raise common.usage_error("--format csv is for many runs: say how many with --seeds")
    if pooling.pool(options).backend != "here" and not quiet:
        common.say("policycheck: one run is computed here; --seeds says how many there are to be\n")
    horizon = period("--horizon", options["horizon"], least=1)
    service = period("--service-time", options["service_time"])
    with Progress(quiet=quiet) as told:
        with common.errors_of_use():
            if options["form"] == "html":
                _check_extra()
            mix, sources = mix_of(sources, options)
        told("reading the trace")
        recorded = recording(options, sources)
        if recorded is None:
            return exitcode.UNREAD
        with common.errors_of_use():
            from policycheck.app.arrivals import Offering, arrivals
            from policycheck.app.results import results
            from policycheck.app.simulate import Options

            trace, setting = recorded
            seed, load = options["seed"], options["load"] or 0.0
            usual = period("--usual", options["usual"], least=1)
            offering = Offering(mix, trace, setting, seed, horizon, load, options["manifests"], usual)
            how = Options(
                seed=seed,
                horizon=horizon,
                service_time=service,
                happenings=options["events"],
                placing=not options["no_nodes"],
            )
            done, files = results(sources, settings, lambda c: arrivals(c, offering), how, told)
            done = tuple(one._replace(scenario=one.scenario._replace(paths=paths)) for one in done)
            told("writing the report")
            text = _html(done, sources, settings) if options["form"] == "html" else _plain(done, options)
    asking.guard(output, files, settings)
    if not done:
        common.say("policycheck: no queue in what was given; PATH must hold the queues\n")
    elif not any(one.timeline.lives for one in done):
        common.say("policycheck: no job in what was given; PATH, --mix or --trace must hold some\n")
    common.emit(text, output)
    code = asking.account(files, empty=not done, verbose=verbose, quiet=quiet)
    return exitcode.worst([code, exitcode.OK if any(one.timeline.lives for one in done) else exitcode.UNREAD])


def mix_of(sources: Sources, options: Mapping[str, Any]) -> tuple[Mix | None, Sources]:
    """The mix, if any, and what it falls upon. Raises ArrivalsError and click.UsageError."""
    from policycheck.app.arrivals import load_mix, presets, with_mix

    mix = load_mix(options["mix"], sources.read) if options["mix"] else None
    if mix is not None:
        sources = with_mix(sources, mix)
    if not sources.paths:
        complete = [name for name in presets() if load_mix(name, sources.read).cluster]
        raise common.usage_error(_NOWHERE.format(presets=", ".join(complete)))
    return mix, sources


def recording(options: Mapping[str, Any], sources: Sources) -> tuple[Trace | None, TraceSetting] | None:
    """The recorded jobs, if any, and how to replay them; None when they can not be read, which is said.

    Raises click.ClickException for settings that are wrong.
    """
    from policycheck.app.arrivals import load_trace, trace_setting
    from policycheck.simulate.tracesetting import TraceSetting
    from policycheck.simulate.trouble import ArrivalsError

    name = options["trace"]
    if not name:
        return None, TraceSetting()
    with common.errors_of_use():
        setting = trace_setting(name, sources.read)
    if "broken-lines" in options["accept"]:
        setting = setting._replace(reading=setting.reading._replace(keep_good=True))
    try:
        return load_trace(name, sources.read, setting)
    except ArrivalsError as error:
        for problem in error.problems[:_PROBLEMS]:
            common.say(f"policycheck: {clean(problem)}\n")
        if error.broken and not setting.reading.keep_good:
            common.say("policycheck: --accept broken-lines leaves such lines out and says how many\n")
        return None


def period(option: str, text: str | None, *, least: int = 0) -> int:
    """Milliseconds, ``least`` or more; 0 for what is not said, which a written 0 may not stand for when it is
    no possible value. Raises click.UsageError.
    """
    if text is None:
        return 0
    from policycheck.simulate.period import PeriodError, parse

    try:
        found = parse(text)
    except PeriodError as error:
        raise common.usage_error(f"{option}: {error}") from error
    if found < least:
        raise common.usage_error(f"{option}: {text!r} is too short; write {least}ms or more, or leave it out")
    return found


def _check_extra() -> None:
    """Raises MissingExtraError before the work and not after it."""
    from policycheck.report.page import engine

    engine.altair()
    engine.converter()


def _html(done: Sequence[Result], sources: Sources, settings: Settings) -> str:
    from policycheck.app.racks import grounds
    from policycheck.report.page.simulation import render_results

    return render_results(done, grounds(sources, settings))


def _plain(done: Sequence[Result], options: Mapping[str, Any]) -> str:
    if options["form"] == "json":
        from policycheck.report.simulation import render_json

        return render_json(done, events=options["events"])
    from policycheck.report.simulation_text import render_text

    style = common.style_for(
        None if options["output"] else sys.stdout,
        options["color"],
        quiet=options["quiet"],
        verbose=options["verbose"],
    )
    return render_text(done, style)
