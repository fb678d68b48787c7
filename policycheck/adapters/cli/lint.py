"""``policycheck lint``: findings over manifests, whole clusters at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from policycheck.adapters.cli import common, exitcode
from policycheck.lint.finding import SEVERITIES, LintResult
from policycheck.lint.settings import Settings
from policycheck.record import NamedTuple
from policycheck.report import FORMATS, View

if TYPE_CHECKING:
    from policycheck.adapters.cli.fixing import Done
    from policycheck.app import Sources

PHASES = ("observe", "pilot", "queues", "topology")
FAIL_ON = ("error", "warning", "info", "never")
COLORS = ("auto", "always", "never")
DUMPS = ("model",)
MOST_JOBS = 1000
FOR_PEOPLE = frozenset({"text", "concise", "json", "markdown"})  # formats that need no more than the result


class Sink(NamedTuple):
    """A format and where it goes; "" is standard output."""

    format: str
    file: str


class Request(NamedTuple):
    """The options of one run, as they came."""

    path: tuple[str, ...]
    context: tuple[str, ...]
    inventory: tuple[str, ...]
    config: str | None
    isolated: bool
    target: tuple[str, ...]
    rules: tuple[str, ...]
    crds: tuple[str, ...]
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    phase: str | None
    fail_on: str | None
    format: tuple[str, ...]
    output: str | None
    color: str
    quiet: bool
    verbose: bool
    exit_zero: bool
    statistics: bool
    dump: str | None
    baseline: str | None
    write_baseline: str | None
    grow_baseline: bool
    fix: bool
    unsafe_fixes: bool
    diff: bool
    new_from: str | None
    jobs: str | None
    no_cache: bool


# What ``quick`` takes; a test holds it against the command.
_MANY = frozenset(("context", "inventory", "target", "rules", "crds", "select", "ignore", "format"))
_ONE = frozenset(
    (
        "config",
        "phase",
        "fail_on",
        "output",
        "color",
        "dump",
        "baseline",
        "write_baseline",
        "new_from",
        "jobs",
    )
)
_FLAGS = frozenset(
    (
        "isolated",
        "quiet",
        "verbose",
        "exit_zero",
        "statistics",
        "grow_baseline",
        "fix",
        "unsafe_fixes",
        "diff",
        "no_cache",
    ),
)
_SHORT = {"-q": "--quiet", "-v": "--verbose"}
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "phase": PHASES,
    "fail_on": FAIL_ON,
    "color": COLORS,
    "dump": DUMPS,
}


def quick(args: Sequence[str]) -> Request | None:
    """The Request of a command line in which nothing is unusual, without the library that reads any:
    loading that is a tenth of a short run. None for all others: help, mistakes, options run together.
    """
    given: dict[str, Any] = {
        **dict.fromkeys(_MANY, ()),
        **dict.fromkeys(_ONE),
        **dict.fromkeys(_FLAGS, False),
        "color": "auto",
    }
    paths: list[str] = []
    left = list(reversed(args))
    while left:
        arg = left.pop()
        if arg == "-" or not arg.startswith("-"):
            paths.append(arg)
            continue
        option, equals, value = _SHORT.get(arg, arg).partition("=")
        name = option[2:].replace("-", "_")
        if not option.startswith("--") or option[2:] != name.replace("_", "-"):
            return None
        if name in _FLAGS and not equals:
            given[name] = True
            continue
        if name not in _MANY | _ONE or not (equals or left):
            return None
        value = value if equals else left.pop()
        if name in _CHOICES and value not in _CHOICES[name]:
            return None
        given[name] = (*given[name], value) if name in _MANY else value
    return Request(**flat({**given, "path": tuple(paths)}))


def run(request: Request) -> int:
    """One run: reads, lints, reports, and returns the exit code."""
    _refuse(request)
    sinks = parse_formats(request)
    if request.fix or request.diff or request.unsafe_fixes:
        from policycheck.adapters.cli import fixing

        only = "--dump" if request.dump else "--statistics" if request.statistics else ""
        formats = [(sink.format, "" if sink.file == (request.output or "") else sink.file) for sink in sinks]
        fixing.check(request, formats, writes_baseline=bool(request.write_baseline), only=only)
    settings = merge(common.load_settings(request.config, request.path, isolated=request.isolated), request)
    paths = request.path or tuple(path for cluster in settings.clusters for path in cluster.paths)
    if not paths:
        raise common.usage_error("nothing to check: give a PATH, such as `.` or `-` for standard input")
    live = [path for path in paths if path.startswith(common.CLUSTER)]
    if request.fix and live:
        raise common.usage_error(
            f"--fix writes files, and {live[0]} is only read: findings say what to change"
        )
    common.check_targets(settings.target)
    read = common.reader()
    with common.errors_of_use():
        from policycheck import app

        sources = _quickened(common.sources_of(paths, settings, read), request)
        if request.dump:
            return _dump(sources, settings, request.output)
        known = _baseline(settings, request, paths)
        fixed = _fixed(app, sources, settings, request)
        result = fixed.result if fixed else known(_lint(app, sources, settings, request.new_from))
    inputs = [report.file for report in result.files]
    _guard([sink.file for sink in sinks], [*inputs, request.write_baseline or ""], settings)
    if fixed and fixed.is_shown:
        loose = request.output or ""
        style = common.style_for(None if loose else sys.stdout, request.color, quiet=request.quiet)
        common.emit(fixed.shown(style), loose)
        sinks = tuple(sink for sink in sinks if sink.file != loose)
    _report(result, sinks, request, settings, read)
    if sources.kept is not None:  # when everything is said: nobody waits for it
        sources.kept.save()
        sources.kept.close()
    return exitcode.of_lint(result, settings.fail_on, exit_zero=request.exit_zero)


def _quickened(sources: Sources, request: Request) -> Sources:
    """With what is kept of earlier runs, and the processes that may be used. Raises click.UsageError."""
    if request.jobs is not None and not (request.jobs.isdecimal() and int(request.jobs) < MOST_JOBS):
        raise common.usage_error(
            f"--jobs takes a number from 0 (one a processor) on, and no {request.jobs!r}"
        )
    from policycheck.app.reading import spare

    jobs = int(request.jobs or 0) or spare()
    if request.no_cache:
        return sources._replace(jobs=jobs)
    from policycheck import data
    from policycheck.app.kept import opened

    return sources._replace(jobs=jobs, kept=opened(data.cache(), os.getcwd()))  # noqa: PTH109 - pathlib costs start-up


def _fixed(app: ModuleType, sources: Sources, settings: Settings, request: Request) -> Done | None:
    """What fixing comes to, when it is asked for; said on standard error."""
    if not (request.fix or request.diff):
        return None
    from policycheck.adapters.cli import fixing

    def look(these: Sources) -> LintResult:
        known = _baseline(settings, request, these.paths)
        return known(_lint(app, these, settings, request.new_from))

    done = fixing.run(request, sources, settings, look)
    fixing.report(done, quiet=request.quiet)
    return done


def _baseline(
    settings: Settings, request: Request, paths: Sequence[str]
) -> Callable[[LintResult], LintResult]:
    """Takes what is known from before out of a result; nothing without a baseline."""
    if not settings.baseline:
        return lambda result: result
    from policycheck.adapters.cli import baseline

    return baseline.prepare(settings, paths, request.write_baseline or "", grow=request.grow_baseline)


def _dump(sources: Sources, settings: Settings, output: str | None) -> int:
    from policycheck.adapters.cli import asking
    from policycheck.app.gather import accounts, gather
    from policycheck.app.linked import linked
    from policycheck.report.dump import clusters, render

    scopes = gather(sources, settings)
    files = accounts(scopes)
    _guard([output or ""], [file.file for file in files], settings)
    common.emit(render(clusters(map(linked, scopes))), output)
    return asking.account(files, empty=not files, quiet=True)


def _lint(app: ModuleType, sources: Sources, settings: Settings, new_from: str | None) -> LintResult:
    if new_from is None:
        result: LintResult = app.lint(sources, settings)
        return result
    from policycheck.adapters.revision import earlier

    with earlier(new_from, sources, settings) as before:
        result = app.lint(sources._replace(before=before.sources), settings)
        return result._replace(notes=(*result.notes, before.note))


def parse_formats(request: Request) -> tuple[Sink, ...]:
    """Where each format goes. Raises click.UsageError for what is unknown or would be mixed up."""
    sinks: list[Sink] = []
    for given in request.format or ("text",):
        name, _, file = given.partition("=")
        if name not in FORMATS:
            raise common.usage_error(f"no format {name!r}; there are {', '.join(FORMATS)}")
        sinks.append(Sink(name, file))
    loose = [sink.format for sink in sinks if not sink.file]
    if len(loose) > 1:
        raise common.usage_error(
            f"{' and '.join(loose)} would be mixed in one output: write all but one as FORMAT=FILE"
        )
    if request.output and not loose:
        raise common.usage_error("--output has nothing to write: every --format names a file of its own")
    if request.statistics and any(sink.format not in {"text", "concise"} for sink in sinks):
        raise common.usage_error("--statistics goes with --format text or concise")
    made = tuple(sink if sink.file else Sink(sink.format, request.output or "") for sink in sinks)
    files = [os.path.realpath(sink.file) for sink in made if sink.file]
    if len(set(files)) < len(files):
        raise common.usage_error("two formats go to one file; give each its own")
    return made


def merge(settings: Settings, request: Request) -> Settings:
    """Settings with what the command line says put over them: it replaces, except where it adds."""
    changed: dict[str, Any] = {
        name: value
        for name in ("select", "inventory", "target", "phase", "fail_on")
        if (value := getattr(request, name))
    }
    changed["baseline"] = request.baseline or settings.baseline or request.write_baseline or ""
    added = {
        name: getattr(settings, name) + getattr(request, name)
        for name in ("ignore", "context", "rules", "crds")
    }
    return settings._replace(**changed, **added)


def flat(options: dict[str, Any]) -> dict[str, Any]:
    """``--select A,B`` is ``--select A --select B``."""
    for name in ("select", "ignore"):
        options[name] = tuple(
            part.strip() for given in options[name] for part in given.split(",") if part.strip()
        )
    return options


def _guard(outputs: Sequence[str], inputs: Iterable[str], settings: Settings) -> None:
    own = (settings.file, settings.baseline, *settings.extended)
    common.guard(outputs, (*inputs, *own), (*settings.rules, *settings.crds))


def _refuse(request: Request) -> None:
    if request.write_baseline or request.grow_baseline:
        from policycheck.adapters.cli import baseline

        baseline.refuse(request)


def _next_steps(result: LintResult, settings: Settings) -> tuple[str, ...]:
    steps: list[str] = []
    if result.findings:
        worst = min(result.findings, key=lambda finding: SEVERITIES.index(finding.severity))
        own = "".join(f" --rules {folder}" for folder in settings.rules)
        steps.append(f"`policycheck explain {worst.rule}{own}` says why, and what to write instead")
    has_inventory = settings.inventory or any(cluster.inventory for cluster in settings.clusters)
    if result.skipped and not has_inventory:
        steps.append(
            "`kubectl get nodes -o json > nodes.json`, then the same command with `--inventory nodes.json`, "
            "runs the rules that need to know the hardware"
        )
    return tuple(steps)


def _report(
    result: LintResult,
    sinks: Sequence[Sink],
    request: Request,
    settings: Settings,
    read: Callable[[str], bytes],
) -> None:
    from policycheck.report import render

    steps = _next_steps(result, settings)

    view = View(common.line_source(read), next_steps=steps, statistics=request.statistics)
    if any(sink.format not in FOR_PEOPLE for sink in sinks):
        from policycheck.adapters.cli.machine import equipped

        view = equipped(view, settings, read, is_compared=bool(request.new_from or settings.baseline))
    for sink in sinks:
        style = common.style_for(
            None if sink.file else sys.stdout, request.color, quiet=request.quiet, verbose=request.verbose
        )
        common.emit(render(sink.format, result, view._replace(style=style)), sink.file)
    if request.quiet or not any(sink.format == "text" and not sink.file for sink in sinks):
        _account(result, request, steps)


def _account(result: LintResult, request: Request, steps: tuple[str, ...]) -> None:
    """The account of the run on standard error, when standard output is not for people; only what
    failed when they asked for quiet, since it is the reason for the exit code.
    """
    if request.quiet and not result.errors and not any(file.failed for file in result.files):
        return
    from policycheck.report.text import serious, summary

    style = common.style_for(sys.stderr, request.color, verbose=request.verbose)
    view = View(lambda _: (), style, steps)
    common.say(serious(result, view) if request.quiet else summary(result, view))
