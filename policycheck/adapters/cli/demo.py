"""``policycheck demo``: the whole job on the packaged example, then what to run on one's own files."""

from __future__ import annotations

import gc
import sys
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from policycheck.adapters.cli import common, exitcode

if TYPE_CHECKING:
    from policycheck.report.certify import Certified
    from policycheck.simulate.metrics import Metrics

JOB = "team-foundation/pretrain-32b"

NEXT = """Now on your own files (nothing leaves your machine):

  kubectl get nodes -o json > nodes.json
  policycheck lint PATH... --inventory nodes.json

  policycheck inventory nodes.json        what the hardware amounts to
  policycheck explain RULE                why it hurts, and what to write instead
  policycheck why WORKLOAD PATH...        why it waits, and what would let it in
  policycheck matrix PATH...              who can take running jobs from whom
  policycheck simulate PATH... --mix research  a week of jobs on it
  policycheck certify PATH...             which promises to teams it keeps
"""
MIX, DAY = "research", "1d"
CLAIMS = ("guarantee-honoured", "burst-usable")  # those that say most in a second; certify tests all


@click.command("demo")
@click.option(
    "--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="auto: on a terminal."
)
def demo(color: str) -> int:
    """The whole job on the packaged example cluster: no argument, no network, under ten seconds.

    Five teams and two serving stacks share 256 GPUs; first with a configuration that looks fine and
    is not, then with the same one repaired.
    """
    from policycheck import data

    gc.set_threshold(200_000, 20, 20)  # as simulate and certify have it
    clusters = data.root() / "fixtures" / "clusters"
    common.emit("== The example as somebody wrote it: demo-bad\n\n")
    _lint(clusters, "demo-bad", color)
    common.emit(f"\n== Why one of its jobs never starts: policycheck why {JOB} demo-bad\n\n")
    _why(clusters, "demo-bad", color)
    common.emit("\n== The same cluster, repaired: demo-good\n\n")
    _lint(clusters, "demo-good", color)
    common.emit(f"\n== A day on each: policycheck simulate demo-good --mix {MIX} --horizon {DAY}\n\n")
    _simulate(clusters, color)
    _certify(clusters, color)
    common.emit(f"\n{NEXT}")
    return exitcode.OK


def _lint(clusters: Path, name: str, color: str) -> None:
    from policycheck import app
    from policycheck.lint.settings import Settings
    from policycheck.report import View, render

    read = common.reader()
    # From inside, so that the places in the report are short and the same on every machine.
    with chdir(clusters):
        result = app.lint(app.Sources(paths=(name,), read=read, today=common.today()), Settings())
        view = View(common.line_source(read), common.style_for(sys.stdout, color))
        common.emit(render("text", result, view))


def _why(clusters: Path, name: str, color: str) -> None:
    from policycheck import app
    from policycheck.app import why
    from policycheck.lint.settings import Settings
    from policycheck.report.why import render_text

    with chdir(clusters):
        answer, _ = why.why(JOB, app.Sources(paths=(name,), read=common.reader()), Settings())
    if answer is not None:
        common.emit(render_text(answer, common.style_for(sys.stdout, color)))


def _simulate(clusters: Path, color: str) -> None:
    """The same kind of day on both, side by side."""
    from policycheck.report.simulation_pair import render_pair

    before, after = (_day(clusters, name) for name in ("demo-bad", "demo-good"))
    common.emit(render_pair(before, after, ("demo-bad", "demo-good"), common.style_for(sys.stdout, color)))


def _certify(clusters: Path, color: str) -> None:
    """The promises held against both, in two processes where there are two."""
    from policycheck.app.apart import done, processors
    from policycheck.report.certify_brief import render_brief

    names = ("demo-bad", "demo-good")
    found = done([partial(_held, clusters, name) for name in names], processors())
    chosen = " ".join(f"--claim {claim}" for claim in CLAIMS)
    command = f"   policycheck certify demo-bad --budget 0 --accept search \\\n   {chosen}"
    heads = (
        f"What the teams were promised, two claims of all that certify tests:\n{command}",
        "The same promises, and the repaired configuration: demo-good",
    )
    for head, one in zip(heads, found, strict=True):
        common.emit(f"\n== {head}\n\n{render_brief(one, common.style_for(sys.stdout, color))}")


def _held(clusters: Path, name: str) -> Certified:
    from policycheck import app
    from policycheck.app.certify import Options, certify
    from policycheck.lint.settings import Settings

    options = Options(claims=CLAIMS, scenarios=0, accepted=frozenset({"search"}))
    with chdir(clusters):
        (one,), _ = certify(app.Sources(paths=(name,), read=common.reader()), Settings(), options)
    return one


def _day(clusters: Path, name: str) -> Metrics:
    from policycheck import app
    from policycheck.app.arrivals import Offering, arrivals, load_mix
    from policycheck.app.results import results
    from policycheck.app.simulate import Options
    from policycheck.lint.settings import Settings
    from policycheck.simulate.period import parse

    read = common.reader()
    offering = Offering(load_mix(MIX, read), seed=1, horizon=parse(DAY))
    options = Options(seed=1, horizon=offering.horizon)
    with chdir(clusters):
        done, _ = results(
            app.Sources(paths=(name,), read=read), Settings(), lambda c: arrivals(c, offering), options
        )
    return done[0].metrics
