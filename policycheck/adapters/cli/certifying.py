"""One run of ``policycheck certify``: from options to a report, counterexamples and a certificate."""

from __future__ import annotations

import gc
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from policycheck.adapters.cli import asking, common, exitcode, issuing
from policycheck.adapters.cli.progress import Progress

if TYPE_CHECKING:
    from policycheck.app import Sources
    from policycheck.app.certify import Options
    from policycheck.certify.repair import Repaired
    from policycheck.certify.verdict import Verdict
    from policycheck.lint.settings import Settings
    from policycheck.report.certify import Certified
    from policycheck.source.document import FileReport

CODES = {"CERTIFIED": exitcode.OK, "REFUSED": exitcode.FINDINGS, "UNDECIDED": exitcode.UNDECIDED}
_ODD = re.compile(r"[^A-Za-z0-9._-]+")


def run(paths: tuple[str, ...], options: Mapping[str, Any]) -> int:
    """Certifies, writes what was asked for, and returns the exit code. Raises click.UsageError."""
    # What is compiled and played lives long and is full of references: to look for garbage costs a third.
    gc.set_threshold(200_000, 20, 20)
    sources, settings = asking.input_of(paths, options)
    order = issuing.order(options)
    if options["write"] and not options["repair"]:
        raise common.usage_error("--write goes with --repair, which looks for what to write")
    if options["form"] == "html":
        _can_draw(options)
    with common.errors_of_use(), Progress(quiet=options["quiet"]) as told:
        from policycheck.app import certify as use_case

        mends: Sequence[Repaired] | None = None
        if options["write"]:
            done, files, mends = _written(sources, settings, options, told)
        else:
            done, files = use_case.certify(sources, settings, _options(options), told)
        if options["repair"] and not options["write"]:
            from policycheck.app.repair import mended

            mends = mended(sources, settings, _options(options), done, told)
    cases = _cases(done)
    _guard(options, files, settings, cases)
    from policycheck.report.certify import overall

    common.emit(_render(done, options, mends), options["output"])
    if not done:
        common.say("policycheck: no queue in what was given; PATH must hold the queues\n")
    _save(options["save_cases"], cases)
    codes = [CODES[overall(done)] if done else exitcode.OK]
    if order is not None and done:
        issuing.issue(order, done)
    account = asking.account(files, empty=not done, verbose=options["verbose"], quiet=options["quiet"])
    return exitcode.worst([*codes, account])


def _written(
    sources: Sources, settings: Settings, options: Mapping[str, Any], told: Progress
) -> tuple[tuple[Certified, ...], tuple[FileReport, ...], tuple[Repaired, ...]]:
    """Repairs made and written: what is certified then, the files, and all that was tried."""
    from policycheck.adapters.cli.fixing import Bars, write
    from policycheck.app.mending import mend

    found = mend(sources, settings, _options(options), told, Bars(sources.paths))
    write(found.old, found.new)
    if not options["quiet"]:
        words = "".join(f"  {'; '.join(one.words)}\n" for one in found.made)
        where = f"wrote {', '.join(sorted(found.new))}:\n{words}" if found.new else "nothing was written\n"
        common.say(where)
    return found.done, found.files, (*found.made, *found.left)


def _options(options: Mapping[str, Any]) -> Options:
    from policycheck.app.apart import processors
    from policycheck.app.certify import SCENARIOS, Options

    return Options(
        claims=options["claims"],
        scenarios=SCENARIOS if options["budget"] is None else options["budget"],
        seed=options["seed"],
        accepted=frozenset(options["accept"]),
        promises=options["promises"] or "",
        late=deadline(options["timeout"]),
        processes=options["jobs"] or processors(),
        least=bool(options["certificate"]),
    )


def deadline(seconds: float | None) -> Callable[[], bool]:
    """Says whether so many seconds have passed since now; never, when there is no limit."""
    if seconds is None:
        return lambda: False
    import time

    end = time.monotonic() + seconds
    return lambda: time.monotonic() >= end


def _can_draw(options: Mapping[str, Any]) -> None:
    """Before the work and not after it. Raises click.UsageError, and click.ClickException without the libraries."""
    if options["repair"]:
        raise common.usage_error("--repair shows diffs; --format html draws stories: ask for one of them")
    with common.errors_of_use():
        from policycheck.report.page import engine

        engine.altair()
        engine.converter()


def _render(
    done: Sequence[Certified], options: Mapping[str, Any], mends: Sequence[Repaired] | None = None
) -> str:
    from policycheck.report import repair

    if options["form"] == "json":
        from policycheck.report.certify import render_json

        return render_json(done, None if mends is None else {"repairs": repair.values(mends)})
    if options["form"] == "html":
        from policycheck.report.page.certified import render_certified

        return render_certified(done)
    if options["form"] == "markdown":
        from policycheck.report.certify_markdown import render_markdown

        text = render_markdown(done)
        return text if mends is None else f"{text}\n{repair.render_markdown(mends)}"
    from policycheck.report.certify_text import render_text

    style = common.style_for(
        None if options["output"] else sys.stdout,
        options["color"],
        quiet=options["quiet"],
        verbose=options["verbose"],
    )
    text = render_text(done, style)
    return text if mends is None else f"{text}\n{repair.render_text(mends, style)}"


# -- counterexamples ------------------------------------------------------------------------------


def _cases(done: Sequence[Certified]) -> dict[str, Verdict]:
    """Verdicts with a story that can be replayed, by the name of its file."""
    found: dict[str, Verdict] = {}
    for one in done:
        for verdict in one.verdicts:
            if verdict.counterexample is None or not verdict.counterexample.case:
                continue
            parts = [one.scope if len(done) > 1 else "", verdict.claim, verdict.subject]
            stem = _ODD.sub("-", "-".join(part for part in parts if part)).strip("-.")
            name, number = f"{stem}.json", 1
            while name in found:
                number += 1
                name = f"{stem}-{number}.json"
            found[name] = verdict
    return found


def _save(folder: str | None, cases: Mapping[str, Verdict]) -> None:
    if not folder:
        return
    try:
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - as everywhere here
    except OSError as error:
        raise common.usage_error(f"--save-cases {folder}: {error.strerror}") from error
    for name, verdict in cases.items():
        found = verdict.counterexample
        assert found is not None  # noqa: S101 - those alone are among the cases
        common.emit(json.dumps(found.case, indent=1, sort_keys=True) + "\n", f"{folder}/{name}")
    first = next(iter(cases), "")
    again = f"; replay one: policycheck simulate --case {folder}/{first}" if first else ""
    common.say(f"wrote {len(cases)} counterexample{'s' * (len(cases) != 1)} to {folder}{again}\n")


def _guard(
    options: Mapping[str, Any], files: Sequence[FileReport], settings: Any, cases: Mapping[str, Verdict]
) -> None:
    """Nothing is written over what was read. Raises click.UsageError."""
    asking.guard(options["output"], files, settings)
    asking.guard(options["certificate"], files, settings)
    folder = options["save_cases"]
    for name in cases if folder else ():
        asking.guard(f"{folder}/{name}", files, settings)
    common.guard(
        (options["certificate"], options["output"]), (options["sign"] or "", options["promises"] or "")
    )
